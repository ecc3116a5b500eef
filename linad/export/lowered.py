"""`lower`: a function and its derivative as a NumPy module that anybody can read and run."""

import inspect
import keyword
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.shapes import check_function, name_of
from linad.core.tape import Equation, Tape, Var, type_of
from linad.export.lowered_loops import is_loop, loop_lines
from linad.export.module import Module
from linad.export.numpy_forms import call
from linad.jit.jitted import Jitted
from linad.transforms.programs import trace_vjp
from linad.transforms.simplify import simplify

NUMBERS = (np.dtype(float), np.dtype(complex), np.dtype(int))

OWN_NAMES = {"np", "nan", "inf", "scipy", "forward", "reverse", "vjp", "residuals", "cotangent"}
"""Names that the module uses itself."""


class Lowered:
    """A function at a point, as two programs.

    Attributes
    ----------
    forward, reverse : Tape
        ``(arguments) -> (results, residuals)`` and ``(residuals, cotangents) -> cotangents of
        the arguments``.
    source : str
        Both as a module, see `linad.lower`.
    """

    def __init__(self, name: str, forward: Tape, reverse: Tape, names: list[str]) -> None:
        self.name, self.forward, self.reverse = name, forward, reverse
        self.source = _ModuleWriter(name, forward, reverse, names).text()

    def save(self, path: Any) -> None:
        """Write the module to a file."""
        Path(path).write_text(self.source, encoding="utf-8")

    def load(self) -> dict[str, Any]:
        """Run the module; return what it defines, by name."""
        scope: dict[str, Any] = {"__name__": f"{self.name}_lowered"}
        exec(compile(self.source, f"<{self.name}, lowered>", "exec"), scope)
        return scope

    def __str__(self) -> str:
        return self.source

    def __repr__(self) -> str:
        return (
            f"<lowered {self.name}: {len(self.forward)} operations forward, "
            f"{len(self.reverse)} in reverse>"
        )


def lower(f: Callable[..., Any]) -> Callable[..., Lowered]:
    """Write a function and its derivative as NumPy source.

    Parameters
    ----------
    f : callable
        Of arrays, or containers of arrays, in NumPy; plain or jitted.

    Returns
    -------
    callable
        It takes the arguments of ``f``, all of them floating or complex, and returns a `Lowered`,
        whose ``source`` is a module without linad in it:

        ``forward(*arguments) -> (result, residuals)``, ``reverse(residuals, cotangent) ->
        cotangents of the arguments`` and ``vjp(arguments, cotangent) -> (result, cotangents)``.

    Raises
    ------
    ExportError
        If an operation has no form in NumPy and SciPy; the message names it and its line.

    Notes
    -----
    The module holds for arguments of these shapes and dtypes. One line is one operation; each
    block names the line of ``f`` it comes from. Containers are taken apart: a function of
    ``{"a": x, "b": y}`` becomes one of two arrays. Results agree with those of ``f`` to
    rounding.

    Examples
    --------
    >>> import numpy as np, linad
    >>> lowered = linad.lower(lambda x: np.sum(np.sin(x)))(np.zeros(2))
    >>> module = lowered.load()
    >>> y, residuals = module["forward"](np.array([0.0, np.pi]))
    >>> module["reverse"](residuals, 1.0)
    array([ 1., -1.])
    """
    check_function("lower", f)
    function = f.function if isinstance(f, Jitted) else f

    def lowered(*args: Any) -> Lowered:
        forward, reverse = trace_vjp(function, *args)
        names = _argument_names(function, args)
        return Lowered(name_of(function), simplify(forward), simplify(reverse), names)

    return lowered


def _argument_names(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """A name for each leaf of the arguments: those of the parameters, and the way inside."""
    try:
        heads = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):  # a ufunc, say
        heads = []
    if len(heads) < len(args):
        heads = [f"x{k}" for k in range(len(args))]
    names: list[str] = []
    for head, arg in zip(heads, args, strict=False):
        for path in tree.leaf_paths(tree.flatten(arg)[1]):
            parts = re.findall(r"\w+", path)
            name = "_".join([head, *parts])
            while name in names or keyword.iskeyword(name) or name in OWN_NAMES:
                name += "_"
            names.append(name)
    return names


class _ModuleWriter:
    """Writes the module."""

    def __init__(self, name: str, forward: Tape, reverse: Tape, names: list[str]) -> None:
        self.name, self.forward, self.reverse, self.arguments = name, forward, reverse, names
        self.module = Module()
        self.names: dict[Var, str] = {}
        self.count = 0

    def text(self) -> str:
        forward, reverse = self._forward(), self._reverse()
        arguments = ", ".join(self.arguments)
        title = f"{self.name} and its derivative, in NumPy."
        shapes = [
            f"    {name}  {type_of(v)}"
            for name, v in zip(self.arguments, self.forward.inputs, strict=True)
        ]
        head = "\n".join([f'"""{title}', "", "Written by linad for", "", *shapes, '"""', ""])
        both = (
            f"def vjp({arguments}, cotangent):\n"
            f'    """The result, and the cotangents of the arguments."""\n'
            f"    result, residuals = forward({arguments})\n"
            f"    return result, reverse(residuals, cotangent)\n"
        )
        return "\n".join([head, self.module.head(), "", forward, "", reverse, "", both])

    def _forward(self) -> str:
        tape = self.forward
        self.names = dict(zip(tape.inputs, self.arguments, strict=True))
        body = self._body(tape.equations)
        results = tree.unflatten(tape.out_tree, list(range(len(tape.outputs))))[0]
        count = len(tree.flatten(results)[0])
        result = self._several(tape.outputs[:count])
        residuals = ", ".join([self._operand(a) for a in tape.outputs[count:]])
        self.residuals = [
            self.names.get(a, f"residual_{k}") if isinstance(a, Var) else f"residual_{k}"
            for k, a in enumerate(tape.outputs[count:])
        ]
        return "\n".join(
            [
                f"def forward({', '.join(self.arguments)}):",
                '    """The result, and what the reverse sweep needs."""',
                *body,
                f"    return {result}, [{residuals}]",
                "",
            ]
        )

    def _reverse(self) -> str:
        tape = self.reverse
        count = len(self.residuals)
        cotangents = [f"cotangent_{k}" for k in range(len(tape.inputs) - count)]
        taken: list[str] = []
        for name in self.residuals:
            while name in taken:
                name += "_"
            taken.append(name)
        self.names = dict(zip(tape.inputs, [*taken, *cotangents], strict=True))
        lines = []
        if taken:
            lines.append(f"    [{', '.join(taken)}] = residuals")
        if len(cotangents) == 1:
            lines.append(f"    {cotangents[0]} = np.asarray(cotangent)[()]")
        else:
            lines.append(f"    [{', '.join(cotangents)}] = cotangent")
        return "\n".join(
            [
                "def reverse(residuals, cotangent):",
                '    """The cotangents of the arguments, for one of the result."""',
                *lines,
                *self._body(tape.equations),
                f"    return {self._several(tape.outputs)}",
                "",
            ]
        )

    def _several(self, outputs: Sequence[Any]) -> str:
        texts = [self._operand(a) for a in outputs]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    def _body(self, equations: Sequence[Equation]) -> list[str]:
        lines: list[str] = []
        shown = None
        for eqn in equations:
            place = str(eqn.source) if eqn.source is not None else None
            if place != shown and place is not None:
                lines.append(f"    # {place}")
                shown = place
            if is_loop(eqn):
                lines += loop_lines(self, eqn)
                continue
            wide = any(v.dtype.itemsize >= 8 for v in eqn.outputs)
            text = call(self.module, eqn, [self._operand(a, wide) for a in eqn.inputs])
            for v in eqn.outputs:
                self.names[v] = self._fresh(eqn.primitive.name)
            if eqn.outputs:
                targets = ", ".join([self.names[v] for v in eqn.outputs])
                comma = "," if eqn.primitive.outputs == 1 else ""
                text = f"{targets}{comma} = {text}"
            lines.append(f"    {text}")
        return lines

    def _fresh(self, name: str) -> str:
        self.count += 1
        return f"{name.strip('_')}_{self.count}"

    def _operand(self, a: Any, wide: bool = False) -> str:
        if isinstance(a, Var):
            return self.names[a]
        if wide and np.ndim(a) == 0 and np.asarray(a).dtype in NUMBERS:
            a = np.asarray(a).item()  # in double precision a number is a number
        text = self.module.text(a)
        return f"({text})" if text.startswith("-") else text
