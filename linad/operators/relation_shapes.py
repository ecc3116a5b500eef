"""Relations that come often: dense along axes, copies of entries, windows, regions."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from linad.core.regions import Region
from linad.core.shapes import Shape, keep_axes, size_of
from linad.operators.relations import Gather, Product, Relation


def numbered(shape: Shape) -> np.ndarray:
    """The entries of an array, numbered."""
    return np.arange(size_of(shape)).reshape(shape)


def dense_along(out_shape: Shape, in_shape: Shape, axes: tuple[int, ...]) -> Product:
    """Dense along some axes, counted from the end; the others broadcast as in NumPy."""
    ndim = len(out_shape)
    dense_axes = [k + ndim for k in axes]
    lane_shape = keep_axes(out_shape, dense_axes)
    lane = np.broadcast_to(numbered(lane_shape), out_shape).ravel()
    full = list(lane_shape)
    for k in axes:
        full[k] = in_shape[k]
    read = np.broadcast_to(numbered(in_shape), full)
    rest = [k for k in range(ndim) if k not in dense_axes]
    columns = read.transpose(rest + dense_axes).reshape(size_of(lane_shape), -1 if read.size else 0)
    n = size_of(in_shape)
    return Product(Gather(lane, size_of(lane_shape)), Relation.uniform(columns, n))


def moved(op: Any) -> Gather:
    """Of an operator that copies entries: let it copy their numbers, counted from 1."""
    numbers = np.arange(1, op.shape[1] + 1).reshape(op.in_shape)
    return Gather(np.real(op.pushforward(numbers)).astype(np.intp).ravel() - 1, op.shape[1])


def region_numbers(region: Region, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the entries of a region in an array, whose axes may begin with others."""
    inner = shape[len(shape) - region.ndim :]
    lead = np.arange(size_of(shape[: len(shape) - region.ndim]))
    return np.add.outer(lead * size_of(inner), region.numbers(inner).ravel()).ravel(), lead


def windows(out_shape: Shape, in_shape: Shape, kernel: Shape, mode: str) -> Relation:
    """Of a convolution along the last axes: the shorter array is moved along the longer."""
    m, n = size_of(out_shape), size_of(in_shape)
    full = mode == "full"
    longer, count = (out_shape, n) if full else (in_shape, m)
    axes = tuple(range(-len(kernel), 0))
    seen = sliding_window_view(numbered(longer), kernel, axes).reshape(count, size_of(kernel))
    return Relation.uniform(seen, m).T if full else Relation.uniform(seen, n)
