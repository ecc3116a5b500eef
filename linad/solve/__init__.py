"""Solvers made of Jacobian operators: roots, least squares, minima, branches of solutions.

Loaded when `linad.solve` is first used. The solvers take a function in plain NumPy and return
a `scipy.optimize.OptimizeResult`; `root`, `minimum`, `least_squares`, `fixed_point` and `linear`
return the solution itself, and are differentiated through.
"""

from typing import TYPE_CHECKING, NoReturn

from linad.core import guessed_names
from linad.solve.continuation import continuation
from linad.solve.fitting.curve_fit import curve_fit, fit
from linad.solve.fitting.fit_result import FitResult
from linad.solve.fitting.likelihood import maximum_likelihood
from linad.solve.fitting.likelihood_result import LikelihoodResult
from linad.solve.fitting.propagation import Propagated
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
    "LikelihoodResult",
    "Propagated",
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
    "maximum_likelihood",
    "minimum",
    "newton",
    "newton_cg",
    "newton_krylov",
    "root",
    "trust_region",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        public = [f"linad.solve.{known}" for known in __all__]
        raise guessed_names.unknown(__name__, name, guessed_names.OF_SOLVERS, public)


def __dir__() -> list[str]:
    return list(__all__)
