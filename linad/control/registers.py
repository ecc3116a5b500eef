"""A small body as statements on numbers: each entry of each array is a local variable.

Elementwise equations become one statement per entry. Those that only move entries about cost
nothing: their own implementation is run on arrays of numbers that say which entry is where.
Arrays that are read and written at computed places stay in memory, see `control.memory_arrays`.
"""

import re
from typing import Any

import numpy as np

from linad.control.memory_arrays import ENTRIES, in_memory, moves_an_array
from linad.core.moving_regions import numbers_at_zero
from linad.core.regions import Part
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Tape, Var, guard
from linad.sweeps.instructions import GUARD_FAILED, NO_RESULT
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.loop_source import OUTPUTS, bits, cast
from linad.sweeps.scalar_rows import constants, given
from linad.sweeps.steps import operands_of
from linad.sweeps.target import Target

STATEMENTS = 600
"""Most statements of a kernel: each takes some 2 ms to compile."""

MOVES = {
    "getitem",
    "reshape",
    "concatenate",
    "write_region",
    "read_region",
    "view_region",
    "transpose",
    "broadcast_to",
    "stack",
    "add_at",
    "pad",
    "diagonal",
    "main_diagonal",
    "flip",
    "roll",
}
"""Primitives whose results are entries of their operands, and zeros."""


class NotSmallError(Exception):
    """A body that cannot be held in local variables."""


class Statements:
    """The statements of a body.

    Parameters
    ----------
    tape : Tape
        Simplified.
    target : Target
        What they are for.
    carries : int
        How many of its inputs are carries.
    wanted : set of int
        Inputs that stay in memory.
    prefix : str
        Of the names it makes.
    is_test : bool
        Whether it is the test of a loop, of which no carries come out.
    named : str
        What the names of inputs begin with.

    Attributes
    ----------
    lines : list of str
    inputs, outputs : list of ndarray of str
        The names of the entries of each input and output; literals among the outputs. Of those
        that stay in memory None.
    immediates : list of (name, dtype, bits)
        Constants of the program, which are operands of the kernel.
    """

    def __init__(
        self,
        tape: Tape,
        target: Target,
        carries: int,
        wanted: set[int],
        prefix: str = "",
        is_test: bool = False,
        named: str = "",
    ) -> None:
        self.target, self.prefix = target, prefix
        self.carries = carries
        memory = in_memory(tape, wanted, carries, is_test)
        if memory is None:
            raise NotSmallError
        self._memory = memory
        self._reads = 0
        self.lines: list[str] = []
        self.immediates: list[tuple[str, str, list[int]]] = []
        self._known: dict[Any, str] = {}
        self._numbers: dict[Any, str] = {}
        self._values: dict[Var, np.ndarray] = {}
        self.inputs: list[Any] = []
        for k, v in enumerate(tape.inputs):
            if v in self._memory:
                self.inputs.append(None)
                continue
            self._check(v)
            self.inputs.append(_names(f"{named}a{k}_", v.shape))
            self._values[v] = self.inputs[-1]
        for eqn in tape.equations:
            self._take(eqn)
            if len(self.lines) > STATEMENTS:
                raise NotSmallError
        self.outputs: list[Any] = []
        for a in tape.outputs:
            if isinstance(a, Var) and a in self._memory:
                self.outputs.append(None)
                continue
            self._check(a)
            self.outputs.append(self._get(a))

    def moved(self) -> list[str]:
        """Lines that put the carries that come out in the place of those that came in."""
        local = [j for j in range(self.carries) if self.inputs[j] is not None]
        old = [t for i in local for t in self.inputs[i].ravel()]
        new = [t for j in local for t in self.outputs[j].ravel()]
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
        if not pairs:
            return []
        left, right = (", ".join(side) for side in zip(*pairs, strict=True))
        return [f"{left}, = {right},"]

    @staticmethod
    def _check(a: Any) -> str:
        dtype = a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype
        name = name_of_dtype(dtype)
        if (
            name is None
            or not 0 < size_of(np.shape(a) if not isinstance(a, Var) else a.shape) <= ENTRIES
        ):
            raise NotSmallError
        return name

    def _get(self, a: Any) -> np.ndarray:
        if isinstance(a, Var):
            return self._values[a]
        array = np.asarray(a)
        self._check(array)
        made = np.empty(array.shape, object)
        for i in np.ndindex(*array.shape):
            made[i] = self._literal(array[i])
        return made

    def _literal(self, value: Any) -> str:
        d = name_of_dtype(value.dtype)
        assert d is not None
        if d == "b1":
            return str(bool(value))
        if d == "i8" and 0 <= value < 1 << 62:
            return str(int(value))
        if d == "f8" and value in (0, 1, 2, 0.5, 3, 6) and not np.signbit(value):
            return repr(float(value))
        key = d, value.tobytes()
        if key not in self._numbers:
            name = self._numbers[key] = f"{self.prefix}l{len(self._numbers)}"
            if d[0] == "c":
                words = [bits(value.real), bits(value.imag)]
            else:
                words = [int(value) if d[0] == "i" else bits(value)]
            self.immediates.append((name, d, words))
        return self._numbers[key]

    def _let(self, text: str) -> str:
        name = self._known.get(text)
        if name is None:
            name = self._known[text] = f"{self.prefix}t{len(self._known)}"
            self.lines.append(f"{name} = {text}")
        return name

    def _take(self, eqn: Equation) -> None:
        name = eqn.primitive.name
        if eqn.primitive is guard:
            self._guard(eqn)
            return
        if len(eqn.outputs) != 1:
            raise NotSmallError
        out = eqn.outputs[0]
        if out in self._memory:
            self._write(eqn)
            return
        self._check(out)
        if isinstance(eqn.inputs[0] if eqn.inputs else None, Var) and eqn.inputs[0] in self._memory:
            self._values[out] = self._read(eqn)
            return
        if name == "first_entry":
            self._values[out] = self._first_entry(eqn)
            return
        if name == "empty_like":
            made = np.empty(out.shape, object)
            made[...] = self._literal(np.zeros((), out.dtype)[()])
        elif name == "sum" and "axes" in eqn.params:
            made = self._sum(eqn)
        elif name == "matmul":
            made = self._product(eqn)
        elif name in MOVES:
            made = self._moved(eqn)
        else:
            operands = operands_of(eqn)
            found = self.target.row_of(name, out.dtype, operands)
            if found is None:
                raise NotSmallError
            made = self._elementwise(found, operands, out)
        self._values[out] = made

    def _elementwise(self, found: tuple[Any, ...], operands: list[Any], out: Var) -> np.ndarray:
        texts: list[Any] = [np.broadcast_to(self._get(a), out.shape) for a in operands]
        dtypes = [self._check(a) for a in operands]
        made = np.empty(out.shape, object)
        for i in np.ndindex(*out.shape):
            made[i] = self._entry(found, [t[i] for t in texts], dtypes, out.dtype)
        return made

    def _entry(
        self, found: tuple[Any, ...], texts: list[str], dtypes: list[str], result: np.dtype[Any]
    ) -> str:
        row, meet = found
        wanted = name_of_dtype(result)
        assert wanted is not None
        given_texts = [cast(t, d, m) for t, d, m in zip(texts, dtypes, meet, strict=True)]
        text = row.text.format(*given_texts, **constants(meet[-1]))
        text = re.sub(r"\bf_", "m_", text)
        if text == given_texts[0] and given(row, meet[-1]) == wanted and dtypes[0] == wanted:
            return texts[0]
        return self._let(cast(text, given(row, meet[-1]), wanted, narrow=True))

    def _combine(self, name: str, a: str, b: str, dtype: Any) -> str:
        zero = np.zeros((), dtype)[()]
        found = self.target.row_of(name, dtype, [zero, zero])
        d = name_of_dtype(dtype)
        if found is None or d is None:
            raise NotSmallError
        return self._entry(found, [a, b], [d, d], dtype)

    def _sum(self, eqn: Equation) -> np.ndarray:
        x, out = eqn.inputs[0], eqn.outputs[0]
        if self._check(x) != self._check(out):
            raise NotSmallError
        terms = self._get(x)
        axes = eqn.params["axes"]
        terms = np.moveaxis(terms, axes, range(len(axes)))
        terms = terms.reshape(-1, *out.shape)
        total = terms[0:1].reshape(out.shape)
        for k in range(1, len(terms)):
            total = self._combined_each("add", total, terms[k : k + 1].reshape(out.shape), out)
        return total

    def _combined_each(self, name: str, a: Any, b: Any, out: Var) -> np.ndarray:
        made = np.empty(out.shape, object)
        for i in np.ndindex(*out.shape):
            made[i] = self._combine(name, a[i], b[i], out.dtype)
        return made

    def _product(self, eqn: Equation) -> np.ndarray:
        a, b = eqn.inputs
        out = eqn.outputs[0]
        if {self._check(a), self._check(b)} != {self._check(out)} or out.dtype.kind == "b":
            raise NotSmallError
        x, y = self._get(a), self._get(b)
        if x.ndim > 2 or y.ndim > 2 or not x.ndim or not y.ndim:
            raise NotSmallError
        left, right = np.atleast_2d(x), y if y.ndim == 2 else y[:, None]
        made = np.empty((left.shape[0], right.shape[1]), object)
        for i, j in np.ndindex(*made.shape):
            terms = [
                self._combine("multiply", left[i, k], right[k, j], out.dtype)
                for k in range(left.shape[1])
            ]
            total = terms[0]
            for t in terms[1:]:
                total = self._combine("add", total, t, out.dtype)
            made[i, j] = total
        return made.reshape(out.shape)

    def _moved(self, eqn: Equation) -> np.ndarray:
        out = eqn.outputs[0]
        inputs = [
            a if isinstance(a, Var) or type(a) is np.ndarray else out.dtype.type(a)
            for a in eqn.inputs
        ]
        if {self._check(a) for a in inputs} != {self._check(out)}:
            raise NotSmallError
        texts = [self._literal(np.zeros((), out.dtype)[()])]  # what implementations fill up with
        codes = []
        for a in inputs:
            names = self._get(a)
            codes.append(np.arange(len(texts), len(texts) + names.size).reshape(names.shape))
            texts += list(names.ravel())
        if eqn.primitive.name == "add_at":
            ones = [np.ones(c.shape, np.int64) for c in codes]
            if np.max(eqn.primitive.impl(*ones, **eqn.params), initial=0) > 1:
                raise NotSmallError  # an entry is met twice: a sum
        found = np.asarray(eqn.primitive.impl(*codes, **eqn.params))
        made = np.empty(found.shape, object)
        for i in np.ndindex(*found.shape):
            made[i] = texts[found[i]]
        return made.reshape(out.shape)

    # Arrays in memory.

    def _first_entry(self, eqn: Equation) -> np.ndarray:
        size, reach, width = (eqn.params[k] for k in ("size", "reach", "width"))
        i, out = eqn.inputs[0], eqn.outputs[0]
        text = cast(self._get(i).item(), self._check(i), "i8")
        k = self._let(text) if not text.isidentifier() else text
        wrong = f"{k} >= {size - reach} or {k} < {-size}"
        if width > 1:
            wrong += f" or {1 - width} <= {k} < 0"
        self.lines += [f"if {wrong}:", f"    return {NO_RESULT}"]
        made = _names("", out.shape)
        made[...] = self._let(f"{k} + {size} if {k} < 0 else {k}")
        return made

    def _named(self, eqn: Equation, array: Var) -> tuple[np.ndarray, str]:
        """Which entries of an array in memory an equation names: numbers, and what to add."""
        region = eqn.params.get("region")
        if region is None:
            numbers = eqn.primitive.impl(
                np.arange(size_of(array.shape)).reshape(array.shape), **eqn.params
            )
        elif type(region) is Part or region.ndim != len(array.shape):
            raise NotSmallError
        elif moves_an_array(eqn):
            numbers = numbers_at_zero(region)
        else:
            numbers = region.numbers(array.shape)
        numbers = np.asarray(numbers)
        if not 0 < numbers.size <= ENTRIES:
            raise NotSmallError
        if not moves_an_array(eqn):
            return numbers, ""
        return numbers, f"{self._get(eqn.inputs[-1]).item()} + "

    def _where(self, array: Var) -> tuple[str, str, str]:
        """Dtype, address and mark of an array in memory."""
        k = self._memory[array]
        d = name_of_dtype(array.dtype)
        if d is None:
            raise NotSmallError
        return d, f"m{k}", str(min(k, OUTPUTS) if k < self.carries else -1)

    def _read(self, eqn: Equation) -> np.ndarray:
        array, out = eqn.inputs[0], eqn.outputs[0]
        numbers, start = self._named(eqn, array)
        d, base, mark = self._where(array)
        made = np.empty(out.shape, object)
        for name, number in zip(np.ndindex(*out.shape), numbers.ravel(), strict=True):
            made[name] = f"{self.prefix}r{self._reads}"
            self._reads += 1
            self.lines.append(f"{made[name]} = get_{d}({base}, {start}{number}, {mark})")
        return made

    def _write(self, eqn: Equation) -> None:
        if eqn.primitive.name == "copy":
            return
        array, value = eqn.inputs[:2]
        if not isinstance(value, Var):
            value = np.asarray(value, array.dtype)
        numbers, start = self._named(eqn, array)
        d, base, mark = self._where(array)
        if self._check(value) != d:
            raise NotSmallError
        texts = np.broadcast_to(self._get(value), numbers.shape)
        for text, number in zip(texts.ravel(), numbers.ravel(), strict=True):
            if eqn.primitive.name == "add_moving":
                held = f"{self.prefix}r{self._reads}"
                self._reads += 1
                self.lines.append(f"{held} = get_{d}({base}, {start}{number}, {mark})")
                text = self._combine("add", held, text, array.dtype)
            self.lines.append(f"set_{d}({base}, {start}{number}, {text}, {mark})")

    def _guard(self, eqn: Equation) -> None:
        expected = np.asarray(eqn.params["expected"])
        x = eqn.inputs[0]
        d = self._check(x)
        names, wanted = self._get(x), self._get(expected.astype(x.dtype))
        if names.shape != wanted.shape:
            raise NotSmallError
        for a, b in zip(names.ravel(), wanted.ravel(), strict=True):
            test = f"{a} != {b}"
            if d[0] in "fc":
                test += f" and ({a} == {a} or {b} == {b})"
            self.lines += [f"if {test}:", f"    return {GUARD_FAILED}"]


def _names(prefix: str, shape: Shape) -> np.ndarray:
    made = np.empty(shape, object)
    for k, i in enumerate(np.ndindex(*shape)):
        made[i] = f"{prefix}{k}"
    return made


def immediate(d: str, words: list[int], at: int) -> str:
    """A constant, read from the operands of a kernel."""
    if d[0] == "b":
        return f"operand(p, {at}) != 0"
    if d[0] == "i":
        return f"to_{d}(operand(p, {at}))"
    if d[0] == "f":
        return f"to_{d}(number(operand(p, {at})))"
    assert len(words) == 2
    return f"to_{d}(complex(number(operand(p, {at})), number(operand(p, {at + 1}))))"
