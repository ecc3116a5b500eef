"""A loop outside of any program: compiled, run by run."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from linad.control.bodies import run_tape
from linad.core.array_type import Array
from linad.core.tape import Equation, Var, tape_of
from linad.errors import GuardError
from linad.sweeps.cpu.target import CPU
from linad.sweeps.places import canonical
from linad.sweeps.program import KernelStoppedError, UncompiledError, simplified


class Runner:
    """Runs a loop on plain values: as one program, or repetition by repetition.

    Parameters
    ----------
    owner : Repeat or While
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.inputs = [Var(k, shape, canonical(d)) for k, (shape, d) in enumerate(owner.shapes)]
        count = len(self.inputs)
        outputs = [Var(count + k, shape, d) for k, (shape, d) in enumerate(owner.results)]
        eqn = Equation(owner, tuple(self.inputs), {}, tuple(outputs))
        self.program = CPU.compile(tape_of(owner.name, self.inputs, [eqn], outputs))
        with suppress(UncompiledError):  # of which a warning has told: then not as one program
            self.program.give_back(self.program.borrow())

    def __call__(self, values: Sequence[Any]) -> tuple[Any, ...]:
        if not self.program.straight:
            return self._step_by_step(values)
        try:
            found = self.program.run(
                [_as_array(x, v) for x, v in zip(values, self.inputs, strict=True)]
            )
        except (GuardError, KernelStoppedError):
            # NumPy has the words for it.
            return self.owner.by_numpy(values)  # type: ignore[no-any-return]
        return tuple([y if y.ndim else y[()] for y in found])

    def _step_by_step(self, values: Sequence[Any]) -> tuple[Any, ...]:
        return self.owner.by_numpy(values, run_program)  # type: ignore[no-any-return]


def run_program(body: Any, values: list[Any]) -> Any:
    """One run of a body, compiled as far as it can be."""
    program = body.once("steps", lambda: CPU.compile(simplified(body.tape)))
    try:
        return program.run([_as_array(x, v) for x, v in zip(values, body.tape.inputs, strict=True)])
    except (GuardError, KernelStoppedError):
        return run_tape(body, values)


def _as_array(value: Array, var: Var) -> np.ndarray:
    dtype = canonical(var.dtype)
    array = np.require(value, dtype, ["C", "A"]).reshape(var.shape)
    return array if array.dtype is dtype else array.view(dtype)
