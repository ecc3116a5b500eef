"""Diagonals and triangles of matrices, and arrays made of them.

diagonal, trace      entries (i, i + k) of the last two axes, and their sum
diag, diagflat       a vector placed on a diagonal: the adjoint of reading it
triu, tril           Y = X where a mask is true, else 0     J = J^H a projection
vander               columns x^0, x^1, ...: products, so nothing is singular at 0
"""

import operator
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.indices import WHOLE, DistinctIndex
from linad.core.primitive import Primitive
from linad.core.shapes import normalize_axis
from linad.core.ufunc_keywords import refuse_out
from linad.operators.base import JacobianOperator
from linad.operators.structured import Masked
from linad.rules.indexing import Selection, add_at
from linad.rules.joining import stack
from linad.rules.rearranging import spread
from linad.rules.shaping import (
    as_array,
    astype,
    broadcast_to,
    copy_,
    form,
    moveaxis,
    ravel,
    reshape_,
)

masked = Primitive("masked", lambda x, *, mask: np.where(mask, x, x.dtype.type(0)))


@masked.jacobian(wrt=0)
def masked_wrt_x(y: Array, x: Array, *, mask: Array) -> JacobianOperator:
    return Masked(mask, y.shape, y.dtype)


@implements(np.tril)
def tril(m: Array, k: int = 0) -> Any:
    m = _matrices(m, "tril")
    rows, columns = m.shape[-2:]
    return masked(m, mask=np.tri(rows, columns, k, dtype=bool))


@implements(np.triu)
def triu(m: Array, k: int = 0) -> Any:
    m = _matrices(m, "triu")
    rows, columns = m.shape[-2:]
    return masked(m, mask=~np.tri(rows, columns, k - 1, dtype=bool))


def _matrices(m: Array, name: str) -> Any:
    """An array of matrices; NumPy reads a vector as n equal rows."""
    m = as_array(m)
    if m.ndim == 0:
        raise TypeError(f"{name}: expected an array of at least one axis")
    return broadcast_to(m, m.shape * 2) if m.ndim == 1 else m


def _positions(rows: int, columns: int, offset: int) -> tuple[Any, Any]:
    """Row and column numbers of a diagonal."""
    start = max(-offset, 0)
    count = max(min(rows - start, columns - max(offset, 0)), 0)
    i = np.arange(start, start + count)
    return i, i + offset


# Of the last two axes. Views, as NumPy's are: np.diagonal's to read only, np.einsum's to write.
diagonal_ = Primitive("diagonal", lambda x, *, offset: np.diagonal(x, offset, -2, -1), view=True)
main_diagonal = Primitive("main_diagonal", lambda x: np.einsum("...ii->...i", x), view=True)


@diagonal_.jacobian(wrt=0)
def diagonal_wrt_x(y: Array, x: Array, *, offset: int) -> JacobianOperator:
    rows, columns = x.shape[-2:]
    i, j = _positions(rows, columns, offset)
    index = DistinctIndex((*[WHOLE] * (x.ndim - 2), i, j))
    return Selection(index, y.shape, x.shape, y.dtype)


@main_diagonal.jacobian(wrt=0)
def main_diagonal_wrt_x(y: Array, x: Array) -> JacobianOperator:
    return diagonal_wrt_x(y, x, offset=0)


@implements(np.diagonal)
def diagonal(a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    a = as_array(a)
    if a.ndim < 2:
        raise ValueError(f"diagonal: expected an array of at least two axes, got shape {a.shape}")
    axes = tuple(normalize_axis(k, a.ndim, "diagonal") for k in (axis1, axis2))
    if axes[0] == axes[1]:
        raise ValueError("diagonal: axis1 and axis2 cannot be the same")
    if axes != (a.ndim - 2, a.ndim - 1):
        a = moveaxis(a, axes, (-2, -1))
    return diagonal_.on((a,), {"offset": offset})


@implements(np.trace)
def trace(
    a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    if out is not None:
        refuse_out("trace", (out,))
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@implements(np.diag)
def diag(v: Array, k: int = 0) -> Any:
    v = as_array(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"diag: expected an array of one or two axes, got shape {v.shape}")
    n = v.shape[0] + abs(k)
    return add_at(v, index=DistinctIndex(_positions(n, n, k)), shape=(n, n))


@implements(np.diagflat)
def diagflat(v: Array, k: int = 0) -> Any:
    return diag(ravel(v), k)


@implements(np.vander)
def vander(x: Array, N: int | None = None, increasing: bool = False) -> Any:
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError(f"vander: x must have one axis, got shape {x.shape}")
    n = x.shape[0] if N is None else operator.index(N)
    if n < 0:
        raise ValueError(f"vander: N is a number of columns, 0 or more, got {N}")
    x = astype(x, np.promote_types(x.dtype, int), copy=False)
    if n == 0:
        return np.zeros_like(form(x), shape=(x.shape[0], 0))
    columns = [np.ones_like(form(x))]
    for _ in range(1, n):
        columns.append(columns[-1] * x)
    return stack(columns if increasing else columns[::-1], axis=1)


# Grids.


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = 1, 0
    grids = []
    for place, x in zip(places, xi, strict=True):
        shape = [1] * len(xi)
        shape[place] = -1
        grids.append(reshape_(as_array(x), shape=tuple(shape)))
    if not sparse:
        full = np.broadcast_shapes(*[g.shape for g in grids])
        grids = [spread(g, shape=full) if copy else broadcast_to(g, full) for g in grids]
    elif copy:
        grids = [copy_(g, layout="K") for g in grids]
    return tuple(grids)


@implements(np.ix_)
def ix_(*args: Any) -> Any:
    mesh = []
    for k, part in enumerate(args):
        x = as_array(part)
        if x.ndim != 1:
            raise ValueError(f"ix_: argument {k} must have one axis, got shape {x.shape}")
        if x.size == 0 and isinstance(part, (list, tuple)):
            x = x.astype(np.intp)
        if x.dtype.kind == "b":
            x = np.flatnonzero(x)
        mesh.append(reshape_(x, shape=(1,) * k + (-1,) + (1,) * (len(args) - k - 1)))
    return tuple(mesh)
