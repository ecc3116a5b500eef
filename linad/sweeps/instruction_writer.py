"""The instructions of a program, added one after the other: loops, copies, fills."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.primitive import Primitive
from linad.core.settings import Settings
from linad.core.shapes import size_of
from linad.core.tape import Equation, Var
from linad.sweeps.instructions import Fallback, KernelCall
from linad.sweeps.loop_reductions import REDUCTIONS
from linad.sweeps.loop_templates import WrittenLoop
from linad.sweeps.places import Place, spread_over
from linad.sweeps.steps import Loop
from linad.sweeps.target import Target

NAN_TESTS = {"isnan", "isfinite", "isinf"}
"""Primitives whose loops never ignore NaN and infinity."""


class InstructionWriter:
    """What adds instructions; where values live is known to those who call.

    Parameters
    ----------
    target : Target
        What they are for.
    chosen : Settings
        What they are made with.

    Attributes
    ----------
    instructions : list of KernelCall or Fallback
    """

    def __init__(self, target: Target, chosen: Settings) -> None:
        self.target, self.chosen = target, chosen
        self.instructions: list[KernelCall | Fallback] = []

    def emit(
        self, source: str, extent: int, words: list[Any], label: str, work: int = 0
    ) -> KernelCall:
        """Add an instruction; ``work`` only if its range may be split over threads."""
        source, extent = self.target.shared(source, extent)
        made = KernelCall(source, extent, words, label, work)
        self.instructions.append(made)
        return made

    def relax(self, made: KernelCall, equations: Sequence[Equation]) -> None:
        """Let a kernel reorder arithmetic, if that is allowed and nothing in it asks for NaN."""
        tests = any(eqn.primitive.name in NAN_TESTS for eqn in equations)
        made.fast = bool(self.chosen.fast_math) and not tests

    def copy(self, target: Place, source: Place, label: str = "copy") -> None:
        """Add an instruction that copies one place to another, which casts and broadcasts."""
        x, y = Var(0, source.shape, source.dtype), Var(1, target.shape, target.dtype)
        if not (self.target.takes(source.dtype) and self.target.takes(target.dtype)):
            spread = spread_over(source, target.shape, 0)
            given = Var(0, target.shape, source.dtype)
            eqn = Equation(Primitive.registry["astype"], (given,), {"dtype": target.dtype}, (y,))
            self.instructions.append(Fallback(eqn, [spread], [target]))
            return
        eqn = Equation(Primitive.registry["astype"], (x,), {}, (y,))
        self._emit_one(eqn, {x: source, y: target}, label, 2 * size_of(target.shape))

    def fill(self, target: Place, value: Any) -> None:
        """Add an instruction that sets all entries of a place."""
        y = Var(0, target.shape, target.dtype)
        number = np.asarray(value).astype(target.dtype)
        eqn = Equation(Primitive.registry["astype"], (number,), {}, (y,))
        self._emit_one(eqn, {y: target}, "fill", size_of(target.shape))

    def _emit_one(self, eqn: Equation, places: dict[Any, Place], label: str, work: int) -> None:
        """Add the loop of one equation that is not a step of the plan."""
        out = eqn.outputs[0]
        made = self._written(Loop(out.shape, [eqn]), places, {out})
        self.emit(made.text, made.extent, made.words, label, work)

    def _written(self, loop: Loop, places: dict[Any, Place], stored: set[Var]) -> WrittenLoop:
        return self.target.write_loop(loop, places, stored, self.chosen)

    def emit_loop(self, loop: Loop, places: dict[Any, Place], stored: set[Var]) -> None:
        """Add the instructions of a loop; parameters as of `Target.write_loop`."""
        source = self._written(loop, places, stored)
        for place, value in source.cleared:
            self.fill(place, value)
        names = " ".join(eqn.primitive.name for eqn in loop.equations)
        made = self.emit(source.text, source.extent, source.words, names, source.work)
        made.equations = loop.equations
        self.relax(made, loop.equations)
        for name, part, target in source.partials:
            # What the pieces of the loop found, combined in their order.
            x, y = Var(0, part.shape, part.dtype), Var(1, target.shape, target.dtype)
            joined = Primitive.registry[REDUCTIONS[name].joined or name]
            eqn = Equation(joined, (x,), {"axes": (0,)}, (y,))
            self.emit_loop(Loop(part.shape, [eqn]), {x: part, y: target}, {y})
