"""Loops whose turns may be taken in any order, two at a time.

    for k in any_order(range(n)):
        u[k, i] += u[k, j]

No turn reads what another one writes. LLVM cannot see that where the distance of the entries is a
number that it does not know, as here, and takes one turn after the other. Told so, it takes two at
once, in vectors of two numbers: more would not pay where the entries lie apart, and there are few
turns.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

WIDTH = 2


def any_order(numbers: Any) -> Any:
    """The numbers of a range; in kernels only."""
    raise NotImplementedError


class _Distinct(ir.MDValue):
    """A node of metadata that is no other, whatever it holds, and may hold itself."""

    def __init__(self, module: Any, holds_itself: bool, *values: Any) -> None:
        super().__init__(module, values, name=str(len(module.metadata)))
        self.parts = (*[self] * holds_itself, *values)

    __eq__ = object.__eq__  # nodes that hold the same would count as one
    __hash__ = object.__hash__

    def descr(self, buf: list[str]) -> None:
        parts = ", ".join([_reference(v) for v in self.parts])
        buf.append(f"distinct !{{ {parts} }}\n")


def _reference(value: Any) -> str:
    is_node = isinstance(value, ir.MDValue)
    return str(value.get_reference() if is_node else f"{value.type} {value.get_reference()}")


def mark_loop(module: Any, jump: Any, blocks: Sequence[Any]) -> None:
    """Tell LLVM of a loop that its turns do not depend on each other.

    Parameters
    ----------
    module : llvmlite.ir.Module
    jump : llvmlite.ir.Instruction
        From the end of a turn to the next one.
    blocks : sequence of llvmlite.ir.Block
        The loop's.
    """
    group = _Distinct(module, False)
    for block in blocks:
        for instruction in block.instructions:
            if instruction.opname in ("load", "store"):
                instruction.set_metadata("llvm.access.group", group)
    facts = [
        module.add_metadata([ir.MetaDataString(module, f"llvm.loop.{name}"), value])
        for name, value in (
            ("parallel_accesses", group),
            ("vectorize.width", ir.Constant(ir.IntType(32), WIDTH)),
            ("interleave.count", ir.Constant(ir.IntType(32), 1)),
        )
    ]
    jump.set_metadata("llvm.loop", _Distinct(module, True, *facts))
