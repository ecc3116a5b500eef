"""Identities of arrays: rewrites that need no more than one equation and its operands."""

from typing import Any

import numpy as np

from linad.core.regions import Window
from linad.core.shapes import size_of
from linad.core.tape import Equation, Var
from linad.transforms.rewriting import fits, number_of, rule

# copy(x) = x, and so on: identities on values.


@rule("copy", "positive", "astype", "astype_exact", "spread", "broadcast_to", "reshape", "pad")
def same_array(s: Any, eqn: Equation) -> Any:
    x = eqn.inputs[0]
    return x if fits(x, eqn) else None


@rule("conjugate", "real")
def real_already(s: Any, eqn: Equation) -> Any:
    x = eqn.inputs[0]
    return x if fits(x, eqn) and x.dtype.kind == "f" else None


@rule("transpose")
def transpose_of_transpose(s: Any, eqn: Equation) -> Any:
    x, axes = eqn.inputs[0], eqn.params["axes"]
    if axes == tuple(range(len(axes))):
        return x
    maker = s.maker(x)
    if maker is not None and maker.primitive.name == "transpose":
        first = maker.params["axes"]
        both = tuple([first[k] for k in axes])
        return s.emit_like("transpose", maker.inputs, eqn, axes=both)
    return None


@rule("reshape")
def reshape_of_reshape(s: Any, eqn: Equation) -> Any:
    maker = s.maker(eqn.inputs[0])
    if maker is not None and maker.primitive.name == "reshape":
        return s.emit_like("reshape", maker.inputs, eqn, shape=eqn.outputs[0].shape)
    return None


# x * 1 = x,  x * -1 = -x,  x + -0.0 = x,  x - 0 = x,  x / 1 = x; not x + 0.0: it is 0.0 for -0.0.


@rule("multiply", "add", "subtract", "divide")
def neutral(s: Any, eqn: Equation) -> Any:
    a, b = eqn.inputs
    name = eqn.primitive.name
    neutral_number = 1 if name in ("multiply", "divide") else 0
    if neutral_number and eqn.outputs[0].dtype.kind == "c":
        return None  # a complex infinity times 1 + 0j has a part inf * 0
    left, right = number_of(a), number_of(b)
    zero = left if right is None else right
    if zero is not None and neutral_number == 0 and not _keeps_zeros(eqn, zero):
        return None
    if right is not None and right == neutral_number and fits(a, eqn):
        return a
    if name in ("multiply", "add") and left is not None and left == neutral_number:
        return b if fits(b, eqn) else None
    if name == "multiply":
        for number, other in ((left, b), (right, a)):
            if number is not None and number == -1 and fits(other, eqn):
                return s.emit_like("negative", [other], eqn)
    return None


def _keeps_zeros(eqn: Equation, zero: Any) -> bool:
    """Whether x + zero, or x - zero, is x where x is 0.0, and where it is -0.0."""
    dtype = eqn.outputs[0].dtype
    if dtype.kind not in "fc":
        return True
    value = np.asarray(zero, dtype)
    negative = [np.signbit(value.real), *([np.signbit(value.imag)] if dtype.kind == "c" else [])]
    return all(negative) if eqn.primitive.name == "add" else not any(negative)


@rule("multiply", "add", "subtract", "divide", "maximum", "minimum")
def uniform(s: Any, eqn: Equation) -> Any:
    """An array of equal entries is a number."""
    for k, other in ((0, 1), (1, 0)):
        a, b = eqn.inputs[k], eqn.inputs[other]
        if not isinstance(a, np.ndarray) or not a.ndim or not isinstance(b, Var):
            continue
        number = number_of(a)
        if number is None or b.dtype != eqn.outputs[0].dtype:
            continue
        inputs: list[Any] = [b, b]
        inputs[k] = np.asarray(number)
        y = s.emit(eqn.primitive.name, inputs, b.shape, b.dtype)
        return s.emit_like("broadcast_to", [y], eqn, shape=eqn.outputs[0].shape)
    return None


@rule("power")
def small_power(s: Any, eqn: Equation) -> Any:
    """x^1 = x, x^2 = x x, x^3 = x x x, x^4 = (x x)^2, x^-1 = 1 / x, x^0.5 = sqrt(x).

    The last as NumPy does it, where the exponent is one number for an array: at -inf it is
    NaN, not inf. Complex infinities keep the parts that NumPy's own powers give them.
    """
    x, exponent = eqn.inputs
    number, out = number_of(exponent), eqn.outputs[0]
    if number == 0.5 and _is_root(x, exponent, out):
        if x.dtype != out.dtype:
            x = s.emit("astype", [x], x.shape, out.dtype, dtype=out.dtype)
        return s.emit_like("sqrt", [x], eqn)
    if number is None or not fits(x, eqn) or x.dtype.kind not in "fc":
        return None
    if number == 1:
        return x
    if x.dtype.kind == "c" and number != 2:
        return None
    if number in (2, 3, 4):
        square = s.emit_like("multiply", [x, x], eqn)
        if number == 2:
            return square
        return s.emit_like("multiply", [square, x if number == 3 else square], eqn)
    if number == -1:
        return s.emit_like("reciprocal", [x], eqn)
    return None


def _is_root(x: Any, exponent: Any, out: Any) -> bool:
    """Whether NumPy takes a root for the power 1/2: of an array, by one exponent for all of it."""
    if not isinstance(x, Var) or x.dtype.kind != "f" or out.dtype.kind != "f":
        return False
    alone = np.size(exponent) == 1 and size_of(x.shape) > 1
    return x.shape == out.shape and bool(x.shape) and (alone or not np.ndim(exponent))


@rule("where")
def one_choice(s: Any, eqn: Equation) -> Any:
    """where(c, a, a) = a; where(True, a, b) = a."""
    condition, a, b = eqn.inputs
    number = number_of(condition)
    if number is not None:
        chosen = a if number else b
        return chosen if fits(chosen, eqn) else None
    return a if a is b and fits(a, eqn) else None


# Sums.


@rule("sum", "max", "min", "prod", "mean")
def no_axes(s: Any, eqn: Equation) -> Any:
    """The sum over axes of length one is a reshape."""
    x, axes = eqn.inputs[0], eqn.params["axes"]
    if all(x.shape[k] == 1 for k in axes) and x.dtype == eqn.outputs[0].dtype:
        return s.emit_like("reshape", [x], eqn, shape=eqn.outputs[0].shape)
    return None


@rule("mean")
def mean_is_sum(s: Any, eqn: Equation) -> Any:
    """mean(x) = sum(x) / n."""
    x, axes = eqn.inputs[0], eqn.params["axes"]
    n = size_of([x.shape[k] for k in axes])
    if not n or x.dtype.itemsize == 2 or x.dtype.kind not in "fc":
        return None
    total = s.emit_like("sum", [x], eqn, axes=axes)
    return s.emit_like("divide", [total, float(n)], eqn)


@rule("sum")
def sum_of_broadcast(s: Any, eqn: Equation) -> Any:
    """The sum of n copies is n times one; what is repeated along is repeated after."""
    maker = s.maker(eqn.inputs[0])
    if maker is None or maker.primitive.name not in ("broadcast_to", "spread"):
        return None
    x, wide = maker.inputs[0], maker.outputs[0].shape
    axes = eqn.params["axes"]
    if not isinstance(x, Var) or x.dtype != eqn.outputs[0].dtype or x.dtype.kind not in "fc":
        return None
    shape = (1,) * (len(wide) - len(x.shape)) + x.shape
    repeated = [k for k in axes if shape[k] == 1]
    added = tuple([k for k in axes if shape[k] != 1])
    left = tuple([n for k, n in enumerate(shape) if k not in axes])
    if not repeated and left == eqn.outputs[0].shape:
        return None
    copies = size_of([wide[k] for k in repeated])
    if not copies or (copies > 1 and x.dtype.kind == "c"):
        return None  # no copy of infinity is 0; n times a complex infinity has a part inf * 0
    x = s.emit("reshape", [x], shape, x.dtype, shape=shape)
    if added:
        kept = tuple([n for k, n in enumerate(shape) if k not in added])
        x = s.emit("sum", [x], kept, x.dtype, axes=added)
    x = s.emit("reshape", [x], left, x.dtype, shape=left)
    x = s.emit("multiply", [x, float(copies)], left, x.dtype)
    return s.emit_like("broadcast_to", [x], eqn, shape=eqn.outputs[0].shape)


# Products.


@rule("dot")
def dot_is_sum(s: Any, eqn: Equation) -> Any:
    """a · b = sum(a * b): one loop, with whatever made a and b."""
    a, b = eqn.inputs
    if eqn.outputs[0].dtype.kind not in "fc" or not (isinstance(a, Var) or isinstance(b, Var)):
        return None
    if len(a.shape) != 1 or len(b.shape) != 1:
        return None
    product = s.emit("multiply", [a, b], a.shape, eqn.outputs[0].dtype)
    return s.emit_like("sum", [product], eqn, axes=(0,))


@rule("matmul")
def outer_product(s: Any, eqn: Equation) -> Any:
    """A column times a row is an elementwise product."""
    a, b = eqn.inputs
    out = eqn.outputs[0]
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != 1 or out.dtype.kind not in "fc":
        return None
    return s.emit_like("multiply", [a, b], eqn)


@rule("kron")
def kron_is_product(s: Any, eqn: Equation) -> Any:
    """(A ⊗ B)[i k, j l] = A[i, j] B[k, l]: a product of broadcast arrays, reshaped."""
    a, b = eqn.inputs
    if eqn.outputs[0].dtype.kind not in "fc":
        return None
    wide = [n for pair in zip(a.shape, b.shape, strict=True) for n in pair]
    left = tuple([n for m in a.shape for n in (m, 1)])
    right = tuple([n for m in b.shape for n in (1, m)])
    a = s.emit("reshape", [a], left, a.dtype, shape=left)
    b = s.emit("reshape", [b], right, b.dtype, shape=right)
    product = s.emit("multiply", [a, b], tuple(wide), eqn.outputs[0].dtype)
    return s.emit_like("reshape", [product], eqn, shape=eqn.outputs[0].shape)


# Writes.


@rule("read_region", "view_region")
def read_of_write(s: Any, eqn: Equation) -> Any:
    """What was just written there."""
    maker = s.maker(eqn.inputs[0])
    if maker is None or maker.primitive.name != "write_region":
        return None
    written, value = maker.params["region"], maker.inputs[1]
    if not written.same(eqn.params["region"]):
        return None
    return value if fits(value, eqn) else None


@rule("write_region")
def write_of_nothing(s: Any, eqn: Equation) -> Any:
    """Where no entry is written, everything is left."""
    x = eqn.inputs[0]
    return x if not size_of(eqn.params["region"].shape) and fits(x, eqn) else None


@rule("write_region")
def write_of_all(s: Any, eqn: Equation) -> Any:
    """Where every entry is written, nothing is left of what was there."""
    value, out = eqn.inputs[1], eqn.outputs[0]
    strides = tuple([size_of(out.shape[k + 1 :]) for k in range(len(out.shape))])
    whole = Window(0, out.shape, strides, len(out.shape))
    return value if eqn.params["region"].same(whole) and fits(value, eqn) else None


@rule("add")
def sum_with_inserted(s: Any, eqn: Equation) -> Any:
    """t + (zeros with v at a place) = t with v added there: as long as v, not as t.

    Of z with v added there, z likewise, it is t + z with v added there.
    """
    out = eqn.outputs[0]
    for total, part in (eqn.inputs, eqn.inputs[::-1]):
        maker = s.maker(part)
        if maker is None or not fits(total, eqn) or part.dtype != out.dtype:
            continue
        if part.shape != out.shape:
            continue
        if maker.primitive.name == "insert_moving":
            value, at = maker.inputs
        elif maker.primitive.name == "add_moving" and _is_inserted(s, maker.inputs[0]):
            total = s.emit_like("add", [total, maker.inputs[0]], eqn)
            _, value, at = maker.inputs
        else:
            continue
        if value.dtype == out.dtype:
            return s.emit_like("add_moving", [total, value, at], eqn, region=maker.params["region"])
    return None


def _is_inserted(s: Any, a: Any) -> bool:
    maker = s.maker(a)
    return maker is not None and maker.primitive.name in ("insert_moving", "add_moving")
