"""Whether the result of a function depends on what it is differentiated in.

The derivative of a comparison, of argmax or of rounding is zero wherever it exists. A function
whose whole result comes out of these has the derivative zero, which is seldom what was asked
for: integers and booleans are refused, and floating results are warned about.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.traces import Trace
from linad.core import tree
from linad.core.callers import defining_package, warn_user
from linad.core.primitive import Traced
from linad.core.settings import current
from linad.core.shapes import is_inexact, name_of
from linad.errors import DisconnectedWarning, OutputError


def check_connected(f: Any, result: Any, trace: Trace, inputs: list[Any]) -> None:
    """Refuse a result of integers and booleans; warn of one that depends on no argument.

    Parameters
    ----------
    f : callable
        What was differentiated.
    result : container
        What it returned.
    trace : Trace
        Of the derivative.
    inputs : list
        The nodes that its arguments had at first.

    Raises
    ------
    OutputError
        If every leaf is of integers or booleans; or if a floating one is cut off from the
        arguments, under ``linad.config(disconnected="raise")``.

    Warns
    -----
    DisconnectedWarning
        If no path leads from an argument to a floating result. Not where the function takes
        derivatives itself, or names what has none by `stop_gradient`: the second derivative of
        a linear function is zero. Nor where all of it is infinite or NaN, which is how a
        likelihood says that its arguments have no meaning.
    """
    leaves = tree.flatten(result)[0]
    mine: list[Any] = []
    kinds = set()
    for leaf in leaves:
        if isinstance(leaf, Traced) and leaf._trace is trace:
            mine.append(leaf)
        elif not isinstance(leaf, (np.ndarray, np.generic, Traced)):
            return  # who takes the results apart says what it is
        kinds.add(leaf.dtype)
    if not leaves:
        return
    if not mine and not any([is_inexact(dtype) for dtype in kinds]):
        if all([dtype.kind in "biu" for dtype in kinds]):
            words = " and ".join(sorted(map(str, kinds)))
            raise OutputError(
                f"{name_of(f)}: the result is {words}, which has no derivative: a comparison, "
                f"argmax, argsort or a count does not move with its arguments; return a floating "
                f"result, with this beside it (has_aux=True, or in a tuple)"
            )
        return
    if trace.derives or _is_own(f) or current().disconnected == "ignore":
        return
    if not any([leaf.size for leaf in leaves]) or (mine and trace.connects(mine, inputs)):
        return
    if any([isinstance(leaf, Traced) or np.isfinite(leaf).any() for leaf in leaves]):
        _tell(f, kinds)


def _is_own(f: Callable[..., Any]) -> bool:
    """Whether the derivative of a function of linad's is taken, as solvers do."""
    return defining_package(f) == "linad"


def _tell(f: Callable[..., Any], kinds: set[Any]) -> None:
    words = " and ".join(sorted(str(dtype) for dtype in kinds if is_inexact(dtype)))
    message = (
        f"{name_of(f)}: no operation with a derivative connects the result ({words}) with the "
        f"arguments it is differentiated in, so the derivative is zero: a comparison, rounding, "
        f"np.sign or an index cuts it off, or the result does not use them. Where zero is meant, "
        f"return linad.stop_gradient(result)"
    )
    if current().disconnected == "raise":
        raise OutputError(message)
    message += ', or set linad.config(disconnected="ignore")'
    warn_user(message, DisconnectedWarning)
