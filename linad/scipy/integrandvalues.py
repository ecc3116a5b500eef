"""An integrand at many nodes: in one call where it takes arrays.

Most integrands are written with NumPy's functions, and are as good for an array as for a number;
those of adopted code that call `math` are, too, as long as what comes is finite.
Whether one is nobody says; so it is tried, and what it gives is compared with what numbers give at
some of the nodes. Where it decides in Python, or does anything else, each node has a call.

Values may agree where derivatives do not: ``k * np.linalg.norm(x)`` is 0 at k = 0 for an array as
for numbers, and the norm of an array is not an array of norms. So the comparison is made once more
with the traced values that the integrand refers to a little aside.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.arrays.conversions import of_entries
from linad.control.captured import with_captured
from linad.core.array_type import Array
from linad.core.during import during
from linad.core.marks import Attempt
from linad.rules.creation import asarray
from linad.scipy.mirror import holds_traced
from linad.transforms.likeness import alike

COMPARED = 5
"""Nodes at which the integrand is asked for a number as well."""

ROUNDING = 1e-10
"""How far numbers may be from the entries of an array, which is rounded otherwise: in parts of the
largest entry."""

ASIDE = 2.0**-6
"""How far traced values are moved, in parts of them; of zeros, as they are. Large enough for what a
third derivative changes to exceed rounding."""


class Shares:
    """``share(u, w)`` of a node and its weight, for arrays of both.

    Parameters
    ----------
    share : callable
        Gives what has as many entries as u, if it can; of numbers one.
    """

    def __init__(self, share: Callable[[Any, Any], Any]) -> None:
        self.share, self.takes_arrays = share, True

    def sum(self, u: Array, w: Array) -> Any:
        """The sum over all nodes."""
        found = self._together(u, w)
        if found is not None and holds_traced(found) and not self._moves_alike(u, w):
            self.takes_arrays, found = False, None
        return np.sum(found) if found is not None else sum(self._one_by_one(u, w))

    def plain(self, u: Array) -> Array:
        """The shares of all nodes with weights of 1, as plain numbers."""
        ones = np.ones_like(u)
        found = self._together(u, ones)
        if found is not None:
            return concrete(found)
        return np.array([concrete(y) for y in self._one_by_one(u, ones)], float)

    def _one_by_one(self, u: Array, w: Array) -> list[Any]:
        return [self.share(*node) for node in zip(u, w, strict=True)]

    def _together(self, u: Array, w: Array) -> Any:
        """The shares of all nodes of one call; None if the integrand is none for arrays."""
        if not self.takes_arrays:
            return None
        found = None
        # Numbers it has taken already, of the same nodes or others: what it raises of an array,
        # whatever that is, says that it takes none.
        with Attempt(Exception), np.errstate(all="ignore"), during(of_entries, True):
            found = asarray(self.share(u.copy(), w.copy()))
        if found is None or not self._agrees(found, u, w):
            self.takes_arrays = False
            return None
        return found

    def _agrees(self, found: Any, u: Array, w: Array) -> bool:
        values = concrete(found)
        if values.shape != u.shape or values.dtype.kind != "f":
            return False
        some = _compared(len(u))
        return _equal(self._one_by_one(u[some], w[some]), values, some)

    def _moves_alike(self, u: Array, w: Array) -> bool:
        """Whether an array gives what numbers do for other values of what is traced as well."""
        some = _compared(len(u))
        # What cannot be recorded, or decides by what is traced, is not known to be alike.
        with Attempt(Exception), np.errstate(all="ignore"):
            with during(of_entries, True):
                of_array, held = with_captured(self._of_pair, (u.copy(), w.copy()), ())
            of_number, read = with_captured(self._of_pair, (u[0], w[0]), ())
            if not held or not alike(held, read):
                return False
            aside = list(map(_aside, held, range(len(held))))
            with during(of_entries, True):
                values = concrete(of_array((u, w), *aside))
            numbers = [of_number(node, *aside) for node in zip(u[some], w[some], strict=True)]
            return bool(np.all(np.isfinite(values))) and _equal(numbers, values, some)
        return False

    def _of_pair(self, node: Any) -> Any:
        return self.share(*node)


@functools.cache
def _compared(count: int) -> Array:
    """Indices of the nodes, of so many, at which the integrand is asked for a number as well."""
    return np.unique(np.linspace(0, count - 1, COMPARED).astype(int))


def _equal(numbers: list[Any], values: Array, some: Array) -> bool:
    plain, others = np.array([concrete(asarray(y))[()] for y in numbers]), values[some]
    finite = np.abs(values[np.isfinite(values)])
    allowed = ROUNDING * np.max(finite, initial=0.0)
    with np.errstate(invalid="ignore"):  # of infinities, which are equal or are not
        near = np.abs(plain - others) <= allowed
    return bool(np.all(near | (plain == others) | (np.isnan(plain) & np.isnan(others))))


def _aside(x: Any, k: int) -> Array:
    """The plain value of the k-th of what is traced, with each entry moved by another part."""
    value = concrete(x)
    if value.dtype.kind not in "fc":
        return value
    parts = ASIDE * (1 + np.sin(1 + k + np.arange(value.size)).reshape(value.shape) / 2)
    return (value + parts * np.where(value == 0, 1, value)).astype(value.dtype)[()]
