"""Record: run a function once and keep every primitive call as an equation of a tape."""

import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from linad.arrays.buffers import attach_view, lazy_view, refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.arrays.writes import write_value
from linad.core import tree
from linad.core.adopted import repeated
from linad.core.array_type import Array
from linad.core.error_state import Watch
from linad.core.moving_regions import Moving, write_moving
from linad.core.primitive import Primitive
from linad.core.reasons import reason
from linad.core.regions import Region, write_region
from linad.core.shapes import check_function, is_inexact, name_of
from linad.core.tape import Equation, Reasoned, Source, Tape, Var, guard, needed, raises, stop
from linad.core.texts import is_for_people
from linad.core.wide_integers import LEAST, MOST, as_met
from linad.transforms.demands import CAUGHT, demand_of, demands, may_raise
from linad.transforms.likeness import alike, one_origin
from linad.transforms.plain_operands import PlainOperands
from linad.transforms.rewriting import params_key
from linad.transforms.traced_values import (
    check_input,
    read_arguments,
    read_results,
    read_written,
    refuse_objects,
)
from linad.transforms.user_lines import user_line

BY_OPERATORS = {
    *("add", "subtract", "multiply", "divide", "power", "negative", "positive", "absolute"),
    *("floor_divide", "remainder", "square", "rint", "conjugate", "real", "imag"),
}
"""Primitives that operators and methods make of Python's numbers, too."""

NUMBERS = (bool, int, float, complex)


class RecordTrace(Trace):
    """A trace whose tracers carry a Var; it differentiates nothing and loses nothing."""

    records = True

    def __init__(self) -> None:
        super().__init__()
        self.numbers = itertools.count()
        self.equations: list[Equation] = []
        self.operands = PlainOperands()
        self.known: set[Var] = set()  # whose values Python has learned, and guards check
        self._constants: set[Var] = set()
        self._looked = 0  # equations that were looked at for constants
        self.texts: list[tuple[Var, Any, Source | None]] = []  # and what it has printed
        self.streams = (sys.stdout, sys.stderr)  # where it is printed for people
        self.rolls = True  # whether loops that are differentiated may be kept as loops
        self.python_numbers: frozenset[Var] = frozenset()  # inputs that were Python numbers
        self.types_count = False  # whether Python has learned what kind of numbers came
        self.holds_matrices = False  # whether a sparse one is part of the program
        self.loops = 0  # that were recorded by templates
        self.template: RecordTrace | None = None  # which records in its place, for a while
        self.other_names: dict[Var, Var] = {}
        self.errors = Watch()
        self.still_running: Callable[[], None] = _silent  # is called now and then
        self.line: Callable[[], Source | None] = user_line  # what an equation names as its source
        self.redone: set[Equation] = set()  # what a loop in the program does as well
        self.stand_ins: list[Tracer] = []  # in the place of arrays that are read from outside
        self.watching: Callable[[RecordTrace], Any] | None = None  # makes what sees decisions
        self.decided: Any = None  # sees Python's decisions, once there is one

    def input(self, value: Array) -> Tracer:
        """Return a traced value that is an input of the program."""
        return self._result(value)

    def _result(self, value: Array) -> Tracer:
        return Tracer(self, Var(next(self.numbers), value.shape, value.dtype), value)

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if self.finished:
            return self.after_its_end(primitive, args, params)
        self.errors.look()
        if primitive.view and (view := lazy_view(self, args[0], primitive, params)) is not None:
            return view
        values, active, _ = read_arguments(self, primitive, args, self.operands)
        inputs = values.copy()
        for i, var in active:
            inputs[i] = var
        if len(active) < len(args):
            for i, a in enumerate(args):
                if type(a) is int and not LEAST <= a <= MOST:
                    inputs[i] = as_met(a, args)
        try:
            y = primitive(*values, **params)
        except Exception as failure:
            known = Primitive.registry.get(primitive.name) is primitive
            if primitive.partial or not known or isinstance(failure, CAUGHT):
                self.equations += self._tried(primitive, inputs, params, np.True_, self.line())
            raise
        if primitive.decides:
            self.decide(values)
        elif primitive.searches:
            self.searches = True
        several = isinstance(y, tuple)
        if not several and y.dtype.hasobject:
            refuse_objects(primitive)
        results = [self._result(v) for v in (y if several else (y,))]
        outputs = tuple([t._node for t in results])
        self.equations.append(Equation(primitive, tuple(inputs), params, outputs, self.line()))
        if primitive.view:
            attach_view(results[0], args[0], primitive, params)
        return tuple(results) if several else results[0]

    def _tried(
        self, primitive: Primitive, inputs: Any, params: Any, expected: Any, line: Source | None
    ) -> list[Equation]:
        """Check at each run whether an operation raises, as it did or did not here."""
        var = Var(next(self.numbers), (), np.dtype(bool))
        tried = {"primitive": primitive, "params": params}
        return [
            Equation(raises, tuple(inputs), tried, (var,), line),
            Equation(guard, (var,), {"expected": expected}, (), line),
        ]

    def program(self, outputs: list[Any], count: int | None = None) -> list[Equation]:
        """The equations, of all or the first ``count``, that outputs need, and what else would
        have raised.
        """
        equations = self.equations[:count]
        known = demands(needed(equations, outputs))
        read = {a for a in outputs if type(a) is Var}
        found: list[Equation] = []
        for e in reversed(equations):  # what is tried may need what was not needed before
            if e.primitive.guards or not read.isdisjoint(e.outputs):
                kept = [e]
            elif may_raise(e) and e not in self.redone and demand_of(e) not in known:
                known.add(demand_of(e))
                kept = self._tried(e.primitive, e.inputs, e.params, np.False_, e.source)
            else:
                continue
            read.update([a for a in e.inputs if type(a) is Var])
            found += reversed(kept)
        found.reverse()
        return needed(self._by_first_names(found), outputs)

    def _by_first_names(self, equations: list[Equation]) -> list[Equation]:
        """The equations, reading values by the variables that they had first."""
        first: dict[Any, Var] = {}
        for name, of in self.other_names.items():
            first[name] = first.get(of, of)
        if not first:
            return equations
        found = []
        for e in equations:
            if any([type(a) is Var and a in first for a in e.inputs]):
                inputs = tuple([first.get(a, a) if type(a) is Var else a for a in e.inputs])
                e = Equation(e.primitive, inputs, e.params, e.outputs, e.source)
            found.append(e)
        return found

    def by_another_name(self, x: Array) -> Any:
        """A value of this trace, where it lies, by a variable of its own; any other as it is."""
        if not isinstance(x, Tracer) or x._trace is not self:
            return x
        x = x.frozen()
        made = self._result(x._value)
        self.other_names[made._node] = x._node
        same = Primitive.registry["positive"]
        self.equations.append(Equation(same, (x._node,), {}, (made._node,), self.line()))
        return made

    def constant(self, value: Any) -> Tracer:
        # A literal: equations hold a copy of it, since its storage will be written.
        node = value.frozen() if isinstance(value, Tracer) else np.array(value)
        return Tracer(self, node, value)

    def is_constant(self, x: Tracer) -> bool:
        refresh_node(x)
        for e in self.equations[self._looked :]:
            if all([type(a) is not Var or a in self._constants for a in e.inputs]):
                self._constants.update(e.outputs)
        self._looked = len(self.equations)
        return type(x._node) is not Var or x._node in self._constants

    def same(self, x: Tracer, y: Tracer) -> bool:
        refresh_node(x)
        refresh_node(y)
        return one_origin(x._node, y._node, self._made) and alike(x._value, y._value)

    def _made(self, node: Any) -> tuple[Any, list[Any]] | None:
        """The operation that a value was made by, and its operands."""
        for e in reversed(self.equations) if type(node) is Var else ():
            if e.outputs == (node,):
                return (e.primitive.name, params_key(e.params)), list(e.inputs)
        return None

    def write(self, root: Tracer, region: Region, value: Array) -> None:
        self.check_alive()
        node, value = read_written(self, value)
        if node is None:
            node = value.frozen() if isinstance(value, Tracer) else np.array(value)
        var = Var(next(self.numbers), root.shape, root.dtype)
        if isinstance(region, Moving):
            at, place = read_written(self, region.at)
            region = Moving(region.inner, place)
            inputs = (root._node, node, place if at is None else at)
            equation = Equation(write_moving, inputs, {"region": region.inner}, (var,), self.line())
        else:
            params = {"region": region}
            before = root._node
            if region.covers(root.size):  # nothing is left of what was there, nor of its slopes
                before = self._filled(node, region, root)
            equation = Equation(write_region, (before, node), params, (var,), self.line())
        write_value(root, region, value)
        self.equations.append(equation)
        root._node = var

    def _filled(self, node: Any, region: Region, root: Tracer) -> Any:
        """An array like ``root``, of a value that is broadcast and cast when it is written."""
        dtype, shape = root.dtype, root.shape
        written = shape[: len(shape) - region.ndim] + region.shape  # axes of seeds in front
        if not isinstance(node, Var):
            return np.broadcast_to(node.astype(dtype), written).reshape(shape)
        for name, differs, params in (
            ("astype", node.dtype != dtype, {"dtype": dtype}),
            ("broadcast_to", node.shape != written, {"shape": written}),
            ("reshape", written != shape, {"shape": shape}),
        ):
            if differs:
                form = params.get("shape", node.shape)
                made = Var(next(self.numbers), form, dtype)
                primitive = Primitive.registry[name]
                self.equations.append(Equation(primitive, (node,), params, (made,), self.line()))
                node = made
        return node

    def answer(self, tracer: Tracer, question: Callable[[Any], Any]) -> Any:
        refresh_node(tracer)
        answer = question(tracer._value)  # where it asks several entries for one, NumPy raises
        if question is not np.array and tracer.shape:
            question(tracer.concrete)  # raises what NumPy raises: of one entry, too, int() does
            tracer = tracer.reshape(())
        if question is bool and tracer.dtype.kind != "b":
            tracer = tracer != 0  # what was asked, and not the number, must be the same again
        equation = Equation(guard, (tracer._node,), {"expected": answer}, (), self._asking_line())
        if self.watching is not None and question is bool:
            if self.decided is None:
                self.decided = self.watching(self)
            self.decided(equation, answer)
        self.equations.append(equation)
        return answer

    def ended_searches(self) -> list[Any]:
        """The searches that were seen to end, see `linad.control.search_loops`."""
        return [] if self.decided is None else self.decided.ended

    def _asking_line(self) -> Source | None:
        line, why = self.line(), reason()
        return Reasoned(line, why) if why and line is not None else line

    def looked_at(self, tracer: Tracer) -> None:
        refresh_node(tracer)
        self._check(tracer._node, np.array(tracer.concrete), self.line())

    def _check(self, node: Var | np.ndarray, value: Array, line: Source | None) -> None:
        # An array that the function made, with nothing traced in it yet, is the same at each run.
        if isinstance(node, Var) and node not in self.known:
            self.known.add(node)
            self.equations.append(Equation(guard, (node,), {"expected": value}, (), line))

    def shown(self, tracer: Tracer) -> None:
        refresh_node(tracer)
        value = np.array(tracer.concrete)
        signs = []
        if value.dtype.kind in "fc" and not value.all():
            # 0 and -0 are equal, and two texts.
            parts = (tracer.real, tracer.imag) if value.dtype.kind == "c" else (tracer,)
            signs = [(s._node, np.array(s.concrete), self.line()) for s in map(np.signbit, parts)]
        self.texts += [(tracer._node, value, self.line()), *signs]
        if (sys.stdout, sys.stderr) != self.streams or not is_for_people():
            self.check_texts()

    def is_of_python(self, tracer: Tracer) -> bool | None:
        """Whether a number is one of Python's, not of NumPy's; None where that is not known."""
        refresh_node(tracer)
        if not is_for_people():
            self.types_count = True
        if tracer._node in self.python_numbers:
            return True
        unknown = set(self.python_numbers)
        for eqn in self.equations:
            if eqn.primitive.name in BY_OPERATORS and all(
                [a in unknown if isinstance(a, Var) else type(a) in NUMBERS for a in eqn.inputs]
            ):
                unknown.update(eqn.outputs)
        return None if tracer._node in unknown else False

    def check_texts(self) -> None:
        """Check at each run what is part of a text: one that may decide, or is a result."""
        for text in self.texts:
            self._check(*text)
        self.texts.clear()

    def detach(self, tracer: Tracer) -> Any:
        self.derives = self.stops = True
        return self.apply(stop, (tracer,), {}) if is_inexact(tracer.dtype) else tracer

    def is_detached(self, tracer: Tracer) -> bool:
        refresh_node(tracer)
        makers = {made: equation for equation in self.equations for made in equation.outputs}
        nodes, seen = [tracer._node], set()
        while nodes:
            node = nodes.pop()
            if not isinstance(node, Var) or node in seen:
                continue
            seen.add(node)
            maker = makers.get(node)
            if maker is None:
                return False  # an argument
            if maker.primitive is not stop:
                nodes.extend(maker.inputs)
        return True


def _silent() -> None:
    """Who records does not say that it takes long."""


@contextmanager
def naming(source: Source | None, traces: Iterable[Trace]) -> Iterator[None]:
    """Within, what recorders among these traces record names this line as its source."""
    recorders = [t for t in traces if isinstance(t, RecordTrace)]
    before = [t.line for t in recorders]
    for t in recorders:
        t.line = lambda: source
    try:
        yield
    finally:
        for t, line in zip(recorders, before, strict=True):
            t.line = line


@repeated
def trace(f: Callable[..., Any], *args: Any) -> tuple[Any, Tape]:
    """Run ``f`` and return its result with the program it ran.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays.
    *args
        Where to run it.

    Returns
    -------
    y
        ``f(*args)``.
    tape : Tape
        The primitive calls, in order: ``print(tape)`` shows them with the lines they came
        from, ``tape(*args)`` runs them again, on arguments of the same shapes.

    Raises
    ------
    DTypeError
        If an argument is not floating or complex.
    OutputError
        If ``f`` returns no array, or a Python number.

    Notes
    -----
    Costs one run of ``f``; the tape holds the primitives and their constants, no values.
    Python decisions on traced values are recorded as guards: the tape refuses arguments
    for which they would be taken otherwise, with `linad.errors.GuardError`.

    Examples
    --------
    >>> import numpy as np, linad
    >>> y, tape = linad.trace(lambda x: np.sum(np.sin(x)), np.zeros(3))
    >>> [eqn.primitive.name for eqn in tape.equations]
    ['sin', 'sum']
    >>> tape(np.full(3, np.pi / 2))
    np.float64(3.0)
    """
    check_function("trace", f)
    recorder = RecordTrace()
    leaves, in_tree = tree.flatten(args)
    tracers = recorded_inputs(recorder, leaves, in_tree)
    inputs = [t._node for t in tracers]
    with recorder:
        result = f(*tree.unflatten(in_tree, tracers))
        results, nodes, out_tree = recorded_outputs(result, recorder)
        recorder.operands.check()
    tape = Tape(name_of(f), inputs, recorder.program(nodes), nodes, in_tree, out_tree)
    return tree.unflatten(out_tree, results), tape


def recorded_inputs(recorder: RecordTrace, leaves: list[Any], in_tree: Any) -> list[Tracer]:
    def named(k: int) -> str:
        return f"trace: argument {tree.leaf_paths(in_tree)[k]}"

    return [
        recorder.input(check_input(leaf, functools.partial(named, k)))
        for k, leaf in enumerate(leaves)
    ]


def recorded_outputs(result: Any, recorder: RecordTrace) -> tuple[list[Any], list[Any], Any]:
    """Values and nodes of the leaves of a result, and its structure."""
    values, nodes, out_tree = read_results(recorder, result)
    pairs = zip(values, nodes, strict=True)
    return values, [v if node is None else node for v, node in pairs], out_tree


def is_recorded(x: Array) -> bool:
    """Whether a traced value is, at some level, part of a program that is being recorded."""
    while isinstance(x, Tracer):
        if isinstance(x._trace, RecordTrace):
            return True
        x = x._value
    return False


def node_of(recorder: RecordTrace, value: Array) -> Any:
    """What stands for a value on a recorder's tape."""
    if isinstance(value, Tracer) and value._trace is recorder:
        return read_written(recorder, value)[0]
    return value
