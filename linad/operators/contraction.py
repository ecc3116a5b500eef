"""Contractions: an einsum with one operand left open, and its rewrites.

Labels are letters: of x (in), of y (out), and of the fixed operands. A letter of the inside of
one contraction is renamed where another one uses it.
"""

import functools
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from linad.core.array_type import Array
from linad.core.shapes import Shape, keep_axes, matrix_transpose, size_of
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.relation_shapes import numbered
from linad.operators.relations import Gather, Product, Relation
from linad.operators.reordering import Reshape
from linad.operators.rewrites import product
from linad.operators.structured import Diagonal

_FEW = 2**16
"""Products of entries for which NumPy's own order is as good as any."""


def _as_wide(array: Array, dtype: np.dtype[Any]) -> Any:
    """An operand of no less precision than the result."""
    if array.dtype == dtype:
        return array
    real = np.empty(0, dtype).real.dtype
    narrow = array.dtype.kind == "f" and array.dtype.itemsize < real.itemsize
    return array.astype(real) if narrow or array.dtype.kind in "biu" else array


@functools.lru_cache(1024)
def _alone(labels: str, others: str) -> tuple[int, ...]:
    """The axes that the adjoint cannot compute, because no other operand has them."""
    return tuple([k for k, label in enumerate(labels) if label not in others])


class Contraction(JacobianOperator):
    """y = einsum of x with fixed arrays: linear in the one operand left open.

    Parameters
    ----------
    in_labels, out_labels : str
        One letter an axis of x and y, no letter twice.
    fixed : list of (labels, array)
        The other operands, kept by reference unless they are integers or of less precision.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    An application is one einsum with an optimised order. Labels of x that appear nowhere
    else are summed; the adjoint repeats along them.
    """

    unknown = "triangles definiteness diagonal_entries column_squares spectral_norm inverse_form"

    weighted_by = ("fixed",)

    def __init__(
        self,
        in_labels: str,
        fixed: Sequence[tuple[str, Any]],
        out_labels: str,
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
    ) -> None:
        self.in_labels, self.out_labels = in_labels, out_labels
        # An optimised order may sum an operand by itself: images of bytes would overflow.
        self.fixed = [(labels, _as_wide(array, dtype)) for labels, array in fixed]
        # An einsum of one operand may be a view of it.
        self.owns_result = bool(self.fixed)
        others = "".join([out_labels, *[labels for labels, _ in fixed]])
        self._summed = _alone(in_labels, others)
        self.out_shape, self.in_shape, self.dtype = out_shape, in_shape, dtype

    def _contract(self, given: str, wanted: str, x: Array, conjugate: bool) -> Any:
        labels = ",".join(["..." + given, *[names for names, _ in self.fixed]])
        arrays = [np.conj(a) if conjugate else a for _, a in self.fixed]
        # To look for an order takes longer than a few products.
        few = type(x) is ndarray and x.size * size_of([a.size for a in arrays]) <= _FEW
        optimize = bool(arrays) and not few
        return np.einsum(f"{labels}->...{wanted}", x, *arrays, optimize=optimize)

    def pushforward(self, tangent: Array) -> Array:
        return self._contract(self.in_labels, self.out_labels, tangent, False)

    def pullback(self, cotangent: Array) -> Array:
        wanted = "".join(c for k, c in enumerate(self.in_labels) if k not in self._summed)
        total = self._contract(self.out_labels, wanted, cotangent, self.dtype.kind == "c")
        if not self._summed:
            return total
        ndim = len(self.in_shape)
        seeds = total.shape[: total.ndim - (ndim - len(self._summed))]
        kept = total.reshape(seeds + keep_axes(self.in_shape, self._summed))
        return np.broadcast_to(kept, seeds + self.in_shape) + np.zeros((), self.dtype)

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator | None:
        # C^H: x and y change places, the fixed operands are conjugated
        if self._summed:
            return None
        fixed = [(labels, conj(array)) for labels, array in self.fixed]
        shapes = self.in_shape, self.out_shape
        return Contraction(self.out_labels, fixed, self.in_labels, *shapes, self.dtype)

    def multiple(self, alpha: Any) -> JacobianOperator:
        # α C: the number is a fixed operand without axes
        number = np.asarray(alpha, self.dtype) if _is_number(alpha) else alpha
        fixed, shapes = [*self.fixed, ("", number)], (self.out_shape, self.in_shape)
        return Contraction(self.in_labels, fixed, self.out_labels, *shapes, self.dtype)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        # One matrix along one axis: I ⊗ A ⊗ I
        if len(self.fixed) != 1 or len(self.in_labels) != len(self.out_labels):
            return None
        labels, matrix = self.fixed[0]
        pairs = enumerate(zip(self.in_labels, self.out_labels, strict=True))
        moved = [k for k, (i, o) in pairs if i != o]
        if len(moved) != 1 or len(labels) != 2:
            return None
        (k,) = moved
        if {self.in_labels[k], self.out_labels[k]} != set(labels):
            return None
        if labels[0] == self.in_labels[k]:
            matrix = matrix_transpose(matrix)
        before, after = size_of(self.in_shape[:k]), size_of(self.in_shape[k + 1 :])
        m, n = matrix.shape
        if len(self.in_shape) == 1:
            return Matrix(matrix, self.dtype)
        if after == 1:
            inner = Kronecker(None, matrix, (before, m), (before, n), self.dtype)
        elif before == 1:
            inner = Kronecker(matrix, None, (m, after), (n, after), self.dtype)
        else:
            inner = Kronecker(matrix, None, (before, m, after), (before, n, after), self.dtype)
        return simplify(  # type: ignore[no-any-return]
            Chain(
                (
                    Reshape(self.out_shape, inner.out_shape, self.dtype),
                    inner,
                    Reshape(inner.in_shape, self.in_shape, self.dtype),
                )
            )
        )

    def relation(self) -> Product:
        """Labels that x and y share are equal; over the others of x everything is read."""
        size = dict(zip(self.in_labels, self.in_shape, strict=True))
        shared = [c for c in self.in_labels if c in self.out_labels]
        free = [c for c in self.in_labels if c not in self.out_labels]
        lane_shape = tuple([size[c] for c in shared])
        lane = numbered(lane_shape)
        order = [c for c in self.out_labels if c in shared]
        lane = lane.transpose([shared.index(c) for c in order])
        spread = tuple(
            [n if c in shared else 1 for c, n in zip(self.out_labels, self.out_shape, strict=True)]
        )
        source = np.broadcast_to(lane.reshape(spread), self.out_shape).ravel()
        read = numbered(self.in_shape).transpose([self.in_labels.index(c) for c in shared + free])
        count = size_of(lane_shape)
        columns = read.reshape(count, size_of([size[c] for c in free]))
        return Product(Gather(source, count), Relation.uniform(columns, self.shape[1]))

    def relation_key(self) -> Any:
        return self.in_labels, self.out_labels


@product(Diagonal, Contraction, at_once=False)
def diagonal_times_contraction(a: Diagonal, b: Contraction) -> Contraction:
    # diag(d) C: d is one more fixed operand, with the labels of the result
    fixed = [*b.fixed, (b.out_labels, a.full())]
    return Contraction(b.in_labels, fixed, b.out_labels, b.out_shape, b.in_shape, b.dtype)


@product(Contraction, Diagonal, at_once=False)
def contraction_times_diagonal(a: Contraction, b: Diagonal) -> Contraction:
    # C diag(d): d is one more fixed operand, with the labels of x
    fixed = [*a.fixed, (a.in_labels, b.full())]
    return Contraction(a.in_labels, fixed, a.out_labels, a.out_shape, a.in_shape, a.dtype)


@product(Contraction, Contraction, at_once=False)
def contraction_times_contraction(a: Contraction, b: Contraction) -> Contraction | None:
    # C_1 C_2: one einsum over the fixed operands of both
    unused = iter([c for c in string.ascii_letters if c not in labels_of(b)])
    # What a calls the axes of its argument, b calls the axes of its result.
    names = dict(zip(a.in_labels, b.out_labels, strict=True))
    for c in sorted(labels_of(a) - set(a.in_labels)):
        name = next(unused, None)
        if name is None:
            return None
        names[c] = name

    def renamed(labels: str) -> str:
        return "".join([names[c] for c in labels])

    fixed = [*b.fixed, *[(renamed(labels), array) for labels, array in a.fixed]]
    return Contraction(b.in_labels, fixed, renamed(a.out_labels), a.out_shape, b.in_shape, b.dtype)


def _is_number(alpha: Any) -> bool:
    return type(alpha) in (int, float, complex)


def labels_of(a: Contraction) -> set[str]:
    """All letters that a contraction uses."""
    return set(a.in_labels).union(a.out_labels, *[labels for labels, _ in a.fixed])
