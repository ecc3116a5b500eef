"""The solution of `scipy.integrate.odeint`, with the derivative of another method's steps."""

import functools
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.errors import ShapeError
from linad.rules.shaping import as_array, astype, form, ravel
from linad.scipy.implicit_solutions import in_program
from linad.scipy.initialvalue import in_place_of_lsoda, plain_values, replayed
from linad.scipy.mirror import holds_traced
from linad.scipy.rightsides import field_of, plain_field, refuse_complex
from linad.scipy.trajectories import ahead


def solution_at(fun: Any, y0: Array, t: Any, args: Any, rtol: Any, atol: Any) -> Any:
    """The solution (len(t), n) at increasing or decreasing times, as `scipy.integrate.odeint`.

    The value is SciPy's, whose steps of many orders cannot be taken once more; the derivative is
    that of the solution by `in_place_of_lsoda`, with the same tolerances. So is the value in a
    program.
    """
    t = as_array(t)
    refuse_complex("t", t)
    moments = np.asarray(form(t), float)
    direction = np.sign(moments[-1] - moments[0]) if moments.ndim == 1 and moments.size else 0.0
    if moments.ndim != 1 or not moments.size or (direction * np.diff(moments) < 0).any():
        raise ValueError("odeint: t must be a vector of increasing or of decreasing times")
    span = (float(moments[0]), float(moments[-1]))
    y0 = as_array(y0)
    if y0.ndim > 1:
        raise ShapeError(f"odeint: y0 must be a vector, got shape {y0.shape}")
    y0 = ravel(y0)
    refuse_complex("y0", y0)
    y0 = astype(y0, float, copy=False)
    _, first, places = np.unique(direction * moments, return_index=True, return_inverse=True)
    as_field = functools.partial(
        field_of, fun, vectorized=False, n=y0.shape[0], dtype=np.dtype(float), name="odeint"
    )
    times, field = moments[first], as_field(args)
    if holds_traced(t):
        _hold_order(t, moments, places)
        y0, times = ahead(field, t[0], y0, span[0] - t[0]), t[first]
    options = {"rtol": rtol, "atol": atol}
    plain = plain_field(as_field(plain_values(tuple(args))), span[0], form(y0))
    value, method = in_place_of_lsoda(plain, form(y0), moments, options)
    result = replayed(fun, span, y0, method, times, False, args, options)
    if not result.success:
        raise np.linalg.LinAlgError(f"odeint: {result.message}")
    y = result.y.T[places]
    if holds_traced(t) and len(first) < len(places):  # equal times, each with its own derivative
        apart = t - t[first][places]
        y = np.stack([ahead(field, *row) for row in zip(moments, y, apart, strict=True)])
    return y if in_program() else y + (value - form(y))


def _hold_order(t: Array, moments: Array, places: Array) -> None:
    """Record that the steps are good for times that begin and end here, and are as many."""
    bool(np.all(t[np.array([0, -1])] == moments[[0, -1]]))
    bool(np.all((np.diff(t) != 0) == (np.diff(places) != 0)))
