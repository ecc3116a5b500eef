"""Linear systems of the solvers: which way to solve them, and factors that serve many points.

The ways are those of `linad.solve_linear`: dense up to `SMALL` unknowns; above that sparse where
the pattern is thin; by a closed form where the structure of the Jacobian has one; dense again up
to `DENSE`, and Krylov iteration beyond.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import Kind, choice
from linad.errors import OperandError, SingularError, UnsupportedError
from linad.jit.jitted import operation_by_operation
from linad.linalg.linear_systems import DENSE, SMALL, LinearSystem
from linad.linalg.structure import is_thin
from linad.solve.right_gmres import right_gmres

LINEAR_SOLVER = choice("auto", "dense", "sparse", "krylov")


def _preconditioner_kind(*names: str) -> Kind:
    return Kind(
        ", ".join(map(repr, names)) + ", an operator or a function (x, J) that returns one",
        lambda given: (
            given in names
            if isinstance(given, str)
            else callable(given) or len(getattr(given, "shape", ())) == 2
        ),
    ).optional


PRECONDITIONER = _preconditioner_kind("diagonal", "ilu")
CHOSEN_PRECONDITIONER = _preconditioner_kind("auto", "diagonal", "ilu")

REUSES = 15
"""Most GMRES steps with factors of another point."""

PRODUCTS = 500
"""Most products of a Krylov iteration with the Jacobian."""


def seen_through(f: Any, linear_solver: str, x0: Any) -> Any:
    """A function whose Jacobian may be treated as a sparse matrix: not as `linad.jit` made it.

    Of a compiled function only the whole is known, not what depends on what; so the function that
    it was made of takes its place, unless the systems are dense or iterated anyway.
    """
    n = sum([getattr(leaf, "size", 1) for leaf in tree.flatten(x0)[0]])
    if linear_solver == "sparse" or (linear_solver == "auto" and n > SMALL):
        return operation_by_operation(f)
    return f


def choose(J: Any, linear_solver: str) -> str:
    """Which of the ways to solve fits an operator, where "auto" leaves it open."""
    if linear_solver != "auto":
        return linear_solver
    n = J.shape[1]
    if n <= SMALL:
        return "dense"
    if is_thin(J):
        return "sparse"
    return "dense" if n <= DENSE else "krylov"


def system(J: Any, linear_solver: str, rtol: float) -> LinearSystem:
    """Make ``J x = b`` ready to be solved.

    Parameters
    ----------
    J : JacobianOperator (n, n)
    linear_solver : str
        "dense", "sparse", "krylov" or "auto".
    rtol : float
        Of a Krylov iteration.

    Raises
    ------
    SingularError
        If a factorised matrix is singular.
    """
    kind, n = choose(J, linear_solver), J.shape[1]
    if linear_solver == "auto" and kind != "sparse" and n > SMALL:
        with suppress(UnsupportedError):
            return LinearSystem(getattr(J, "bare", J), "closed form", rtol, what="the Jacobian")
    return LinearSystem(J, kind, rtol, PRODUCTS, what="the Jacobian")


class KeptFactors:
    """Sparse factors that serve the systems of nearby points as well.

    A factorisation costs as much as many solves with it. So it is used again, as the
    preconditioner of a few GMRES steps, and made anew only where these do not do.
    """

    def __init__(self) -> None:
        self.apply: Callable[[Any], Any] | None = None

    def solve(self, J: Any, b: Array, rtol: float, make: Callable[[], Any]) -> tuple[Any, float]:
        """Solve J x = b; the solution, and its relative residual, 0 where it is exact.

        Parameters
        ----------
        J : operator
        b : array (n,)
        rtol : float
            Relative residual to reach with factors of another point.
        make : callable
            Returns a system of J, as `system` does.
        """
        if self.apply is not None:
            x, reached = right_gmres(J, b, rtol, self.apply, REUSES)
            if reached <= rtol:
                return x, reached
        self.apply = None
        made = make()
        if made.method == "sparse LU":
            self.apply = getattr(made, "apply", made.solve)
        return made.solve(b), made.rtol if made.iteration is not None else 0.0


def preconditioner(given: Any, x: Array | None, J: Any, name: str) -> Any:
    """What a user gave as a preconditioner, as an operator near the inverse of ``J``.

    Parameters
    ----------
    given : None, str, LinearOperator or callable
        "diagonal", "ilu", an operator, or ``given(x, J)`` that returns one.
    x : container
        The point.
    J : Counted
    name : str

    Raises
    ------
    OperandError
        For anything else, or an operator of another shape.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given == "diagonal":
            return _diagonal(J)
        return _incomplete(J)
    M = (
        given(x, getattr(J, "bare", J))
        if callable(given) and not hasattr(given, "shape")
        else given
    )
    if getattr(M, "shape", None) != J.shape:
        raise OperandError(
            f"{name}: preconditioner must have the shape {J.shape}, got "
            f"{getattr(M, 'shape', type(M).__name__)}"
        )
    return M


class Automatic:
    """An incomplete factorisation where the Jacobian is sparse, kept as long as it serves.

    Attributes
    ----------
    used : str or None
        "ilu" once there is one.
    """

    def __init__(self) -> None:
        self.used: str | None = None
        self._M: Any = None
        self._dear = False  # dense or small, or not to be factorised
        self._fresh = 0  # products with the latest one, when it was new

    def at(self, J: Any, patterned: Callable[[], Any]) -> Any:
        """The one for the system of J, or None.

        Parameters
        ----------
        J : operator (n, n)
        patterned : callable
            Returns J as an operator whose pattern can be told.
        """
        if self._M is None and not self._dear:
            self._dear = J.shape[0] <= SMALL or not is_thin(known := patterned())
            if not self._dear:
                try:
                    self._M, self._fresh = _incomplete(known), 0
                    self.used = "ilu"
                except SingularError:
                    self._dear = True
        return self._M

    def took(self, products: int) -> None:
        """Tell how many products the system took: if many more than at first, make a new one."""
        if not self._fresh:
            self._fresh = products
        elif products > 2 * self._fresh + REUSES:
            self._M = None


def _diagonal(J: Any) -> Any:
    d = J.tosparse("csr").diagonal() if is_thin(J) else np.asarray(J.diagonal(rng=0))
    d = np.where(d == 0, 1.0, d)

    def apply(x: Array) -> Any:
        return x / d

    def apply_adjoint(x: Any) -> Any:
        return x / np.conj(d)

    return LinearOperator(J.shape, matvec=apply, rmatvec=apply_adjoint, dtype=J.dtype)


def _incomplete(J: Any) -> Any:
    from scipy.sparse.linalg import spilu

    matrix = J.tosparse("csc")
    try:
        factors = spilu(matrix.astype(np.promote_types(matrix.dtype, float)), 1e-4, 20.0)
    except RuntimeError as error:
        raise SingularError(f"the incomplete factorisation failed: {error}") from error

    def apply(x: Array) -> Any:
        return factors.solve(np.asarray(x, matrix.dtype).astype(factors.L.dtype, copy=False))

    def apply_adjoint(x: Any) -> Any:
        return factors.solve(x.astype(factors.L.dtype, copy=False), "H")

    return LinearOperator(J.shape, matvec=apply, rmatvec=apply_adjoint, dtype=J.dtype)
