"""Numbers in kernels, and what Numba's own functions make of them."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import callconv, errors, types
from numba.core.registry import cpu_target
from numba.core.types.misc import literal, unliteral

INT64 = ir.IntType(64)


class Number(NamedTuple):
    """A number in a kernel: what LLVM knows it by, and its type in Numba's words."""

    value: Any
    type: Any


@functools.cache
def contexts() -> tuple[Any, Any]:
    """Numba's knowledge of types, and of what its operators do on this processor."""
    typing, target = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    target.refresh()
    return typing, target.subtarget(error_model=callconv.create_error_model("numpy", target))


@functools.lru_cache(4096)
def _found(function: Any, kinds: tuple[Any, ...]) -> tuple[Any, Any]:
    """The types that a function of Numba's takes and gives, and what writes it."""
    typing, target = contexts()
    named = typing.resolve_value_type(function)
    signature = typing.resolve_function_type(named, kinds, {})
    if signature is None:
        raise TypeError
    return signature, target.get_function(named, signature)


class NumberWriter:
    """Writes what is computed of numbers.

    Attributes
    ----------
    builder : llvmlite.ir.IRBuilder
    context
        What Numba knows of the processor.
    """

    def __init__(self, builder: Any) -> None:
        self.builder, self.context = builder, contexts()[1]

    def cast(self, number: Number, kind: Any) -> Number:
        value = self.context.cast(self.builder, number.value, number.type, kind)
        return Number(value, kind)

    def applied(self, function: Callable[..., Any], *numbers: Number) -> Number:
        """What one of Numba's own functions gives."""
        kinds = tuple([unliteral(x.type) for x in numbers])
        if function is operator.mul and any(isinstance(k, types.Complex) for k in kinds):
            return self.product(*numbers)
        try:
            signature, write = _found(function, kinds)
            value = write(self.builder, self._passed(numbers, signature))
        except (TypeError, errors.NumbaError) as problem:
            # Numba has no such function, or one that is compiled apart, and may raise.
            of = ", ".join(map(str, kinds))
            raise TypeError(f"kernels know no {function} of {of}") from problem
        return Number(value, signature.return_type)

    def _passed(self, numbers: Sequence[Number], signature: Any) -> list[Any]:
        return [
            self.context.cast(self.builder, x.value, x.type, kind)
            for x, kind in zip(numbers, signature.args, strict=True)
        ]

    def intrinsic(self, function: Any, numbers: Sequence[Number]) -> Number:
        """What one of linad's own functions gives, which writes instructions itself."""
        kinds = [x.type for x in numbers]
        if not function._prefer_literal:
            kinds = [unliteral(kind) for kind in kinds]
        signature, write = function._defn(contexts()[0], *kinds)
        values = self._passed(numbers, signature)
        return Number(write(self.context, self.builder, signature, values), signature.return_type)

    def constant(self, value: Any) -> Number:
        """A number that the source says."""
        if isinstance(value, bool):
            return Number(ir.Constant(ir.IntType(1), int(value)), types.boolean)
        if isinstance(value, int):
            return Number(ir.Constant(INT64, value), literal(value))
        if isinstance(value, float):
            return Number(ir.Constant(ir.DoubleType(), value), types.float64)
        raise TypeError(f"kernels know no constant {value!r}")

    def extreme(self, sign: Callable[..., Any], a: Number, b: Number) -> Number:
        """The lesser or the greater of two numbers; the first if they are equal, or NaN."""
        first, second = self.of_one_type([a, b])
        test = self.applied(sign, second, first).value
        return Number(self.builder.select(test, second.value, first.value), first.type)

    def of_one_type(self, numbers: Sequence[Number]) -> list[Number]:
        """Numbers cast to the type that holds them all."""
        kind = contexts()[0].unify_types(*[unliteral(x.type) for x in numbers])
        return [self.cast(x, kind) for x in numbers]

    def product(self, a: Number, b: Number) -> Number:
        """(x + iu)(y + iv) = xy - uv + i(xv + uy), as NumPy computes it."""
        kind = contexts()[0].unify_types(a.type, b.type)
        z, w = self.cast(a, kind).value, self.cast(b, kind).value
        extract, builder = self.builder.extract_value, self.builder
        x, u, y, v = extract(z, 0), extract(z, 1), extract(w, 0), extract(w, 1)
        real = builder.fsub(builder.fmul(x, y), builder.fmul(u, v))
        imag = builder.fadd(builder.fmul(x, v), builder.fmul(u, y))
        both = builder.insert_value(ir.Constant(z.type, ir.Undefined), real, 0)
        return Number(builder.insert_value(both, imag, 1), kind)

    def truth(self, number: Number) -> Any:
        """Whether a number is not zero, as LLVM's bit."""
        return self.cast(number, types.boolean).value
