"""Primitives that are one operator of ONNX, or a few."""

from typing import Any

import numpy as np
from onnx import TensorProto

from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var
from linad.export.onnx_values import NoForm
from linad.export.onnx_writer import FORMS, Writer, form

UNARY = {
    "absolute": "Abs",
    "ceil": "Ceil",
    "cos": "Cos",
    "exp": "Exp",
    "expit": "Sigmoid",
    "fabs": "Abs",
    "fix": "trunc",
    "floor": "Floor",
    "log": "Log",
    "negative": "Neg",
    "reciprocal": "Reciprocal",
    "rint": "Round",
    "root": "Sqrt",
    "side": "Sign",
    "sign": "Sign",
    "sin": "Sin",
    "sqrt": "Sqrt",
    "tanh": "Tanh",
}
"""y = f(x), in the dtype of the result."""

SAME = "conjugate copy inside positive real settled stop_gradient"
"""y = x, of real numbers."""

BINARY = {
    "add": "Add",
    "divide": "Div",
    "maximum": "Max",
    "minimum": "Min",
    "multiply": "Mul",
    "power": "Pow",
    "subtract": "Sub",
}

OF_TRUTHS = {"Add": "Or", "Max": "Or", "Mul": "And", "Min": "And"}

COMPARISONS = {
    "equal": "Equal",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "less": "Less",
    "less_equal": "LessOrEqual",
}

LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}

BITS = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}

REDUCTIONS = {"max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd", "sum": "ReduceSum"}


def _unary(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    op = UNARY[eqn.primitive.name]
    if y.dtype.kind in "biu" and op in ("Ceil", "Floor", "Round", "trunc"):
        return writer.read(x, y.dtype)
    if y.dtype.kind == "b":
        if op == "Abs":
            return writer.read(x)
        raise NoForm(f"{op} of bool")
    if op == "trunc":
        return trunc(writer, eqn)
    return writer.node(op, [writer.read(x, y.dtype)])


FORMS.update(dict.fromkeys(UNARY, _unary))


@form("trunc")
def trunc(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    name = writer.read(x, y.dtype)
    if y.dtype.kind != "f":
        return name
    size = writer.node("Floor", [writer.node("Abs", [name])])
    return writer.node("Mul", [writer.node("Sign", [name]), size])


@form(*SAME.split())
def same(writer: Writer, eqn: Equation) -> Any:
    return writer.read(eqn.inputs[0], eqn.outputs[0].dtype)


def row(a: Any, y: Var) -> Any:
    """A number as a row of itself.

    ONNX Runtime folds a constant scalar beside a product of matrices into an attribute of it
    that is of single precision, whatever the dtype. It leaves rows alone.
    """
    if isinstance(a, Var) or np.size(a) != 1 or y.dtype != np.float64 or size_of(y.shape) < 2:
        return a
    axis = int(np.argmax(y.shape))
    shape = [n if k == axis else 1 for k, n in enumerate(y.shape)]
    return np.full(shape, np.asarray(a, np.float64).reshape(()))


def _binary(writer: Writer, eqn: Equation) -> Any:
    (y,), op = eqn.outputs, BINARY[eqn.primitive.name]
    if y.dtype.kind == "b":
        if op not in OF_TRUTHS:
            raise NoForm(f"{op} of bool")
        op = OF_TRUTHS[op]
    if op == "Div" and y.dtype.kind != "f":
        raise NoForm(f"division in {y.dtype}")
    if size_of(y.shape) == 1 and y.shape and not all(isinstance(a, Var) for a in eqn.inputs):
        # The one entry of a matrix, which a product of matrices may have made; see `row`.
        flat = []
        for a in eqn.inputs:
            shape = a.shape if isinstance(a, Var) else np.shape(a)
            flat.append(writer.reshape(writer.read(a, y.dtype), shape, ()))
        return writer.reshape(writer.node(op, flat), (), y.shape)
    return writer.node(op, [writer.read(row(a, y), y.dtype) for a in eqn.inputs])


FORMS.update(dict.fromkeys(BINARY, _binary))


def common(eqn: Equation) -> np.dtype:
    """The dtype in which NumPy compares the operands."""
    kinds = [a.dtype if isinstance(a, Var) else a for a in eqn.inputs]
    return np.result_type(*kinds)


def _comparison(writer: Writer, eqn: Equation) -> Any:
    dtype = common(eqn)
    if dtype.kind == "b" and eqn.primitive.name != "equal":
        dtype = np.dtype(np.int32)
    pair = [writer.read(a, dtype) for a in eqn.inputs]
    return writer.node(COMPARISONS[eqn.primitive.name], pair)


FORMS.update(dict.fromkeys(COMPARISONS, _comparison))


@form("not_equal")
def not_equal(writer: Writer, eqn: Equation) -> Any:
    pair = [writer.read(a, common(eqn)) for a in eqn.inputs]
    return writer.node("Not", [writer.node("Equal", pair)])


def truth(writer: Writer, a: Any) -> str:
    """Whether an operand is not zero."""
    if not isinstance(a, Var):
        return writer.constant(np.asarray(a) != 0)
    if a.dtype.kind == "b":
        return writer.read(a)
    zero = writer.constant(0, a.dtype)
    made: str = writer.node("Not", [writer.node("Equal", [writer.read(a), zero])])
    return made


def _logical(writer: Writer, eqn: Equation) -> Any:
    return writer.node(LOGICAL[eqn.primitive.name], [truth(writer, a) for a in eqn.inputs])


FORMS.update(dict.fromkeys(LOGICAL, _logical))


def _bits(writer: Writer, eqn: Equation) -> Any:
    (y,), op = eqn.outputs, BITS[eqn.primitive.name]
    name = op if y.dtype.kind == "b" else f"Bitwise{op}"
    return writer.node(name, [writer.read(a, y.dtype) for a in eqn.inputs])


FORMS.update(dict.fromkeys(BITS, _bits))


@form("invert")
def invert(writer: Writer, eqn: Equation) -> Any:
    op = "Not" if eqn.outputs[0].dtype.kind == "b" else "BitwiseNot"
    return writer.node(op, [writer.read(eqn.inputs[0])])


@form("logical_not")
def logical_not(writer: Writer, eqn: Equation) -> Any:
    return writer.node("Not", [truth(writer, eqn.inputs[0])])


@form("isnan")
def isnan(writer: Writer, eqn: Equation) -> Any:
    (x,) = eqn.inputs
    if x.dtype.kind != "f":
        return writer.expand(writer.constant(np.array(False)), (), x.shape)
    return writer.node("IsNaN", [writer.read(x)])


@form("astype", "astype_exact")
def astype(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    if y.dtype.kind == "b":
        return truth(writer, x)
    return writer.read(x, y.dtype)


@form("where")
def where(writer: Writer, eqn: Equation) -> Any:
    condition, a, b = eqn.inputs
    dtype = eqn.outputs[0].dtype
    names = [truth(writer, condition), writer.read(a, dtype), writer.read(b, dtype)]
    return writer.node("Where", names)


@form("masked")
def masked(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    mask = eqn.params["mask"]
    condition = writer.read(mask) if isinstance(mask, Var) else writer.constant(mask, bool)
    return writer.node("Where", [condition, writer.read(x), writer.constant(0, y.dtype)])


@form("clip")
def clip(writer: Writer, eqn: Equation) -> Any:
    (y,) = eqn.outputs
    x, low, high = [writer.read(a, y.dtype) for a in eqn.inputs]
    return writer.node("Min", [writer.node("Max", [x, low]), high])


@form("fmod")
def fmod(writer: Writer, eqn: Equation) -> Any:
    (y,) = eqn.outputs
    return writer.node("Mod", [writer.read(a, y.dtype) for a in eqn.inputs], fmod=1)


# Reductions.


def reduced(writer: Writer, op: str, name: str, axes: Any, shape: Shape) -> str:
    """A reduction over axes; over none it is the operand."""
    if not len(axes):
        return name
    made: str = writer.node(op, [name, writer.numbers(axes)], keepdims=0)
    return made


def _reduction(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,), op = eqn.inputs, eqn.outputs, REDUCTIONS[eqn.primitive.name]
    axes = eqn.params["axes"]
    if y.dtype.kind == "b":
        whole = writer.cast(writer.read(x), x.dtype, np.int32)
        kind = {"ReduceSum": "ReduceMax", "ReduceProd": "ReduceMin"}.get(op, op)
        return writer.cast(reduced(writer, kind, whole, axes, x.shape), np.int32, bool)
    name = writer.read(x, y.dtype)
    if not size_of(x.shape):
        if op in ("ReduceSum", "ReduceProd"):
            return writer.constant(np.full(y.shape, op == "ReduceProd", y.dtype))
        return writer.constant(np.zeros(y.shape, y.dtype))
    found = reduced(writer, op, name, axes, x.shape)
    if op in ("ReduceMax", "ReduceMin") and y.dtype.kind == "f" and axes:
        # NaN is the extremum of a row that has one, in NumPy.
        missing = writer.cast(writer.node("IsNaN", [name]), bool, np.int32)
        some = reduced(writer, "ReduceMax", missing, axes, x.shape)
        nan = writer.constant(np.nan, y.dtype)
        found = writer.node("Where", [writer.cast(some, np.int32, bool), nan, found])
    return found


FORMS.update(dict.fromkeys(REDUCTIONS, _reduction))


def _axes_of(eqn: Equation) -> tuple[int, ...]:
    """The axes that ``axis`` names; all of them without one."""
    ndim = len(eqn.inputs[0].shape)
    axis = eqn.params.get("axis")
    if axis is None:
        return tuple(range(ndim))
    return tuple([int(k) % ndim for k in np.atleast_1d(axis)])


@form("all", "any")
def all_or_any(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    every = eqn.primitive.name == "all"
    if not set(eqn.params) <= {"axis", "keepdims"}:
        raise NoForm(f"parameters {sorted(eqn.params)}")
    if not size_of(x.shape):
        return writer.constant(np.full(y.shape, every))
    numbers = writer.cast(truth(writer, x), bool, np.int32)
    op = "ReduceMin" if every else "ReduceMax"
    found = reduced(writer, op, numbers, _axes_of(eqn), x.shape)
    return writer.cast(writer.node("Reshape", [found, writer.numbers(y.shape)]), np.int32, bool)


@form("count_nonzero")
def count_nonzero(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    if not size_of(x.shape):
        return writer.constant(np.zeros(y.shape, y.dtype))
    numbers = writer.cast(truth(writer, x), bool, np.int64)
    found = reduced(writer, "ReduceSum", numbers, _axes_of(eqn), x.shape)
    return writer.cast(writer.node("Reshape", [found, writer.numbers(y.shape)]), np.int64, y.dtype)


@form("argmax", "argmin")
def argmax(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    op = "ArgMax" if eqn.primitive.name == "argmax" else "ArgMin"
    axis, shape = eqn.params.get("axis"), x.shape
    name = writer.read(x, np.int32 if x.dtype.kind == "b" else None)
    if axis is None:
        name, axis, shape = writer.reshape(name, shape, (size_of(shape),)), 0, (size_of(shape),)
    found = writer.node(op, [name], axis=int(axis) % len(shape), keepdims=0)
    return writer.node("Reshape", [found, writer.numbers(y.shape)])


# Products.


@form("matmul", "dot", "matvec")
def matmul(writer: Writer, eqn: Equation) -> Any:
    (a, b), (y,) = eqn.inputs, eqn.outputs
    left, right = np.shape(a), np.shape(b)
    names = [writer.read(a, y.dtype), writer.read(b, y.dtype)]
    if not size_of(left) or not size_of(right):
        return writer.constant(np.zeros(y.shape, y.dtype))
    # Vectors are matrices here, with a reshape behind: what follows is then not beside it.
    rows = (1, *left) if len(left) == 1 else left
    columns = (*right, 1) if len(right) == 1 else right
    names = [writer.reshape(names[0], left, rows), writer.reshape(names[1], right, columns)]
    batch = np.broadcast_shapes(rows[:-2], columns[:-2])
    made = writer.node("MatMul", names)
    return writer.reshape(made, (*batch, rows[-2], columns[-1]), y.shape)


@form("einsum")
def einsum(writer: Writer, eqn: Equation) -> Any:
    (y,) = eqn.outputs
    labels = ",".join(eqn.params["labels"])
    names = [writer.read(a, y.dtype) for a in eqn.inputs]
    if not all(size_of(np.shape(a)) for a in eqn.inputs):
        return writer.constant(np.zeros(y.shape, y.dtype))
    return writer.node("Einsum", names, equation=f"{labels}->{eqn.params['out']}")


# Shapes.


@form("reshape")
def reshape(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    return writer.reshape(writer.read(x), x.shape, y.shape)


@form("transpose")
def transpose(writer: Writer, eqn: Equation) -> Any:
    (x,), axes = eqn.inputs, eqn.params["axes"]
    order = [int(k) % len(x.shape) for k in axes]
    return writer.node("Transpose", [writer.read(x)], perm=order) if order else writer.read(x)


@form("broadcast_to", "spread")
def broadcast_to(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    return writer.expand(writer.read(x, y.dtype), x.shape, y.shape)


@form("concatenate")
def concatenate(writer: Writer, eqn: Equation) -> Any:
    (y,) = eqn.outputs
    names = [writer.read(a, y.dtype) for a in eqn.inputs]
    return writer.node("Concat", names, axis=int(eqn.params["axis"]) % len(y.shape))


@form("cumsum")
def cumsum(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    axis = writer.constant(int(eqn.params["axis"]) % len(x.shape), np.int64)
    return writer.node("CumSum", [writer.read(x, y.dtype), axis])


@form("_ones_like", "ones_like", "zeros_like", "empty_like")
def filled(writer: Writer, eqn: Equation) -> Any:
    (y,) = eqn.outputs
    number = 1 if "ones" in eqn.primitive.name else 0
    return writer.expand(writer.constant(number, y.dtype), (), y.shape)


@form("full_like")
def full_like(writer: Writer, eqn: Equation) -> Any:
    (y,) = eqn.outputs
    value = eqn.inputs[1] if len(eqn.inputs) > 1 else eqn.params["fill_value"]
    return writer.expand(writer.read(value, y.dtype), np.shape(value), y.shape)


# Decisions.


@form("guard", "unchanged")
def guard(writer: Writer, eqn: Equation) -> Any:
    (x,), expected = eqn.inputs, np.asarray(eqn.params["expected"])
    shape = np.shape(x)
    if not size_of(shape):
        return ()
    dtype = x.dtype if isinstance(x, Var) else np.asarray(x).dtype
    name, wanted = writer.read(x), writer.constant(expected, dtype)
    same = writer.node("Equal", [name, wanted])
    if dtype.kind == "f" and np.isnan(expected).any():
        both = writer.node("And", [writer.node("IsNaN", [n]) for n in (name, wanted)])
        same = writer.node("Or", [same, both])
    if shape:
        numbers = writer.node("Cast", [same], to=TensorProto.INT32)
        whole = reduced(writer, "ReduceMin", numbers, range(len(shape)), shape)
        same = writer.cast(whole, np.int32, bool)
    writer.holds.append(same)
    return ()
