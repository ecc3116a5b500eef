"""Some eigenvalues and singular values of scipy.sparse.linalg, traced in the entries of matrices.

A pair A v = λ M v with v^H M v = 1 moves with A and M by one system, A bordered by the vector,

    [A - λ M    -M v] [dv]   [λ dM v - dA v ]
    [(M v)^H      0 ] [dλ] = [-½ v^H dM v   ]

whose second row keeps the norm, and of complex vectors the phase. It is regular if
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

Find = Callable[[Any, Any], tuple[Any, Any]]

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
        The eigenvalues (k,) and vectors (n, k) of plain sparse matrices A and M.
    weight : Pattern, optional
        Of M; by default that of the identity.
    """

    def __init__(
        self, name: str, pattern: Pattern, find: Find, weight: Pattern | None = None
    ) -> None:
        n = pattern.shape[0]
        ends, last = np.arange(n), np.full(n, n)
        self.pattern, self.find = pattern, find
        self.weight = Pattern(ends, ends, (n, n)) if weight is None else weight
        self.bordered = Pattern(
            np.concatenate([pattern.rows, self.weight.rows, ends, last]),
            np.concatenate([pattern.cols, self.weight.cols, last, ends]),
            (n + 1, n + 1),
        )
        self._name, self._systems = name, list[_Bordered]()

    def __repr__(self) -> str:
        return f"EigenProblem({self._name}, {self.pattern})"

    def solve(self, data: Array, weight: Any) -> Any:
        """Rows (k, n + 1): a vector, its eigenvalue."""
        w, v = self.find(self.pattern.matrix(data), self.weight.matrix(weight))
        return np.concatenate([v.T, w[:, None].astype(v.dtype)], axis=1)

    def system(self, j: int) -> _Bordered:
        """Of the j-th pair; it keeps its factors."""
        while j >= len(self._systems):
            self._systems.append(_Bordered(self.bordered, self._name))
        return self._systems[j]

    def entries(self, data: Array, weight: Any, v: Array, w: Array) -> Any:
        """Of the bordered matrix of a pair."""
        image = self.weight.gather(weight * v[self.weight.cols])
        return np.concatenate([data, -w * weight, -image, np.conj(image)])


eigenpairs = Primitive("eigenpairs", lambda data, weight, *, problem: problem.solve(data, weight))
"""Some eigenvectors and eigenvalues, in rows (k, n + 1), of the entries (nnz,) of A and M."""


class EigenpairChanges(JacobianOperator):
    """dA, or dM, -> (dv, dλ) of each pair, of the entries.

    Parameters
    ----------
    data, weight : array (nnz,)
        The entries of A and M, kept by reference.
    pairs : array (k, n + 1)
        What `eigenpairs` gives for them.
    problem : EigenProblem
    of_weight : bool
        Whether it is of the entries of M.

    Notes
    -----
    A factorisation a pair, at the first application, and one solution a pair and seed.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(
        self, data: Array, weight: Any, pairs: Array, problem: EigenProblem, of_weight: bool
    ) -> None:
        self.problem, self.vectors, self.values = problem, pairs[:, :-1], pairs[:, -1]
        self.of_weight = of_weight
        self.places = problem.weight if of_weight else problem.pattern
        self.matrices = [problem.entries(data, weight, pair[:-1], pair[-1]) for pair in pairs]
        shape = weight.shape if of_weight else data.shape
        super().__init__(pairs.shape, shape, pairs.dtype)

    def pushforward(self, tangent: Array) -> Array:
        changes = []
        for j, entries in enumerate(self.matrices):
            v = self.vectors[j]
            terms = tangent * v[self.places.cols]
            if self.of_weight:
                right = self.values[j] * self.places.gather(terms)
                norm = -0.5 * np.sum(np.conj(v)[self.places.rows] * terms, axis=-1, keepdims=True)
            else:
                right = -self.places.gather(terms)
                norm = np.zeros((*right.shape[:-1], 1), right.dtype)
            right = np.concatenate([right, norm], axis=-1)
            system = self.problem.system(j)
            changes.append(sparse_solve(entries, right, system=system, transposed=False))
        return np.stack(changes, axis=-2)

    def pullback(self, cotangent: Array) -> Array:
        rows, total = self.places.rows, 0.0
        for j, entries in enumerate(self.matrices):
            adjoint = np.conj(entries) if self.dtype.kind == "c" else entries
            system = self.problem.system(j)
            y = sparse_solve(adjoint, cotangent[..., j, :], system=system, transposed=True)
            v = self.vectors[j]
            if self.of_weight:
                y = np.conj(self.values[j]) * y[..., rows] - 0.5 * y[..., -1:] * v[rows]
                total = total + y * np.conj(v)[self.places.cols]
            else:
                total = total - y[..., rows] * np.conj(v)[self.places.cols]
        return total


@eigenpairs.jacobian(wrt=0)
def eigenpairs_wrt_data(
    y: Array, data: Array, weight: Array, *, problem: EigenProblem
) -> JacobianOperator:
    return EigenpairChanges(data, weight, y, problem, of_weight=False)


@eigenpairs.jacobian(wrt=1)
def eigenpairs_wrt_weight(
    y: Array, data: Array, weight: Array, *, problem: EigenProblem
) -> JacobianOperator:
    return EigenpairChanges(data, weight, y, problem, of_weight=True)


# Forms.


def _plain(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments beside the matrix; numbers of constants, which adopted code makes."""
    found = {}
    for key, value in given.items():
        known = constant_under(value) if isinstance(value, Traced) else value
        if holds_traced(known) or (known is None and value is not None):
            raise UnsupportedError(f"{name}: {key} must be plain; only the matrices are traced")
        found[key] = known
    return found


def _entries_of(name: str, A: Any) -> tuple[Any, Pattern]:
    """The entries of a matrix, and where they are."""
    if isinstance(A, SparseArray):
        data, pattern = A.data, A.pattern
    elif isinstance(A, Traced):
        if A.ndim != 2:
            raise ShapeError(f"{name}: expected one matrix, got shape {A.shape}")
        rows, cols = np.divmod(np.arange(A.size), A.shape[1])
        data, pattern = A.reshape((A.size,)), Pattern(rows, cols, A.shape)
    elif isinstance(A, np.ndarray) or scipy.sparse.issparse(A):
        known = scipy.sparse.coo_array(A)
        data, pattern = known.data, Pattern(known.row, known.col, known.shape)
    else:
        raise UnsupportedError(
            f"{name}: beside a traced value a matrix must be an array or a sparse array, got a "
            f"{type(A).__name__}"
        )
    return inexact(data), pattern


def _pairs(name: str, A: Any, M: Any, with_vectors: bool, options: dict[str, Any]) -> Any:
    options = _plain(name, options)
    data, pattern = _entries_of(name, A)
    if pattern.shape[0] != pattern.shape[1]:
        raise ShapeError(f"{name}: expected a square matrix, got shape {pattern.shape}")
    original, is_real = getattr(scipy.sparse.linalg, name), data.dtype.kind == "f"
    weight, places = (None, None) if M is None else _entries_of(name, M)
    if places is not None and places.shape != pattern.shape:
        raise ShapeError(f"{name}: A has shape {pattern.shape} and M {places.shape}")

    def find(matrix: Any, weights: Any) -> Any:
        matrix = matrix.real.copy() if is_real else matrix
        given = {} if M is None else {"M": weights.real.copy() if weight_is_real else weights}
        w, v = original(matrix, **given, **options)
        if not with_vectors:  # SciPy has another order then
            alone = original(matrix, **given, return_eigenvectors=False, **options)
            order = np.argmin(np.abs(alone[:, None] - w), axis=1)
            w, v = w[order], v[:, order]
        if M is not None:
            v = v / np.sqrt(np.sum(np.conj(v) * (weights @ v), axis=0).real)
        return w, v

    weight_is_real = weight is None or weight.dtype.kind == "f"
    if weight is None:
        weight = np.ones(pattern.shape[0], data.dtype.char.lower())
    precision = data.dtype
    if name == "eigs" or weight.dtype.kind == "c":  # real matrices may have complex pairs
        precision = np.result_type(precision, np.complex64)
    data, weight = astype(data, precision, copy=False), astype(weight, precision, copy=False)
    problem = EigenProblem(name, pattern, find, places)
    return eigenpairs(data, weight, problem=problem)


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

    def find(matrix: Any, weights: Any) -> Any:
        u, s, vh = scipy.sparse.linalg.svds(matrix[:m, m:], **options)
        return s, np.concatenate([u, vh.conj().T]) / ROOT

    problem, ones = EigenProblem("svds", both, find), np.ones(m + n, data.dtype)
    pairs = eigenpairs(np.concatenate([data, np.conj(data)]), ones, problem=problem)
    s = np.real(pairs[:, -1])
    u, vh = ROOT * pairs[:, :m].T, ROOT * np.conj(pairs[:, m:-1])
    if not return_singular_vectors:
        return s
    return {"u": (u, s, None), "vh": (None, s, vh)}.get(return_singular_vectors, (u, s, vh))
