"""Memory by address: what kernels and the sweep loop are written with.

Kernels see numbers, not arrays: an operand is the address of its first element. The
functions here read and write at addresses from inside `numba.njit`, and call other kernels by
address.

``get_f8(a, i, k)`` and ``set_f8(a, i, v, k)`` read and write element ``i`` of the array at
address ``a``; ``f8`` is NumPy's name of the dtype. ``k`` tells the optimiser what cannot
overlap: the number of the output that the array is, or -1 for arrays that are only read.
Without it LLVM guards each loop with a comparison of every pair of arrays, and gives up
vectorising at eight.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from linad.sweeps.kernel_dtypes import NAMES
from linad.sweeps.loop_source import OUTPUTS

INT64 = ir.IntType(64)
KERNEL = types.int64(types.int64, types.int64, types.int64)
"""``status = kernel(address of the operands, start, stop)``; zero is success."""

# CPython's and NumPy's structs: PyTupleObject and PyArrayObject_fields.
HEADER = object.__basicsize__
TUPLE_ITEMS = tuple.__basicsize__
ARRAY_DATA = HEADER
ARRAY_NDIM = HEADER + 8
ARRAY_SHAPE = HEADER + 16
ARRAY_DTYPE = HEADER + 40
ARRAY_FLAGS = HEADER + 48


@intrinsic
def word(context: Any, address: Any) -> Any:
    """The 64-bit integer at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.inttoptr(args[0], INT64.as_pointer()))

    return types.int64(types.int64), generate


@intrinsic
def word32(context: Any, address: Any) -> Any:
    """The 32-bit integer at an address, widened."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        half = builder.load(builder.inttoptr(args[0], ir.IntType(32).as_pointer()))
        return builder.sext(half, INT64)

    return types.int64(types.int64), generate


@intrinsic
def set_word(context: Any, address: Any, value: Any) -> Any:
    """Write a 64-bit integer at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], INT64.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def call_kernel(context: Any, kernel: Any, operands: Any, start: Any, stop: Any) -> Any:
    """Call the kernel at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(INT64, [INT64] * 3)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return KERNEL.return_type(types.int64, *KERNEL.args), generate


@intrinsic
def call_by_address(context: Any, function: Any, arguments: Any) -> Any:
    """Call the C function at an address; its arguments are addresses, and it returns nothing."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        passed = cgutils.unpack_tuple(builder, args[1], len(arguments))
        kind = ir.FunctionType(ir.VoidType(), [INT64] * len(passed))
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), passed)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


@intrinsic
def pointer(context: Any, address: Any) -> Any:
    """An address as Numba's untyped pointer, for `numba.carray`."""

    def generate(context: Any, builder: Any, signature: Any, args: tuple[Any, ...]) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@intrinsic
def operand(context: Any, operands: Any, k: Any) -> Any:
    """Word ``k`` of the operands of a kernel."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        base = builder.inttoptr(args[0], INT64.as_pointer())
        return builder.load(builder.gep(base, [args[1]], inbounds=True))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def number(context: Any, bits: Any) -> Any:
    """The float64 of these bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


def check_divisions() -> None:
    """From here on, a division by zero ends the kernel, as in Python."""


def check_indices() -> None:
    """From here on, an index that an array does not have ends the kernel, as in Python."""


def check_range(array: Any, axis: int, first: int, last: int, least: int, most: int) -> None:
    """End the kernel, as in Python, unless the array has the entries from ``first`` to ``last``
    along an axis, and those beside them: ``least`` and ``most`` say how far aside."""


def within(index: int, length: int) -> int:
    """An index of a part of an array, which has so many entries; if not, the kernel ends."""
    return index


def trusted(index: int, length: int) -> int:
    """The same, where it has been looked at."""
    return index


def known(index: int) -> int:
    """An index that the array has."""
    return index


@intrinsic
def select(context: Any, condition: Any, a: Any, b: Any) -> Any:
    """``a if condition else b``, both computed: no branch, so that loops vectorise."""
    kind = context.unify_types(a, b)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        test, first, second = args
        if isinstance(kind, types.Complex):
            # Struct values cannot be selected part by part by every back end.
            parts = [
                builder.select(
                    test, builder.extract_value(first, k), builder.extract_value(second, k)
                )
                for k in range(2)
            ]
            both = builder.insert_value(ir.Constant(first.type, ir.Undefined), parts[0], 0)
            return builder.insert_value(both, parts[1], 1)
        return builder.select(test, first, second)

    return kind(types.boolean, kind, kind), generate


@njit
def clipped(x: Any, low: Any, high: Any) -> Any:
    """The number nearest to ``x`` between two bounds, as `numpy.clip`; NaN stays."""
    above = select((x > low) | (x != x), x, low)
    above = select(low != low, low, above)
    below = select((above < high) | (above != above), above, high)
    return select(high != high, high, below)


def _reordered(operation: str) -> Any:
    """Addition or multiplication that the optimiser may reorder, for sums of many terms.

    A term that is a `summed_product` may be added with one rounding.
    """
    flags = ("reassoc", "nsz") + ("contract",) * (operation == "fadd")

    @intrinsic
    def combine(context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if isinstance(a, types.Complex):
                (x, u), (y, v) = (
                    [builder.extract_value(number, k) for k in range(2)] for number in args
                )
                if operation == "fadd":
                    parts = [builder.fadd(s, t, flags=flags) for s, t in ((x, y), (u, v))]
                else:  # (x + iu)(y + iv) = xy - uv + i(xv + uy)
                    xy, uv, xv, uy = (
                        builder.fmul(s, t, flags=flags) for s, t in ((x, y), (u, v), (x, v), (u, y))
                    )
                    parts = [builder.fsub(xy, uv, flags=flags), builder.fadd(xv, uy, flags=flags)]
                both = builder.insert_value(ir.Constant(args[0].type, ir.Undefined), parts[0], 0)
                return builder.insert_value(both, parts[1], 1)
            if isinstance(a, types.Integer):
                return getattr(builder, operation[1:])(*args)
            return getattr(builder, operation)(*args, flags=flags)

        return a(a, a), generate

    return combine


accumulate = _reordered("fadd")
accumulate_product = _reordered("fmul")


@intrinsic
def summed_product(context: Any, a: Any, b: Any) -> Any:
    """A product that need not be rounded before it is added to a sum."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fmul(*args, flags=("contract",))

    return a(a, b), generate


# Typed elements.

DTYPES = {name: types.boolean if name == "b1" else from_dtype(np.dtype(name)) for name in NAMES}
"""Numba's types of the dtypes that kernels compute in."""


def storage_of(kind: Any) -> Any:
    """How LLVM keeps a number of a type in memory."""
    parts = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
    if kind is types.boolean:
        return ir.IntType(8)
    if isinstance(kind, types.Integer):
        width: Any = kind
        return ir.IntType(width.bitwidth)
    if isinstance(kind, types.Complex):
        part = parts[kind.underlying_float]
        return ir.LiteralStructType([part, part])
    return parts[kind]


def _mark(instruction: Any, builder: Any, k: Any) -> None:
    """Say which other arrays a load or store cannot touch."""
    number = k.literal_value
    if not -1 <= number < OUTPUTS:  # one output too many: it may be any array
        return
    mine, others = _marks_of(builder.module, number)
    instruction.set_metadata("alias.scope", mine)
    if number >= 0:
        instruction.set_metadata("noalias", others)


def _marks_of(module: Any, number: int) -> tuple[Any, Any]:
    """The mark of the inputs, which have the number -1, or of an output; and of those before it.

    Of two arrays LLVM asks whether the one's mark is among the others of the other, and the
    reverse; so it is enough that the later one knows the earlier, and nobody need know how many
    will come.
    """
    if not hasattr(module, "linad_marks"):
        module.linad_marks = {}
    if number not in module.linad_marks:
        domain = module.add_metadata(["linad"])
        scopes = [module.add_metadata([f"array {j}", domain]) for j in range(-1, number + 1)]
        found = module.add_metadata(scopes[-1:]), module.add_metadata(scopes[:-1])
        module.linad_marks[number] = found
    return module.linad_marks[number]  # type: ignore[no-any-return]


def _element(builder: Any, kind: Any, address: Any, i: Any) -> Any:
    base = builder.inttoptr(address, storage_of(kind).as_pointer())
    return builder.gep(base, [i], inbounds=True)


def _getter(kind: Any) -> Any:
    @intrinsic(prefer_literal=True)
    def get(context: Any, address: Any, i: Any, k: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(_element(builder, kind, args[0], args[1]))
            value.align = kind.bitwidth // 16 if isinstance(kind, types.Complex) else None
            _mark(value, builder, k)
            if kind is types.boolean:
                return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
            return value

        return kind(types.int64, types.int64, k), generate

    return get


def _setter(kind: Any) -> Any:
    @intrinsic(prefer_literal=True)
    def set_(context: Any, address: Any, i: Any, value: Any, k: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = args[2]
            if kind is types.boolean:
                value = builder.zext(value, ir.IntType(8))
            store = builder.store(value, _element(builder, kind, args[0], args[1]))
            store.align = kind.bitwidth // 16 if isinstance(kind, types.Complex) else None
            _mark(store, builder, k)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, kind, k), generate

    return set_


GETTERS = {f"get_{name}": _getter(kind) for name, kind in DTYPES.items()}
SETTERS = {f"set_{name}": _setter(kind) for name, kind in DTYPES.items()}
