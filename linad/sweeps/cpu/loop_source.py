"""A loop as kernel source and operand words.

The axes of a loop are merged where every operand allows it, so most loops have one axis
whatever the arrays look like. Of an operand the source knows whether it moves along the
innermost axis by one entry, not at all, or by some stride; all else (addresses, sizes, outer
strides, constants) are words. So different programs, and all shapes, share kernels:

    def kernel(p, start, stop):              # 2 * x + y
        q0 = operand(p, 0)
        ...
        for i0 in range(start, stop):
            t0 = get_f8(q0, i0, -1)
            ...
"""

import re
import struct
from typing import Any

import numpy as np

from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var
from linad.sweeps.cpu.native import OUTPUTS, name_of_dtype
from linad.sweeps.loop_reductions import (
    REDUCTIONS,
    axes_of,
    identity,
    identity_source,
    is_reduction,
)
from linad.sweeps.places import Place, new_place
from linad.sweeps.plan import Loop, operands_of
from linad.sweeps.scalar_rows import constants, cost_of, given, row_of

BLOCK = 4096
"""Terms that a sum adds up in one run; the runs are added to each other. Keeps rounding errors
at the level of pairwise summation without its cost."""

PIECE = 1 << 16
"""Entries of one piece of a large loop whose reductions cross its outermost axis. Pieces have
their own results, which are combined in order; so threads may share them out, and the result
does not depend on how."""

INNERMOST = 16
"""Length from which an axis other than the last may become the innermost one."""

SHORT, SHORT_STEP, SHORT_TEXT = 4, 32, 96
"""Length of an innermost axis up to which the source says it, entries from one to the next up to
which it says these as well, and statements that this may be unrolled to. Points and colours have
3 components: the compiler unrolls such an axis, and vectorises along the one before it."""


class Operand:
    """An array of a loop: where it is, and how it moves with the loop's axes."""

    def __init__(self, place: Place, strides: Shape, output: int) -> None:
        self.place, self.output = place, output
        self.strides = strides
        self.pieces = 0  # bytes from the results of one piece to those of the next
        self.dtype = name_of_dtype(place.dtype)


class Source:
    """Kernel source and operand words of a loop.

    Parameters
    ----------
    loop : Loop
    places : dict
        Where each variable is that the loop reads, or stores.
    stored : set of Var
        What it makes that others read.
    vector : bool
        Whether transcendental functions vectorise.

    Attributes
    ----------
    text : str
    words : list
        Numbers, and (place, offset) pairs that stand for addresses.
    extent : int
        Length of the outermost axis.
    work : int
        Rough number of additions, or 0 where the range must be gone through in one.
    cleared : list of Place
        What must be set to an identity before: (place, value) pairs.
    partials : list
        Reductions of which each piece of the loop has its own result, to be combined after:
        (name, place with the pieces in front, place of the result).
    """

    def __init__(
        self, loop: Loop, places: dict[Var, Place], stored: set[Var], vector: bool
    ) -> None:
        self.loop, self.places, self.stored = loop, places, stored
        self.prefix = "v_" if vector else "m_"
        self.operands: list[Operand] = []
        self.immediates: list[tuple[str, Any]] = []
        self.names: dict[Any, str] = {}
        self.body: list[str] = []
        self.loads: list[str] = []
        self.stores: list[str] = []
        self.reductions: list[tuple[Equation, int, str]] = []
        self.cleared: list[tuple[Place, float]] = []
        self.words: list[Any] = []
        self.partials: list[tuple[str, Place, Place]] = []
        for eqn in loop.equations:
            self._statement(eqn)
        self.shape = self._merged()
        self.short = len(self.shape) > 1 and self.shape[-1] <= SHORT
        if self.shape and self.shape[-1] * len(loop.equations) > SHORT_TEXT:
            self.short = False
        self.extent = self.shape[0] if self.shape else 1
        targets = [self.operands[k] for _, k, _ in self.reductions]
        crossing = [r for r, o in enumerate(targets) if not any(o.strides[:1])]
        self.piece = self._split(crossing) if crossing else 0
        self.work = 0 if crossing and not self.piece else size_of(self.shape) * self._cost()
        self.text = self._text()

    # Statements.

    def _statement(self, eqn: Equation) -> None:
        out = eqn.outputs[0]
        if is_reduction(eqn):
            term = self._term(eqn)
            place = self.places[out]
            kept = iter(place.strides)
            axes = axes_of(eqn) or ()
            strides = tuple([0 if k in axes else next(kept) for k in range(len(self.loop.shape))])
            self.reductions.append((eqn, self._operand(place, strides, output=True), term))
            return
        operands = operands_of(eqn)
        found = row_of(eqn.primitive.name, out.dtype, operands)
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
            k = self._operand(place, place.strides, output=True)
            self.stores.append(f"set_{result}({{{k}}}, {name}, {self._mark(k)})")

    def _term(self, eqn: Equation) -> str:
        """What a reduction takes of one entry, in the dtype of its result."""
        x, out = eqn.inputs[0], eqn.outputs[0]
        name, dtype, wanted = self._name(x), self._dtype(x), self._dtype(out)
        if REDUCTIONS[eqn.primitive.name].tests:
            name, dtype = cast(name, dtype, "b1"), "b1"
        return cast(name, dtype, wanted)

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
    def _constant_key(a: Any) -> Any:
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
                return k
        self.operands.append(Operand(place, strides, self._next_output() if output else -1))
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

        if len(axes) < 2 or self.reductions:
            return axes
        long = [k for k in axes if self.loop.shape[k] >= INNERMOST] or axes[-1:]
        best = min(reversed(long), key=jumps)
        if jumps(best) < jumps(axes[-1]):
            axes = [*[k for k in axes if k != best], best]
        return axes

    # Pieces.

    def _cost(self) -> int:
        """Rough number of additions for one entry."""
        computed = sum([cost_of(eqn.primitive.name) for eqn in self.loop.equations])
        return computed + len(self.loads) + len(self.stores)

    def _split(self, crossing: list[int]) -> int:
        """Give each piece of a large loop its own results; return the length of a piece."""
        size = size_of(self.shape)
        kept = sum([size_of(self.operands[self.reductions[r][1]].place.shape) for r in crossing])
        # Results of the pieces must not take more memory than the operands.
        length = max(1, max(PIECE, 16 * kept) * self.extent // max(size, 1))
        pieces = -(-self.extent // length)
        if pieces < 2:
            return 0
        for r in crossing:
            eqn, k, _ = self.reductions[r]
            o = self.operands[k]
            part = new_place((pieces, *o.place.shape), o.place.dtype)
            self.partials.append((eqn.primitive.name, part, o.place))
            o.place, o.pieces = part, part.strides[0]
        self.extent = pieces
        return length

    # Text.

    def _text(self) -> str:
        rank = len(self.shape)
        lines = ["def kernel(p, start, stop):"]
        words = self.words
        for d in range(1, rank - self.short):
            lines.append(f"    n{d} = operand(p, {len(words)})")
            words.append(self.shape[d])
        moves: list[str] = []
        for k, o in enumerate(self.operands):
            lines.append(f"    q{k}_0 = operand(p, {len(words)})")
            words.append((o.place.buffer, o.place.offset))
            if o.pieces:
                lines[-1] = lines[-1].replace("_0", "")
                lines.append(f"    g{k} = operand(p, {len(words)})")
                words.append(o.pieces)
                moves.append(f"        q{k}_0 = q{k} + c * g{k}")
            steps = self._short_steps(o)
            for d in range(rank - 1 if steps is None else rank - 2):
                lines.append(f"    s{k}_{d} = operand(p, {len(words)})")
                words.append(o.strides[d])
            if rank and self._kind(o) == "g" and steps is None:
                lines.append(f"    s{k}_{rank - 1} = operand(p, {len(words)})")
                words.append(o.strides[-1] // o.place.dtype.itemsize)
        for name, (dtype, raw) in self.immediates:
            lines.append(f"    {name} = {self._immediate(dtype, raw)}")
        depths = [self._depth(self.operands[k]) for _, k, _ in self.reductions]
        nest: list[str] = []
        self._nest(nest, 0, depths)
        if self.piece:
            lines += [f"    n0 = operand(p, {len(words)})", f"    m = operand(p, {len(words) + 1})"]
            words += [self.shape[0], self.piece]
            lines += ["    for c in range(start, stop):", "        low = c * m"]
            lines += ["        high = min(low + m, n0)", *moves]
            nest = ["    " + line for line in nest]
        lines += [*nest, "    return 0"]
        return "\n".join(lines) + "\n"

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

    def _kind(self, o: Operand) -> str:
        if not o.strides or o.strides[-1] == 0:
            return "s"
        return "c" if o.strides[-1] == o.place.dtype.itemsize else "g"

    def _short_steps(self, o: Operand) -> tuple[int, int] | None:
        """Entries from one to the next along the last two axes, where the source says them."""
        if not self.short:
            return None
        item = o.place.dtype.itemsize
        outer, inner = o.strides[-2:]
        if outer % item or inner % item or max(abs(outer), abs(inner)) > SHORT_STEP * item:
            return None
        return outer // item, inner // item

    def _depth(self, o: Operand) -> int:
        """How many axes, from the outermost, a reduction's result moves with."""
        kept = [d for d, s in enumerate(o.strides) if s != 0]
        return kept[-1] + 1 if kept else 0

    def _at(self, k: int) -> str:
        """Address and index of an operand inside the innermost loop."""
        rank = len(self.shape)
        o = self.operands[k]
        steps = self._short_steps(o)
        if steps is not None:
            moves = [f"i{rank - 2} * {steps[0]}", f"i{rank - 1} * {steps[1]}"]
            return f"q{k}_{rank - 2}, {' + '.join(moves)}"
        base = f"q{k}_{max(rank - 1, 0)}"
        kind = self._kind(o) if rank else "s"
        i = {"s": "0", "c": f"i{rank - 1}", "g": f"i{rank - 1} * s{k}_{rank - 1}"}[kind]
        return f"{base}, {i}"

    def _fill(self, line: str) -> str:
        """Put addresses and marks into a load or store."""
        for k, o in enumerate(self.operands):
            mark = o.output if o.output < OUTPUTS else -2
            line = line.replace(f"{{{k}}}", self._at(k)).replace(f"<{k}>", str(mark))
        return line

    def _nest(self, lines: list[str], depth: int, depths: list[int]) -> None:
        rank = len(self.shape)
        pad = "    " * (depth + 1)
        here = [r for r, d in enumerate(depths) if d == depth and d < rank]
        summed = depth == rank - 1 and bool(here) and not self.short
        for r in here:
            lines.append(f"{pad}a{r} = {self._identity(r)}")
        if depth == rank:
            lines += [pad + self._fill(line) for line in self.loads]
            lines += [pad + line for line in self.body]
            lines += [pad + self._fill(line) for line in self.stores]
            for r, d in enumerate(depths):
                self._reduce(lines, pad, r, d)
            return
        outermost = "low, high" if self.piece else "start, stop"
        span = outermost if depth == 0 else f"0, n{depth}"
        if self.short and depth == rank - 1:
            span = f"0, {self.shape[-1]}"
        if summed:
            first, last = span.split(", ")
            lines.append(f"{pad}for b in range({first}, {last}, {BLOCK}):")
            pad += "    "
            for r in here:
                lines.append(f"{pad}b{r} = {self._identity(r)}")
            span = f"b, min(b + {BLOCK}, {last})"
        lines.append(f"{pad}for i{depth} in range({span}):")
        if depth < rank - 1:
            for k, o in enumerate(self.operands):
                if depth == rank - 2 and self._short_steps(o) is not None:
                    continue
                lines.append(f"{pad}    q{k}_{depth + 1} = q{k}_{depth} + i{depth} * s{k}_{depth}")
        inner: list[str] = []
        self._nest(inner, depth + 1, depths)
        lines += ["    " + line for line in inner] if summed else inner
        if summed:
            for r in here:
                combined = REDUCTIONS[self._operation(r)].combined.format(f"a{r}", f"b{r}")
                lines.append(f"{pad}a{r} = {combined}")
            pad = pad[4:]
        for r in here:
            self._store_reduction(lines, pad, r, depth)

    def _operation(self, r: int) -> str:
        return self.reductions[r][0].primitive.name

    def _identity(self, r: int) -> str:
        return identity_source(self._operation(r), self.reductions[r][0].outputs[0].dtype)

    def _reduce(self, lines: list[str], pad: str, r: int, depth: int) -> None:
        """Take a term into a reduction, in the innermost loop."""
        _, k, term = self.reductions[r]
        o = self.operands[k]
        combined = REDUCTIONS[self._operation(r)].combined
        if depth < len(self.shape):
            innermost = depth == len(self.shape) - 1
            name = f"b{r}" if innermost and not self.short else f"a{r}"
            lines.append(f"{pad}{name} = {combined.format(name, term)}")
        elif not any(s == 0 for s in o.strides):
            lines.append(pad + self._fill(f"set_{o.dtype}({{{k}}}, {term}, <{k}>)"))
        else:
            held = self._fill(f"get_{o.dtype}({{{k}}}, <{k}>)")
            self._clear(o, r)
            lines.append(
                pad + self._fill(f"set_{o.dtype}({{{k}}}, {combined.format(held, term)}, <{k}>)")
            )

    def _store_reduction(self, lines: list[str], pad: str, r: int, depth: int) -> None:
        _, k, _ = self.reductions[r]
        o = self.operands[k]
        at = f"q{k}_{depth}, 0"
        steps = self._short_steps(o)
        if steps is not None and depth == len(self.shape) - 1:
            at = f"q{k}_{depth - 1}, i{depth - 1} * {steps[0]}"
        mark = o.output if o.output < OUTPUTS else -2
        value = f"a{r}"
        if any(s == 0 for s in o.strides[:depth]):
            self._clear(o, r)
            held = f"get_{o.dtype}({at}, {mark})"
            value = REDUCTIONS[self._operation(r)].combined.format(held, value)
        lines.append(f"{pad}set_{o.dtype}({at}, {value}, {mark})")

    def _clear(self, o: Operand, r: int) -> None:
        self.cleared.append((o.place, identity(self._operation(r), o.place.dtype)))


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
