"""Initial value problems whose right side is not a number where they begin.

SciPy's explicit methods choose their first step by it, NaN, and never end; the implicit ones raise.
Here the solution is NaN at the times asked for, with ``success=False``, so that a fit steps back.
"""

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from linad.core.array_type import Array
from linad.errors import OutputError
from linad.rules.shaping import form
from linad.scipy.trajectories import events_of


def check_slope(slope: Array) -> None:
    """Raise where the right side returns nothing, of which SciPy makes NaN."""
    if slope is None:
        raise OutputError("solve_ivp: fun returned None; return the derivatives of y")


def is_number(slope: Any) -> bool:
    """Whether all of a right side are finite numbers."""
    values = slope if isinstance(slope, (list, tuple)) else [slope]
    return all([np.isfinite(form(value)).all() for value in values])


def begins(fun: Any, t_span: Any, y0: Any, args: Any, vectorized: bool) -> bool:
    """Whether the right side of a plain problem is finite where it begins; what SciPy has words
    for begins as well."""
    y = np.array(y0, dtype=complex if np.iscomplexobj(y0) else float)
    if y.ndim != 1 or not np.isfinite(y).all() or not isinstance(args, (tuple, list)):
        return True
    slope = fun(t_span[0], y[:, None] if vectorized else y, *args)
    check_slope(slope)
    return is_number(slope)


def never_begun(begin: Any, y0: Any, t_eval: Any, events: Any) -> Any:
    """What `solve_ivp` returns where it cannot take a step."""
    start = np.atleast_1d(np.asarray(form(begin), float))
    times = start if t_eval is None else np.asarray(form(t_eval), float)
    first = np.reshape(np.asarray(form(y0)), (-1, 1)) * 1.0
    y = first if t_eval is None else np.full((len(first), times.size), np.nan, first.dtype)
    count = len(events_of(events))
    return OptimizeResult(
        t=times,
        y=y,
        sol=None,
        t_events=[np.zeros(0)] * count if count else None,
        y_events=[np.zeros((0, len(first)))] * count if count else None,
        nfev=1,
        njev=0,
        nlu=0,
        status=-1,
        message=f"The right side is infinite or NaN at the start, t = {start[0]:g}.",
        success=False,
    )
