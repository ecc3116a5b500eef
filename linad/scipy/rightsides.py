"""Right sides of differential equations, as functions of a time and a vector that give a vector."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.control.both_ways import UNABLE, BothWays
from linad.control.captured import with_captured
from linad.core.array_type import Array
from linad.core.marks import Attempt
from linad.errors import ArgumentError, DTypeError, GuardError, ShapeError, TracerError
from linad.rules.shaping import as_array, astype, form, ravel
from linad.scipy.neverbegun import check_slope
from linad.scipy.replays import Field

LOOKS = 8
"""Points at which a field is asked once more."""

PATHS = 8
"""Ways through a field that are recorded, at most."""


def field_of(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    vectorized: bool,
    n: int,
    dtype: np.dtype[Any],
    name: str = "solve_ivp",
) -> Field:
    """f as a function of t and a vector that gives a vector."""

    def field(t: float, y: Array) -> Any:
        dy = fun(t, y[:, None], *args) if vectorized else fun(t, y, *args)
        check_slope(dy)
        dy = ravel(as_array(dy))
        if dy.shape != (n,):
            raise ShapeError(f"{name}: fun returns {dy.shape[0]} values for a state of {n}")
        if name == "odeint":  # the other one discards imaginary parts, with a warning
            refuse_complex("what func returns", dy)
        return dy if dy.dtype == dtype else astype(dy, dtype)

    return field


def refuse_complex(what: str, a: Array) -> None:
    """Raise for what `odeint` would discard the imaginary part of."""
    if np.iscomplexobj(form(a)):
        raise DTypeError(f"odeint: {what} must be real, got {a.dtype}; solve_ivp takes complex y0")


def plain_field(field: Field, t: float, y: Array) -> Field:
    """f on plain values; where it refers to traced ones, by a program that was recorded once.

    Unless Python takes ever other ways in it, or ways that refer to different ones.
    """
    made: Any
    captured: Any = None
    with Attempt(*UNABLE):
        made, captured = with_captured(BothWays(lambda x: field(*x)), (np.float64(t), y), ())
    if captured is None:
        made, captured = with_captured(lambda x: field(*x), (np.float64(t), y), ())
    if not captured:
        return field
    held = [form(v) for v in captured]
    recorded = True

    def plain(t: float, y: Array) -> Any:
        nonlocal recorded
        if recorded and len(made.paths) <= PATHS:
            with Attempt(TracerError, GuardError):
                return made((np.float64(t), y), *held)
            recorded = False
        return form(field(t, y))

    return plain


def refuse_memory(field: Field, first: Array, plain: Field, times: Array, states: Array) -> None:
    """Raise where a field gives something else than at first, or than it was recorded to."""
    for k in np.unique(np.linspace(0, len(times) - 1, LOOKS).astype(int)) if len(times) else ():
        t, y = float(times[k]), states[:, k]
        told = first if k == 0 else plain(t, y)
        if not np.allclose(form(field(t, y)), told, rtol=1e-6, equal_nan=True):
            raise ArgumentError(
                f"solve_ivp: its function gives something else at t = {t:.6g} than when it was "
                f"recorded: it keeps something from one call for the next, or draws random "
                f"numbers; a switch that remembers is a terminal event, and solve_ivp anew behind"
            )
