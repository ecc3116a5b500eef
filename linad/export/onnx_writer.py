"""A tape as nodes of an ONNX graph.

One equation becomes one node, or a few. The forms of the primitives are rows of `FORMS`, a
function of the writer and the equation each; the modules that `onnx_graph` names fill it. Many
forms are compositions: a NumPy function of primitives that have forms. It is recorded like a
user's function, and its tape is written in the place of the equation.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import helper

from linad.arrays.tracer import Tracer
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var, needed
from linad.errors import ExportError
from linad.export.onnx_subgraphs import Step, SubgraphWriter
from linad.export.onnx_values import INTEGER, NoForm, Value, tensor_type
from linad.transforms.record import RecordTrace

OPSET = 21
IR_VERSION = 10
"""What ONNX Runtime loads; the defaults of the onnx package are newer."""

DOMAIN = "linad"
"""Of the functions of a model: those that ONNX has no operator for."""

Form = Callable[["Writer", Equation], Any]

FORMS: dict[str, Form] = {}
"""How each primitive is written, by name."""

CLASS_FORMS: dict[type, Form] = {}
"""How primitives are written that are made for a program: loops and choices."""

COMPLEX_FORMS: dict[str, Form] = {}
"""The same where an operand or the result is complex: a tuple of names, and of pairs of names."""


def form(*names: str) -> Callable[[Form], Form]:
    """Register the form of some primitives: ``form(writer, equation) -> name or names``."""

    def register(function: Form) -> Form:
        for name in names:
            FORMS[name] = function
        return function

    return register


def composed(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a NumPy function of the operands and parameters as the form of primitives."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            FORMS[name] = lambda writer, eqn: writer.compose(eqn, function)
        return function

    return register


class Writer(SubgraphWriter):
    """Writes tapes as nodes; the parameters are those of `ValueWriter`.

    Attributes
    ----------
    functions : dict
        Functions of the model by name.
    depth : int
        How many compositions what is written is inside of.
    """

    def __init__(self, shared: bool = True, inline: bool = False) -> None:
        super().__init__(shared, inline)
        self.functions: dict[str, Any] = {}
        self.depth = 0

    def equations(self, equations: Sequence[Equation]) -> None:
        """Write equations in order.

        Raises
        ------
        ExportError
            Naming the primitive that has no form, and the user's line.
        """
        for eqn in equations:
            self._equation(eqn)

    def _equation(self, eqn: Equation) -> None:
        name = eqn.primitive.name
        if not self.depth:
            self.place = str(eqn.source) if eqn.source is not None else ""
        try:
            if eqn.outputs and not any([size_of(v.shape) for v in eqn.outputs]):
                made: Any = tuple([self.constant(np.zeros(v.shape, v.dtype)) for v in eqn.outputs])
            else:
                made = self._form(eqn)(self, eqn)
        except NoForm as problem:
            if self.depth:
                raise NoForm(f"it takes {name}, and {problem}") from None
            place = f" at {eqn.source}" if eqn.source is not None else ""
            raise ExportError(f"onnx: {name}{place} has no form in ONNX: {problem}") from None
        several = made if isinstance(made, tuple) else (made,) if eqn.outputs else ()
        self.names.update(zip(eqn.outputs, several, strict=True))

    def _form(self, eqn: Equation) -> Form:
        primitive = eqn.primitive
        if type(primitive) in CLASS_FORMS:
            return CLASS_FORMS[type(primitive)]
        if primitive.registry.get(primitive.name) is not primitive:
            raise NoForm(
                "it is not one of linad's own primitives; export the function without it, or "
                "write it in NumPy"
            )
        dtypes = [
            a.dtype if isinstance(a, Var) else np.asarray(a).dtype
            for a in (*eqn.inputs, *eqn.outputs)
        ]
        if any([dtype.kind == "c" for dtype in dtypes]) and primitive.name in COMPLEX_FORMS:
            return COMPLEX_FORMS[primitive.name]
        for dtype in dtypes:
            tensor_type(dtype)
        found = FORMS.get(primitive.name)
        if found is None:
            raise NoForm("its operators do not compute it")
        return found

    def compose(self, eqn: Equation, function: Callable[..., Any]) -> Any:
        """Write what a NumPy function does with the operands of an equation."""
        operands = [
            (self.names[a], a.shape, a.dtype) if isinstance(a, Var) else a for a in eqn.inputs
        ]
        wanted = [(v.shape, v.dtype) for v in eqn.outputs]
        made = self.record(function, operands, wanted, eqn.params)
        return made if eqn.primitive.outputs is not None else made[0]

    def record(
        self,
        function: Callable[..., Any],
        operands: Sequence[Any],
        wanted: Sequence[tuple[Shape, Any]] | None = None,
        params: dict[str, Any] | None = None,
    ) -> tuple[Any, ...]:
        """Record a NumPy function and write its tape.

        Parameters
        ----------
        function : callable
        operands : sequence
            ``(name, shape, dtype)`` for a value of the graph; constants as they are.
        wanted : sequence of (shape, dtype), optional
            What the results are to be.
        params : dict, optional
            Keywords.

        Returns
        -------
        tuple of str
            The names of the results.
        """
        recorder = RecordTrace()
        given = []
        for a in operands:
            if isinstance(a, tuple):
                tracer = recorder.input(_example(a[1], a[2]))
                self.names[tracer._node] = a[0]
                a = tracer
            given.append(a)
        with recorder, np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what NumPy says about the example
            result = function(*given, **(params or {}))
            results = result if isinstance(result, tuple) else (result,)
            nodes = [r._node if isinstance(r, Tracer) else r for r in results]
        self.depth += 1
        try:
            self.equations(needed(recorder.equations, nodes))
        finally:
            self.depth -= 1
        if wanted is None:
            return tuple([self.read(a) for a in nodes])
        return tuple(
            [
                self.expand(self.read(a, dtype), np.shape(r), shape)
                for a, r, (shape, dtype) in zip(nodes, results, wanted, strict=True)
            ]
        )

    def call(
        self,
        name: str,
        function: Callable[..., Any],
        operands: Sequence[tuple[str, Shape, Any]],
        outputs: int = 1,
    ) -> Any:
        """A call of a function of the model, which ``function(writer, operands)`` writes once.

        It is known by its name, and the shapes and dtypes of the operands.
        """
        kinds = [f"{np.dtype(d).name}_{'x'.join(map(str, s))}" for _, s, d in operands]
        full = "_".join([name, *kinds])
        if full not in self.functions:
            inner = Writer(inline=True)
            inner.functions = self.functions
            inner.depth = 1
            inputs = [f"a{k}" for k in range(len(operands))]
            inner.reserve(inputs)
            given = [(n, s, d) for n, (_, s, d) in zip(inputs, operands, strict=True)]
            made = function(inner, *given)
            results = [made] if isinstance(made, str) else list(made)
            imports = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
            self.functions[full] = helper.make_function(
                DOMAIN, full, inputs, results, inner.nodes, imports
            )
        return self.node(full, [n for n, _, _ in operands], outputs, domain=DOMAIN)

    def loop(
        self, count: int, body: Callable[..., Any], carried: Sequence[Value]
    ) -> tuple[str, ...]:
        """Run ``carried = body(k, *carried)`` for k = 0 ... count - 1; a NumPy function."""
        kinds = [(shape, dtype) for _, shape, dtype in carried]

        def write(k: str, going: str, names: list[str]) -> Step:
            operands = [(k, (), INTEGER), *_values(names, carried)]
            return going, _values(self.record(body, operands, kinds), carried), []

        most, yes = self.constant(count, np.int64), self.constant(np.array(True))
        return tuple(self.repeated(most, yes, carried, write)[0])


def _values(names: Sequence[str], like: Sequence[Value]) -> list[Value]:
    return [(name, shape, dtype) for name, (_, shape, dtype) in zip(names, like, strict=True)]


def _example(shape: Shape, dtype: np.dtype[Any]) -> Any:
    """An array to record on: of different numbers, so that a matrix made of them is regular."""
    numbers = np.arange(size_of(shape)).reshape(shape)
    if np.dtype(dtype).kind != "f":
        return np.ones(shape, dtype)[()]
    return (1 + 0.618 * numbers % 1).astype(dtype)[()]
