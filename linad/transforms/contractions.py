"""Sums of products, two operands at a time.

An `einsum` is taken apart into steps that have kernels: a letter that only one operand has is
summed first; what is left of two operands is

    letters of both, kept             stacks of matrices
    letters of both, summed           the inner dimension
    letters of one                    rows, columns

so a matrix product where both operands have letters of their own, and a loop that multiplies
and adds where they have not: such a step reads each number once, and fuses with what is before
and after it.
"""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation
from linad.transforms.rewriting import rule

Labelled = tuple[str, Any]
"""An array and the letters of its axes."""


@rule("einsum")
def einsum_in_steps(s: Any, eqn: Equation) -> Any:
    out = eqn.outputs[0]
    if out.dtype.kind not in "fc" or not size_of(out.shape):
        return None
    operands = list(eqn.inputs)
    if any(not size_of(a.shape) for a in operands):
        return None
    exact = (out.dtype, np.empty(0, out.dtype).real.dtype)
    operands = [
        a if a.dtype in exact else s.emit("astype", [a], a.shape, out.dtype, dtype=out.dtype)
        for a in operands
    ]
    return Steps(s, eqn).result(list(zip(eqn.params["labels"], operands, strict=True)))


class Steps:
    """The equations of one contraction."""

    def __init__(self, s: Any, eqn: Equation) -> None:
        self.s, self.out = s, eqn.params["out"]
        self.dtype = eqn.outputs[0].dtype
        self.size = {
            c: n
            for word, a in zip(eqn.params["labels"], eqn.inputs, strict=True)
            for c, n in zip(word, a.shape, strict=True)
        }

    def result(self, operands: list[Labelled]) -> Any:
        for i, j in self._path(operands):
            first, second = operands[i], operands[j]
            rest = [x for k, x in enumerate(operands) if k not in (i, j)]
            wanted = set(self.out).union(*[word for word, _ in rest])
            operands = [*rest, self._pair(first, second, wanted)]
        word, a = self._summed(operands[0], set(self.out))
        return self._ordered(word, a, self.out)

    def _path(self, operands: list[Labelled]) -> list[tuple[int, int]]:
        """Which two operands are next, as `numpy.einsum_path` finds it."""
        if len(operands) < 3:
            return [(0, 1)] if len(operands) == 2 else []
        shapes = [np.broadcast_to(0.0, a.shape) for _, a in operands]
        words = ",".join(word for word, _ in operands)
        path = np.einsum_path(f"{words}->{self.out}", *shapes, optimize="greedy")[0][1:]
        if any(len(step) != 2 for step in path):
            return _one_by_one(len(operands))
        return [(min(step), max(step)) for step in path]

    # Arrays with letters.

    def _shape(self, word: str) -> tuple[int, ...]:
        return tuple([self.size[c] for c in word])

    def _reshaped(self, a: Any, shape: tuple[int, ...]) -> Any:
        if tuple(a.shape) == shape:
            return a
        return self.s.emit("reshape", [a], shape, a.dtype, shape=shape)

    def _ordered(self, word: str, a: Any, wanted: str) -> Any:
        """The array with its axes in another order."""
        axes = tuple([word.index(c) for c in wanted])
        if axes == tuple(range(len(axes))):
            return a
        shape = tuple([a.shape[k] for k in axes])
        return self.s.emit("transpose", [a], shape, a.dtype, axes=axes)

    def _summed(self, operand: Labelled, wanted: set[str]) -> Labelled:
        """An operand without the letters that nothing else has."""
        word, a = operand
        axes = tuple([k for k, c in enumerate(word) if c not in wanted])
        if not axes:
            return operand
        left = "".join([c for c in word if c in wanted])
        return left, self.s.emit("sum", [a], self._shape(left), a.dtype, axes=axes)

    def _pair(self, first: Labelled, second: Labelled, wanted: set[str]) -> Labelled:
        a = self._summed(first, wanted | set(second[0]))
        b = self._summed(second, wanted | set(first[0]))
        shared = [c for c in a[0] if c in b[0]]
        stacks = "".join([c for c in shared if c in wanted])
        inner = "".join([c for c in shared if c not in wanted])
        rows = "".join([c for c in a[0] if c not in b[0]])
        columns = "".join([c for c in b[0] if c not in a[0]])
        if inner and rows and columns:
            return self._product(a, b, stacks, rows, inner, columns)
        return self._summed(self._multiplied(a, b), wanted)

    def _product(
        self, a: Labelled, b: Labelled, stacks: str, rows: str, inner: str, columns: str
    ) -> Labelled:
        """A matrix product of the operands, brought into the form of matrices."""
        sizes = [size_of(self._shape(word)) for word in (stacks, rows, inner, columns)]
        k, m, n, p = sizes
        left = self._ordered(a[0], a[1], stacks + rows + inner)
        right = self._ordered(b[0], b[1], stacks + inner + columns)
        front = (k,) if stacks else ()
        left = self._reshaped(left, (*front, m, n))
        right = self._reshaped(right, (*front, n, p))
        y = self.s.emit("matmul", [left, right], (*front, m, p), self.dtype)
        word = stacks + rows + columns
        return word, self._reshaped(y, self._shape(word))

    def _multiplied(self, a: Labelled, b: Labelled) -> Labelled:
        """The product entry by entry, in the order of the larger operand."""
        if size_of(self._shape(a[0])) < size_of(self._shape(b[0])):
            a, b = b, a
        word = "".join([c for c in b[0] if c not in a[0]]) + a[0]
        wide = []
        for letters, array in (a, b):
            ordered = self._ordered(letters, array, "".join([c for c in word if c in letters]))
            shape = tuple([self.size[c] if c in letters else 1 for c in word])
            wide.append(self._reshaped(ordered, shape))
        return word, self.s.emit("multiply", wide, self._shape(word), self.dtype)


def _one_by_one(n: int) -> list[tuple[int, int]]:
    """Each operand with what the ones before it gave: the result is always last."""
    return [(0, n - 1 - k) if k else (0, 1) for k in range(n - 1)]
