"""Roots that know what they are the roots of, for their powers to be computed without them."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from linad.arrays.buffers import is_private
from linad.core.array_type import Array
from linad.core.primitive import Traced


class _Root(NamedTuple):
    """What the result of a root is the root of: ``square(*args)``; its third power by ``cube``.

    Plain arrays among the arguments are the user's; ``seen`` is what they held.
    """

    square: Callable[..., Any]
    args: tuple[Any, ...]
    cube: Callable[[Any], Any] | None
    seen: tuple[ndarray | None, ...]

    def holds(self) -> bool:
        """Whether nothing was written into the arguments since."""
        pairs = zip(self.args, self.seen, strict=True)
        if not all([was is None or np.array_equal(x, was, equal_nan=True) for x, was in pairs]):
            return False
        return all([x.holds() for x in self.args if isinstance(x, _Root)])

    def is_of_the_same(self, other: "_Root") -> bool:
        return self.square is other.square and all(map(_are_one, self.args, other.args))


def _are_one(a: Any, b: Any) -> bool:
    """Whether two arguments are one traced value, one array, or equal options."""
    if isinstance(a, Traced) and isinstance(b, Traced):
        return a._trace is b._trace and a._node is b._node and a._value is b._value
    if isinstance(a, (Traced, ndarray)) or isinstance(b, (Traced, ndarray)):
        return a is b
    if isinstance(a, _Root) and isinstance(b, _Root):
        return a.is_of_the_same(b)
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(_are_one, a, b))
    return type(a) is type(b) and bool(a == b)


def rooted(
    y: Array, square: Callable[..., Any], *args: Any, cube: Callable[[Any], Any] | None = None
) -> Any:
    """Mark ``y`` as the root of ``square(*args)``, which is smooth where y has a tip.

    |x|² has derivatives of all orders at 0, |x|³ two and |x|^p, p >= 4, three, which no rule finds
    on the way through |x|: so ``y**p`` and ``y * y`` are computed without y; y³ by ``cube``, a
    function of the square, and without one by its power 3/2. What was written into is not kept
    for this, nor what is less precise than y, or has a smaller range, as integers.
    """
    traced = [x for x in args if isinstance(x, Traced)]
    if not traced or not isinstance(y, Traced) or y.dtype.kind != "f":  # type: ignore[attr-defined]
        return y
    kinds = {x.dtype.char.lower() for x in args if hasattr(x, "dtype")}
    if kinds == {y.dtype.char} and not any(map(is_private, traced)):  # type: ignore[attr-defined]
        kept = tuple([x.alias() if isinstance(x, Traced) else x for x in args])
        seen = tuple([x.copy() if isinstance(x, ndarray) else None for x in args])
        y._square = _Root(square, kept, cube, seen)  # type: ignore[attr-defined]  # a Tracer
    return y


def root_read(y: Any, root: Any, index: Any) -> Any:
    """Mark entries of a root as the roots of the entries of its square."""
    parts = index if type(index) is tuple else (index,)
    if isinstance(y, Traced) and not is_private(root) and all(map(_is_kind_of_index, parts)):
        kept = tuple([p.copy() if isinstance(p, (ndarray, list)) else p for p in parts])
        mark = _Root(_read_square, (root._square, kept), root._square.cube, (None, None))
        y._square = mark  # type: ignore[attr-defined]
    return y


def _is_kind_of_index(part: Any) -> bool:
    if type(part) is list:
        return all([type(k) in (int, bool) for k in part])
    return part is None or part is ... or type(part) in (int, np.int64, slice, ndarray)


def _read_square(root: _Root, index: Any) -> Any:
    return root.square(*root.args)[index]


def root_scaled(y: Any, root: Any, factor: Any, power: int) -> Any:
    """Mark a multiple of a root: its square is that of the factor, times the square.

    Parameters
    ----------
    y : Traced
        ``root * factor**power``; it may be negative, so odd powers of it are not told.
    root : Traced
        With a mark of `rooted`.
    factor : number or Traced
        What has axes is left; so are numbers far from 1, whose squares would overflow or vanish
        where those of ``y`` do not.
    power : int
        1 or -1.
    """
    traced = isinstance(factor, Traced)
    if not traced and not (isinstance(factor, (int, float)) and 1e-3 <= abs(factor) <= 1e3):
        return y
    if np.shape(factor) or y.dtype != root.dtype or is_private(root):
        return y
    kept = factor.alias() if traced else factor  # type: ignore[attr-defined]  # a Tracer
    y._square = _Root(_scaled_square, (root._square, kept, power), _no_cube, (None,) * 3)
    return y


def _scaled_square(root: _Root, factor: Any, power: int) -> Any:
    square = root.square(*root.args)
    return square * (factor * factor) if power > 0 else square / (factor * factor)


def _no_cube(square: Any) -> None:
    """A multiple of a root may be negative."""


def power_of_root(root: Any, exponent: Any) -> Any:
    """A power of what has a mark of `rooted`, by its square: 2, 3, or from 4 on; None else."""
    if type(exponent) not in (int, float) or is_private(root):
        return None
    mark = root._square
    if not (exponent in (2, 3) or 4 <= exponent < math.inf) or not mark.holds():
        return None
    if mark.cube is _no_cube and exponent % 2:
        return None
    square = mark.square(*mark.args)
    if exponent == 3 and mark.cube is not None:
        return mark.cube(square)
    half = exponent / 2
    return square if half == 1 else square ** (int(half) if half.is_integer() else half)


def square_of_root(a: Any, b: Any) -> Any:
    """The product of two roots of one value, without the roots; None if they are no such."""
    if type(b) is not type(a) or b._square is None or is_private(a) or is_private(b):
        return None
    if b is not a and not (b._square.holds() and a._square.is_of_the_same(b._square)):
        return None
    return power_of_root(a, 2)
