"""What an ONNX model is made from: a tape, with names for what goes in and comes out."""

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.deciding import every_branch
from linad.core import tree
from linad.core.shapes import name_of
from linad.core.transformed_functions import Transformed
from linad.errors import ExportError
from linad.jit.jitted import Jitted
from linad.jit.signature import Signature
from linad.jit.specializations import COMPUTED, Variant, bound
from linad.transforms.simplify import simplify

HOLDS = "decisions_hold"
"""The output that says whether Python would decide as it did when the program was recorded."""


class ModelValue(NamedTuple):
    """An input or output of a model: its shape, names for axes of any length, and its dtype."""

    shape: tuple[int | str, ...]
    dtype: np.dtype


class ModelProgram:
    """A function at a point as a tape, with names for what goes in and comes out.

    Attributes
    ----------
    tape : Tape
    inputs, outputs : list of str
    results : list
        What each output is: variables of the tape, and constants.
    picked : list of int
        Which of the leaves of the result, and then of the arguments, the outputs are.
    """

    def __init__(self, function: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        arguments = Signature(*function.static.flatten(args, kwargs))
        with every_branch():
            path, outside = Jitted(function.function, function.static)._variant(args, kwargs)
        if path.interpreted:
            raise ExportError(
                f"onnx: {name_of(function)} catches floating-point errors of NumPy, which a "
                f"model does not raise; use np.where in the place of np.errstate(...='raise')"
            )
        self.name = name_of(function)
        self.tape = simplify(bound(path.tape, outside))
        names = _argument_names(function.function, args, kwargs)
        self.arrays, self.positions = arguments.arrays, arguments.dynamic
        self.inputs = [names[k] for k in arguments.dynamic]
        self._name_results(path, names, arguments)

    def _name_results(self, path: Variant, names: list[str], arguments: Signature) -> None:
        leaf_names = _result_names(self.function.function, path, names)
        nodes = iter(self.tape.outputs)
        taken = {*self.inputs, HOLDS}
        self.outputs: list[str] = []
        self.results: list[Any] = []
        self.picked: list[int] = []

        def add(name: str, node: Any, place: int) -> None:
            while name in taken:
                name += "_"
            taken.add(name)
            self.outputs.append(name)
            self.results.append(node)
            self.picked.append(place)

        for k, (name, result) in enumerate(zip(leaf_names, path.results, strict=True)):
            if result is COMPUTED:
                add(name, next(nodes), k)
            elif isinstance(result, (int, float, np.ndarray, np.generic)):
                add(name, np.asarray(result), k)
        for j, node in zip(path.written, nodes, strict=True):
            leaf = arguments.dynamic[j]
            add(f"{names[leaf]}_written", node, len(path.results) + leaf)


def _identifier(*parts: Any) -> str:
    words = [w for part in parts for w in re.findall(r"\w+", str(part))]
    return "_".join(words)


def _argument_names(f: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> list[str]:
    """A name for each leaf of the arguments: the parameter, and the way inside."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):  # a ufunc, say
        parameters = []
    heads: list[str] = []
    for p in parameters:
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            heads.append(p.name)
        elif p.kind == p.VAR_POSITIONAL:
            heads += [f"{p.name}_{k}" for k in range(len(args) - len(heads))]
    heads += [f"x{k}" for k in range(len(heads), len(args))]
    names: list[str] = []
    pairs = [*zip(heads, args, strict=False)]
    pairs += [("", kwargs)] if kwargs else []
    for head, value in pairs:
        for way in tree.leaf_paths(tree.flatten(value)[1]):
            name = _identifier(head, way) or "x"
            while name in names:
                name += "_"
            names.append(name)
    return names


def _result_names(f: Callable[..., Any], path: Variant, names: list[str]) -> list[str]:
    """A name for each leaf of the result."""
    ways = tree.leaf_paths(path.out_tree)
    made = _derivative_names(f, names, len(ways))
    if made is not None:
        return made
    if len(ways) == 1 and not ways[0]:
        return ["y"]
    found = [_identifier(way) for way in ways]
    return [f"y{name}" if name[:1].isdigit() else name for name in found]


def _derivative_names(f: Any, names: list[str], count: int) -> list[str] | None:
    """``value`` and ``grad_<input>``, of a gradient of arguments that are all of the leaves."""
    if not isinstance(f, Transformed):
        return None
    make, (inner, *options) = f._made
    kind = make.__name__
    if kind not in ("_gradient", "_value_and_gradient") or len(options) < 2 or options[1]:
        return None
    argnums = options[0]
    heads = list(inspect.signature(inner).parameters)
    wanted = [heads[k] for k in ([argnums] if isinstance(argnums, int) else argnums)]
    grads = [
        f"grad_{n}"
        for head in wanted
        for n in names
        if n == head or (n.startswith(f"{head}_") and n not in heads)
    ]
    made = [*(["value"] if kind == "_value_and_gradient" else []), *grads]
    return made if len(made) == count else None
