"""Words that several threads read and write, from inside compiled code.

Each function is one instruction of the processor, sequentially consistent: all threads see all
of them in one order, and what a thread wrote before one of them is seen by whoever reads after.
"""

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

INT64 = ir.IntType(64)
ORDER = "seq_cst"


def _pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, INT64.as_pointer())


@intrinsic
def shared_word(context: Any, address: Any) -> Any:
    """The 64-bit integer at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_pointer(builder, args[0]), ORDER, 8)

    return types.int64(types.int64), generate


@intrinsic
def set_shared_word(context: Any, address: Any, value: Any) -> Any:
    """Write a 64-bit integer at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], _pointer(builder, args[0]), ORDER, 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def add_to_shared_word(context: Any, address: Any, value: Any) -> Any:
    """Add to the integer at an address; return what it was."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _pointer(builder, args[0]), args[1], ORDER)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def replace_shared_word(context: Any, address: Any, expected: Any, value: Any) -> Any:
    """Write a value where the expected one stands; return whether it stood there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = builder.cmpxchg(_pointer(builder, args[0]), args[1], args[2], ORDER, ORDER)
        return builder.extract_value(found, 1)

    return types.boolean(types.int64, types.int64, types.int64), generate
