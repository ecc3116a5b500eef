"""The body of a loop: a tape from (carries, rows, constants) to (carries, rows).

What its derivatives run is a body again, see `linad.control.body_derivatives`.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.traces import Trace
from linad.control.kept_values import kept_values
from linad.control.memory_arrays import reads_of
from linad.control.searching_bodies import searches
from linad.core.array_type import Array
from linad.core.shapes import is_inexact, size_of
from linad.core.tape import GUARDS, Equation, Tape, Var, needed, tape_of
from linad.errors import GuardError
from linad.transforms.record import naming


class Body:
    """The body of a loop.

    Parameters
    ----------
    tape : Tape
        Its inputs are carries, then rows, then constants; its outputs new carries, then rows.
    example : list
        Values of the inputs for which the tape's guards hold.
    carries, rows : int
        How many of the inputs are carries, and how many are rows.

    Attributes
    ----------
    outputs : list of Var
        Shape and dtype of each output.
    general : (list of Body, list) or None
        What the bodies of its loop are where they are given these numbers as well:
        see `linad.control.lifted_numbers`.
    """

    def __init__(self, tape: Tape, example: Sequence[Any], carries: int, rows: int) -> None:
        self.tape, self.example = tape, [own_copy(v) for v in example]
        self.carries, self.rows = carries, rows
        self.constants = len(tape.inputs) - carries - rows
        self.outputs = [_described(a) for a in tape.outputs]
        self.general: tuple[list[Body], list[Any]] | None = None
        self._made: dict[Any, Any] = {}

    @functools.cached_property
    def searches(self) -> bool:
        """Whether it is known, or looks, to search by comparisons."""
        return searches(self.tape, self.carries)

    def once(self, key: Any, make: Callable[..., Any]) -> Any:
        """What ``make()`` gave when it was first asked for by that key."""
        found = self._made.get(key)
        if found is None:
            with np.errstate(all="ignore"):  # of examples, perhaps of a branch that is not taken
                found = self._made.setdefault(key, make())
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Body, (self.tape, self.example, self.carries, self.rows)

    @property
    def unguarded(self) -> "Body":
        """The same body where it is known which way it goes: without Python's decisions.

        A derivative computes once more what a run forward has computed, and that run has checked
        the decisions. Asked again they may be answered otherwise, where two numbers are equal but
        for rounding and one run is compiled, or simplified, and the other is not.
        """
        if not any([e.primitive.guards for e in self.tape.equations]):
            return self
        return self.once("unguarded", self._unguarded)  # type: ignore[no-any-return]

    def _unguarded(self) -> "Body":
        t = self.tape
        rest = [_unguarded(e) for e in t.equations if e.primitive not in GUARDS]
        tape = tape_of(t.name, t.inputs, needed(rest, t.outputs), t.outputs)
        return Body(tape, self.example, self.carries, self.rows)

    # Forward, with the carries that the way back needs.

    def keeping(self, kept: tuple[Var, ...]) -> "Body":
        """The same body; these carries, as they come in, and other values are rows of its
        results."""
        if not kept:
            return self
        return self.once(("keep", kept), lambda: self._keeping(kept))  # type: ignore[no-any-return]

    def _keeping(self, kept: tuple[Var, ...]) -> "Body":
        t = self.tape
        outputs = [*t.outputs, *kept]
        tape = tape_of(t.name, t.inputs, t.equations, outputs)
        return Body(tape, self.example, self.carries, self.rows)

    @property
    def carry_bytes(self) -> int:
        """Memory for what a derivative keeps of one repetition, at most."""
        total = sum([size_of(y.shape) * y.dtype.itemsize for y in kept_values(self.tape)])
        for k, v in enumerate(self.tape.inputs[: self.carries]):
            reads = reads_of(self.tape, k)
            kept = [v] if reads is None else [y for e in reads for y in e.outputs]
            total += sum([size_of(y.shape) * y.dtype.itemsize for y in kept])
        return total

    def activity(self, active: Sequence[int]) -> tuple[list[int], list[int]]:
        """Inputs and outputs that have a derivative, where the inputs ``active`` have one.

        A carry has one from the first repetition on, or from the one after it was given one.
        """
        inputs, moving = set(active), set[int]()
        for _ in range(self.carries + 1):
            live = {self.tape.inputs[i] for i in inputs}
            for eqn in self.tape.equations:
                flat = eqn.primitive.zero_slope_args
                reads = [
                    a for i, a in enumerate(eqn.inputs) if isinstance(a, Var) and i not in flat
                ]
                if not eqn.primitive.constant and not live.isdisjoint(reads):
                    live.update([v for v in eqn.outputs if is_inexact(v.dtype)])
            moving = {
                j for j, a in enumerate(self.tape.outputs) if isinstance(a, Var) and a in live
            }
            more = {j for j in moving if j < self.carries and is_inexact(self.tape.inputs[j].dtype)}
            if more <= inputs:
                break
            inputs |= more
        carried = {i for i in inputs if i < self.carries}
        return sorted(inputs), sorted(moving | carried)


def _unguarded(e: Equation) -> Equation:
    """A loop or a branch of bodies without decisions; another operation as it is."""
    if not e.primitive.guards:
        return e
    owner: Any = e.primitive
    others = owner.remade([part.unguarded for part in owner.parts])
    return Equation(others, e.inputs, e.params, e.outputs, e.source)


def run_tape(body: Body, values: list[Any]) -> list[Any]:
    """One run of a body, by NumPy."""
    try:
        return body.tape.run(values)
    except GuardError as error:
        raise GuardError(
            f"{body.tape.name}: a repetition of the loop takes another path than the one that was "
            f"recorded ({error}); write the decision as linad.cond or np.where"
        ) from error


def run_equations(
    equations: Sequence[Equation], values: dict[Var, Any], around: Sequence[Trace] = ()
) -> dict[Var, Any]:
    """What equations make of values, plain or traced; with the values they are given.

    What recorders among the traces ``around`` write down names the lines that they name.
    """
    values = dict(values)
    for e in equations:
        operands = [values[a] if isinstance(a, Var) else a for a in e.inputs]
        with naming(e.source, around):
            result = e.primitive(*operands, **e.params)
        values.update(
            zip(e.outputs, result if isinstance(result, tuple) else (result,), strict=True)
        )
    return values


def _described(a: Any) -> Var:
    """Shape and dtype of an output: a variable, or a constant."""
    if isinstance(a, Var):
        return a
    value = np.asarray(a)
    return Var(-1, value.shape, value.dtype)


def cast(value: Any, dtype: Any) -> Any:
    """A value in a dtype; its real part where that is real."""
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = value.real
    return value.astype(dtype)


def own_copy(value: Array) -> Any:
    """A value of the body's own: it is looked at later."""
    return value.copy() if isinstance(value, np.ndarray) else np.asarray(value)[()]
