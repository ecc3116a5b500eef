"""Some eigenvalues and singular values of scipy.sparse.linalg, traced in the entries of the matrix.

A pair A v = λ M v with v^H M v = 1 moves with A by one system, A bordered by the vector,

    [A - λ M    -M v] [dv]   [-dA v]
    [(M v)^H      0 ] [dλ] = [  0  ]

whose second row keeps the norm, and of complex vectors the phase: v^H M dv = 0. It is regular if
and only if λ is simple, and for a general A as well, where its adjoint finds the left vector. The
entries of the bordered matrix are traced in turn, so derivatives of all orders are exact, and cost
a factorisation a pair and two substitutions a sweep. Singular values are eigenvalues,

    [0    A] [u]     [u]
    [A^H  0] [v] = s [v]

Sources: R. Nelson, "Simplified calculation of eigenvector derivatives", AIAA Journal 14, 1976; of
the bordered system, J. Magnus, "On differentiating eigenvalues and eigenvectors", Econometric
Theory 1, 1985.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from linad.arrays.memory import constant_under
from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.errors import DegenerateError, ShapeError, UnsupportedError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.rules.shaping import astype
from linad.rules.sparsearrays import Factorized, Pattern, sparse_solve
from linad.scipy.mirror import bound_form, holds_traced, inexact
from linad.scipy.sparse.arrays import SparseArray

Find = Callable[[Any], tuple[Any, Any]]

ROOT = math.sqrt(2)


class _Bordered(Factorized):
    """The systems of the bordered matrix of one pair."""

    def __init__(self, pattern: Pattern, name: str) -> None:
        super().__init__(pattern)
        self.name = name

    def prepare(self, matrix: Any) -> Any:
        try:
            factors = super().prepare(matrix)
        except np.linalg.LinAlgError:
            factors = None
        if factors is not None:
            pivots = np.abs(factors.U.diagonal())
            eps = np.finfo(pivots.dtype).eps
            if np.min(pivots) > 8 * len(pivots) * eps * np.max(pivots):
                return factors
        kind = "singular value is 0 or equal" if self.name == "svds" else "eigenvalue is equal"
        raise DegenerateError(
            f"{self.name}: one {kind} to another, and its vector has no derivative; move the "
            f"matrix off the point, or write the function of the matrix without its vectors"
        )


class EigenProblem:
    """Which pairs of which matrices are looked for.

    Parameters
    ----------
    name : str
        Of SciPy's function.
    pattern : Pattern
        (n, n)
    find : callable
        The eigenvalues (k,) and vectors (n, k) of a plain sparse matrix.
    weight : sparse array, optional
        M; by default the identity.
    """

    def __init__(self, name: str, pattern: Pattern, find: Find, weight: Any = None) -> None:
        n = pattern.shape[0]
        self.pattern, self.find = pattern, find
        self.weight = scipy.sparse.coo_array(
            scipy.sparse.eye_array(n) if weight is None else weight
        )
        ends, last = np.arange(n), np.full(n, n)
        self.bordered = Pattern(
            np.concatenate([pattern.rows, self.weight.row, ends, last]),
            np.concatenate([pattern.cols, self.weight.col, last, ends]),
            (n + 1, n + 1),
        )
        self._name, self._systems = name, list[_Bordered]()

    def __repr__(self) -> str:
        return f"EigenProblem({self._name}, {self.pattern})"

    def solve(self, data: Any) -> Any:
        """Rows (k, n + 1): a vector, its eigenvalue."""
        w, v = self.find(self.pattern.matrix(data))
        return np.concatenate([v.T, w[:, None].astype(v.dtype)], axis=1)

    def system(self, j: int) -> _Bordered:
        """Of the j-th pair; it keeps its factors."""
        while j >= len(self._systems):
            self._systems.append(_Bordered(self.bordered, self._name))
        return self._systems[j]

    def entries(self, data: Any, v: Any, w: Any) -> Any:
        """Of the bordered matrix of a pair."""
        single = np.dtype(v.dtype.char.lower()).itemsize == 4
        weight = self.weight.data
        if single and weight.dtype == np.float64:
            weight = weight.astype(np.float32)
        places = Pattern(self.weight.row, self.weight.col, self.weight.shape)
        image = places.gather(weight * v[self.weight.col])
        return np.concatenate([data, -w * weight, -image, np.conj(image)])


eigenpairs = Primitive("eigenpairs", lambda data, *, problem: problem.solve(data))
"""Some eigenvectors and eigenvalues, in rows (k, n + 1), of the entries (nnz,) of a matrix."""


class EigenpairChanges(JacobianOperator):
    """dA -> (dv, dλ) of each pair, of the entries of A.

    Parameters
    ----------
    data : array (nnz,)
        The entries, kept by reference.
    pairs : array (k, n + 1)
        What `eigenpairs` gives for them.
    problem : EigenProblem

    Notes
    -----
    A factorisation a pair, at the first application, and one solution a pair and seed.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, data: Any, pairs: Any, problem: EigenProblem) -> None:
        self.problem, self.vectors = problem, pairs[:, :-1]
        self.matrices = [problem.entries(data, pair[:-1], pair[-1]) for pair in pairs]
        super().__init__(pairs.shape, data.shape, pairs.dtype)

    def pushforward(self, tangent: Array) -> Array:
        places, changes = self.problem.pattern, []
        for j, entries in enumerate(self.matrices):
            right = -places.gather(tangent * self.vectors[j][places.cols])
            right = np.concatenate([right, np.zeros((*right.shape[:-1], 1), right.dtype)], axis=-1)
            system = self.problem.system(j)
            changes.append(sparse_solve(entries, right, system=system, transposed=False))
        return np.stack(changes, axis=-2)

    def pullback(self, cotangent: Array) -> Array:
        places, total = self.problem.pattern, 0.0
        for j, entries in enumerate(self.matrices):
            adjoint = np.conj(entries) if self.dtype.kind == "c" else entries
            system = self.problem.system(j)
            y = sparse_solve(adjoint, cotangent[..., j, :], system=system, transposed=True)
            total = total - y[..., places.rows] * np.conj(self.vectors[j])[places.cols]
        return total


@eigenpairs.jacobian(wrt=0)
def eigenpairs_wrt_data(y: Array, data: Array, *, problem: EigenProblem) -> JacobianOperator:
    return EigenpairChanges(data, y, problem)


# Forms.


def _plain(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments beside the matrix; numbers of constants, which adopted code makes."""
    found = {}
    for key, value in given.items():
        known = constant_under(value) if isinstance(value, Traced) else value
        if holds_traced(known) or (known is None and value is not None):
            raise UnsupportedError(f"{name}: {key} must be plain; only the matrix is traced")
        found[key] = known
    return found


def _entries_of(name: str, A: Any) -> tuple[Any, Pattern]:
    """The entries of a traced matrix, and where they are."""
    if isinstance(A, SparseArray):
        data, pattern = A.data, A.pattern
    elif isinstance(A, Traced):
        if A.ndim != 2:
            raise ShapeError(f"{name}: expected one matrix, got shape {A.shape}")
        rows, cols = np.divmod(np.arange(A.size), A.shape[1])
        data, pattern = A.reshape((A.size,)), Pattern(rows, cols, A.shape)
    else:
        raise UnsupportedError(f"{name}: only the matrix is traced, and it is a plain {type(A)}")
    return inexact(data), pattern


def _pairs(name: str, A: Any, M: Any, with_vectors: bool, options: dict[str, Any]) -> Any:
    M, options = _plain(name, {"M": M})["M"], _plain(name, options)
    data, pattern = _entries_of(name, A)
    if pattern.shape[0] != pattern.shape[1]:
        raise ShapeError(f"{name}: expected a square matrix, got shape {pattern.shape}")
    original, is_real = getattr(scipy.sparse.linalg, name), data.dtype.kind == "f"
    weight = None if M is None else scipy.sparse.coo_array(M)
    if weight is not None and weight.shape != pattern.shape:
        raise ShapeError(f"{name}: A has shape {pattern.shape} and M {weight.shape}")

    def find(matrix: Any) -> Any:
        matrix = matrix.real if is_real else matrix
        w, v = original(matrix, M=M, **options)
        if not with_vectors:  # SciPy has another order then
            alone = original(matrix, M=M, return_eigenvectors=False, **options)
            order = np.argmin(np.abs(alone[:, None] - w), axis=1)
            w, v = w[order], v[:, order]
        if weight is not None:
            v = v / np.sqrt(np.sum(np.conj(v) * (weight @ v), axis=0).real)
        return w, v

    if name == "eigs":  # which has complex pairs of real matrices
        data = astype(data, np.result_type(data.dtype, np.complex64))
    return eigenpairs(data, problem=EigenProblem(name, pattern, find, weight))


@bound_form(scipy.sparse.linalg.eigsh)
def eigsh(A: Any, M: Any, return_eigenvectors: bool = True, **options: Any) -> Any:
    pairs = _pairs("eigsh", A, M, return_eigenvectors, options)
    w = np.real(pairs[:, -1])
    return (w, pairs[:, :-1].T) if return_eigenvectors else w


@bound_form(scipy.sparse.linalg.eigs)
def eigs(A: Any, M: Any, return_eigenvectors: bool = True, **options: Any) -> Any:
    pairs = _pairs("eigs", A, M, return_eigenvectors, options)
    return (pairs[:, -1], pairs[:, :-1].T) if return_eigenvectors else pairs[:, -1]


@bound_form(scipy.sparse.linalg.svds)
def svds(A: Any, return_singular_vectors: Any = True, **options: Any) -> Any:
    options = _plain("svds", options)
    data, places = _entries_of("svds", A)
    if return_singular_vectors not in (True, False, "u", "vh"):
        raise UnsupportedError(
            f"svds: return_singular_vectors must be True, False, 'u' or 'vh', got "
            f"{return_singular_vectors!r}"
        )
    m, n = places.shape
    rows, cols = places.rows, m + places.cols
    both = Pattern(np.concatenate([rows, cols]), np.concatenate([cols, rows]), (m + n, m + n))

    def find(matrix: Any) -> Any:
        u, s, vh = scipy.sparse.linalg.svds(matrix[:m, m:], **options)
        return s, np.concatenate([u, vh.conj().T]) / ROOT

    pairs = eigenpairs(
        np.concatenate([data, np.conj(data)]), problem=EigenProblem("svds", both, find)
    )
    s = np.real(pairs[:, -1])
    u, vh = ROOT * pairs[:, :m].T, ROOT * np.conj(pairs[:, m:-1])
    if not return_singular_vectors:
        return s
    return {"u": (u, s, None), "vh": (None, s, vh)}.get(return_singular_vectors, (u, s, vh))
