"""Loops and branches inside of a body that a thread runs in its registers.

    for n0_j in range(n):             a loop without rows; one with rows is written out
        n0_t0 = ...
        n0_a0_0, = n0_t0,

Statements of the inner body are named apart from those of the outer one.
"""

from typing import Any

import numpy as np

from linad.control.control_primitive import ControlPrimitive
from linad.control.lowering_loops import simple
from linad.control.memory_arrays import needing_memory
from linad.control.registers import NotSmallError, Statements
from linad.core.tape import Equation, Var
from linad.sweeps.instructions import NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_source import indented

UNROLLED = 16
"""Most repetitions that are written out."""


def _sequence(operand: Any) -> tuple[str, int, int] | None:
    """Dtype, first number and step of rows that are the numbers of the repetitions, or the like."""
    if isinstance(operand, Var):
        return None
    rows = np.asarray(operand)
    d = name_of_dtype(rows.dtype)
    if rows.ndim != 1 or rows.dtype.kind != "i" or d is None or not rows.size:
        return None
    step = int(rows[1]) - int(rows[0]) if rows.size > 1 else 0
    if any(int(x) != int(rows[0]) + step * k for k, x in enumerate(rows)):
        return None
    return d, int(rows[0]), step


class NestedStatements(Statements):
    """Statements of a body that may have loops and branches in it."""

    def _take(self, eqn: Equation) -> None:
        owner = eqn.primitive
        if not isinstance(owner, ControlPrimitive):
            super()._take(eqn)
        else:
            forms = {"repeat": self._repeat, "while": self._while, "branch": self._branch}
            forms[owner.form](owner, eqn)

    def _inner(self, body: Any, named: str, prefix: str = "") -> "NestedStatements":
        """The statements of a body, the names of whose inputs begin with ``named``."""
        tape = simple(body)
        if needing_memory(tape):
            raise NotSmallError
        made = NestedStatements(
            tape, self.target, body.carries, set(), prefix or named, named=named
        )
        self.immediates += made.immediates
        return made

    def _fresh(self) -> str:
        self._reads += 1
        return f"{self.prefix}n{self._reads}_"

    def _given(self, names: np.ndarray, operand: Any) -> None:
        """Lines that give inputs of an inner body their values."""
        values = self._get(operand)
        self.lines += [f"{a} = {b}" for a, b in zip(names.ravel(), values.ravel(), strict=True)]

    def _indent(self, lines: list[str]) -> None:
        self.lines += indented(lines)

    def _repeat(self, owner: Any, eqn: Equation) -> None:
        body, operands = owner.body, list(eqn.inputs)
        count = operands.pop(0) if owner.counted else None
        nc, nx = body.carries, body.rows
        rows = [_sequence(a) for a in operands[nc : nc + nx]]
        counters = [c for c in rows if c is not None]
        if len(body.outputs) > nc or len(counters) < nx:
            if count is not None or owner.n > UNROLLED:
                raise NotSmallError
            self._written_out(owner, operands, eqn)
            return
        named = self._fresh()
        inner = self._inner(body, named)
        for k, (names, operand) in enumerate(zip(inner.inputs, operands, strict=True)):
            if not nc <= k < nc + nx:
                self._given(names, operand)
        n = str(owner.n) if count is None else self._get(count).item()
        row = f"({n} - 1 - {named}j)" if owner.reverse else f"{named}j"
        turn = [
            f"{names.item()} = to_{d}({first} + {step} * {row})"
            for names, (d, first, step) in zip(inner.inputs[nc:], counters, strict=False)
        ]
        turn += [*inner.lines, *inner.moved()]
        if turn:
            self.lines.append(f"for {named}j in range({n}):")
            self._indent(turn)
        for v, names in zip(eqn.outputs, inner.inputs, strict=False):
            self._values[v] = names

    def _written_out(self, owner: Any, operands: list[Any], eqn: Equation) -> None:
        body = owner.body
        nc, nx = body.carries, body.rows
        carries = [self._get(a) for a in operands[:nc]]
        made: list[list[Any]] = [[None] * owner.n for _ in body.outputs[nc:]]
        for j in range(owner.n):
            k = owner.n - 1 - j if owner.reverse else j
            inner = self._inner(body, self._fresh())
            given = [*carries, *[self._get(a)[k] for a in operands[nc : nc + nx]]]
            given += [self._get(a) for a in operands[nc + nx :]]
            for names, values in zip(inner.inputs, given, strict=True):
                pairs = zip(names.ravel(), np.ravel(values), strict=True)
                self.lines += [f"{a} = {b}" for a, b in pairs]
            self.lines += inner.lines
            carries = inner.outputs[:nc]
            for rows, values in zip(made, inner.outputs[nc:], strict=True):
                rows[k] = values
        found = [*carries, *[np.stack(rows) for rows in made]]
        for v, names in zip(eqn.outputs, found, strict=True):
            self._values[v] = names

    def _while(self, owner: Any, eqn: Equation) -> None:
        if owner.kept:
            raise NotSmallError
        named = self._fresh()
        test, body = self._inner(owner.test, named, f"{named}g"), self._inner(owner.body, named)
        for names, operand in zip(body.inputs, eqn.inputs, strict=True):
            self._given(names, operand)
        self.lines += [f"{named}k = 0", "while True:"]
        self._indent([*test.lines, f"if not {test.outputs[0].ravel()[0]}:", "    break"])
        if owner.limit is not None:
            self._indent([f"if {named}k == {owner.limit}:", f"    return {NO_RESULT}"])
        self._indent([*body.lines, *body.moved(), f"{named}k += 1"])
        found = [*body.inputs[: owner.body.carries], np.array(f"{named}k", object)]
        for v, names in zip(eqn.outputs, found, strict=True):
            self._values[v] = names

    def _branch(self, owner: Any, eqn: Equation) -> None:
        named = self._fresh()
        index, *operands = eqn.inputs
        which = self._let(self._get(index).item())
        bodies = [self._inner(b, named, f"{named}b{k}_") for k, b in enumerate(owner.parts)]
        for names, operand in zip(bodies[0].inputs, operands, strict=True):
            self._given(names, operand)
        found = []
        for j, v in enumerate(eqn.outputs):
            names = np.empty(v.shape, object)
            for e, i in enumerate(np.ndindex(*v.shape)):
                names[i] = f"{named}y{j}_{e}"
            self.lines += [f"{t} = to_{name_of_dtype(v.dtype)}(0)" for t in names.ravel()]
            self._values[v] = names
            found.append(names)
        self.lines += [f"if {which} < 0 or {which} >= {len(bodies)}:", f"    return {NO_RESULT}"]
        for k, body in enumerate(bodies):
            self.lines.append(f"if {which} == {k}:")
            self._indent(body.lines)
            for names, values in zip(found, body.outputs, strict=True):
                pairs = zip(names.ravel(), values.ravel(), strict=True)
                self._indent([f"{a} = {b}" for a, b in pairs])
