"""The pattern of each operator: a table from classes to functions that make a relation.

A pattern is structural. It depends on shapes, indices, regions and sparse matrices, never on
slopes or weights: a factor that happens to be zero stays in it. An operator without an entry
here is taken for a dense block, which is always right.

A rule file registers its own operators with `relates`.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.sparse import csr_array, issparse

from linad.operators.base import JacobianOperator
from linad.operators.circulant import Circulant
from linad.operators.convolution import Convolution, ValidKernel
from linad.operators.cumulative import CumulativeSum, Difference, Recurrence, SegmentSum
from linad.operators.filters import (
    AllPole,
    GridConvolution,
    GridKernel,
    RunningMean,
    TruncatedKernel,
)
from linad.operators.foreign import Foreign
from linad.operators.fourier import Fit, Fourier, HermitianFourier, RealFourier
from linad.operators.joining import Pad, Roll
from linad.operators.reduction import ScaledSum, WeightedSum
from linad.operators.regions import Erase, Extract, Insert
from linad.operators.relations import Gather, Prefix, Product, Relation
from linad.operators.solve import Solve
from linad.operators.structured import (
    Broadcast,
    Cast,
    Conjugation,
    Contraction,
    Diagonal,
    Identity,
    Kronecker,
    Masked,
    Matrix,
    Permutation,
    RealPart,
    Reshape,
    RowProducts,
    Zero,
)
from linad.regions import Part, Region
from linad.shapes import Shape, keep_axes, size_of

Relate = Callable[[Any], Any]

RELATIONS: dict[type, tuple[Relate, Relate]] = {}
"""For each class the function that makes the relation, and one that gives what it reads of the
operator beside its shapes. A relation of None is the identity."""


WRAPPERS: set[type] = set()
"""Operators with the pattern of the one they hold as ``op``."""


def relates(*kinds: type, by: str | Relate = "out_shape") -> Callable[[Relate], Relate]:
    """Register the relation of operators of some classes; a decorator.

    Parameters
    ----------
    *kinds : type
        Exactly these; a subclass may map otherwise.
    by : str or callable
        Attributes, separated by blanks, or a function of the operator, that together with its
        shapes determine the relation: two operators that agree in them have the same one.
    """
    read: Relate = attrgetter(*by.split()) if isinstance(by, str) else by

    def register(relate: Relate) -> Relate:
        for kind in kinds:
            assert kind not in RELATIONS, f"{kind.__name__} has a relation already"
            RELATIONS[kind] = relate, read
        return relate

    return register


def relation_of(op: JacobianOperator) -> Any:
    """The relation of an operator that is not made of others; None is the identity."""
    found = RELATIONS.get(type(op))
    return dense(op.shape) if found is None else found[0](op)


# Relations that come often.


def dense(shape: tuple[int, int]) -> Product:
    """All of y on all of x: what one number would do that each x enters and each y reads."""
    m, n = shape
    return Product(Gather(np.zeros(m, np.int32), 1), Relation(np.array([0, n]), np.arange(n), n))


def numbered(shape: Shape) -> np.ndarray:
    """The entries of an array, numbered."""
    return np.arange(size_of(shape)).reshape(shape)


def lanes(out_shape: Shape, in_shape: Shape, axes: tuple[int, ...]) -> Product:
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


# Entry by entry.


@relates(Diagonal, by=lambda op: np.ndim(op.entries) == 0)
@relates(Identity, Cast, Reshape, Masked, RealPart, Conjugation)
def same(op: Any) -> None:
    """y_i reads x_i. The entries that a mask leaves out change with the point."""
    return None


@relates(Zero)
def nothing(op: Any) -> Gather:
    m, n = op.shape
    return Gather(np.full(m, -1, np.int32), n)


relates(Broadcast, by="_kept")(moved)
relates(Permutation, by="axes")(moved)
relates(Pad, by="before")(moved)
relates(Roll, by="shifts _axes")(moved)
relates(Fit)(moved)


# Regions. The real part of an entry is as good as the entry.


def _numbers(region: Region, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the entries of a region in an array, whose axes may begin with others."""
    inner = shape[len(shape) - region.ndim :]
    lead = np.arange(size_of(shape[: len(shape) - region.ndim]))
    return np.add.outer(lead * size_of(inner), region.numbers(inner).ravel()).ravel(), lead


@relates(Extract, by="region")
def extracted(op: Extract) -> Gather:
    return Gather(_numbers(op.region, op.in_shape)[0], op.shape[1])


@relates(Insert, by="region")
def inserted(op: Insert) -> Gather:
    m, n = op.shape
    source = np.full(m, -1)
    source[_numbers(op.region, op.out_shape)[0]] = np.arange(n)
    return Gather(source, n)


@relates(Erase, by="region")
def erased(op: Erase) -> Gather:
    n = op.shape[1]
    source = np.arange(n)
    if type(op.region) is not Part:
        source[_numbers(op.region, op.in_shape)[0]] = -1
    return Gather(source, n)


# Dense along axes.


@relates(Matrix, ValidKernel)
def last_axis(op: Any) -> Product:
    return lanes(op.out_shape, op.in_shape, (-1,))


@relates(TruncatedKernel)
def delayed(op: TruncatedKernel) -> Relation:
    """y_n reads k_j for j <= n: what comes later is cut off."""
    n, m = op.out_shape[-1], op.shape[1]
    row, column = np.nonzero(np.tri(n, m, dtype=bool))
    lead = np.arange(op.shape[0] // max(n, 1))[:, np.newaxis]
    return Relation.of_pairs(lead * n + row, column, op.shape)


@relates(Solve)
def columns(op: Any) -> Product:
    return lanes(op.out_shape, op.in_shape, (-2,))


@relates(Kronecker, by=lambda op: (op.left is None, op.right is None))
def kronecker(op: Kronecker) -> Product:
    left = () if op.left is None else (-2,)
    return lanes(op.out_shape, op.in_shape, left if op.right is None else (*left, -1))


@relates(RowProducts)
def row_products(op: RowProducts) -> Product:
    return lanes((*op.out_shape, 1), op.in_shape, (-1,))


@relates(ScaledSum, WeightedSum, by="_axes")
def summed(op: Any) -> Product:
    return lanes(op._kept, op.in_shape, op._axes)


@relates(Fourier, Circulant, by="axes")
def transformed(op: Any) -> Product:
    return lanes(op.out_shape, op.in_shape, op.axes)


@relates(RealFourier, HermitianFourier, by="axis")
def transformed_axis(op: Any) -> Product:
    return lanes(op.out_shape, op.in_shape, (op.axis,))


@relates(Contraction, by="in_labels out_labels")
def contracted(op: Contraction) -> Product:
    """Labels that x and y share are equal; over the others of x everything is read."""
    size = dict(zip(op.in_labels, op.in_shape, strict=True))
    shared = [c for c in op.in_labels if c in op.out_labels]
    free = [c for c in op.in_labels if c not in op.out_labels]
    lane_shape = tuple([size[c] for c in shared])
    lane = numbered(lane_shape)
    order = [c for c in op.out_labels if c in shared]
    lane = lane.transpose([shared.index(c) for c in order])
    spread = tuple(
        [n if c in shared else 1 for c, n in zip(op.out_labels, op.out_shape, strict=True)]
    )
    source = np.broadcast_to(lane.reshape(spread), op.out_shape).ravel()
    read = numbered(op.in_shape).transpose([op.in_labels.index(c) for c in shared + free])
    count = size_of(lane_shape)
    columns = read.reshape(count, size_of([size[c] for c in free]))
    return Product(Gather(source, count), Relation.uniform(columns, op.shape[1]))


# Along an axis.


@relates(CumulativeSum, by="_axis")
def running(op: CumulativeSum) -> Prefix:
    return Prefix(op.in_shape, op._axis)


@relates(AllPole)
def filtered(op: AllPole) -> Prefix:
    return Prefix(op.in_shape, -1)


@relates(Recurrence, by="_axis _backward")
def recurrent(op: Recurrence) -> Prefix:
    return Prefix(op.in_shape, op._axis, op._backward)


@relates(Difference, by="_axis")
def differences(op: Difference) -> Relation:
    x = np.moveaxis(numbered(op.in_shape), op._axis, -1)
    pairs = np.stack([x[..., :-1], x[..., 1:]], axis=-1)
    pairs = np.moveaxis(pairs, -2, op._axis - 1)
    return Relation.uniform(pairs.reshape(op.shape[0], 2), op.shape[1])


@relates(SegmentSum, by="_axis starts")
def segments(op: SegmentSum) -> Relation:
    x = np.moveaxis(numbered(op.in_shape), op._axis, -1)
    y = np.moveaxis(numbered(op.out_shape), op._axis, -1)
    first, n = int(op.starts[0]), x.shape[-1]
    owner = np.searchsorted(op.starts, np.arange(first, n), side="right") - 1
    return Relation.of_pairs(y[..., owner], x[..., first:], op.shape)


def windows(out_shape: Shape, in_shape: Shape, kernel: Shape, mode: str) -> Relation:
    """Of a convolution along the last axes: the shorter array is moved along the longer."""
    m, n = size_of(out_shape), size_of(in_shape)
    full = mode == "full"
    longer, count = (out_shape, n) if full else (in_shape, m)
    axes = tuple(range(-len(kernel), 0))
    seen = sliding_window_view(numbered(longer), kernel, axes).reshape(count, size_of(kernel))
    return Relation.uniform(seen, m).T if full else Relation.uniform(seen, n)


@relates(Convolution, by=lambda op: (op.kernel.shape[-1], op.mode))
def convolved(op: Convolution) -> Relation:
    return windows(op.out_shape, op.in_shape, op.kernel.shape[-1:], op.mode)


@relates(GridConvolution, by=lambda op: (op.kernel.shape[-op.axes :], op.mode))
def convolved_grid(op: GridConvolution) -> Relation:
    return windows(op.out_shape, op.in_shape, op.kernel.shape[-op.axes :], op.mode)


@relates(GridKernel, by="axes")
def grid_kernel(op: GridKernel) -> Product:
    return lanes(op.out_shape, op.in_shape, tuple(range(-op.axes, 0)))


@relates(RunningMean, by="size")
def running_mean(op: RunningMean) -> Relation:
    return windows(op.out_shape, op.in_shape, (op.size,), "valid")


# Matrices of others.


def sparse_matrix(op: Foreign) -> Any:
    """The sparse array that a foreign operator applies, or None."""
    matrix: Any = getattr(op.op, "A", None)
    if not issparse(matrix) or matrix.shape != op.op.shape:
        return None
    matrix = matrix.tocsr()
    # Without SciPy's notes of what it once found out of the indices: they may have changed.
    matrix = csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    return matrix.conj().T.tocsr() if op.reverse else matrix


def _foreign_structure(op: Foreign) -> Any:
    matrix = sparse_matrix(op)
    # Copies, since the matrix is the caller's to change.
    return None if matrix is None else (matrix.indptr.copy(), matrix.indices.copy())


@relates(Foreign, by=_foreign_structure)
def foreign(op: Foreign) -> Any:
    matrix = sparse_matrix(op)
    if matrix is None:
        return lanes(op.out_shape, op.in_shape, (-1,))
    one = Relation.of_matrix(matrix)
    count = size_of(op.in_shape[:-1])
    if count == 1:
        return one
    lead = np.arange(count)[:, None]
    return Relation.of_pairs(lead * one.m + one.rows, lead * one.n + one.indices, op.shape)
