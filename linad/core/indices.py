"""Indices in one form: what NumPy accepts between square brackets, made explicit.

NumPy puts the axes of advanced indices first when something separates them, counts masks by
their number of axes, and reads ``[]``, ``True`` and ``...`` in ways of their own. Here every
index becomes at most three plain steps,

    x reshaped (unit axes for True and False)
    axes permuted (separated advanced indices come first, as their result does)
    an `Index`, one entry per axis of x, whose advanced entries are adjacent

so that ``x[(..., *index)]`` means the same for arrays with leading seed axes.
"""

from operator import index as as_index
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape

WHOLE = slice(None)

_FEW = 256  # positions that Python compares sooner than NumPy


class Index(tuple[Any, ...]):
    """An index in canonical form: integers, slices, None and integer arrays.

    Every axis has its entry, and entries that are advanced lie side by side.
    """

    @property
    def seeded(self) -> tuple[Any, ...]:
        """The same index behind any number of leading axes."""
        return (..., *self)

    def behind(self, ndim: int) -> tuple[Any, ...]:
        """As an index of arrays with so many axes: with an ellipsis where some lead."""
        return self if sum([e is not None for e in self]) == ndim else self.seeded

    @property
    def advanced(self) -> bool:
        """Whether there are integer arrays in it."""
        return np.ndarray in map(type, self)

    def repeats(self, shape: Shape) -> bool:
        """Whether an entry of an array of this shape (or with leading axes) is read twice."""
        return self.advanced and self._repeats(shape)

    def _repeats(self, shape: Shape) -> bool:
        known = self.__dict__.get("_known")
        if known is None:
            known = self.__dict__["_known"] = _has_duplicates(self, shape)
        return known


class BasicIndex(Index):
    """An index of integers, slices and None: it names no entry twice."""

    advanced = False  # type: ignore[assignment]  # known without a look

    def repeats(self, shape: Shape) -> bool:
        return False


class DistinctIndex(Index):
    """An index with arrays in it that is known to name no entry twice."""

    advanced = True  # type: ignore[assignment]

    def repeats(self, shape: Shape) -> bool:
        return False


def _has_duplicates(index: Index, shape: Shape) -> bool:
    axes = [entry for entry in index if entry is not None]
    lengths = shape[len(shape) - len(axes) :]
    pairs = [  # in a dtype that has the lengths of axes
        (np.asarray(e, np.intp), n)
        for e, n in zip(axes, lengths, strict=True)
        if not isinstance(e, slice)
    ]
    # Positions in a grid of the axes that integers and arrays pick from.
    flat: Any = 0
    for entry, n in pairs:
        flat = flat * n + entry % n if len(pairs) > 1 else entry % n
    if flat.size <= _FEW:
        return len(set(flat.ravel().tolist())) < flat.size
    flat = flat.ravel()
    steps = np.diff(flat)
    if (steps > 0).all():
        return False
    return np.unique(flat).size < flat.size


def canonical(
    index: Any, shape: Shape, traced: bool = False
) -> tuple[Shape, tuple[int, ...] | None, Index]:
    """Take an index of an array apart.

    Parameters
    ----------
    index : object
        What stands between the square brackets.
    shape : tuple of int
        Shape of the array.
    traced : bool
        Whether traced integers stay in it as they are; else they are decisions.

    Returns
    -------
    shape : tuple of int
        What to reshape the array to; the shape given, or with unit axes inserted.
    axes : tuple of int or None
        How to transpose it then.
    index : Index
        The index that is left.

    Raises
    ------
    IndexError
        As NumPy's, for what is not an index and for too many indices.
    """
    items = index if isinstance(index, tuple) else (index,)
    given = [e if traced and isinstance(e, Traced) else _read(e) for e in items]
    if sum([entry is Ellipsis for entry in given]) == 0:
        given.append(Ellipsis)
    entries = _spelled_out(given, shape)
    kinds = [kind for kind, _ in entries]
    if "array" not in kinds and "unit" not in kinds:
        return shape, None, BasicIndex([e for _, e in entries if e is not Ellipsis])
    if "unit" in kinds:
        shape, entries = _with_unit_axes(entries, shape)
    if not _separated([kind in ("array", "integer") for kind, _ in entries]):
        return shape, None, Index([e for _, e in entries if e is not Ellipsis])
    return shape, *_gathered(entries)


def _read(item: Any) -> Any:
    """One item of an index: None, Ellipsis, a slice, an int, or an array of ints or bools."""
    if type(item) is int or item is None or item is Ellipsis or type(item) is slice:
        return item
    if isinstance(item, (bool, np.bool_)):
        return np.array(item)
    if isinstance(item, Traced) and item.dtype.kind not in "biu":  # type: ignore[attr-defined]
        raise IndexError(
            "a traced array of floats cannot be an index; indices are integers, booleans, "
            "slices, None and ..."
        )
    try:
        return as_index(item)
    except TypeError:
        pass
    if isinstance(item, str):
        raise IndexError(
            f"x[{item!r}]: a traced array has no labels, a Series or DataFrame counts by its "
            f"numbers; index by position, or pass a dict of arrays"
        )
    # A copy, because the caller may write into the index before it is used again.
    array = np.array(item)
    if array.size == 0 and not hasattr(item, "dtype"):
        array = array.astype(np.intp)
    if array.dtype.kind not in "biu":
        raise IndexError(
            f"only integers, slices, ..., None and arrays of integers or booleans are indices, "
            f"got {type(item).__name__} of dtype {array.dtype}"
        )
    return array


def _width(entry: Any) -> int:
    """Number of axes an entry takes."""
    if entry is None or entry is Ellipsis:
        return 0
    if isinstance(entry, np.ndarray) and entry.dtype.kind == "b":
        return entry.ndim
    return 1


def _spelled_out(entries: list[Any], shape: Shape) -> list[tuple[str, Any]]:
    """Replace the ellipsis by slices and masks by integer arrays; label each entry.

    Labels: "new" (None), "slice", "integer", "array", "unit" (an integer array for an axis of
    length 1 that is not there yet), and "gap" for an ellipsis, which separates advanced
    indices even where it stands for no axis.
    """
    rest = len(shape) - sum([_width(entry) for entry in entries])
    if rest < 0:
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but "
            f"{len(shape) - rest} were indexed"
        )
    spelled: list[tuple[str, Any]] = []
    axis = 0
    ellipses = 0
    for entry in entries:
        if entry is Ellipsis:
            ellipses += 1
            spelled += [("gap", Ellipsis)] + [("slice", WHOLE)] * rest
            axis += rest
        elif entry is None:
            spelled.append(("new", None))
        elif isinstance(entry, np.ndarray) and entry.dtype.kind == "b":
            spelled += _mask(entry, shape, axis)
            axis += entry.ndim
        else:
            kind = {slice: "slice", int: "integer"}.get(type(entry), "array")
            spelled.append((kind, entry))
            axis += 1
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    return spelled


def _mask(mask: Array, shape: Shape, axis: int) -> list[tuple[str, Any]]:
    """A mask as the integer arrays of where it is true."""
    if mask.ndim == 0:
        return [("unit", np.zeros(int(mask), np.intp))]
    found = shape[axis : axis + mask.ndim]
    # NumPy lets a mask without entries pass, whatever the axis: it is true nowhere.
    fits = [m in (0, n) for m, n in zip(mask.shape, found, strict=False)]
    if len(fits) < mask.ndim or not all(fits):
        raise IndexError(
            f"boolean index did not match indexed array: the mask has shape {mask.shape}, the "
            f"axes from {axis} on have {found}"
        )
    return [("array", part) for part in np.nonzero(mask)]


def _with_unit_axes(
    entries: list[tuple[str, Any]], shape: Shape
) -> tuple[Shape, list[tuple[str, Any]]]:
    """Give each 0-d mask an axis of length 1 to pick from."""
    lengths = iter(shape)
    full: list[int] = []
    kept: list[tuple[str, Any]] = []
    for kind, entry in entries:
        if kind == "unit":
            full.append(1)
            kept.append(("array", entry))
        elif kind in ("new", "gap"):
            kept.append((kind, entry))
        else:
            full.append(next(lengths))
            kept.append((kind, entry))
    return tuple(full), kept


def _separated(advanced: list[bool]) -> bool:
    """Whether something stands between advanced indices."""
    positions = [k for k, flag in enumerate(advanced) if flag]
    return positions[-1] - positions[0] >= len(positions)


def _gathered(entries: list[tuple[str, Any]]) -> tuple[tuple[int, ...], Index]:
    """Bring separated advanced indices to the front, axes and entries alike."""
    first: list[tuple[int | None, Any]] = []
    later: list[tuple[int | None, Any]] = []
    axis = 0
    for kind, entry in entries:
        if kind == "gap":
            continue
        group = first if kind in ("array", "integer") else later
        group.append((None if kind == "new" else axis, entry))
        axis += kind != "new"
    axes = tuple([k for k, _ in first + later if k is not None])
    return axes, Index([entry for _, entry in first + later])
