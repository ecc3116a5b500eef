"""What a fit leaves in doubt though it has converged: said in its message, and by a warning where
SciPy's curve_fit gives one.
"""

from typing import Any

import numpy as np

from linad.core.callers import warn_user
from linad.solve.fitting.reports import act_by_squares, openings
from linad.solve.status import Status

MOST = 6
"""Names in a message, and directions in a warning."""

CUT_OFF = (
    "start elsewhere, where the model responds, or, if what it returns is cut off from them by "
    "comparisons, rounding, or decisions on plain numbers as of a bisection by hand, mend that "
    "(linad.scipy.optimize.brentq has a derivative)"
)
"""What to do where nothing depends on any parameter."""


def handed_over(name: str, fit: Any, verbose: Any) -> Any:
    """A fit whose doubts have been told, and which has been printed if that is wanted."""
    tell_doubts(name, fit)
    if verbose:
        print(fit.report())
    return fit


def tell_doubts(name: str, fit: Any) -> None:
    """Add to the message of a fit what is not determined, or at a bound; warn of what is not
    determined, and of a fit that has not converged."""
    if not fit.success:
        if fit.status != Status.STOPPED:  # its caller knows
            _warn(f"{fit.message}; values and errors are those of where it ended")
        return
    directions = fit.undetermined
    open_ = list(dict.fromkeys(key for direction in directions for key in direction))
    if open_:
        squares = act_by_squares(fit)
        which = "without standard errors" if squares else "undetermined"
        fit.message += f"; {which}: {_listed(open_)}"
    ends = at_bounds(fit)
    if ends:
        fit.message += f"; at a bound: {_listed(ends)}"
    if open_:
        words = ". ".join(line.rstrip(".") for line in openings(fit, MOST))
        lost = "the data do not determine all parameters, and errors are infinite. " * (not squares)
        _warn(f"{name}: {lost}{words}")
    elif not fit._are_known:
        why = fit._why_unknown()
        fit.message += f"; {why}"
        _warn(f"{name}: {why}: errors and covariance are infinite")
    elif doubt := fit._doubt():
        fit.message += f"; {doubt}"
        _warn(f"{name}: {doubt}")


def at_bounds(fit: Any) -> list[str]:
    """The names of free parameters that are at a bound."""
    lower, upper = fit.bounds
    there = fit.parameters.free & ((fit.vector == lower) | (fit.vector == upper))
    return [fit.names[i] for i in np.flatnonzero(there)]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" * (len(names) > MOST))


def _warn(message: str) -> None:
    from scipy.optimize import OptimizeWarning

    warn_user(message, OptimizeWarning)
