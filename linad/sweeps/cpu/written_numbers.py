"""Numbers inside a function that is being compiled, with Python's operators.

What is computed with them becomes LLVM's instructions, at the place where they are used: nothing is
called, and Numba types nothing. Works for float64 and float32 in one text:

    def horner(x):                       # 1 + x + x^2 / 2, by two fused instructions
        return x.fma(x.fma(0.5, 1.0), 1.0)
"""

from typing import Any

from llvmlite import ir

FLAGS = ("contract",)
"""Says that a multiplication and an addition may be one instruction, and no more. Where kernels may
reorder arithmetic (`linad.config(fast_math=True)`), Numba permits all to instructions that have no
flags; the reductions of an argument would be gone."""

EXPLICIT_DIGITS = {64: 52, 32: 23}
"""Binary digits after the point, by the width of a number."""

BIAS = {64: 1023, 32: 127}


class Written:
    """A floating-point number, or the bits of one.

    Parameters
    ----------
    builder : llvmlite.ir.IRBuilder
    value : llvmlite.ir.Value
        Of a floating type, or of an integer type of the same width.
    """

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value
        self.width = 64 if value.type in (ir.DoubleType(), ir.IntType(64)) else 32

    def like(self, x: Any) -> "Written":
        """``x``, a Python number or one like this, of this one's type."""
        if isinstance(x, Written):
            return x
        return Written(self.builder, ir.Constant(self.value.type, x))

    # Arithmetic of floating-point numbers.

    def _made(self, name: str, a: Any, b: Any) -> "Written":
        operation = getattr(self.builder, name)
        return Written(self.builder, operation(self.like(a).value, self.like(b).value, flags=FLAGS))

    def __add__(self, x: Any) -> "Written":
        return self._made("fadd", self, x)

    def __sub__(self, x: Any) -> "Written":
        return self._made("fsub", self, x)

    def __rsub__(self, x: Any) -> "Written":
        return self._made("fsub", x, self)

    def __mul__(self, x: Any) -> "Written":
        return self._made("fmul", self, x)

    def __truediv__(self, x: Any) -> "Written":
        return self._made("fdiv", self, x)

    def __rtruediv__(self, x: Any) -> "Written":
        return self._made("fdiv", x, self)

    def __neg__(self) -> "Written":
        return Written(self.builder, self.builder.fneg(self.value))

    def fma(self, a: Any, c: Any) -> "Written":
        """``self * a + c``, rounded once where the processor can."""
        return self._call("fmuladd", self.like(a), self.like(c))

    def abs(self) -> "Written":
        return self._call("fabs")

    def copysign(self, x: "Written") -> "Written":
        return self._call("copysign", x)

    def _call(self, name: str, *more: "Written") -> "Written":
        kind = self.value.type
        signature = ir.FunctionType(kind, [kind] * (1 + len(more)))
        function = self.builder.module.declare_intrinsic(f"llvm.{name}", [kind], signature)
        arguments = [self.value, *[x.value for x in more]]
        return Written(self.builder, self.builder.call(function, arguments))

    # Conditions; NaN fulfils none.

    def is_below(self, x: Any) -> Any:
        return self._compared("<", x)

    def equals(self, x: Any) -> Any:
        return self._compared("==", x)

    def _compared(self, sign: str, x: Any) -> Any:
        return self.builder.fcmp_ordered(sign, self.value, self.like(x).value, flags=FLAGS)

    # Bits.

    def bits(self) -> "Written":
        return Written(self.builder, self.builder.bitcast(self.value, ir.IntType(self.width)))

    def number(self) -> "Written":
        """The number of these bits."""
        kind = ir.DoubleType() if self.width == 64 else ir.FloatType()
        return Written(self.builder, self.builder.bitcast(self.value, kind))

    def _on_bits(self, name: str, x: Any) -> "Written":
        operation = getattr(self.builder, name)
        return Written(self.builder, operation(self.value, self.like(x).value))

    def plus_bits(self, x: Any) -> "Written":
        return self._on_bits("add", x)

    def minus_bits(self, x: Any) -> "Written":
        return self._on_bits("sub", x)

    def and_bits(self, x: Any) -> "Written":
        return self._on_bits("and_", x)

    def xor_bits(self, x: Any) -> "Written":
        return self._on_bits("xor", x)

    def shifted_left(self, n: int) -> "Written":
        return self._on_bits("shl", n)

    def shifted_right(self, n: int) -> "Written":
        """Shifted, the sign kept."""
        return self._on_bits("ashr", n)

    def is_odd(self) -> Any:
        """Whether the last bit is set."""
        return self.builder.icmp_unsigned("!=", self.and_bits(1).value, self.like(0).value)

    def reaches_bits(self, x: Any) -> Any:
        """Whether, as a number without sign, it is ``x`` or more."""
        return self.builder.icmp_unsigned(">=", self.value, self.like(x).value)


def select(test: Any, a: Any, b: Any) -> Written:
    """``a`` where a condition holds, else ``b``; one of them may be a Python number."""
    given = a if isinstance(a, Written) else b
    chosen = given.builder.select(test, given.like(a).value, given.like(b).value)
    return Written(given.builder, chosen)
