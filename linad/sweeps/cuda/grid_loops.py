"""A loop as a kernel for a grid of threads: one flat index, and sums in pieces.

A thread takes every ``threads``-th number of the range, so the text has one loop over the range,
and the axes of an entry are found by division:

    def kernel(p, start, stop, thread, threads):        # 2 * x + y, rows of n1
        ...
        for i in range(start + thread, stop, threads):
            i1 = i % n1
            i0 = i // n1
            t0 = get_f8(q0 + i0 * s0_0 + i1 * 8, 0, -1)

A reduction goes through kept entries times *pieces*: a thread adds up every ``pieces``-th term of
one entry, and where there are several pieces their results are reduced in turn. How many there
are follows from sizes alone. So the result depends on no device, no grid and no order of threads,
and nothing has to be atomic.
"""

import textwrap
from typing import Any

from linad.core.shapes import size_of
from linad.core.tape import Var
from linad.sweeps.loop_source import OUTPUTS, LoopSource, Operand
from linad.sweeps.places import Place, new_place
from linad.sweeps.steps import Loop
from linad.sweeps.target import Target

HEAD = "def kernel(p, start, stop, thread, threads):"
ALL = "range(start, stop)"
RANGE = "range(start + thread, stop, threads)"

ALONE = 64
"""Terms that one thread adds up without help."""

PARTIAL_RESULTS = 1 << 16
"""Partial results of one reduction, at most."""


def strided(source: str) -> str:
    """A kernel as one of many threads that share its range; without a loop over it, as the first.

    Raises
    ------
    ValueError
        If there is more than one such loop, or other kernels are called.
    """
    head, end = "def kernel(p, start, stop):\n", "    return 0\n"
    if source.startswith(HEAD):
        return source
    body = source.removeprefix(head)
    if body == source or not body.endswith(end) or body.count(ALL) > 1 or "call_" in body:
        raise ValueError("the source of a kernel has one loop over its range, and calls no other")
    if ALL in body:
        return f"{HEAD}\n{body.replace(ALL, RANGE)}"
    alone = textwrap.indent(body.removesuffix(end), "    ")
    return f"{HEAD}\n    if thread == 0:\n{alone}{end}"


def is_shared(source: str) -> bool:
    """Whether a kernel has a loop over its range, which threads can share."""
    return ALL in source or source.startswith(HEAD)


def pieces_of(terms: int, kept: int) -> int:
    """Into how many pieces each sum of a reduction is cut."""
    if terms <= ALONE:
        return 1
    return min(-(-terms // ALONE), max(1, PARTIAL_RESULTS // kept))


class GridLoop(LoopSource):
    """Kernel source and operand words of a loop; parameters as of `LoopSource`.

    All reductions of the loop go over the same axes.
    """

    def __init__(
        self, target: Target, loop: Loop, places: dict[Any, Place], stored: set[Var]
    ) -> None:
        super().__init__(target, loop, places, stored, "m_")
        self.targets = [self.operands[k] for _, k, _ in self.reductions]
        rank = range(len(self.shape))
        self.summed = [d for d in rank if self.targets and not self.targets[0].strides[d]]
        self.kept = [d for d in rank if d not in self.summed]
        kept, terms = (size_of([self.shape[d] for d in a]) for a in (self.kept, self.summed))
        self.terms = terms
        self.pieces = pieces_of(terms, kept) if self.targets else 1
        self.extent = kept * self.pieces
        self.work = size_of(self.shape) * self._cost()
        self.text = self._text()

    def _text(self) -> str:
        lines = [HEAD, *self._read_words()]
        lines += [f"    {name} = {self._immediate(*value)}" for name, value in self.immediates]
        lines.append(f"    for i in {RANGE}:")
        pad = " " * 8
        if not self.targets:
            lines += self._decoded(pad, "i", self.kept)
            lines += self._statements(pad)
            return "\n".join([*lines, "    return 0", ""])
        if self.summed and self.summed[-1] == len(self.shape) - 1:
            # Neighbours in the grid are neighbours in the sum, and in memory.
            lines += [f"{pad}c = i % pieces", f"{pad}r = i // pieces"]
        else:
            count = " * ".join([f"n{d}" for d in self.kept] or ["1"])
            lines += [f"{pad}c = i // ({count})", f"{pad}r = i % ({count})"]
        lines += self._decoded(pad, "r", self.kept)
        lines += [f"{pad}a{r} = {self._identity(r)}" for r in range(len(self.reductions))]
        lines.append(f"{pad}for j in range(c, terms, pieces):")
        inner = pad + "    "
        lines += self._decoded(inner, "j", self.summed)
        lines += self._statements(inner)
        for r in range(len(self.reductions)):
            lines.append(f"{inner}a{r} = {self._combined(r, f'a{r}')}")
        for r, o in enumerate(self.targets):
            k = self.reductions[r][1]
            at = self._at(k, self.kept) + (f" + c * g{k}" if o.pieces else "")
            lines.append(f"{pad}set_{o.dtype}({at}, 0, a{r}, {self._output(o)})")
        return "\n".join([*lines, "    return 0", ""])

    def _read_words(self) -> list[str]:
        """Lines that read sizes, addresses and strides."""
        lines: list[str] = []

        def read(name: str, word: Any) -> None:
            lines.append(f"    {name} = operand(p, {len(self.words)})")
            self.words.append(word)

        for d, n in enumerate(self.shape):
            read(f"n{d}", n)
        if self.targets:
            read("pieces", self.pieces)
            read("terms", self.terms)
        if self.pieces > 1:
            for (eqn, _, _), o in zip(self.reductions, self.targets, strict=True):
                part = new_place((self.pieces, *o.place.shape), o.place.dtype)
                self.partials.append((eqn.primitive.name, part, o.place))
                # A place of its own, with the strides of an array in C order.
                o.strides = self._strides_of(part)
                o.place, o.pieces = part, part.strides[0]
        for k, o in enumerate(self.operands):
            read(f"q{k}", (o.place.buffer, o.place.offset))
            if o.pieces:
                read(f"g{k}", o.pieces)
            for d, step in enumerate(o.strides):
                if step and not self._dense(o, d):
                    read(f"s{k}_{d}", step)
        return lines

    def _strides_of(self, part: Place) -> tuple[int, ...]:
        """Strides of a reduction's partial results, which lie in C order, over the kept axes."""
        step, strides = part.dtype.itemsize, [0] * len(self.shape)
        for d in reversed(self.kept):
            strides[d] = step
            step *= self.shape[d]
        return tuple(strides)

    def _decoded(self, pad: str, name: str, axes: list[int]) -> list[str]:
        """Lines that find the index along each axis in a flat one."""
        lines = []
        for d in reversed(axes[1:]):
            lines += [f"{pad}i{d} = {name} % n{d}", f"{pad}{name}_{d} = {name} // n{d}"]
            name = f"{name}_{d}"
        return [*lines, f"{pad}i{axes[0]} = {name}"] if axes else lines

    def _statements(self, pad: str) -> list[str]:
        every = list(range(len(self.shape)))

        def filled(line: str) -> str:
            for k, o in enumerate(self.operands):
                line = line.replace(f"{{{k}}}", f"{self._at(k, every)}, 0")
                line = line.replace(f"<{k}>", str(self._output(o)))
            return line

        loads, stores = ([filled(line) for line in part] for part in (self.loads, self.stores))
        return [pad + line for line in (*loads, *self.body, *stores)]

    def _at(self, k: int, axes: list[int]) -> str:
        """The address of an operand's entry."""
        o = self.operands[k]
        item = o.place.dtype.itemsize
        moves = [
            f"i{d} * {item}" if self._dense(o, d) else f"i{d} * s{k}_{d}"
            for d in axes
            if o.strides[d]
        ]
        return " + ".join([f"q{k}", *moves])

    def _dense(self, o: Operand, d: int) -> bool:
        return d == len(self.shape) - 1 and o.strides[d] == o.place.dtype.itemsize

    @staticmethod
    def _output(o: Operand) -> int:
        return o.output if o.output < OUTPUTS else -2
