"""Smaller programs with the same results.

One pass down a tape, rule by rule of the table below, and one up that drops what nobody
needs. A rule looks at one equation and at how its operands were made, and names what can take
its place: an operand, or new equations. Rules keep results to rounding, NaN and infinity
included, and the sign of a zero where operations can show it.

Equations that repeat an earlier one (common subexpressions) and those whose operands are all
known (constants) go as well.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.collection_pause import collection_paused
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Source, Tape, Var, needed
from linad.transforms import (
    array_identities as identities,
    contractions,
    exact_factors,
    outer_sums,
    signs,
    small_arrays as entries,
    sums_of_terms as statistics,
)
from linad.transforms.rewriting import RULES, params_key, standing_for, value_key
from linad.transforms.shifted_sums import WindowSums
from linad.transforms.small_arrays import without_overwritten
from linad.transforms.sums_in_pieces import in_pieces

FOLDED_BYTES = 2**20
"""Constants up to this size are computed once, in advance."""

TABLES = (contractions, entries, exact_factors, identities, outer_sums, signs, statistics)
"""Modules of rewrites; they register themselves."""


def simplify(tape: Tape, for_programs: bool = False) -> Tape:
    """Return a tape with the same results and fewer equations.

    Parameters
    ----------
    tape : Tape
    for_programs : bool
        Whether it may have primitives in it that only compiled programs know.

    Returns
    -------
    Tape
        With the same inputs and outputs.

    Notes
    -----
    Linear in the number of equations. The rewrites are in this module, each with its
    identity.
    """
    with collection_paused():
        return TapeSimplifier(tape, for_programs).result()


class TapeSimplifier:
    """The state of one pass: what stands for each variable, and the equations so far."""

    def __init__(self, tape: Tape, for_programs: bool) -> None:
        self.tape, self.for_programs = tape, for_programs
        self.equations: list[Equation] = []
        self.stands: dict[Var, Any] = {}
        self.made_by: dict[Var, Equation] = {}
        self.known: dict[Any, Equation] = {}
        self.count = 1 + max(
            [v.index for v in tape.inputs]
            + [v.index for eqn in tape.equations for v in eqn.outputs],
            default=0,
        )
        self.source: Source | None = None
        self.slices: dict[Any, Any] = {}
        self.windows = WindowSums(self)

    def result(self) -> Tape:
        tape = self.tape
        for eqn in tape.equations:
            self._take(eqn)
        outputs = [self._emitted(a) for a in tape.outputs]
        equations, outputs = in_pieces(self, outputs)
        equations = needed(equations, outputs)
        equations = needed(without_overwritten(equations, outputs, self.new_var), outputs)
        return Tape(tape.name, tape.inputs, equations, outputs, tape.in_tree, tape.out_tree)

    def operand(self, a: Any) -> Any:
        """What stands for a variable now."""
        return standing_for(a, self.stands)

    def _emitted(self, a: Any) -> Any:
        """The same, emitted if it was pending."""
        a = self.operand(a)
        if isinstance(a, Var) and a in self.windows.pending:
            self.windows.emit(a)
            a = self.operand(a)
        return a

    def maker(self, a: Any) -> Equation | None:
        """The equation that makes an operand."""
        return self.made_by.get(a) if isinstance(a, Var) else None

    def _take(self, eqn: Equation) -> None:
        inputs = tuple([self.operand(a) for a in eqn.inputs])
        self.source = eqn.source
        inner = getattr(eqn.primitive, "tape", None)
        if inner is not None:
            self._inline(inner, inputs, eqn.outputs)
            return
        if self.windows.take(eqn.with_inputs(inputs)):
            return
        self.emit_equation(eqn)

    def emit_equation(self, eqn: Equation) -> Any:
        """Add an equation of the tape, with what stands for its operands."""
        return self.add(eqn.with_inputs(tuple([self._emitted(a) for a in eqn.inputs])))

    def _inline(self, inner: Tape, inputs: tuple[Any, ...], outputs: tuple[Var, ...]) -> None:
        """Take the equations of a compiled program in the place of its call."""
        own: dict[Var, Any] = dict(zip(inner.inputs, inputs, strict=True))
        for eqn in inner.equations:
            made = []
            for v in eqn.outputs:
                own[v] = self.new_var(v.shape, v.dtype)
                made.append(own[v])
            given = tuple([own[a] if isinstance(a, Var) else a for a in eqn.inputs])
            self._take(Equation(eqn.primitive, given, eqn.params, tuple(made), eqn.source))
        for v, a in zip(outputs, inner.outputs, strict=True):
            self.stands[v] = self.operand(own[a] if isinstance(a, Var) else a)

    def add(self, eqn: Equation) -> Any:
        """Add an equation, or find what stands for its result."""
        found = self._replacement(eqn)
        if found is not None:
            self.stands[eqn.outputs[0]] = found
            return found
        key = _key(eqn)
        if key is not None:
            same = self.known.setdefault(key, eqn)
            if same is not eqn:
                self.stands.update(zip(eqn.outputs, same.outputs, strict=True))
                return same.outputs[0] if same.outputs else None
        self.equations.append(eqn)
        for v in eqn.outputs:
            self.made_by[v] = eqn
        return eqn.outputs[0] if eqn.outputs else None

    def _replacement(self, eqn: Equation) -> Any:
        if len(eqn.outputs) != 1:
            return None
        folded = _fold(eqn)
        if folded is not None:
            return folded
        for rewrite in RULES.get(eqn.primitive.name, ()):
            found = rewrite(self, eqn)
            if found is not None:
                return found
        return None

    def new_var(self, shape: Shape, dtype: np.dtype[Any]) -> Var:
        self.count += 1
        return Var(self.count - 1, shape, dtype)

    def emit(
        self, name: str, inputs: Sequence[Any], shape: Shape, dtype: np.dtype[Any], /, **params: Any
    ) -> Any:
        """Add an equation of a rewrite; return its result."""
        made = (self.new_var(shape, np.dtype(dtype)),)
        return self.add(
            Equation(Primitive.registry[name], tuple(inputs), params, made, self.source)
        )

    def emit_like(self, name: str, inputs: Sequence[Any], eqn: Equation, /, **params: Any) -> Any:
        out = eqn.outputs[0]
        return self.emit(name, inputs, out.shape, out.dtype, **params)


# Repetition and constants.

COMMUTATIVE = {"add", "multiply"}
"""Primitives of two operands whose order does not matter: with x * 2 there is no need of 2 * x."""


def _key(eqn: Equation) -> Any:
    """Equations of equal keys have equal results; None where that cannot be said."""
    if eqn.primitive.registry.get(eqn.primitive.name) is not eqn.primitive:
        return None
    if eqn.primitive.name == "empty_like":
        return None  # memory to write into, each its own
    together = frozenset if eqn.primitive.name in COMMUTATIVE else tuple
    try:
        values: Any = together([value_key(a) for a in eqn.inputs])
        key = (eqn.primitive, values, params_key(eqn.params))
        hash(key)
    except TypeError:
        return None
    return key


def _fold(eqn: Equation) -> Any:
    """The result of an equation whose operands are known."""
    out, name = eqn.outputs[0], eqn.primitive.name
    if name == "zeros_like":
        return np.broadcast_to(np.zeros((), out.dtype), out.shape)
    if name in ("ones_like", "_ones_like"):
        return np.broadcast_to(np.ones((), out.dtype), out.shape)
    if any(isinstance(a, Var) for a in eqn.inputs) or not eqn.inputs or name == "empty_like":
        return None
    if size_of(out.shape) * out.dtype.itemsize > FOLDED_BYTES and not eqn.primitive.view:
        return None
    with np.errstate(all="ignore"):
        value = eqn.primitive.impl(*eqn.inputs, **eqn.params)
    return value if np.shape(value) == out.shape else None
