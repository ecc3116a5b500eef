"""Recording: a run of a function on traced arrays, and the path that it took."""

import datetime as dt
import enum
import logging
import numbers
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import is_number
from linad.control.watching import watched
from linad.core import tree
from linad.core.adopted import repeated
from linad.core.during import during
from linad.core.memory_layouts import kept, layout_of
from linad.core.own_draws import WATCHES
from linad.core.patience import Patience
from linad.core.settings import settings
from linad.core.shapes import name_of
from linad.core.stand_ins import standing
from linad.core.tape import Equation, Tape, guard, unchanged
from linad.errors import OutputError, UnsupportedError
from linad.jit.identity import compares_objects, first_of_each, memory_of_all
from linad.jit.process_state import warn_of_process_state
from linad.jit.random_draws import Draws
from linad.jit.signature import Signature, as_recorded, is_python_number, share_memory
from linad.jit.specializations import COMPUTED, Variant, own
from linad.transforms.plain_operands import is_frozen, is_uniform, same_bits
from linad.transforms.record import RecordTrace

log = logging.getLogger("linad")


@repeated
def record(f: Callable[..., Any], arguments: Signature) -> tuple[Any, Variant | None]:
    """Run a function on traced arrays; return its result, and the path it took.

    The path is None where it cannot be repeated: the function uses values of a derivative
    around it that are no arguments, or writes into an array that has two names.
    """
    return _Recording(f, arguments).run()


class _Recording:
    """A run of a function on traced arrays.

    Parameters
    ----------
    f : callable
    arguments : Signature

    Attributes
    ----------
    trace : RecordTrace
        What is recorded goes there.
    given : list
        The arrays and numbers among the arguments, as they are before.
    tracers : list of Tracer
        In their place.
    outside : list of ndarray
        What is read from outside, as it is before.
    inputs : list of Var
        Of arguments, then of arrays from outside.
    results, values, nodes : list
        The leaves of what was returned: what a call delivers (`COMPUTED` for what the program
        makes), what it is now, and nodes for what is computed.
    written : list of int
        The arguments that the function wrote into.
    stored : list of Equation
        Checks of what sparse matrices are made of that only multiply traced values.
    """

    def __init__(self, f: Callable[..., Any], arguments: Signature) -> None:
        self.f, self.arguments = f, arguments
        self.trace = RecordTrace()
        self.trace.still_running = _LongRecording(name_of(f)).still_running
        self.given = [as_recorded(x) for x in arguments.arrays]
        self.tracers = [self.trace.input(x) for x in self.given]
        self.inputs = [t._node for t in self.tracers]
        pairs = zip(self.inputs, arguments.arrays, strict=True)
        self.trace.python_numbers = frozenset([n for n, x in pairs if is_python_number(x)])
        if len(self.tracers) > 1 and compares_objects(f):
            self.trace.memory_counts = True
            self.tracers = [self.tracers[k] for k in first_of_each(arguments.arrays)]
        self.before = [t._node for t in self.tracers]
        self.outside = [kept(a) for a in arguments.outside]
        self.results: list[Any] = []
        self.values: list[Any] = []
        self.nodes: list[Any] = []
        self.written: list[int] = []

    def run(self) -> tuple[Any, Variant | None]:
        started = time.perf_counter()
        f, arguments = self.f, self.arguments
        stand_ins = self._stand_ins()
        draws = Draws(f, arguments.leaves)
        watches = (*WATCHES.get(), draws)
        with self.trace, standing(*stand_ins), during(WATCHES, watches):
            try:
                filled = arguments.filled(self.tracers)
                held = tree.flatten(filled)
                result = watched(self.trace, f, *filled[0], **filled[1])
            except BaseException:
                self._find_written()
                if self._writes_to_two_names():
                    return arguments.call(f, arguments.arrays), None
                self._write_back()  # as NumPy would have before it raised
                raise
            out_tree = self._take(result)
        if self._writes_to_two_names():
            # What is written to one has to be seen through the other.
            return arguments.call(f, arguments.arrays), None
        draws.check()
        if arguments.look is not None:
            warn_of_process_state(f, arguments.look.given_once)
        nodes = self.nodes + [self.tracers[k]._node for k in self.written]
        equations = _own_constants(self.trace.program(nodes))
        asked = [e.params["expected"] for e in equations if e.primitive is guard]
        if self.trace.holds_matrices or any(map(np.ndim, asked)):
            # SciPy itself multiplies booleans and integers, having asked for their entries.
            equations = [*self.stored, *equations]
        example = [np.array(g) for g in self.given]  # before what was written is given back
        y = tree.unflatten(out_tree, [_plain(v) for v in self.values])
        self._write_back()
        operands = [a for eqn in equations for a in eqn.inputs]
        if any([isinstance(a, Tracer) for a in (*operands, *self.values)]):
            return y, None
        spent = 1e3 * (time.perf_counter() - started)
        log.info("traced %s in %.1f ms: %d equations", name_of(f), spent, len(equations))
        out_row = tree.flatten([0.0] * len(nodes))[1]
        row = tree.row(len(self.inputs))
        tape = Tape(name_of(f), self.inputs, equations, nodes, row, out_row)
        path = self._path(tape, [*example, *self.outside], out_tree)
        path.changes_containers = not _holds_the_same(filled, held)
        by_python = path.changes_outside or path.changes_containers
        path.interpreted = self.trace.errors.finish() or by_python
        return y, path

    def _stand_ins(self) -> tuple[list[np.ndarray], list[Tracer]]:
        """Arrays from outside, and what takes their place where they only meet traced values.

        The program holds for those entries that others have now.
        """
        arguments = self.arguments
        tracers = [self.trace.input(a) for a in self.outside]
        self.inputs += [t._node for t in tracers]
        direct, stored = arguments.direct(self.f)
        pairs = enumerate(zip(tracers, self.outside, strict=True))
        checks = {k: Equation(unchanged, (t._node,), {"expected": a}, ()) for k, (t, a) in pairs}
        self.stored = [checks[k] for k in sorted(stored)]
        self.trace.equations += [checks[k] for k in sorted(checks.keys() - direct - stored)]
        numbers = sorted(direct | stored)
        return [arguments.outside[k] for k in numbers], [tracers[k] for k in numbers]

    def _take(self, result: Any) -> Any:
        """Take apart what the function returned; the structure of it."""
        leaves, out_tree = tree.flatten(result)
        self._find_written()
        if not leaves and not self.written:
            raise OutputError(f"{name_of(self.f)} returned {result!r}, which holds no array")
        for leaf in leaves:
            self._take_leaf(leaf)
        if any([isinstance(leaf, str) for leaf in leaves]):
            self.trace.check_texts()
        self.trace.operands.check()
        return out_tree

    def _take_leaf(self, leaf: Any) -> None:
        if isinstance(leaf, Tracer) and leaf._trace is self.trace:
            refresh_node(leaf)
            self.nodes.append(leaf._node)
            self.values.append(leaf._value)
            self.results.append(COMPUTED)
        elif type(leaf) is np.ndarray and leaf.dtype.kind in "fc":
            # A constant, as the gradient of a sum: the program delivers a copy of it.
            self.nodes.append(leaf.copy())
            self.values.append(leaf)
            self.results.append(COMPUTED)
        else:
            _check_constant(leaf, self.arguments, self.f)
            self.values.append(leaf)
            self.results.append(own(leaf))

    def _find_written(self) -> None:
        """Which arguments the function wrote into, whether it has ended or raised."""
        if [t.shape for t in self.tracers] != [a.shape for a in self.given]:
            raise UnsupportedError(
                f"jit: {name_of(self.f)} sets the shape of an argument, which NumPy would do to "
                f"the caller's array; use y = x.reshape(shape), a view"
            )
        pairs = zip(self.tracers, self.before, strict=True)
        self.written = [k for k, (t, node) in enumerate(pairs) if _was_written(t, node)]

    def _writes_to_two_names(self) -> bool:
        return share_memory(self.arguments.operands, self.written)

    def _write_back(self) -> None:
        """What the function wrote into its arguments, into the caller's arrays."""
        # After ``np.copyto(x, p)`` the value of x is that of p, which may be written as well.
        entries = [_plain(self.tracers[k]._value) for k in self.written]
        for k, found in zip(self.written, entries, strict=True):
            self.arguments.arrays[k][...] = found

    def _path(self, tape: Tape, example: list[Any], out_tree: Any) -> Variant:
        trace, arrays = self.trace, self.arguments.arrays
        pairs = zip(self.values, self.results, strict=True)
        computed = [v for v, r in pairs if r is COMPUTED]
        lies = None if trace.derives else _lies_of(computed)
        several = any([np.ndim(a) > 1 for a in self.given])
        counts = trace.layout_counts or (lies is not None and several)
        layouts = [layout_of(a) for a in arrays] if counts else None
        flat = [not v.shape and not is_number(v) for v in computed]
        path = Variant(
            tape, example, self.results, self.written, out_tree, layouts, trace.derives, flat
        )
        if lies is not None and any([lie != "C" for lie in lies]):
            path.lies = lies
        if trace.memory_counts:
            path.memory = memory_of_all(arrays)
        if trace.types_count:
            path.python_numbers = list(map(is_python_number, arrays))
        path.changes_outside = _has_changed(self.arguments, self.outside)
        return path


class _LongRecording:
    """Says once of a recording that it takes longer than one waits in silence."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.patience = Patience()

    def still_running(self) -> None:
        seconds = self.patience.spent()
        if seconds is not None:
            self.patience.say(
                f"recording {self.name}: {seconds:.0f} s so far; Python runs it once, step by "
                f"step, where linad.scan and linad.loop record one step of a long loop"
            )


def _lies_of(computed: Sequence[Any]) -> list[Any] | None:
    """How results lie in memory; None where they have one way only.

    Entries that stand in several places, those of a broadcast array, each get their own.
    """
    if not any([np.ndim(v) > 1 and np.size(v) > 1 for v in computed]):
        return None
    lies = [layout_of(v) for v in computed]
    return [
        "C" if type(lie) is tuple and _has_zero(lie, np.shape(v)) else lie
        for v, lie in zip(computed, lies, strict=True)
    ]


def _has_zero(steps: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return 0 in [step for step, n in zip(steps, shape, strict=True) if n > 1]


def _holds_the_same(container: Any, held: tuple[list[Any], Any]) -> bool:
    leaves, structure = tree.flatten(container)
    return structure == held[1] and all(map(operator.is_, leaves, held[0]))


def _has_changed(arguments: Signature, outside: Sequence[np.ndarray]) -> bool:
    """Whether a run has changed what it reads from outside: the program would not do that.

    So it is with the objects among the arguments. A workspace that is left as it was found, and
    what is computed once and kept, do not matter: the next call starts from what this one left.
    """
    if arguments.objects_have_changed():
        return True
    if arguments.look is None:
        return False
    if arguments.look.volatile:
        return True
    now = arguments.look.still()
    if now is None:
        return True
    pairs = zip(outside, now, strict=True)
    return not all([same_bits(a, before) for before, a in pairs])


def _check_constant(leaf: Any, arguments: Signature, f: Callable[..., Any]) -> None:
    """Raise if a result that is not computed may be another one at the next call.

    Raises
    ------
    OutputError
        For objects other than numbers, strings and the like, unless they came as arguments:
        they may hold traced values, or be changed by whom they are returned to.
    """
    if isinstance(leaf, np.ndarray):
        if not leaf.dtype.hasobject:
            return
        what = f"an array of dtype {leaf.dtype}"
    else:
        parts = leaf if isinstance(leaf, (set, frozenset)) else [leaf]
        constant = all([isinstance(x, (*CONSTANTS, Tracer)) for x in parts])
        if constant or any([leaf is x for x in arguments.leaves]):
            return
        what = f"a {type(leaf).__name__}"
    hint = ""
    if callable(leaf) or hasattr(type(leaf), "matvec"):
        hint = "; linearize(jit(f), x) and vjp(jit(f), x) run compiled sweeps"
    raise OutputError(
        f"jit: {name_of(f)} must return arrays, numbers and strings, in tuples, lists, dicts or "
        f"dataclasses, it returned {what}{hint}"
    )


CONSTANTS = (
    numbers.Number,
    str,
    bytes,
    np.generic,
    np.dtype,
    type,
    slice,
    range,
    enum.Enum,
    dt.date,
    dt.time,
    dt.timedelta,
    type(None),
    type(...),
)
"""What a function may return that is the same at every call, and cannot be changed."""


def _was_written(tracer: Tracer, node: Any) -> bool:
    refresh_node(tracer)
    buffer = tracer._buffer
    # A write of no entries leaves no equation, and NumPy refuses it for a read-only array.
    return tracer._node is not node or (buffer is not None and buffer.version > 0)


def _own_constants(equations: list[Equation]) -> list[Equation]:
    """The equations with copies of the large arrays that they refer to, each copied once.

    Small ones are copies already, see `linad.transforms.plain_operands`. What is read once has
    to be read at once, not when the program is compiled. Of one number all along an axis, as the
    ones that the derivative of a sum begins with, that number is kept.
    """
    copies: dict[int, np.ndarray] = {}

    def own(a: Any) -> Any:
        if type(a) is not np.ndarray or a.nbytes <= settings().snapshot_bytes or is_frozen(a):
            return a
        if id(a) not in copies:
            # With several axes the memory would say in what order those of results lie.
            mine = np.array(a[:1] if a.ndim == 1 and is_uniform(a) else a, order="C")
            mine.flags.writeable = False
            copies[id(a)] = mine if mine.shape == a.shape else np.broadcast_to(mine, a.shape)
        return copies[id(a)]

    return [eqn.with_inputs(tuple([own(a) for a in eqn.inputs])) for eqn in equations]


def _plain(value: Any) -> Any:
    """A value for the caller, who may write into it."""
    if isinstance(value, Tracer):
        return value.alias()
    return np.array(value) if type(value) is np.ndarray else value
