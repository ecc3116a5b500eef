"""What LLVM is told of a loop of a kernel that it cannot see, or judges otherwise.

**Turns in any order.** No turn reads what another one writes:

    for k in any_order(range(n)):
        u[k, i] += u[k, j]

LLVM cannot see that where the distance of the entries is a number that it does not know, as here,
and takes one turn after the other. Told so, it takes two at once, in vectors of two numbers: more
would not pay where the entries lie apart, and there are few turns.

**One vector a turn.** LLVM takes two to four vectors of entries in each turn of a loop, so that
the processor need not wait for one operation before it begins the next. The constants of a
polynomial and what two vectors need of registers are more than there are, so that constants are
read anew in each turn; and the processor begins the next turn by itself, unless a turn is longer
than what it looks ahead: where a polynomial waits for another one's result.

**Whole vectors.** Of 14 entries LLVM takes eight at once and six one by one, which takes as long as
six vectors. Told so, it takes the six in a vector, too, with the other two masked:

    for i in whole_vectors(range(start, stop)):
        set_f8(q1, i, v_exp(get_f8(q0, i, -1)), 0)

A mask costs little where it is one bit an entry, as of AVX-512; elsewhere nothing is said.
"""

import ast
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from linad.sweeps.cpu.vector_math import INLINED

WIDTH = 2

POLYNOMIALS = frozenset([f"{prefix}_{name}" for prefix in "vw" for name in INLINED])
"""Functions that kernels have inline."""


def any_order(numbers: Any) -> Any:
    """The numbers of a range; in kernels only."""
    raise NotImplementedError


def whole_vectors(numbers: Any) -> Any:
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


def mark_in_any_order(module: Any, jump: Any, blocks: Sequence[Any]) -> None:
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
    _mark(module, jump, parallel_accesses=group, **{"vectorize.width": WIDTH, **ONE_VECTOR})


ONE_VECTOR = {"interleave.count": 1}


def mark_one_vector(module: Any, jump: Any) -> None:
    """Have a turn of a vectorised loop be one vector of entries."""
    _mark(module, jump, **ONE_VECTOR)


def mark_whole_vectors(module: Any, jump: Any) -> None:
    """Have the entries that are left over of a vectorised loop be a vector, with a mask."""
    _mark(module, jump, **{"vectorize.predicate.enable": 1, **ONE_VECTOR})


def _mark(module: Any, jump: Any, **facts: Any) -> None:
    word = ir.IntType(32)
    nodes = [
        module.add_metadata(
            [
                ir.MetaDataString(module, f"llvm.loop.{name}"),
                ir.Constant(word, value) if isinstance(value, int) else value,
            ]
        )
        for name, value in facts.items()
    ]
    jump.set_metadata("llvm.loop", _Distinct(module, True, *nodes))


def chain_of_polynomials(statements: Sequence[ast.stmt]) -> int:
    """How many polynomials wait for each other at most, one for the result of the next, in what a
    loop repeats; 0 where it holds another loop, too.
    """
    known: dict[str, int] = {}
    longest = 0
    for statement in statements:
        if isinstance(statement, ast.For):
            return 0
        if isinstance(statement, (ast.Assign, ast.Expr)):
            chain = _chain(statement.value, known)
            longest = max(longest, chain)
            for target in getattr(statement, "targets", ()):
                if isinstance(target, ast.Name):
                    known[target.id] = chain
    return longest


def _chain(node: ast.AST, known: dict[str, int]) -> int:
    if isinstance(node, ast.Name):
        return known.get(node.id, 0)
    longest = max([_chain(n, known) for n in ast.iter_child_nodes(node)], default=0)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        longest += node.func.id in POLYNOMIALS
    return longest
