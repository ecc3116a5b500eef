"""Indices that are values of a program: the counter of a loop, and integers computed from it.

While the body of a loop is recorded, ``x[i]`` names another entry in each repetition. An index
with traced integers in it becomes a region and the number of entries that it is moved by, which
is an operand. Slices move as ``x[i - 1 : i + 2]`` does, both ends alike; what is true of the
length when it is recorded is checked where it cannot be seen from how the ends were computed.
"""

from operator import index as as_index
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.marks import running_traces
from linad.core.moving_regions import Moving, first_entry, in_a_body, shifted
from linad.core.primitive import Traced
from linad.core.regions import Part, Window
from linad.core.tape import Var
from linad.core.traced_positions import counted, has_positions
from linad.core.view_regions import region_of
from linad.errors import UnsupportedError


def moves(index: Array) -> bool:
    """Whether an index names other entries in other repetitions of a loop's body."""
    if not in_a_body.get():
        return False
    entries = index if type(index) is tuple else (index,)
    return any([_is_moving(e) or _is_moving_slice(e) for e in entries])


def names_a_part(index: Array) -> bool:
    """Whether an index is of numbers that are traced, and of slices and numbers that are not: what
    it names is a view, or an entry, somewhere else in other runs of a program."""
    entries = index if type(index) is tuple else (index,)
    return has_positions(index) and all([_is_moving(e) or _is_plain_part(e) for e in entries])


def _is_plain_part(e: Any) -> bool:
    return e is None or e is Ellipsis or type(e) in (int, slice) or isinstance(e, np.integer)


def _is_moving(e: Any) -> bool:
    return isinstance(e, Traced) and e.ndim == 0 and e.dtype.kind in "iu"


def _is_moving_slice(e: Any) -> bool:
    if type(e) is not slice or not _is_moving(e.start) or not _is_moving(e.stop):
        return False
    return e.step is None or (type(e.step) is int and e.step > 0)


def taken_up(index: Any) -> Any:
    """The index with integers of traces around as the running one knows them: what a branch
    reads, it reads when its turn comes."""
    if type(index) is tuple:
        return tuple([taken_up(e) for e in index])
    if _is_moving_slice(index):
        return slice(taken_up(index.start), taken_up(index.stop), index.step)
    if _is_moving(index):
        for trace in running_traces():
            if trace.level <= index._trace.level:
                break
            mine = trace.own(index)
            if mine is not index:
                return mine
    return index


def moving_region(index: Any, array: np.ndarray, base: np.ndarray) -> tuple[Moving, np.ndarray]:
    """The entries that an index names.

    Parameters
    ----------
    index : object
        With traced integers.
    array, base : ndarray
        Concrete values of the indexed array and of the one it is a view of, in C order.

    Returns
    -------
    region : Moving
        In ``base``.
    target : ndarray
        The view at this repetition.

    Raises
    ------
    IndexError
        For too many indices.
    UnsupportedError
        For arrays of integers or masks in the same index.
    """
    entries = _spelled_out(taken_up(index), array.ndim)
    whole = region_of(array, base)
    strides = (whole.inner if type(whole) is Part else whole).strides  # type: ignore[attr-defined]
    axis, at, now = 0, 0, 0
    plain: list[Any] = []
    for e in entries:
        if e is None:
            plain.append(None)
            continue
        size, stride = array.shape[axis], strides[axis]
        if _is_moving(e):
            first = _counted(e, size, axis)
            plain.append(int(_concrete(first)))
        elif _is_moving_slice(e):
            width, step = _width(e.start, e.stop), e.step or 1
            count = -(-width // step)
            if count <= 0:
                raise IndexError(
                    f"a slice of length {width} moves with a loop; give x[i : i + n] a length "
                    f"of 1 or more"
                )
            reach = (count - 1) * step
            first = first_entry(e.start, size=size, axis=axis, reach=reach, width=width)
            begin = int(_concrete(first))
            plain.append(slice(begin, begin + reach + 1, step))
        else:
            plain.append(e)
            axis += 1
            continue
        now += int(_concrete(first)) * stride
        at = at + (first if stride == 1 else first * stride)
        axis += 1
    target = array[(*plain, ...)]
    region = region_of(target, base)
    if type(region.inner if type(region) is Part else region) is not Window:
        raise UnsupportedError(
            "an index that moves with a loop, of an array that does not lie in memory in C order, "
            "is not supported; make a copy of the array first"
        )
    return Moving(shifted(region, -now), at), target


def _counted(i: Any, size: int, axis: int) -> Any:
    """An index from the start of an axis: in a loop's body it is checked in the repetitions that
    run, elsewhere at each run, whether the entry is used or not."""
    if in_a_body.get():
        return first_entry(i, size=size, axis=axis, reach=0, width=0)
    return counted(i, size=size, axis=axis)


def _spelled_out(index: Any, ndim: int) -> list[Any]:
    """One entry an axis, beside None."""
    entries: list[Any] = []
    for e in index if type(index) is tuple else (index,):
        if e is None or e is Ellipsis or type(e) is slice or _is_moving(e):
            entries.append(e)
        elif isinstance(e, (bool, np.bool_)) or not _is_integer(e):
            raise UnsupportedError(
                "an index that moves with a loop, beside an array of integers or a mask, is not "
                "supported; index twice, as x[i][mask]"
            )
        else:
            entries.append(as_index(e))
    rest = ndim - sum([e is not None and e is not Ellipsis for e in entries])
    gaps = [k for k, e in enumerate(entries) if e is Ellipsis]
    if rest < 0:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {ndim - rest} were "
            f"indexed"
        )
    if len(gaps) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = gaps[0] if gaps else len(entries)
    return [*entries[:at], *[slice(None)] * rest, *entries[at + 1 :]]


def _is_integer(e: Any) -> bool:
    return isinstance(e, (int, np.integer))


def _concrete(x: Array) -> Any:
    return x.concrete if isinstance(x, Traced) else x


def _width(start: Array, stop: Array) -> int:
    """stop - start, which is the same in all repetitions."""
    (a, m), (b, n) = _affine(start), _affine(stop)
    return n - m if a is b else as_index(stop - start)


def _affine(i: Any) -> tuple[Any, int]:
    """What an integer was computed from by adding numbers, and these numbers together."""
    node, total = i._node, 0
    for eqn in reversed(getattr(i._trace, "equations", ())):
        if len(eqn.outputs) != 1 or eqn.outputs[0] is not node:
            continue
        name = eqn.primitive.name
        if name == "add" and isinstance(eqn.inputs[0], Var) and _is_integer(eqn.inputs[1]):
            node, total = eqn.inputs[0], total + int(eqn.inputs[1])
        elif name == "add" and isinstance(eqn.inputs[1], Var) and _is_integer(eqn.inputs[0]):
            node, total = eqn.inputs[1], total + int(eqn.inputs[0])
        elif name == "subtract" and isinstance(eqn.inputs[0], Var) and _is_integer(eqn.inputs[1]):
            node, total = eqn.inputs[0], total - int(eqn.inputs[1])
        else:
            break
    return node, total
