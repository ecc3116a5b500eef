"""A loop as statements on numbers, and operands that move with its axes.

What the serial loops of the CPU and the grids of a GPU have in common. The axes of a loop are
merged where every operand allows it, so most loops have one axis whatever the arrays look like.
Operands, sizes, strides and constants are words of the instruction; so different programs, and
all shapes, share kernels. How the axes are gone through is for the target to write:

    linad.sweeps.cpu.serial_loops      one loop inside the other
"""

import re
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import Shape
from linad.core.tape import Equation, Var
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_reductions import REDUCTIONS, axes_of, identity_source, is_reduction
from linad.sweeps.loop_templates import WrittenLoop
from linad.sweeps.places import Place
from linad.sweeps.scalar_rows import constants, given
from linad.sweeps.steps import Loop, operands_of
from linad.sweeps.sum_terms import SumTerms
from linad.transforms.rewriting import number_of

if TYPE_CHECKING:
    from linad.sweeps.target import Target

OUTPUTS = 64
"""Outputs of one kernel that the optimiser can tell apart."""

INNERMOST = 16
"""Length from which an axis other than the last may become the innermost one."""


class Operand:
    """An array of a loop: where it is, and how it moves with the loop's axes."""

    def __init__(self, place: Place, strides: Shape, output: int) -> None:
        self.place, self.output = place, output
        self.strides = strides
        self.read = False
        self.pieces = 0  # bytes from the results of one piece to those of the next
        self.dtype = name_of_dtype(place.dtype)


class LoopSource:
    """What the kernel of a loop is written from.

    Parameters
    ----------
    target : Target
    loop : Loop
    places : dict
        Where each variable is that the loop reads, or stores.
    stored : set of Var
        What it makes that others read.
    prefix : str
        Of the names of transcendental functions: ``v_``, which vectorise, or ``m_``; see
        `linad.sweeps.cpu.vector_math.FUNCTIONS`.

    Attributes
    ----------
    shape : list of int
        Of the axes, merged.
    operands : list of Operand
    immediates : list of (name, (dtype, bytes))
        Constants.
    loads, body, stores : list of str
        Statements for one entry; ``{k}`` in them is where operand k is, ``<k>`` its mark.
    reductions : list of (equation, operand, terms)
        What each adds of one entry, one term after the other.
    text, words, extent, work, cleared, partials
        As of `linad.sweeps.loop_templates.WrittenLoop`; the subclass sets them.
    """

    text: str
    extent: int
    work: int

    def __init__(
        self,
        target: "Target",
        loop: Loop,
        places: dict[Var, Place],
        stored: set[Var],
        prefix: str,
    ) -> None:
        self.target, self.loop, self.places, self.stored = target, loop, places, stored
        self.prefix = prefix
        self.operands: list[Operand] = []
        self.immediates: list[tuple[str, Any]] = []
        self.names: dict[Any, str] = {}
        self.body: list[str] = []
        self.loads: list[str] = []
        self.stores: list[str] = []
        self.reductions: list[tuple[Equation, int, list[str]]] = []
        self.cleared: list[tuple[Place, float]] = []
        self.words: list[Any] = []
        self.partials: list[tuple[str, Place, Place]] = []
        self.sums = SumTerms(loop, stored)
        for eqn in loop.equations:
            if eqn.outputs[0] not in self.sums.taken:
                self._statement(eqn)
        self.shape = self._merged()

    @property
    def written(self) -> WrittenLoop:
        """The kernel and its operands."""
        return WrittenLoop(
            self.text, self.words, self.extent, self.work, self.cleared, self.partials
        )

    # Statements.

    def _statement(self, eqn: Equation) -> None:
        out = eqn.outputs[0]
        if is_reduction(eqn):
            terms = self._terms(eqn)
            place = self.places[out]
            kept = iter(place.strides)
            axes = axes_of(eqn) or ()
            strides = tuple([0 if k in axes else next(kept) for k in range(len(self.loop.shape))])
            self.reductions.append((eqn, self._operand(place, strides, output=True), terms))
            return
        name, operands = eqn.primitive.name, operands_of(eqn)
        if name == "multiply":
            name, operands = _sum_where_doubled(operands)
        found = self.target.row_of(name, out.dtype, operands)
        assert found is not None
        row, meet = found
        texts = [
            cast(self._name(a), self._dtype(a), d) for a, d in zip(operands, meet, strict=True)
        ]
        common = meet[-1]
        text = row.text.format(*texts, **constants(common))
        text = re.sub(r"\bf_", self.prefix, text)
        name = f"t{len(self.names)}"
        result = name_of_dtype(out.dtype)
        assert result is not None
        self.body.append(f"{name} = {cast(text, given(row, common), result, narrow=True)}")
        self.names[out] = name
        if out in self.stored:
            place = self.places[out]
            k = self._operand(place, self._broadcast(place), output=True)
            self.stores.append(f"set_{result}({{{k}}}, {name}, {self._mark(k)})")

    def _terms(self, eqn: Equation) -> list[str]:
        """What a reduction takes of one entry, in the dtype of its result."""
        out = eqn.outputs[0]
        wanted = self._dtype(out)
        if REDUCTIONS[eqn.primitive.name].tests:
            x = eqn.inputs[0]
            return [cast(cast(self._name(x), self._dtype(x), "b1"), "b1", wanted)]
        return [self._term(x, wanted) for x in self.sums.terms.get(out, eqn.inputs[:1])]

    def _term(self, x: Any, wanted: str) -> str:
        """An operand, or the product that an equation makes."""
        if not isinstance(x, Equation):
            return cast(self._name(x), self._dtype(x), wanted)
        factors = [cast(self._name(a), self._dtype(a), wanted) for a in x.inputs]
        first, last = factors[0], factors[-1]  # a square has one
        return f"summed_product({first}, {last})"

    def _combined(self, r: int, held: str) -> str:
        """What a reduction holds after the terms of one entry, or these alone."""
        combined, terms = REDUCTIONS[self._operation(r)].combined, self.reductions[r][2]
        for term in terms:
            held = combined.format(held, term) if held else term
        return held

    def _dtype(self, a: Any) -> str:
        if isinstance(a, Var):
            dtype = a.dtype
        else:
            dtype = np.asarray(a).dtype
        name = name_of_dtype(dtype)
        assert name is not None
        return name

    def _name(self, a: Any) -> str:
        """The register that holds an operand, loaded where it is not made here."""
        key = a if isinstance(a, Var) else self._constant_key(a)
        found = self.names.get(key)
        if found is not None:
            return found
        name = f"t{len(self.names)}"
        self.names[key] = name
        if isinstance(key, Var) or key[0] == "array":
            place = self.places[key]
            k = self._operand(place, self._broadcast(place), output=False)
            self.loads.append(
                f"{name} = get_{name_of_dtype(place.dtype)}({{{k}}}, {self._mark(k)})"
            )
        else:
            _, dtype, value = key
            self.immediates.append((name, (dtype, value)))
        return name

    @staticmethod
    def _constant_key(a: Array) -> Any:
        array = np.asarray(a)
        if array.size != 1:
            return ("array", id(a))
        return ("number", name_of_dtype(array.dtype), array.reshape(()).tobytes())

    def _broadcast(self, place: Place) -> Shape:
        missing = len(self.loop.shape) - len(place.shape)
        strides = [0 if n == 1 else s for n, s in zip(place.shape, place.strides, strict=True)]
        return (0,) * missing + tuple(strides)

    def _operand(self, place: Place, strides: Shape, output: bool) -> int:
        for k, known in enumerate(self.operands):
            if known.place.same(place) and known.strides == strides:
                if output and known.output < 0:
                    known.output = self._next_output()
                known.read |= not output
                return k
        self.operands.append(Operand(place, strides, self._next_output() if output else -1))
        self.operands[-1].read = not output
        return len(self.operands) - 1

    def _next_output(self) -> int:
        return 1 + max([o.output for o in self.operands], default=-1)

    def _mark(self, k: int) -> str:
        return f"<{k}>"  # the output's number is known at the end

    # Axes.

    def _merged(self) -> list[int]:
        """Merge axes, and keep strides of what is left."""
        axes = self._ordered([k for k, n in enumerate(self.loop.shape) if n != 1])
        shape = [self.loop.shape[k] for k in axes]
        strides = [[o.strides[k] for k in axes] for o in self.operands]
        k = len(shape) - 2
        while k >= 0:
            if all(s[k] == s[k + 1] * shape[k + 1] for s in strides):
                shape[k : k + 2] = [shape[k] * shape[k + 1]]
                for s in strides:
                    del s[k]
            k -= 1
        for o, s in zip(self.operands, strides, strict=True):
            o.strides = tuple(s)
        return shape

    def _ordered(self, axes: list[int]) -> list[int]:
        """The axes, innermost last: the one along which the fewest operands jump.

        A jump costs a line of the cache; one of a result costs two, to fetch and to write back.
        """

        def jumps(axis: int) -> int:
            return sum(
                [
                    1 + (o.output >= 0)
                    for o in self.operands
                    if abs(o.strides[axis]) > o.place.dtype.itemsize
                ]
            )

        if len(axes) < 2:
            return axes
        long = [k for k in axes if self.loop.shape[k] >= INNERMOST] or axes[-1:]
        best = min(reversed(long), key=jumps)
        # Sums keep their order, but where no operand at all jumps along the other axis.
        if jumps(best) < jumps(axes[-1]) and not (self.reductions and jumps(best)):
            axes = [*[k for k in axes if k != best], best]
        return axes

    # Parts of the text.

    def _cost(self) -> int:
        """Rough number of additions for one entry, to load and to store it among them."""
        return self._computed() + len(self.loads) + len(self.stores)

    def _computed(self) -> int:
        """Rough number of additions for one entry."""
        return sum([self.target.cost_of(eqn.primitive.name) for eqn in self.loop.equations])

    def _immediate(self, dtype: str, raw: bytes) -> str:
        value = np.frombuffer(raw, dtype)[0]
        k = len(self.words)
        if dtype[0] in "bi":
            self.words.append(int(value))
            return f"operand(p, {k}) != 0" if dtype == "b1" else f"to_{dtype}(operand(p, {k}))"
        if dtype[0] == "f":
            self.words.append(bits(value))
            return f"to_{dtype}(number(operand(p, {k})))"
        self.words += [bits(value.real), bits(value.imag)]
        return f"to_{dtype}(complex(number(operand(p, {k})), number(operand(p, {k + 1}))))"

    def _operation(self, r: int) -> str:
        return self.reductions[r][0].primitive.name

    def _identity(self, r: int) -> str:
        return identity_source(self._operation(r), self.reductions[r][0].outputs[0].dtype)


def _sum_where_doubled(operands: list[Any]) -> tuple[str, list[Any]]:
    """2 x is x + x: processors have units for sums that are idle while others multiply.

    The text of a loop, which is kept for others, may depend on what a number is, but not on what is
    in an array.
    """
    for number, x in (operands, operands[::-1]):
        doubled = isinstance(x, Var) and x.dtype.kind == "f"
        if doubled and number_of(number) == 2 and np.size(number) == 1:
            return "add", [x, x]
    return "multiply", operands


def indented(lines: Iterable[str], by: int = 4) -> list[str]:
    """Lines of a kernel as they stand inside a statement."""
    return [" " * by + line for line in lines]


def bits(value: Any) -> int:
    """The float64 of a number as a 64-bit integer."""
    return int(struct.unpack("<q", struct.pack("<d", float(value)))[0])


def cast(text: str, given: str, wanted: str, narrow: bool = False) -> str:
    """An expression in another dtype.

    ``narrow`` casts where the dtypes are the same as well: Numba widens small types.
    """
    if given == wanted and not (narrow and wanted in ("f4", "i4", "c8")):
        return text
    if wanted == "b1":
        return f"(({text}) != 0)"
    if given[0] == "c" and wanted[0] != "c":
        return f"to_{wanted}(({text}).real)"
    return f"to_{wanted}({text})"
