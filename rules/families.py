"""A distribution function, its complement and their inverses, from the slopes of the first.

y = F(a, x)             dy = F_a da + f dx                  f = ∂F/∂x, the density
y = 1 - F(a, x)         dy = -F_a da - f dx
x = F^-1(a, p)          dx = (dp - F_a da) / f(a, x)
x = F^-1(a, 1 - q)      dx = (-dq - F_a da) / f(a, x)
"""

from typing import Any

from linad.core.array_type import Array
from linad.rules.elementwise import NO_SLOPE, Slope
from linad.rules.special import special


def family(
    function: str,
    complement: str = "",
    *,
    inverse: str = "",
    complement_inverse: str = "",
    **slopes: Slope,
) -> None:
    """Primitives for ufuncs of scipy.special that belong together.

    Parameters
    ----------
    function, complement, inverse, complement_inverse : str
        Their names; an inverse comes with that of its last argument, as in ``"fdtri p"``.
    **slopes : callable or NO_SLOPE
        Of ``function`` in each of its arguments, given these arguments. The last one is x.
    """
    special(function, **{key: _signed(slope, 1) for key, slope in slopes.items()})
    if complement:
        special(complement, **{key: _signed(slope, -1) for key, slope in slopes.items()})
    *shapes, density = slopes.values()
    for named, sign in ((inverse, 1), (complement_inverse, -1)):
        if named:
            name, p = named.split()
            moved = {
                key: _moved(slope, density) for key, slope in zip(slopes, shapes, strict=False)
            }
            special(name, **moved, **{p: _level(density, sign)})


def _signed(slope: Slope, sign: int) -> Slope:
    if slope is NO_SLOPE:
        return slope
    if sign > 0:
        return lambda y, *args: slope(*args)
    return lambda y, *args: -slope(*args)


def _moved(slope: Slope, density: Slope) -> Slope:
    """The slope of a quantile x in a shape."""
    if slope is NO_SLOPE:
        return slope

    def moved(x: Array, *args: Any) -> Any:
        return -slope(*args[:-1], x) / density(*args[:-1], x)

    return moved


def _level(density: Slope, sign: int) -> Slope:
    """The slope of a quantile x in its level."""
    return lambda x, *args: sign / density(*args[:-1], x)
