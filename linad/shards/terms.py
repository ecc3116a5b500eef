"""What one shard adds to a sum, and to each of its derivatives.

A derivative is known by the steps that lead to it. With g the function before the step, which
takes n arrays and numbers besides the shard, step (how, i) is

    push    (x_1 .. x_n, v) -> J v          J the derivative of g in x_i
    pull    (x_1 .. x_n, v) -> J^H v
    normal  (x_1 .. x_n, v) -> J^H J v
    complex (x_1 .. x_n)    -> how often J is linear over the real numbers only
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.api.derivatives import linearize
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.settings import settings
from linad.core.shapes import size_of
from linad.core.showing import shown
from linad.errors import OutputError
from linad.jit.jitted import jit
from linad.shards.packing import Layout

Step = tuple[str, int]
Path = tuple[Step, ...]

SEEDED = ("push", "pull", "normal")
"""Steps that take a seed."""


def arity(layout: Layout, path: Path) -> int:
    """How many arrays and numbers a term takes besides its shard."""
    return layout.count + sum(how in SEEDED for how, _ in path)


def term(f: Callable[..., Any], layout: Layout, path: Path, jitted: bool) -> Callable[..., Any]:
    """The function of one shard that a sum, or a derivative, adds up.

    Parameters
    ----------
    f : callable
        ``f(*args, *shard)``.
    layout : Layout
        Of its arguments.
    path : tuple
        The steps to the derivative; empty for the function itself.
    jitted : bool
        Whether it is compiled.
    """
    if not path:

        def whole(*given: Any) -> Any:
            packed, shard = given[: layout.count], given[layout.count :]
            return number_or_array(f(*layout.unpack(packed), *shard))
    else:
        inner, step, n = term(f, layout, path[:-1], jitted), path[-1], arity(layout, path[:-1])

        def whole(*given: Any) -> Any:
            seeds = 1 if step[0] in SEEDED else 0
            J = linearized(inner, step[1], given[:n], given[n + seeds :])
            return applied(J, step[0], *given[n : n + seeds])

    whole.__name__ = whole.__qualname__ = getattr(f, "__name__", "term")
    return jit(whole) if jitted else whole


def linearized(g: Callable[..., Any], i: int, args: Any, shard: tuple[Any, ...]) -> Any:
    """The derivative of a term in argument ``i``."""

    def along(x: Array) -> Any:
        return g(*args[:i], x, *args[i + 1 :], *shard)

    return linearize(along, args[i])[1]


def applied(J: Any, how: str, *seeds: Any) -> Any:
    """Apply an operator as a step says."""
    if how == "complex":
        return np.float64(not J.clinear)
    [seed] = seeds
    if how == "push":
        return J.pushforward(seed.astype(J.in_dtype))
    if how == "pull":
        return J.pullback(seed.astype(J.out_dtype))
    seed = seed.astype(J.in_dtype)
    lead = seed.shape[: seed.ndim - len(J.in_shape)]
    at_once = max(settings().block_bytes // (J.out_dtype.itemsize * max(J.shape[0], 1)), 1)
    if size_of(lead) <= at_once:
        return J.pullback(J.pushforward(seed))
    rows = seed.reshape((-1, *J.in_shape))
    blocks = [rows[k : k + at_once] for k in range(0, len(rows), at_once)]
    products = [J.pullback(J.pushforward(block)) for block in blocks]
    return np.concatenate(products).reshape(seed.shape)


def number_or_array(y: Array) -> Any:
    """What a user's function returned, refused if it cannot be added."""
    if isinstance(y, Traced):
        return y
    if isinstance(y, (tuple, list, dict)) or y is None:
        raise OutputError(f"the function must return a number or an array, it returned {shown(y)}")
    array = np.asarray(y)
    if array.dtype.kind not in "fciub":
        raise OutputError(
            f"the function must return a number or an array of numbers, it returned {shown(y)}"
        )
    return array[()]
