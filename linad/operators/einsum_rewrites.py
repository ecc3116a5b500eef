"""The rewrites of contractions: an einsum with one operand left open.

Labels are letters: of x (in), of y (out), and of the fixed operands. A letter of the inside of
one contraction is renamed where another one uses it.
"""

import string
from typing import Any

import numpy as np

from linad.core.shapes import matrix_transpose, size_of
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain
from linad.operators.rewrites import adjoint, multiple, plainer, product
from linad.operators.structural_rewrites import WORK, full
from linad.operators.structured import Contraction, Diagonal, Kronecker, Matrix, Reshape


@product(Diagonal, Contraction, at_once=False)
def _(a: Diagonal, b: Contraction) -> Contraction:
    # diag(d) C: d is one more fixed operand, with the labels of the result
    fixed = [*b.fixed, (b.out_labels, full(a))]
    return Contraction(b.in_labels, fixed, b.out_labels, b.out_shape, b.in_shape, b.dtype)


@product(Contraction, Diagonal, at_once=False)
def _(a: Contraction, b: Diagonal) -> Contraction:
    # C diag(d): d is one more fixed operand, with the labels of x
    fixed = [*a.fixed, (a.in_labels, full(b))]
    return Contraction(a.in_labels, fixed, a.out_labels, a.out_shape, a.in_shape, a.dtype)


@product(Contraction, Contraction, at_once=False)
def _(a: Contraction, b: Contraction) -> Contraction | None:
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


@multiple(Contraction, at_once=False)
def _(alpha: Any, a: Contraction) -> Contraction:
    # α C: the number is a fixed operand without axes
    fixed = [*a.fixed, ("", np.asarray(alpha, a.dtype) if _is_number(alpha) else alpha)]
    return Contraction(a.in_labels, fixed, a.out_labels, a.out_shape, a.in_shape, a.dtype)


def _is_number(alpha: Any) -> bool:
    return type(alpha) in (int, float, complex)


@adjoint(Contraction)
def _(a: Contraction, conj: Any) -> Contraction | None:
    # C^H: x and y change places, the fixed operands are conjugated
    if a._summed:
        return None
    fixed = [(labels, conj(array)) for labels, array in a.fixed]
    return Contraction(a.out_labels, fixed, a.in_labels, a.in_shape, a.out_shape, a.dtype)


@plainer(Contraction)
def _(a: Contraction, simplify: Any) -> JacobianOperator | None:
    # One matrix along one axis: I ⊗ A ⊗ I
    if len(a.fixed) != 1 or len(a.in_labels) != len(a.out_labels):
        return None
    labels, matrix = a.fixed[0]
    moved = [k for k, (i, o) in enumerate(zip(a.in_labels, a.out_labels, strict=True)) if i != o]
    if len(moved) != 1 or len(labels) != 2:
        return None
    (k,) = moved
    if {a.in_labels[k], a.out_labels[k]} != set(labels):
        return None
    if labels[0] == a.in_labels[k]:
        matrix = matrix_transpose(matrix)
    before, after = size_of(a.in_shape[:k]), size_of(a.in_shape[k + 1 :])
    m, n = matrix.shape
    if len(a.in_shape) == 1:
        return Matrix(matrix, a.dtype)
    if after == 1:
        inner = Kronecker(None, matrix, (before, m), (before, n), a.dtype)
    elif before == 1:
        inner = Kronecker(matrix, None, (m, after), (n, after), a.dtype)
    else:
        inner = Kronecker(matrix, None, (before, m, after), (before, n, after), a.dtype)
    return simplify(
        Chain(
            (
                Reshape(a.out_shape, inner.out_shape, a.dtype),
                inner,
                Reshape(inner.in_shape, a.in_shape, a.dtype),
            )
        )
    )


def labels_of(a: Contraction) -> set[str]:
    """All letters that a contraction uses."""
    return set(a.in_labels).union(a.out_labels, *[labels for labels, _ in a.fixed])


@plainer(Kronecker)
def _(a: Kronecker, simplify: Any) -> Kronecker | None:
    # A factor of ones along an axis of length 1 is the identity.
    left, right = a.left, a.right
    if left is None or right is None or left.ndim != 2 or right.ndim != 2:
        return None
    if left.shape == (1, 1) and right.size <= WORK:
        return Kronecker(None, left[0, 0] * right, a.out_shape, a.in_shape, a.dtype)
    if right.shape == (1, 1):
        return Kronecker(left * right[0, 0], None, a.out_shape, a.in_shape, a.dtype)
    return None
