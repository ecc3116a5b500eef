"""Entries at positions that are values of a program: what ``x[i]`` is where i is traced.

y = gather(x, p)          y[..., j, ...] = x[..., p_j, ...] along one axis
x = scatter_add(y, p)     its adjoint: zeros of a length along that axis, with y_j added at p_j
q = counted(p)            positions as NumPy counts them, from the start of an axis, checked

Each of the first two is the adjoint of the other in its first argument; positions are integers and
have no derivative. Those of a plain array are part of the program instead, see
`linad.rules.indexing`.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.indices import WHOLE, canonical
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape, size_of
from linad.core.traced_positions import counted, has_positions
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relation_shapes import numbered
from linad.operators.relations import Gather
from linad.rules.shaping import reshape_, transpose_


def _index(positions: Any, axis: int) -> tuple[Any, ...]:
    """The index of entries along an axis that is counted from the end."""
    return (..., np.asarray(positions), *(WHOLE,) * (-1 - axis))


def _gather(x: Array, positions: Any, *, axis: int) -> Any:
    return x[_index(positions, axis)][()]


def _scatter_add(values: Any, positions: Any, *, axis: int, size: int) -> Any:
    values = np.asarray(values)
    behind = -1 - axis
    stop = values.ndim - behind
    lead, trail = values.shape[: stop - np.ndim(positions)], values.shape[stop:]
    total = np.zeros((*lead, size, *trail), values.dtype)
    np.add.at(total, _index(positions, axis), values)
    return total


gather = Primitive("gather", _gather)
scatter_add = Primitive("scatter_add", _scatter_add)


class EntriesAlong(JacobianOperator):
    """y = x[..., p, ...]: rows of the identity, at positions along an axis that may be traced.

    Parameters
    ----------
    positions : array of int
        From the start of the axis.
    axis : int
        Of x, counted from the end.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    The pushforward costs a read of y's entries, the pullback those and zeros of the size of x.
    """

    copies = True
    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(
        self, positions: Any, axis: int, out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.positions, self.axis = positions, axis
        self.out_shape, self.in_shape, self.dtype = out_shape, in_shape, dtype

    def pushforward(self, tangent: Array) -> Array:
        return gather(tangent, self.positions, axis=self.axis)  # type: ignore[no-any-return]

    def pullback(self, cotangent: Array) -> Array:
        size = self.in_shape[self.axis]
        return scatter_add(  # type: ignore[no-any-return]
            cotangent, self.positions, axis=self.axis, size=size
        )

    def relation(self) -> Gather:
        read = _gather(numbered(self.in_shape), self.positions, axis=self.axis)
        return Gather(np.ravel(read), self.shape[1])

    def relation_key(self) -> Any:
        return np.asarray(self.positions), self.axis


@gather.jacobian(wrt=0)
def gather_wrt_x(y: Array, x: Array, positions: Any, *, axis: int) -> JacobianOperator:
    return EntriesAlong(positions, axis, y.shape, x.shape, y.dtype)


@scatter_add.jacobian(wrt=0)
def scatter_add_wrt_values(
    y: Array, values: Array, positions: Any, *, axis: int, size: int
) -> JacobianOperator:
    return EntriesAlong(positions, axis, values.shape, y.shape, y.dtype).H


# Indices with such positions in them.


def by_positions(x: Array, entries: tuple[Any, ...]) -> Any:
    """``x[entries]``, a copy, with integers among the entries that are traced.

    Raises
    ------
    IndexError
        As NumPy's, also at each run of a program for what is out of bounds then.
    """
    shape, axes, index = canonical(entries, x.shape, traced=True)
    if shape != x.shape:
        x = reshape_(x, shape=shape)
    if axes is not None:
        x = transpose_(x, axes=axes)
    arrays = [k for k, e in enumerate(index) if e is not None and type(e) is not slice]
    first, stop = arrays[0], arrays[-1] + 1
    beside = (*index[:first], *(WHOLE,) * (stop - first), *index[stop:])
    axis = sum([e is not None for e in index[:first]])
    lengths = x.shape[axis : axis + stop - first]
    numbers = range(axis, axis + stop - first) if axes is None else axes[axis:]
    positions = _joined(index[first:stop], lengths, numbers)
    if any([e is None or e != WHOLE for e in beside]):
        x = x[beside]
    behind = x.ndim - stop
    if len(lengths) > 1:
        x = reshape_(x, shape=(*x.shape[:first], size_of(lengths), *x.shape[stop:]))
    return gather(x, positions, axis=-1 - behind)


def entries_at(x: Array, index: Any) -> Any:
    """``x[index]``, of an array that may be plain, whose own code would ask for the positions."""
    if not isinstance(x, Traced):
        entries = index if type(index) is tuple else (index,)
        if has_positions(entries):
            return by_positions(x, entries)
    return x[index]


def _joined(arrays: Any, lengths: Shape, axes: Any) -> Any:
    """Positions along several axes together, which are numbered in C order."""
    shapes = [np.shape(a) for a in arrays]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            + " ".join([str(s).replace(" ", "") for s in shapes])
        ) from None
    total: Any = None
    for a, n, axis in zip(arrays, lengths, axes, strict=False):
        found = counted(a, size=n, axis=axis)
        total = found if total is None else total * n + found
    return total


def added_at(values: Array, positions: Any, shape: Shape) -> Any:
    """Zeros of a shape, with values added at positions along the first axis."""
    n = shape[0]
    return scatter_add(values, counted(positions, size=n, axis=0), axis=-len(shape), size=n)
