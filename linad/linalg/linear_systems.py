"""Linear systems with an operator: which way to solve them, and derivatives of the solution.

The ways, in the order in which they are considered:

    closed form    the structure has an inverse (`linad.operators.facts`)
    dense          n at most 200: Cholesky where the matrix is positive definite, LU else
    sparse LU      its pattern is thin
    dense          n at most 2000
    Krylov         conjugate gradients, MINRES or GMRES, by what is proven; LSMR if rectangular

Of the solution x of A x = b

    dx = A^-1 (db - dA x)

In closed form, and with a dense matrix, this follows from NumPy's rules. An iteration is a
primitive of b and of the traced numbers that A holds, whose Jacobians are solutions again; so
derivatives of every order take one solution each, and no iteration is unrolled.

Source: B. Christianson, "Reverse accumulation and attractive fixed points", 1994.
"""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import FLAG, POSITIVE_COUNT, TOLERANCE, choice, takes
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape, is_inexact
from linad.errors import DTypeError, ShapeError, SingularError, UnsupportedError
from linad.linalg.iterative_inverses import (
    METHODS,
    Iterative,
    Options,
    as_preconditioner,
    method_for,
)
from linad.linalg.structure import is_thin, structure
from linad.operators.algebra import as_operator, compose, matching, scale
from linad.operators.base import JacobianOperator
from linad.operators.composites import bare
from linad.operators.factors import Cholesky, DenseLU, SparseLU
from linad.operators.facts import DEFINITE
from linad.operators.foreign import Foreign
from linad.operators.linear_solves import LinearSolve
from linad.operators.matrices import Matrix, Solve
from linad.operators.reordering import Reshape
from linad.operators.residuals import Recipe, lifted
from linad.operators.rewrites import simplified
from linad.operators.tagged import Tagged
from linad.transforms.linearize import linearize_leaves

log = logging.getLogger("linad")

SMALL = 200
"""Up to this size a dense factorisation is cheaper than to look for another way."""

DENSE = 2000
"""Up to this size a matrix that is not sparse is made dense."""

CHOICES = ("auto", "closed form", "dense", "sparse", "krylov", *METHODS)


@dataclass(frozen=True)
class Explanation:
    """How a linear system was solved.

    Attributes
    ----------
    method : str
        "closed form", "Cholesky", "dense LU", "sparse LU", "least squares", or a Krylov method.
    reason : str
        Why it was chosen.
    iterations : int
        Of a Krylov method.
    residual : float
        ``|A x - b| / |b|``, of the numbers without derivatives.
    """

    method: str
    reason: str
    iterations: int = 0
    residual: float = float("nan")

    def __str__(self) -> str:
        more = f", {self.iterations} iterations" if self.iterations else ""
        return f"{self.method}: {self.reason} (relative residual {self.residual:.1e}{more})"


# Iterations that are differentiated.


def _iterate(b: Array, *arrays: Any, recipe: Recipe, adjoint: bool, options: Options) -> Any:
    """A^-1 or A^-H of each row of b (..., n)."""
    inverse = Iterative(recipe(arrays), options)
    solve = inverse.rmatvec if adjoint else inverse.matvec
    rows = b.reshape(-1, b.shape[-1])
    if not len(rows):
        return b
    return np.stack([solve(row) for row in rows]).reshape(b.shape)


iterate = Primitive("solve_by_iteration", _iterate, register=False)
"""A^-1 b, or A^-H b, of the operator that ``recipe`` makes of traced arrays."""


class _IteratedInverse(LinearSolve):
    """b -> A^-1 b (or A^-H b) by iteration, for rows b (..., n)."""

    axes = (-1,)

    def __init__(
        self, arrays: Any, recipe: Recipe, adjoint: bool, options: Options, lead: Shape, op: Any
    ) -> None:
        self.arrays, self.recipe, self.reverse, self.options = arrays, recipe, adjoint, options
        shape = (*lead, op.shape[0])
        super().__init__(shape, shape, op.dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        adjoint = adjoint != self.reverse
        return iterate(b, *self.arrays, recipe=self.recipe, adjoint=adjoint, options=self.options)


@iterate.jacobian(wrt="each")
def iterate_wrt(
    i: int, y: Array, b: Array, *arrays: Any, recipe: Recipe, adjoint: bool, options: Options
) -> JacobianOperator:
    inverse = _IteratedInverse(arrays, recipe, adjoint, options, y.shape[:-1], recipe(arrays))
    if i == 0:
        return inverse

    def product(leaves: list[Any]) -> Any:
        values = (*arrays[: i - 1], leaves[0], *arrays[i:])
        return recipe(values).flat._apply_rows(y, adjoint)

    # dA -> dA y, linear in dA
    _, change = linearize_leaves(product, [arrays[i - 1]], tree.LEAF)
    return scale(-1, compose(inverse, change))


# The choice.


class LinearSystem:
    """An operator A with the way to apply its inverse.

    Parameters
    ----------
    A, method, rtol, maxiter, M
        As `solve_linear`.
    what : str
        The matrix, in messages.

    Attributes
    ----------
    inverse : JacobianOperator
    method, reason : str
    """

    def __init__(
        self,
        A: JacobianOperator,
        method: str = "auto",
        rtol: float = 1e-10,
        maxiter: int | None = None,
        M: Any = None,
        what: str = "solve_linear: the matrix",
    ) -> None:
        self.A = A.flat
        if not self.A.clinear:
            raise UnsupportedError(
                f"solve_linear: {self.A._label()} is linear over the reals only, and has no "
                f"complex matrix; solve for real and imaginary parts"
            )
        self.m, self.n = self.A.shape
        self.wanted, self.what = method, what
        self.iteration: Iterative | None = None
        self.rtol, self.M = max(rtol, 4 * float(np.finfo(self.A.dtype).eps)), M
        self.maxiter = max(1000, 10 * self.n) if maxiter is None else maxiter
        self.traced, self.recipe = lifted(self.A)
        self.level = self.A.definiteness() if self.m == self.n else 0
        self.inverse = self._choose()
        log.debug("%s: %s, because %s", self.A._label(), self.method, self.reason)

    def _choose(self) -> JacobianOperator:
        wanted = self.wanted
        if wanted in ("krylov", *METHODS) or (wanted == "auto" and self.M is not None):
            return self._by_iteration(wanted if wanted in METHODS else None)
        if self.m != self.n:
            if wanted not in ("auto", "dense"):
                raise ShapeError(f"solve_linear: {self.A._label()} is not square: no {wanted}")
            if wanted == "dense" or max(self.m, self.n) <= DENSE:
                return self._least_squares()
            return self._by_iteration(None)
        if wanted in ("auto", "closed form"):
            simple = simplified(self.A)
            if type(bare(simple)) is Matrix and bare(simple).triangles() == (False, False):
                return self._dense("the matrix is given as an array", bare(simple).todense())
            found = simple.inverse_form()
            if found is not None:
                names = structure(self.A)
                self.method = "closed form"
                self.reason = f"the matrix is {', '.join(names) or 'a product of known ones'}"
                return found
            if wanted == "closed form":
                raise UnsupportedError(
                    f"solve_linear: {self.A._label()} has no inverse in closed form; what is "
                    f"proven of it is {self.A.structure}"
                )
        if wanted == "dense" or (wanted == "auto" and self.n <= SMALL):
            return self._dense(f"n = {self.n} is small" if wanted == "auto" else "as asked for")
        if wanted == "sparse":
            return self._sparse("as asked for")
        if is_thin(self.A):
            share = self._untagged().nnz / self.n**2
            return self._sparse(f"{share:.2%} of the entries may differ from zero")
        if self.n <= DENSE:
            return self._dense(f"n = {self.n} is at most {DENSE}, and the matrix is not sparse")
        return self._by_iteration(None)

    def _dense(self, reason: str, a: Any = None) -> JacobianOperator:
        a = self.A.todense() if a is None else a
        if isinstance(a, Traced):
            DenseLU(self.recipe([concrete(x) for x in self.traced]).todense(), self.what)
            self.method, self.reason = "dense LU", reason
            column = (self.n, 1)
            solve = Solve(a, column, column, self.A.dtype)
            into = Reshape(column, (self.n,), self.A.dtype)
            return compose(into.H, compose(solve, into))
        if self.level == DEFINITE:
            try:
                factors: Any = Cholesky(a, self.what)
                self.method, self.reason = "Cholesky", f"{reason}, and it is positive definite"
                return Foreign(factors)
            except SingularError:
                raise
            except np.linalg.LinAlgError:
                reason += "; in rounding it is not positive definite"
        self.method, self.reason = "dense LU", reason
        return Foreign(DenseLU(a, self.what))

    def _sparse(self, reason: str) -> JacobianOperator:
        if self.traced:
            raise UnsupportedError(
                f"solve_linear: {self.A._label()} depends on traced values, so its sparse matrix "
                f"cannot be factorised; leave method at 'auto', or use 'dense' or an iteration"
            )
        self.method, self.reason = "sparse LU", reason
        return Foreign(SparseLU(self._untagged().tosparse("csc"), self.what))

    def _untagged(self) -> JacobianOperator:
        """The operator whose pattern is known."""
        op = self.A
        while type(op) is Tagged:
            op = op.op
        return op

    def _least_squares(self) -> JacobianOperator:
        self.method = "least squares"
        self.reason = "the matrix is rectangular and small: its pseudo-inverse is formed"
        a = self.A.todense()
        rank = np.linalg.matrix_rank(concrete(a))
        if isinstance(a, Traced) and rank < min(self.m, self.n):
            raise SingularError(
                f"solve_linear: {self.A._label()} has rank {rank}; the least-squares solution is "
                f"not differentiable in a matrix without full rank"
            )
        return Matrix(np.linalg.pinv(a), self.A.dtype)

    def _by_iteration(self, method: str | None) -> JacobianOperator:
        found, reason = method_for(self.A, self.level)
        if method is not None:
            self._check_method(method)
            found, reason = method, "as asked for"
        self.method, self.reason = found, reason
        options = Options(found, self.rtol, self.maxiter, as_preconditioner(self.M, self.A))
        if not self.traced:
            self.iteration = Iterative(self.A, options)
            return Foreign(self.iteration)
        if self.m != self.n:
            raise UnsupportedError(
                f"solve_linear: {self.A._label()} is rectangular, large and depends on traced "
                f"values; solve the normal equations J.T @ J instead"
            )
        return _IteratedInverse(self.traced, self.recipe, False, options, (), self.A)

    def _check_method(self, method: str) -> None:
        if self.m != self.n and method != "lsmr":
            raise ShapeError(f"solve_linear: {method} needs a square matrix, got {self.A.shape}")
        if method == "minres" and self.A.dtype.kind == "c":
            raise DTypeError("solve_linear: minres is for real matrices; use gmres or cg")

    def solve(self, b: Array, adjoint: bool = False) -> Any:
        """A^-1 b, or A^-H b, for a vector (n,) or columns (n, k)."""
        if b.ndim == 1:
            return self.inverse._apply_rows(b, adjoint)
        return self.inverse._apply_rows(b.T, adjoint).T

    def explanation(self, x: Array, b: Array) -> Explanation:
        """What was done, and the residual of a solution."""
        A = self.recipe([concrete(v) for v in self.traced]) if self.traced else self.A
        x, b = concrete(x), concrete(b)
        size = float(np.linalg.norm(b))
        residual = float(np.linalg.norm(A @ x - b)) / (size or 1.0)
        iterations = 0 if self.iteration is None else self.iteration.iterations
        return Explanation(self.method, self.reason, iterations, residual)


def inverse(op: JacobianOperator) -> JacobianOperator:
    """`JacobianOperator.inverse`."""
    m, n = op.shape
    if m != n:
        raise ShapeError(f"inverse: {op._label()} is not square; solve_linear solves least squares")
    found = LinearSystem(op).inverse
    flat = op.flat
    return matching(found, flat.in_shape, flat.out_shape)  # type: ignore[no-any-return]


@takes(method=choice(*CHOICES), rtol=TOLERANCE, maxiter=POSITIVE_COUNT.optional, explain=FLAG)
def solve_linear(
    J: Any,
    b: Any,
    *,
    method: str = "auto",
    rtol: float = 1e-10,
    maxiter: int | None = None,
    M: Any = None,
    explain: bool = False,
) -> Any:
    """Solve ``J x = b``, by the structure of J where it has one.

    Parameters
    ----------
    J : JacobianOperator, LinearOperator, sparse array or array (m, n)
        May hold traced values.
    b : array (m,), or columns (m, k), or of J's ``out_shape``
        May be traced.
    method : str
        "auto", or "closed form", "dense", "sparse", "krylov" (that of the following which fits),
        "cg", "minres", "gmres", "lsmr".
    rtol : float
        Relative residual at which an iteration ends.
    maxiter : int, optional
        Most iterations; by default max(1000, 10 n).
    M : LinearOperator or array (n, n), optional
        Preconditioner, an approximate inverse of J; asks for an iteration.
    explain : bool
        Whether to return an `Explanation` too. It is also told to the logger "linad" at level
        DEBUG.

    Returns
    -------
    x : array (n,), (n, k) or of J's ``in_shape``
        For a rectangular J the least-squares solution of least norm.
    explanation : Explanation
        With ``explain=True``.

    Raises
    ------
    ShapeError
        If the sizes differ.
    SingularError
        If a square matrix is singular to working precision.
    ConvergenceError
        If an iteration does not reach ``rtol``.
    OptionError
        For another method.

    Notes
    -----
    Closed forms cost about a product; dense matrices are formed by n seeds and factorised, sparse
    ones by a few seeds; an iteration costs one or two products per step. The solution is
    differentiable to any order, in b and in what J was made of; each derivative costs one more
    solution, with J or its adjoint.

    Examples
    --------
    >>> import numpy as np, linad
    >>> _, J = linad.linearize(lambda x: x**2 + np.sum(x), np.ones(3))
    >>> x, why = linad.solve_linear(J, np.ones(3), explain=True)
    >>> x
    array([0.2, 0.2, 0.2])
    >>> why.method
    'closed form'
    """
    A = as_operator(J, "solve_linear: J")
    if not hasattr(b, "dtype"):
        b = np.asarray(b)
    if b.dtype.kind in "biu":
        b = b.astype(float)
    if not is_inexact(b.dtype):
        raise DTypeError(f"solve_linear: b must hold numbers, got dtype {b.dtype}")
    m = A.shape[0]
    shaped = b.shape == A.out_shape
    if not shaped and not (b.ndim in (1, 2) and b.shape[0] == m):
        raise ShapeError(
            f"solve_linear: b must have shape ({m},), ({m}, k) or {A.out_shape} for {A._label()}, "
            f"got {b.shape}"
        )
    if not np.isfinite(concrete(b)).all():
        raise ValueError("solve_linear: b holds infinities or NaNs")
    system = LinearSystem(A, method, rtol, maxiter, M)
    flat = b.reshape((m,)) if shaped else b
    rows = flat.T if flat.ndim == 2 else flat
    x = system.inverse._apply_rows(rows, False)
    x = x.T if flat.ndim == 2 else x
    if not np.isfinite(concrete(x)).all():
        raise SingularError(f"solve_linear: the solution with {A._label()} overflows")
    why = system.explanation(x, flat) if explain else None
    if shaped:
        x = x.reshape(A.in_shape)
    return (x, why) if explain else x
