"""Solvers made of Jacobian operators: roots, least squares, minima, branches of solutions.

Loaded when `linad.solve` is first used. The solvers take a function in plain NumPy and return
a `scipy.optimize.OptimizeResult`; `root`, `minimum`, `least_squares`, `fixed_point` and `linear`
return the solution itself, and are differentiated through.
"""

import sys
from typing import TYPE_CHECKING, NoReturn

from linad.solve.continuation import continuation
from linad.solve.fitting.curve_fit import curve_fit, fit
from linad.solve.fitting.fit_result import FitResult
from linad.solve.lbfgs import lbfgs
from linad.solve.least_squares import gauss_newton, levenberg_marquardt
from linad.solve.minimal_solutions import least_squares, minimum
from linad.solve.newton import newton
from linad.solve.newton_cg import newton_cg
from linad.solve.newton_krylov import newton_krylov
from linad.solve.solutions import fixed_point, linear, root
from linad.solve.status import Status
from linad.solve.trust_region import trust_region

__all__ = [
    "FitResult",
    "Status",
    "continuation",
    "curve_fit",
    "fit",
    "fixed_point",
    "gauss_newton",
    "lbfgs",
    "least_squares",
    "levenberg_marquardt",
    "linear",
    "minimum",
    "newton",
    "newton_cg",
    "newton_krylov",
    "root",
    "trust_region",
]


_OF_SCIPY = {
    "minimize": "newton_cg, trust_region and lbfgs minimise, and scipy.optimize.minimize takes "
    "jac=linad.grad(f)",
    "leastsq": "fit minimises squares, with standard errors",
    "fsolve": "newton finds roots",
    "brentq": "linad.scipy.optimize.brentq finds bracketed roots",
    "root_scalar": "newton finds roots, linad.scipy.optimize.brentq bracketed ones",
    "solve_ivp": "linad.scipy.integrate.solve_ivp traces",
}
"""Where to look for what SciPy has under a name."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        where = f"; {_OF_SCIPY[name]}" if name in _OF_SCIPY else ""
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}{where}",
            name=name,
            obj=sys.modules[__name__],
        )


def __dir__() -> list[str]:
    return list(__all__)
