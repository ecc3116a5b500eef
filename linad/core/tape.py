"""A program as data: variables, equations, tapes.

A tape is a flat list of primitive calls. It prints as a numbered program, checks itself,
and runs again on other arrays or on traced values, so it differentiates like the function
it was recorded from.
"""

import linecache
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.frames import shown_file
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.errors import GuardError, LinadError, ShapeError


class Var:
    """A value of a program, known by its number, shape and dtype."""

    __slots__ = ("dtype", "index", "shape")

    def __init__(self, index: int, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.index, self.shape, self.dtype = index, shape, dtype

    @property
    def type(self) -> str:
        """Dtype and shape, as ``float64[3,4]``."""
        return type_of(self)

    def __repr__(self) -> str:
        return f"%{self.index}"


def type_of(value: Any) -> str:
    """Dtype and shape of an array or Var, as ``float64[3,4]``."""
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"


class Source:
    """A line of the user's program."""

    __slots__ = ("filename", "lineno")

    def __init__(self, filename: str, lineno: int) -> None:
        self.filename, self.lineno = filename, lineno

    def __str__(self) -> str:
        text = linecache.getline(self.filename, self.lineno).strip()
        place = f"{Path(shown_file(self.filename)).name}:{self.lineno}"
        return f"{place}: {text}" if text else place


class Reasoned(Source):
    """A line of the user's program at which a routine of linad's has asked, and why."""

    __slots__ = ("reason",)

    def __init__(self, source: Source, reason: str) -> None:
        super().__init__(source.filename, source.lineno)
        self.reason = reason


class Equation:
    """``outputs = primitive(*inputs, **params)``; never changed after it is made.

    Attributes
    ----------
    inputs : tuple
        Variables, and constants as plain arrays or numbers.
    outputs : tuple of Var
        One, or several for a primitive with several results; none for a guard.
    source : Source or None
        The user's line that asked for it.
    """

    __slots__ = ("inputs", "outputs", "params", "primitive", "source")

    primitive: Primitive
    inputs: tuple[Any, ...]
    params: dict[str, Any]
    outputs: tuple[Var, ...]
    source: Source | None

    def __init__(
        self,
        primitive: Primitive,
        inputs: tuple[Any, ...],
        params: dict[str, Any],
        outputs: tuple[Var, ...],
        source: Source | None = None,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "primitive", primitive)
        set_(self, "inputs", inputs)
        set_(self, "params", params)
        set_(self, "outputs", outputs)
        set_(self, "source", source)

    def with_inputs(self, inputs: tuple[Any, ...]) -> "Equation":
        """The same operation on other operands; itself where they are the same objects."""
        if all([a is b for a, b in zip(inputs, self.inputs, strict=True)]):
            return self
        return Equation(self.primitive, inputs, self.params, self.outputs, self.source)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"equations are immutable; {name} cannot be set")

    def __reduce__(self) -> tuple[Any, ...]:
        return Equation, (self.primitive, self.inputs, self.params, self.outputs, self.source)

    def __str__(self) -> str:
        arguments = [_operand(a) for a in self.inputs]
        arguments += [f"{k}={_parameter(v)}" for k, v in self.params.items()]
        call = f"{self.primitive.name}({', '.join(arguments)})"
        if not self.outputs:
            return call
        return f"{', '.join(f'{v}: {v.type}' for v in self.outputs)} = {call}"

    def __repr__(self) -> str:
        return f"<equation {self}>"


def _operand(a: Any) -> str:
    if isinstance(a, Var):
        return repr(a)
    if np.ndim(a) == 0:
        return f"{a:.6g}" if isinstance(a, (float, np.floating)) else f"{a}"
    return f"<{type_of(np.asarray(a))}>"


def _parameter(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=6, separator=",") if value.ndim else str(value)
    if isinstance(value, slice):
        return f"{'' if value.start is None else value.start}:" + (
            f"{'' if value.stop is None else value.stop}"
            + ("" if value.step is None else f":{value.step}")
        )
    if isinstance(value, tuple):
        return "(" + ", ".join(_parameter(v) for v in value) + ("," * (len(value) == 1)) + ")"
    return str(value) if isinstance(value, np.dtype) else repr(value)


class _OtherPath:
    """What a `GuardError` says, written when it is read: mostly another path is taken instead."""

    def __init__(self, expected: Array, met: Array) -> None:
        self.expected, self.met = expected, met

    def __str__(self) -> str:
        return (
            "the program took another path when it was recorded: a condition was "
            f"{self.expected!r} then and is {self.met!r} now"
        )


def _guard(x: Array, *, expected: Array) -> tuple[()]:
    if not np.array_equal(x, expected, equal_nan=np.asarray(expected).dtype.kind in "fc"):
        raise GuardError(_OtherPath(expected, x))
    return ()


guard = Primitive("guard", _guard, constant=True)
"""Checks that a value a Python decision was taken on is the recorded one."""


stop = Primitive("stop_gradient", lambda x: x, constant=True)
"""The value that came, without its derivative."""


def _unchanged(x: Array, *, expected: Array) -> tuple[()]:
    if _bytes_of(x) != _bytes_of(expected):
        raise GuardError("an array that the function reads from outside has other entries now")
    return ()


def _bytes_of(x: Array) -> memoryview:
    """For a comparison without a function of NumPy's, and without an array of its results."""
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8).data


unchanged = Primitive("unchanged", _unchanged, constant=True)
"""Checks that an array has the recorded entries, to the bit."""

GUARDS = (guard, unchanged)
guard.guards = unchanged.guards = True


def _raises(*args: Any, primitive: Primitive, params: dict[str, Any]) -> Any:
    try:
        with np.errstate(all="ignore"):
            primitive(*args, **params)
    except Exception:  # of any kind: that there is one is the answer
        return np.True_
    return np.False_


raises = Primitive("raises", _raises, constant=True)
"""Whether an operation raises: what a ``try`` around it decides upon."""


class Tape:
    """A recorded program.

    Parameters
    ----------
    name : str
        Of the function.
    inputs : sequence of Var
    equations : sequence of Equation
        In an order in which they can run.
    outputs : sequence
        Variables, or constants.
    in_tree, out_tree : structure
        Containers that calling the tape takes (one argument) and gives.

    Notes
    -----
    Calling it costs the primitives it lists; it holds no intermediate values, only
    constants.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Var],
        equations: Iterable[Equation],
        outputs: Sequence[Any],
        in_tree: Any,
        out_tree: Any,
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.equations = tuple(equations)
        self.outputs = tuple(outputs)
        self.in_tree, self.out_tree = in_tree, out_tree

    def __call__(self, *args: Any) -> Any:
        """Run the program on other arguments, plain or traced.

        Raises
        ------
        TreeError, ShapeError
            If they do not have the recorded structure and shapes.
        GuardError
            If a Python decision in the program would be taken otherwise.
        """
        given = tree.flatten_like(args, self.in_tree, f"arguments of {self.name}")
        for var, value in zip(self.inputs, given, strict=True):
            if np.shape(value) != var.shape:
                raise ShapeError(
                    f"{self.name}: {var} was recorded with shape {var.shape}, got {np.shape(value)}"
                )
        return tree.unflatten(self.out_tree, self.run(given))

    def run(self, given: Sequence[Any]) -> list[Any]:
        """Run on leaves, plain or traced, and return the leaves of the result.

        Raises
        ------
        GuardError
            If a Python decision would be taken otherwise, or if an array has another shape or
            dtype than it had: eigenvalues that were real have become complex, say.
        """
        values = dict(zip(self.inputs, given, strict=True))
        for eqn in self.equations:
            arguments = [values[a] if isinstance(a, Var) else a for a in eqn.inputs]
            result = eqn.primitive(*arguments, **eqn.params)
            results = result if isinstance(result, tuple) else (result,)
            for var, value in zip(eqn.outputs, results, strict=True):
                if getattr(value, "dtype", var.dtype) != var.dtype or np.shape(value) != var.shape:
                    now = value if hasattr(value, "dtype") else np.asarray(value)
                    raise GuardError(
                        f"{self.name}: {eqn.primitive.name} gave {var.type} when the program was "
                        f"recorded and gives {type_of(now)} now"
                    )
                values[var] = value
        return [values[a] if isinstance(a, Var) else a for a in self.outputs]

    def check(self) -> None:
        """Check that the program is one.

        Raises
        ------
        LinadError
            If a variable is used before it is defined, or defined twice, naming the
            equation.
        """
        defined = set(self.inputs)
        for k, eqn in enumerate(self.equations):
            for a in eqn.inputs:
                if isinstance(a, Var) and a not in defined:
                    raise LinadError(f"equation {k}: {a} is used before it is defined: {eqn}")
            for var in eqn.outputs:
                if var in defined:
                    raise LinadError(f"equation {k}: {var} is defined twice: {eqn}")
                defined.add(var)
        for a in self.outputs:
            if isinstance(a, Var) and a not in defined:
                raise LinadError(f"output {a} is never defined")

    def __len__(self) -> int:
        return len(self.equations)

    def __str__(self) -> str:
        head = f"{self.name}({', '.join(f'{v}: {v.type}' for v in self.inputs)}):"
        lines = [str(eqn) for eqn in self.equations]
        width = min(max([len(line) for line in lines], default=0), 60)
        body = [
            f"    {line:<{width}}  # {eqn.source}" if eqn.source else f"    {line}"
            for line, eqn in zip(lines, self.equations, strict=True)
        ]
        last = f"    return {', '.join(_operand(a) for a in self.outputs)}"
        return "\n".join([head, *body, last])

    def __repr__(self) -> str:
        return (
            f"<tape {self.name}: {len(self.inputs)} inputs, {len(self.equations)} equations, "
            f"{len(self.outputs)} outputs>"
        )


def tape_of(
    name: str, inputs: Sequence[Var], equations: Iterable[Equation], outputs: Sequence[Any]
) -> Tape:
    """A tape that takes its inputs one by one, and gives a row of its outputs."""
    return Tape(name, inputs, equations, outputs, tree.row(len(inputs)), tree.row(len(outputs)))


def guards_in(equations: Iterable[Equation]) -> Iterator[Equation]:
    """The decisions among equations, and in the bodies of loops and branches among them."""
    for e in equations:
        if e.primitive is guard:
            yield e
        elif e.primitive.guards:
            for part in e.primitive.parts:
                yield from guards_in(part.tape.equations)


def needed(equations: Sequence[Equation], outputs: Iterable[Any]) -> list[Equation]:
    """The equations that ``outputs`` depend on, the guards, and what they depend on; in order."""
    live = {a for a in outputs if isinstance(a, Var)}
    kept = []
    for eqn in reversed(equations):
        if eqn.primitive.guards or not live.isdisjoint(eqn.outputs):
            live.update(a for a in eqn.inputs if isinstance(a, Var))
            kept.append(eqn)
    kept.reverse()
    return kept
