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
from onnx import helper, numpy_helper

from linad.arrays.tracer import Tracer
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var, needed
from linad.errors import ExportError
from linad.transforms.record import RecordTrace

OPSET = 21
IR_VERSION = 10
"""What ONNX Runtime loads; the defaults of the onnx package are newer."""

DOMAIN = "linad"
"""Of the functions of a model: those that ONNX has no operator for."""

Form = Callable[["Writer", Equation], Any]

Value = tuple[str, Shape, Any]
"""Name, shape and dtype of a value of a graph."""

Step = tuple[Any, ...]
"""What one repetition gives: lists of values, and whether there is another."""

INTEGER, TRUTH = np.dtype(np.int64), np.dtype(bool)

FORMS: dict[str, Form] = {}
"""How each primitive is written, by name."""

CLASS_FORMS: dict[type, Form] = {}
"""How primitives are written that are made for a program: loops and choices."""

COMPLEX_FORMS: dict[str, Form] = {}
"""The same where an operand or the result is complex: a tuple of names, and of pairs of names."""


class NoForm(Exception):
    """A form finds that it cannot write an equation; the text says why."""


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


def tensor_type(dtype: Any) -> int:
    """ONNX's number of a dtype.

    Raises
    ------
    NoForm
        For dtypes that models of linad do not hold.
    """
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        raise NoForm(
            "ONNX has no complex arithmetic; write the function in real and imaginary parts"
        )
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise NoForm(f"ONNX has no dtype {dtype}")
    return helper.np_dtype_to_tensor_dtype(dtype)


class Writer:
    """Writes tapes as nodes.

    Parameters
    ----------
    shared : bool
        Whether equal constants are one; models that are compared have each by itself.
    inline : bool
        Whether constants are nodes, as in a function of a model, and not initializers.

    Attributes
    ----------
    nodes : list of NodeProto
    constants : dict
        Arrays by name.
    functions : dict
        Functions of the model by name.
    holds : list of str
        Booleans, one for each decision that Python took on a value.
    depth, level : int
        How many compositions, and how many loops and branches, what is written is inside of.
    """

    def __init__(self, shared: bool = True, inline: bool = False) -> None:
        self.shared, self.inline = shared, inline
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.functions: dict[str, Any] = {}
        self.holds: list[str] = []
        self.names: dict[Var, str] = {}
        self.place = ""
        self.depth = self.level = 0
        self._known: dict[Any, str] = {}
        self._taken: set[str] = set()
        self._count = 0

    # Names and values.

    def fresh(self, hint: str) -> str:
        """A name that nothing has yet."""
        self._count += 1
        name = f"{hint}_{self._count}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def reserve(self, names: Sequence[str]) -> None:
        """Keep names for inputs and outputs."""
        self._taken.update(names)

    def constant(self, value: Any, dtype: Any = None) -> str:
        """The name of a constant array or number."""
        value = np.array(value, dtype, order="C")
        tensor_type(value.dtype)
        value = value.astype(value.dtype.newbyteorder("="))
        key = value.dtype.str, value.shape, value.tobytes()
        name = self._known.get(key) if self.shared else None
        if name is None:
            name = self.fresh("constant")
            self._known[key] = name
            if self.inline:
                tensor = numpy_helper.from_array(value, name)
                self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
            else:
                self.constants[name] = value
        return name

    def numbers(self, values: Any) -> str:
        """The name of a list of integers: axes, a shape."""
        return self.constant(np.asarray(values, np.int64).reshape(-1))

    def node(
        self, op: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", **attributes: Any
    ) -> Any:
        """Add a node; return the name of its output, or a tuple of several."""
        made = [self.fresh(op.lower()) for _ in range(outputs)]
        node = helper.make_node(op, list(inputs), made, domain=domain, **attributes)
        if self.place:
            node.doc_string = self.place
        self.nodes.append(node)
        return made[0] if outputs == 1 else tuple(made)

    def read(self, a: Any, dtype: Any = None) -> str:
        """The name of an operand, in a dtype; Python numbers take it."""
        if isinstance(a, Var):
            return self.cast(self.names[a], a.dtype, a.dtype if dtype is None else dtype)
        return self.constant(a, dtype)

    def cast(self, name: str, old: Any, new: Any) -> str:
        """A value in another dtype; truth of numbers is whether they are not zero."""
        old, new = np.dtype(old), np.dtype(new)
        kind = tensor_type(new)
        if old == new:
            return name
        made: str = self.node("Cast", [name], to=kind)
        return made

    def reshape(self, name: str, old: Shape, new: Shape) -> str:
        """A value in another shape."""
        if tuple(old) == tuple(new):
            return name
        # A zero would otherwise stand for the old length of that axis.
        keywords: dict[str, Any] = {} if size_of(new) else {"allowzero": 1}
        made: str = self.node("Reshape", [name, self.numbers(new)], **keywords)
        return made

    def expand(self, name: str, old: Shape, new: Shape) -> str:
        """A value repeated to a shape."""
        if tuple(old) == tuple(new):
            return name
        made: str = self.node("Expand", [name, self.numbers(new)])
        return made

    # Equations.

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

    # Functions of the model, and loops.

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

    def repeated(
        self, most: str, going: str, carried: Sequence[Value], write: Callable[..., Step]
    ) -> tuple[list[str], list[str]]:
        """A ``Loop``.

        Parameters
        ----------
        most, going : str
            How many repetitions there are at most, and whether there is a first one.
        carried : sequence of (name, shape, dtype)
            Before the first repetition.
        write : callable
            ``write(k, going, names)`` writes one repetition. It returns whether there is
            another, the new carries, and what each repetition adds as a row.

        Returns
        -------
        tuple of two lists of str
            The last carries, and the rows.
        """
        k, on = (self.fresh("k"), (), INTEGER), (self.fresh("going"), (), TRUTH)

        def body(names: list[str]) -> tuple[list[Value], list[Value], list[Value]]:
            more, new, rows = write(k[0], on[0], names)
            return [(more, (), TRUTH)], new, rows

        return self._repetition("Loop", [most, going], [k, on], carried, [], [], body)

    def scanned(
        self, carried: Sequence[Value], rows: Sequence[Value], write: Callable[..., Step]
    ) -> tuple[list[str], list[str]]:
        """A ``Scan``: one repetition for each row of arrays, at least one.

        Parameters
        ----------
        carried, rows : sequence of (name, shape, dtype)
            Before the first repetition; arrays, each with the rows along its first axis.
        write : callable
            ``write(names, rows)`` writes one repetition. It returns the new carries and rows.
        """
        given = [(self.fresh("row"), shape[1:], dtype) for _, shape, dtype in rows]

        def body(names: list[str]) -> tuple[list[Value], list[Value], list[Value]]:
            new, made = write(names, [name for name, _, _ in given])
            return [], new, made

        arrays = [name for name, _, _ in rows]
        return self._repetition(
            "Scan", [], [], carried, arrays, given, body, num_scan_inputs=len(rows)
        )

    def _repetition(
        self,
        op: str,
        first: list[str],
        heads: list[Value],
        carried: Sequence[Value],
        last: list[str],
        tails: list[Value],
        write: Callable[..., Any],
        **attributes: Any,
    ) -> tuple[list[str], list[str]]:
        inside = [(self.fresh("carry"), shape, dtype) for _, shape, dtype in carried]
        start = [name for name, _, _ in carried]
        held = self.fresh("held")

        def body() -> list[list[Value]]:
            found = [list(part) for part in write([name for name, _, _ in inside])]
            if self.holds:
                found[1].append((self.all_hold([held, *self.holds]), (), TRUTH))
            return found

        nodes, (lead, new, rows) = self._inside(body)
        decided = len(new) > len(inside)
        if decided:
            inside.append((held, (), TRUTH))
            start.append(self.constant(np.array(True)))
        graph = self._graph(nodes, [*heads, *inside, *tails], [*lead, *new, *rows])
        count = len(new) + len(rows)
        made = self.node(op, [*first, *start, *last], count, body=graph, **attributes)
        names = [made] if isinstance(made, str) else list(made)
        ends, rest = names[: len(new)], names[len(new) :]
        if decided:
            self.holds.append(ends.pop())
        return ends, rest

    def choice(
        self, condition: str, then: Callable[[], list[Value]], other: Callable[[], list[Value]]
    ) -> list[str]:
        """An ``If``: what one of two functions writes, which give values of the same kinds."""
        branches = []
        for write in (then, other):

            def body(write: Callable[[], list[Value]] = write) -> list[list[Value]]:
                found = write()
                return [found, [(self.all_hold(self.holds), (), TRUTH)] if self.holds else []]

            branches.append(self._inside(body))
        decided = any([held for _, (_, held) in branches])
        graphs = []
        for nodes, (found, held) in branches:
            if decided and not held:
                name, yes = self.fresh("held"), self.constant(np.array(True))
                if self.inline:  # it is a node, and is to be one in there
                    yes = self.fresh("yes")
                    tensor = numpy_helper.from_array(np.array(True), yes)
                    nodes.append(helper.make_node("Constant", [], [yes], value=tensor))
                nodes.append(helper.make_node("Identity", [yes], [name]))
                held = [(name, (), TRUTH)]
            graphs.append(self._graph(nodes, [], [*found, *held]))
        count = len(branches[0][1][0]) + decided
        made = self.node("If", [condition], count, then_branch=graphs[0], else_branch=graphs[1])
        names = [made] if isinstance(made, str) else list(made)
        if decided:
            self.holds.append(names.pop())
        return names

    def all_hold(self, holds: Sequence[str]) -> str:
        """Whether all of some truths are."""
        found = holds[0]
        for other in holds[1:]:
            found = self.node("And", [found, other])
        return found

    def _inside(self, write: Callable[[], list[list[Value]]]) -> tuple[Any, list[list[Value]]]:
        """The nodes of a graph in a node, and its results: values that it makes itself."""
        outer, holds, place, known = self.nodes, self.holds, self.place, dict(self._known)
        self.nodes, self.holds = [], []
        self.level += 1
        found = [
            [(self.node("Identity", [name]), shape, dtype) for name, shape, dtype in part]
            for part in write()
        ]
        nodes, self.nodes, self.holds, self.place = self.nodes, outer, holds, place
        self.level -= 1
        if self.inline:
            self._known = known
        return nodes, found

    def _graph(self, nodes: Any, inputs: Sequence[Value], outputs: Sequence[Value]) -> Any:
        given, made = ([self._info(v) for v in values] for values in (inputs, outputs))
        return helper.make_graph(nodes, self.fresh("step"), given, made)

    def _info(self, value: Value) -> Any:
        name, shape, dtype = value
        # Models that are compared are to be the same for all lengths.
        return helper.make_tensor_value_info(
            name, tensor_type(dtype), shape if self.shared else None
        )


def _values(names: Sequence[str], like: Sequence[Value]) -> list[Value]:
    return [(name, shape, dtype) for name, (_, shape, dtype) in zip(names, like, strict=True)]


def _example(shape: Shape, dtype: Any) -> Any:
    """An array to record on: of different numbers, so that a matrix made of them is regular."""
    numbers = np.arange(size_of(shape)).reshape(shape)
    if np.dtype(dtype).kind != "f":
        return np.ones(shape, dtype)[()]
    return (1 + 0.618 * numbers % 1).astype(dtype)[()]
