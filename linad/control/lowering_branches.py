"""Choices as instructions: each branch is a program, and the kernel runs one of them."""

from typing import Any

import numpy as np

from linad.control.lowering_loops import address_of, as_program
from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.sweeps.cpu.program import CpuProgram, Workspace
from linad.sweeps.data_movement import contiguous
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import canonical

BRANCH = f"""def kernel(p, start, stop):
    index = get_i8(operand(p, 0), 0, -1)
    if index < 0 or index >= operand(p, 2):
        return {NO_RESULT}
    d = word(operand(p, 1) + 8 * index)
    code, end, at = word(d), word(d + 8), d + 24
    for i in range(word(d + 16)):
        set_word(word(at), operand(p, word(at + 8)) + word(at + 16))
        at += 24
    while code < end:
        status = call_kernel(word(code), code + 32, 0, word(code + 8))
        if status != 0:
            return status
        code += 32 + 8 * word(code + 24)
    return 0
"""
"""The kernel of all choices. Operands: the index, the addresses of the descriptions, their number,
then operands and results. A description: [code, its end, uses; word to set, operand, offset]."""


def lower_branch(lowering: Any, eqn: Equation) -> bool:
    """Add the instruction of a choice, or say that Python has to make it."""
    owner: Any = eqn.primitive
    programs = []
    for body in owner.parts:
        variables = (*body.tape.inputs, *body.outputs)
        if any(name_of_dtype(v.dtype) is None or not size_of(v.shape) for v in variables):
            return False
        made = as_program(body, lowering)
        if made is None:
            return False
        programs.append(made.program)
    index, *places = [contiguous(lowering, lowering.place_of(a)) for a in eqn.inputs]
    wanted = [canonical(d) for _, d in owner.shapes[1:]]
    if index.dtype != np.int64 or [p.dtype for p in places] != wanted:
        return False
    places += [lowering.result(v) for v in eqn.outputs]
    words = [address_of(index), Branches(programs), len(programs)]
    words += [address_of(p) for p in places]
    lowering.emit(BRANCH, 1, words, f"one of {len(programs)} branches")
    return True


class Branches:
    """What the instruction of a choice knows: for each branch a workspace and its description."""

    def __init__(self, programs: list[CpuProgram]) -> None:
        self.programs = programs

    def word_in(self, workspace: Any) -> int:
        """The address of the addresses of the descriptions, for a workspace."""
        descriptions = []
        for program in self.programs:
            inner = Workspace(program)
            code, end, uses = inner.uses()
            pairs = [(w, 3 + i, o) for i, found in enumerate(uses) for w, o in found]
            words = np.array([code, end, len(pairs), *[n for p in pairs for n in p]], np.int64)
            workspace.inner.append((inner, words))
            descriptions.append(int(words.ctypes.data))
        made = np.array(descriptions, np.int64)
        workspace.inner.append(made)
        return int(made.ctypes.data)
