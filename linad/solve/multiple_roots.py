"""Derivatives of solutions near roots that are not simple, where rounding may be all of them.

At a distance δ of such a root the slope changes by all of itself over δ, and the derivative of an
order is known to rounding over δ to the power of the order less one.
"""

from typing import Any

import numpy as np

from linad.api.derivatives import stop_gradient
from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.core.marks import running_traces
from linad.errors import ConvergenceError

NEAR = {2: 1e-12, 3: 1e-6}
"""In parts of a root, how close to it nothing is known of the derivative of that order, or of
later ones."""


def aside_of(x: Array, order: int) -> Any:
    """How close to x a root must not be, if the derivative of an order is to be known."""
    return NEAR[min(order, 3)] * stop_gradient(x)


def too_near(name: str, x: Any, order: int) -> ConvergenceError:
    """The error where a root is closer than that."""
    return ConvergenceError(
        f"{name}: {x} is at a root that is not simple, and so close to it that rounding is all of "
        f"the derivative of order {order}",
        x,
    )


def unless_rounding(changed: Any, t: Array, x: Array, name: str) -> Any:
    """The change of A z = t with x, where it is more than rounding; in a program it is NaN there.

    Parameters
    ----------
    changed : operator
        The derivative of A z in x.
    t, x : array
    name : str
        For messages.

    Raises
    ------
    ConvergenceError
        Where it is not, and no program is being recorded.
    """
    orders = [trace.records for trace in running_traces()]
    recorded = True in orders  # which derivative a program is for nobody knows
    order = 2 if recorded else max(2, 1 + len(orders))
    part = np.max(np.abs(changed.pushforward(aside_of(x, order))), initial=0.0)
    lost = part > np.max(np.abs(stop_gradient(t)), initial=0.0)
    if False in orders and concrete(lost):
        raise too_near(name, concrete(stop_gradient(x)), order)
    return changed * np.where(lost, np.nan, 1.0) if recorded else changed
