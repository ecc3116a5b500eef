"""A loop as the source of a serial kernel: one loop inside the other.

Of an operand the source knows whether it moves along the innermost axis by one entry, not at all,
or by some stride; all else (addresses, sizes, outer strides, constants) are words:

    def kernel(p, start, stop):              # 2 * x + y
        q0 = operand(p, 0)
        ...
        for i0 in range(start, stop):
            t0 = get_f8(q0, i0, -1)
            ...
"""

import re

from linad.core.shapes import size_of
from linad.core.tape import Var
from linad.sweeps.cpu import range_guards as guards
from linad.sweeps.cpu.vector_math import INLINED
from linad.sweeps.loop_reductions import REDUCTIONS, identity
from linad.sweeps.loop_source import OUTPUTS, LoopSource, Operand, indented
from linad.sweeps.places import Place, new_place
from linad.sweeps.steps import Loop
from linad.sweeps.target import Target

BLOCK = 4096
"""Terms that a sum adds up in one run; the runs are added to each other. Keeps rounding errors
at the level of pairwise summation without its cost."""

PIECE = 1 << 16
"""Entries of one piece of a large loop whose reductions cross its outermost axis. Pieces have
their own results, which are combined in order; so threads may share them out, and the result
does not depend on how."""

SHORT, SHORT_STEP, SHORT_TEXT = 4, 32, 96
"""Length of an innermost axis up to which the source says it, entries from one to the next up to
which it says these as well, and statements that this may be unrolled to. Points and colours have
3 components: the compiler unrolls such an axis, and vectorises along the one before it."""

VECTOR, LEFT, LONG = 64, 3, 64
"""Bytes of a vector; entries behind the last whole one that take longer one by one than in a vector
with a mask; and the length of an innermost axis from which on they are a small part of it."""

WORK = 8
"""Additions for one entry from which on a mask pays. What has just been stored with one has to
reach the memory before it is loaded again, which is longer than less takes."""

MASKED = {"f4", "f8", "b1"}
"""Dtypes of which vectors have masks that cost nothing."""

INLINE = {
    *("abs", "sqrt", "select", "clipped", "copysign", "floor", "ceil", "rint", "trunc"),
    *[f"to_{dtype}" for dtype in MASKED],
    *[f"v_{name}" for name in INLINED if name != "erf"],
}
"""What vectors with masks may call: no functions of libraries, which have none."""

_CALLED = re.compile(r"(\w+)\(")


class SerialLoop(LoopSource):
    """Kernel source and operand words of a loop; parameters as of `LoopSource`."""

    def __init__(
        self,
        target: Target,
        loop: Loop,
        places: dict[Var, Place],
        stored: set[Var],
        prefix: str,
    ) -> None:
        super().__init__(target, loop, places, stored, prefix)
        self.short = len(self.shape) > 1 and self.shape[-1] <= SHORT
        if self.shape and self.shape[-1] * len(loop.equations) > SHORT_TEXT:
            self.short = False
        self.extent = self.shape[0] if self.shape else 1
        targets = [self.operands[k] for _, k, _ in self.reductions]
        crossing = [r for r, o in enumerate(targets) if not any(o.strides[:1])]
        self.piece = self._split(crossing) if crossing else 0
        self.work = 0 if crossing and not self.piece else size_of(self.shape) * self._cost()
        self.text = self._text()

    # Pieces.

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
        guarded = self._guarded(depths)
        nest: list[str] = []
        self._nest(nest, 0, depths)
        if self.piece:
            lines += [f"    n0 = operand(p, {len(words)})", f"    m = operand(p, {len(words) + 1})"]
            words += [self.shape[0], self.piece]
            lines += ["    for c in range(start, stop):", "        low = c * m"]
            lines += ["        high = min(low + m, n0)", *moves]
            nest = indented(nest)
        status = f"again(p + {8 * len(words)}, start, stop)" if guarded else "0"
        text = "\n".join([*lines, *nest, f"    return {status}"]) + "\n"
        if guarded:
            words += [guards.Twin(text), self._block(), len(words)]
        return text

    def _guarded(self, depths: list[int]) -> bool:
        """Whether numbers may be out of the range of inlined functions.

        Entries that the loop reads and writes, or what it adds to in memory, cannot be computed
        again. There other functions are called.
        """
        if not guards.have_ranges(self.body):
            return False
        targets = [self.operands[k] for _, k, _ in self.reductions]
        if self._overwrites() or any(
            0 in o.strides[:d] for o, d in zip(targets, depths, strict=True)
        ):
            self.body = guards.without_ranges(self.body)
            return False
        return True

    def _block(self) -> int:
        """How much of the range is computed again for a number that is out of range."""
        if not self.work or self.piece:
            return 1 if self.piece else self.extent
        return max(1, guards.BLOCK * self.extent // size_of(self.shape))

    def _overwrites(self) -> bool:
        """Whether the loop reads from where it writes."""
        written = [o for o in self.operands if o.output >= 0]
        return any(o.place.overlaps(w.place) for o in self.operands if o.read for w in written)

    def _in_whole_vectors(self) -> bool:
        """Whether what is left over of the innermost axis, behind whole vectors, is worth a vector
        with a mask, and may be one: real numbers side by side, and functions that are inline."""
        n, width = self.shape[-1], max([o.place.dtype.itemsize for o in self.operands])
        if self.short or self.piece or n >= LONG or n % (VECTOR // width) < LEFT:
            return False
        if self._computed() < WORK:
            return False
        sums = {k for _, k, _ in self.reductions}
        for k, o in enumerate(self.operands):
            fits = ("c",) if o.output >= 0 and k not in sums else ("c", "s")
            if o.dtype not in MASKED or self._kind(o) not in fits:
                return False
        return INLINE.issuperset(_CALLED.findall("\n".join(self.body)))

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
        numbers = f"range({span})"
        if depth == rank - 1 and self._in_whole_vectors():
            numbers = f"whole_vectors({numbers})"
        lines.append(f"{pad}for i{depth} in {numbers}:")
        if depth < rank - 1:
            for k, o in enumerate(self.operands):
                if depth == rank - 2 and self._short_steps(o) is not None:
                    continue
                lines.append(f"{pad}    q{k}_{depth + 1} = q{k}_{depth} + i{depth} * s{k}_{depth}")
        inner: list[str] = []
        self._nest(inner, depth + 1, depths)
        lines += indented(inner) if summed else inner
        if summed:
            for r in here:
                combined = REDUCTIONS[self._operation(r)].combined.format(f"a{r}", f"b{r}")
                lines.append(f"{pad}a{r} = {combined}")
            pad = pad[4:]
        for r in here:
            self._store_reduction(lines, pad, r, depth)

    def _reduce(self, lines: list[str], pad: str, r: int, depth: int) -> None:
        """Take a term into a reduction, in the innermost loop."""
        k = self.reductions[r][1]
        o = self.operands[k]
        if depth < len(self.shape):
            innermost = depth == len(self.shape) - 1
            name = f"b{r}" if innermost and not self.short else f"a{r}"
            lines.append(f"{pad}{name} = {self._combined(r, name)}")
        elif not any(s == 0 for s in o.strides):
            alone = self._combined(r, "")
            lines.append(pad + self._fill(f"set_{o.dtype}({{{k}}}, {alone}, <{k}>)"))
        else:
            held = self._fill(f"get_{o.dtype}({{{k}}}, <{k}>)")
            self._clear(o, r)
            value = self._combined(r, held)
            lines.append(pad + self._fill(f"set_{o.dtype}({{{k}}}, {value}, <{k}>)"))

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
