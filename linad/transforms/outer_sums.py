"""Sums of products whose factors have no axis in common.

Σ_ij a_i b_j = (Σ_i a_i) (Σ_j b_j)

n + m additions in place of n m products. In the field of real numbers; among floating ones the two
sides differ where a sum overflows, or an entry is not finite: 0 and inf in a are inf on the left if
no b is 0, and NaN on the right. So the sums are looked at: if they and their product are finite, so
are all entries, and the right side is the more exact one. If not, the left side is computed.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import size_of
from linad.core.tape import Equation, Var
from linad.transforms.rewriting import rule

WORTH = 4
"""Products that one addition has to save at least."""


def _unless_finite(total: Any, a_sum: Any, b_sum: Any, a: Array, b: Array) -> Any:
    if np.isfinite(total) and np.isfinite(a_sum) and np.isfinite(b_sum):
        return total
    return np.sum(np.multiply.outer(a.ravel(), b.ravel()))


product_of_sums = Primitive("product_of_sums", _unless_finite, register=False)
"""``total = a_sum * b_sum`` if all three are finite, or else the sum of all products."""


@rule("sum")
def sum_of_all(s: Any, eqn: Equation) -> Any:
    """The sum of all entries does not depend on how they are arranged."""
    maker = s.maker(eqn.inputs[0])
    if maker is None or maker.primitive.name not in ("reshape", "transpose"):
        return None
    if eqn.outputs[0].shape or eqn.outputs[0].dtype.kind not in "fc":
        return None
    axes = tuple(range(len(maker.inputs[0].shape)))
    return s.emit_like("sum", maker.inputs, eqn, axes=axes) if axes else None


@rule("sum")
def sum_to_one(s: Any, eqn: Equation) -> Any:
    """Axes of length one that stay: the sum of all entries, reshaped."""
    x, out = eqn.inputs[0], eqn.outputs[0]
    if not out.shape or size_of(out.shape) != 1 or not size_of(x.shape):
        return None
    total = s.emit("sum", [x], (), out.dtype, axes=tuple(range(len(x.shape))))
    return s.emit_like("reshape", [total], eqn, shape=out.shape)


@rule("sum")
def sum_of_outer_product(s: Any, eqn: Equation) -> Any:
    out, maker = eqn.outputs[0], s.maker(eqn.inputs[0])
    if not s.for_programs or out.shape or maker is None or maker.primitive.name != "multiply":
        return None
    a, b = maker.inputs
    if not all([isinstance(x, Var) and x.dtype == out.dtype for x in (a, b)]):
        return None
    shape = maker.outputs[0].shape
    if out.dtype.kind != "f" or out.dtype.itemsize < 4 or not size_of(shape):
        return None
    if size_of(shape) != size_of(a.shape) * size_of(b.shape):
        return None  # they have an axis in common
    if size_of(shape) < WORTH * (size_of(a.shape) + size_of(b.shape)):
        return None
    sums = [
        s.emit("sum", [x], (), x.dtype, axes=tuple(range(len(x.shape)))) if x.shape else x
        for x in (a, b)
    ]
    total = s.emit("multiply", sums, (), out.dtype)
    made = s.new_var((), out.dtype)
    return s.add(Equation(product_of_sums, (total, *sums, a, b), {}, (made,), s.source))
