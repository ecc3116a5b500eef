"""Newton-Krylov: inexact Newton steps by GMRES on exact Jacobian products.

    |F + J p| <= η |F|        η_k = 0.9 (|F_k| / |F_k-1|)²   (Eisenstat and Walker's choice 2)

with η_k >= 0.9 η_k-1² where that exceeds 0.1, so that one lucky step does not ask for too much,
η <= 0.9, and no smaller than half of what the tolerance still needs. The error of x after a step p
is about η |p|, and the next step is to the last as |F_k| to |F_k-1|, so xtol has a say as ftol has.

Source: S. C. Eisenstat, H. F. Walker, "Choosing the forcing terms in an inexact Newton method",
SIAM Journal on Scientific Computing 17, 1996.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import gmres

from linad.core.array_type import Array
from linad.core.options import POSITIVE_COUNT, takes
from linad.errors import ConvergenceError
from linad.solve.newton import ROOTS, RootSearch
from linad.solve.problems import Equations
from linad.solve.status import Callback, Monitor
from linad.solve.step_systems import CHOSEN_PRECONDITIONER, PRODUCTS, Automatic, preconditioner

GAMMA = 0.9
ETA_MAX = 0.9


@takes(
    preconditioner=CHOSEN_PRECONDITIONER,
    restart=POSITIVE_COUNT,
    inner_maxiter=POSITIVE_COUNT,
    **ROOTS,
)
def newton_krylov(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    xtol: float | None = None,
    ftol: float | None = None,
    maxiter: int = 100,
    preconditioner: Any = "auto",
    restart: int = 50,
    inner_maxiter: int = PRODUCTS,
    callback: Callback = None,
    disp: bool = False,
) -> Any:
    """Find a root of ``f`` without ever forming its Jacobian.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` in plain NumPy; returns as many numbers as ``x`` has.
    x0 : array or container of arrays
        Where to start; complex for a holomorphic ``f``.
    args : tuple
        Further arguments of ``f``.
    xtol, ftol : float, optional
        As for `newton`.
    maxiter : int
        Most Newton steps.
    preconditioner : optional
        An approximate inverse of the Jacobian: "diagonal"; "ilu", an incomplete factorisation
        of the sparse Jacobian; an operator (n, n); or a function ``(x, J)`` that returns one, with
        J the Jacobian operator at x. These are made anew at each step. "auto": "ilu" where the
        Jacobian is sparse, made anew only where it has ceased to serve, else None.
    restart, inner_maxiter : int
        Of GMRES: vectors kept, and most products in a Newton step.
    callback, disp
        As for `newton`.

    Returns
    -------
    scipy.optimize.OptimizeResult
        As from `newton`; ``njvp`` counts the products with the Jacobian, and ``preconditioner``
        "ilu" or None where the choice was left open, else what was given.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError, OperandError
        If an argument, or what ``f`` returns, does not fit.

    Notes
    -----
    A step costs one linearization, and a forward sweep for each Krylov vector. Memory is that
    of `linad.linearize` and ``restart`` vectors.

    Examples
    --------
    >>> import numpy as np, linad
    >>> f = lambda x: x - np.exp(-np.roll(x, 1) / 2)
    >>> found = linad.solve.newton_krylov(f, np.zeros(1000))
    >>> found.success, bool(np.abs(f(found.x)).max() < 1e-12)
    (True, True)
    """
    search = RootSearch(Equations(f, x0, args, "newton_krylov"), xtol, ftol, maxiter)
    forcing = Forcing(preconditioner, restart, inner_maxiter)
    found = search.run(forcing, Monitor("newton_krylov", callback, disp, ("F", "step")))
    found.preconditioner = forcing.used
    return found


class Forcing:
    """Inexact Newton directions, each solved as far as the progress so far deserves."""

    def __init__(self, given: Any, restart: int, inner_maxiter: int) -> None:
        self.given, self.restart, self.inner_maxiter = given, restart, inner_maxiter
        self.automatic = Automatic() if isinstance(given, str) and given == "auto" else None
        self.eta = 0.5
        self.size: float | None = None

    @property
    def used(self) -> Any:
        """What the result says of the preconditioner."""
        return self.given if self.automatic is None else self.automatic.used

    def __call__(self, search: RootSearch) -> tuple[Any, float]:
        size = float(np.linalg.norm(search.r))
        eta = self._next(size, search)
        M = self._preconditioner(search)
        before = search.problem.counts.njvp
        p, reached = self._gmres(search.J, -search.r, eta, M)
        if not reached < 1.0 - 1e-8:
            raise ConvergenceError(
                f"GMRES made no progress in {self.inner_maxiter} products (relative residual "
                f"{reached:.2g}); the Jacobian may be singular, or needs a preconditioner"
            )
        if self.automatic is not None:
            self.automatic.took(search.problem.counts.njvp - before)
        self.eta, self.size = max(eta, reached), size
        return p, max(reached, search.eps)

    def _preconditioner(self, search: RootSearch) -> Any:
        problem, J = search.problem, search.J
        if self.automatic is not None:
            return self.automatic.at(J, lambda: problem.patterned(search.x, J))
        if isinstance(self.given, str):
            J = problem.patterned(search.x, J)
        point = problem.x.container(search.x) if callable(self.given) else None
        return preconditioner(self.given, point, J, problem.name)

    def _gmres(self, J: Any, b: Array, rtol: float, M: Any) -> tuple[Any, float]:
        """What GMRES finds, and the relative residual that it truly has."""
        size = float(np.linalg.norm(b))
        if size == 0.0:
            return np.zeros_like(b), 0.0
        restart = min(self.restart, b.size)
        cycles = max(1, self.inner_maxiter // restart)
        x, _ = gmres(J, b, rtol=rtol, atol=0.0, restart=restart, maxiter=cycles, M=M)
        return x, float(np.linalg.norm(b - J @ x)) / size

    def _next(self, size: float, search: RootSearch) -> float:
        if self.size is None:
            eta = self.eta
        else:
            eta = GAMMA * (size / self.size) ** 2
            safeguard = GAMMA * self.eta**2
            if safeguard > 0.1:
                eta = max(eta, safeguard)
        eta = min(eta, ETA_MAX)
        if search.ftol:
            eta = max(eta, min(ETA_MAX, 0.5 * search.ftol / size))
        if search.xtol and self.size is not None and search.step > 0.0:
            step = search.step * size / self.size
            eta = max(eta, min(ETA_MAX, 0.5 * search.xtol / step))
        return max(eta, 4 * search.eps)
