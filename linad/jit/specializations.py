"""Variants: the paths that a jitted function takes through its Python decisions.

A path is recorded by running the function on traced arrays; its tape goes from the arrays
among the arguments to the arrays among the results, and is compiled when it is first needed.
"""

import datetime as dt
import enum
import functools
import logging
import numbers
import operator
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import array, is_number
from linad.control.rolling import roll
from linad.control.watching import watched
from linad.core import tree
from linad.core.adopted import repeated
from linad.core.compiler_lock import compiling
from linad.core.memory_layouts import kept, laid_like, layout_of
from linad.core.settings import compiler_is_off, settings
from linad.core.shapes import name_of
from linad.core.stand_ins import standing
from linad.core.tape import GUARDS, Equation, Tape, Var, stop, unchanged
from linad.errors import GuardError, OutputError, UnsupportedError
from linad.jit.identity import compares_objects, first_of_each, memory_of_all
from linad.jit.process_state import warn_of_process_state
from linad.jit.random_draws import Draws
from linad.jit.signature import NARROW, Signature, as_recorded, share_memory
from linad.jit.static import Static
from linad.transforms.plain_operands import is_frozen, is_uniform, same_bits
from linad.transforms.record import RecordTrace
from linad.transforms.rewriting import value_key

log = logging.getLogger("linad")


class Variant:
    """One path of a function through its Python decisions, as a tape.

    Attributes
    ----------
    tape : Tape
        From the arrays among the arguments to the arrays among the results, and those that
        the function wrote into.
    layouts : list or None
        How the arguments lie in memory, where the function asks: in ``x.ravel("K")``, say.
    derives : bool
        Whether the function takes derivatives itself, or stops some.
    flat : sequence of bool
        Which of the results that it computes are arrays without axes; the others that have
        none are numbers.
    interpreted : bool
        Whether Python has to run it: it catches what NumPy raises at a division by zero, say, or
        changes what stands outside.
    changes_containers : bool
        Whether it puts other things into a dict, a list or an object among the arguments. It has
        been given copies of those, and has to be called again.
    changes_outside : bool
        Whether something that it reads from outside is another after the run. The tape holds for
        what stood there before, which ``example`` has copies of.
    memory : list or None
        Which arguments share memory, and their flags, where the function asks.
    lies : list or None
        How those results lie in memory that it computes, where one is not in order C.
    """

    lies: list[Any] | None = None
    interpreted = False
    changes_outside = changes_containers = False
    memory: list[Any] | None = None

    def __init__(
        self,
        tape: Tape,
        example: list[Any],
        results: list[Any],
        written: list[int],
        out_tree: Any,
        layouts: list[Any] | None = None,
        derives: bool = False,
        flat: Sequence[bool] = (),
    ) -> None:
        self.tape, self.example, self.layouts, self.derives = tape, example, layouts, derives
        self.results, self.written, self.out_tree = results, written, out_tree
        self.flat = flat
        self._compiled: Any = None
        self._elsewhere: dict[Any, Any] = {}  # by target
        self._callable: Any = None
        self.short: Any = None  # settings, and the short call written for them

    def fits(self, arrays: Sequence[Any]) -> bool:
        """Whether arguments lie in memory as those it was recorded with, where that counts."""
        if self.memory is not None and self.memory != memory_of_all(arrays):
            return False
        return self.layouts is None or self.layouts == [layout_of(a) for a in arrays]

    def is_stale(self, outside: Sequence[np.ndarray]) -> bool:
        """Whether an array outside of which plain NumPy makes something has other entries now."""
        count = len(self.tape.inputs) - len(outside)
        now = dict(zip(self.tape.inputs[count:], outside, strict=True))
        for eqn in self.tape.equations:
            if eqn.primitive is unchanged:
                try:
                    unchanged.impl(now[eqn.inputs[0]], **eqn.params)
                except GuardError:
                    return True
        return False

    @functools.cached_property
    def connected(self) -> list[bool]:
        """Which results depend on an argument, through operations that have a derivative."""
        moving = set(self.tape.inputs)
        for eqn in self.tape.equations:
            flat = eqn.primitive.zero_slope_args
            reads = [a for i, a in enumerate(eqn.inputs) if isinstance(a, Var) and i not in flat]
            if not eqn.primitive.constant and not moving.isdisjoint(reads):
                moving.update(eqn.outputs)
        return [isinstance(a, Var) and a in moving for a in self.tape.outputs]

    @functools.cached_property
    def rolled(self) -> Tape:
        """The tape, what it repeats as a loop."""
        return roll(self.tape, lambda: self.example)

    def runs_in_python(self, arrays: Sequence[Any]) -> bool:
        """Whether compiled code cannot do what the function does to these arguments."""
        return self.interpreted or share_memory(arrays, self.written)

    @property
    def compiled(self) -> Any:
        """The tape as a compiled primitive; run by NumPy where Numba must not compile."""
        if self._compiled is None:
            with compiling:
                # A fork waits for the lock, not for an import.
                if self._compiled is None:
                    self._compiled = self._compile()
        return self._compiled

    def _compile(self) -> Any:
        from linad.sweeps.compiled import Compiled

        if compiler_is_off() or self.changes_outside:
            from linad.sweeps.numpy_target import NUMPY

            return Compiled(self.tape, self.example, NUMPY)
        from linad.sweeps.cpu import short_calls as short  # noqa: F401
        from linad.sweeps.cpu.target import CPU

        made = Compiled(self.rolled, self.example, CPU, in_columns=self._in_columns())
        made.written_out = self.tape
        return made

    def compiled_for(self, target: Any) -> Any:
        """The tape as a compiled primitive of another target."""
        found = self._elsewhere.get(target)
        if found is None:
            with compiling:
                from linad.sweeps.compiled import Compiled

            made = Compiled(self.rolled, self.example, target)
            made.written_out = self.tape
            found = self._elsewhere.setdefault(target, made)  # another thread may have been faster
        return found

    def _in_columns(self) -> Any:
        """The arguments and results that the program takes and makes in order F."""
        from linad.sweeps.places import InColumns

        def numbers(lies: list[Any] | None) -> frozenset[int]:
            return frozenset([k for k, lie in enumerate(lies or ()) if lie == "F"])

        return InColumns(numbers(self.layouts), numbers(self.lies))

    def applied(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """What the program computes of traced values.

        Raises
        ------
        GuardError
            If Python would decide otherwise.
        """
        if self.tape.outputs:
            values = self.compiled(*arrays)
            if self.derives:
                for x in arrays:
                    if isinstance(x, Tracer):
                        x._trace.derives = True
            elif not all(self.connected):
                pairs = zip(values, self.connected, strict=True)
                values = [v if moves else stop(v) for v, moves in pairs]
            return values  # type: ignore[no-any-return]
        self.compiled.impl(*[x.concrete if isinstance(x, Tracer) else x for x in arrays])
        return ()  # there is nothing to differentiate

    def callable_from_numba(self, name: str, outside: Sequence[np.ndarray] = ()) -> Any:
        """The program as a compiled function, bound to arrays; see `Jitted.njit`."""
        if self._callable is not None and not outside:
            return self._callable
        with compiling:
            from linad.sweeps.cpu.njit_function import callable_from_numba

        tape = bound(self.rolled, outside)
        nodes = iter(tape.outputs)
        outputs = [next(nodes) if r is COMPUTED else r for r in self.results] + list(nodes)
        chosen = self.compiled.program.chosen
        made = callable_from_numba(name, tape, outputs, self.written, chosen)
        if not outside:
            self._callable = made
        return made

    def finish(self, values: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The result of a call, of what the program computed; writes into the arguments."""
        count = len(values) - len(self.written)
        for k, value in zip(self.written, values[count:], strict=True):
            arrays[k][...] = value
        return self.shown(values)

    def shown(self, values: Sequence[Any]) -> Any:
        """The result of a call, of what the program computed."""
        count = len(values) - len(self.written)
        if self.lies is not None:
            values = [
                laid_like(v, lie) if type(v) is np.ndarray else v
                for v, lie in zip(values, self.lies, strict=False)
            ]
        if any(self.flat):
            values = [array(v) if f else v for v, f in zip(values, self.flat, strict=False)]
        found = iter(values[:count])
        leaves = [next(found) if r is COMPUTED else _own(r) for r in self.results]
        return tree.unflatten(self.out_tree, leaves)


COMPUTED: Any = object()
"""Stands among results for what the program computes; the others are constants."""


def bound(tape: Tape, outside: Sequence[np.ndarray]) -> Tape:
    """The program with these arrays, copied, in the place of its last inputs."""
    count = len(tape.inputs) - len(outside)
    copies = [np.array(a, order="C") for a in outside]
    for a in copies:
        a.flags.writeable = False
    known = dict(zip(tape.inputs[count:], copies, strict=True))

    def value(a: Any) -> Any:
        return known.get(a, a) if isinstance(a, Var) else a

    equations = [
        e.with_inputs(tuple([value(a) for a in e.inputs]))
        for e in tape.equations
        if e.primitive is not unchanged
    ]
    outputs = [value(a) for a in tape.outputs]
    return Tape(tape.name, tape.inputs[:count], equations, outputs, tree.row(count), tape.out_tree)


def _own(value: Any) -> Any:
    """A constant result: an array, or a set, is the caller's to write into."""
    if type(value) is np.ndarray:
        return np.array(value)
    return value.copy() if isinstance(value, set) else value


@repeated
def record(f: Callable[..., Any], arguments: Signature) -> tuple[Any, Variant | None]:
    """Run a function on traced arrays; return its result, and the path it took.

    The path is None where it cannot be repeated: the function uses values of a derivative
    around it that are no arguments.
    """
    started = time.perf_counter()
    recorder = RecordTrace()
    given = [as_recorded(x) for x in arguments.arrays]
    tracers = [recorder.input(x) for x in given]
    inputs = [t._node for t in tracers]
    if len(tracers) > 1 and compares_objects(f):
        recorder.memory_counts = True
        tracers = [tracers[k] for k in first_of_each(arguments.arrays)]
    before = [t._node for t in tracers]
    outside = [kept(a) for a in arguments.outside]
    stand = [recorder.input(a) for a in outside]
    inputs += [t._node for t in stand]
    direct = arguments.direct(f)
    for a, t, met in zip(outside, stand, arguments.outside, strict=True):
        if id(met) not in direct:
            recorder.equations.append(Equation(unchanged, (t._node,), {"expected": a}, ()))
    pairs = [(a, t) for a, t in zip(arguments.outside, stand, strict=True) if id(a) in direct]
    draws = Draws(f, arguments.leaves)
    with recorder, standing([a for a, _ in pairs], [t for _, t in pairs]):
        try:
            args, kwargs = arguments.filled(tracers)
            held = tree.flatten((args, kwargs))
            result = watched(recorder, f, *args, **kwargs)
        except BaseException:
            _check_shapes(f, tracers, given)
            written = [k for k, t in enumerate(tracers) if _was_written(t, before[k])]
            if share_memory(arguments.operands, written):
                return arguments.call(f, arguments.arrays), None  # as below
            for k in written:  # NumPy would have written before it raised
                arguments.arrays[k][...] = tracers[k]._value
            raise
        leaves, out_tree = tree.flatten(result)
        _check_shapes(f, tracers, given)
        written = [k for k, t in enumerate(tracers) if _was_written(t, before[k])]
        if not leaves and not written:
            raise OutputError(f"{name_of(f)} returned {result!r}, which holds no array")
        values: list[Any] = []
        results: list[Any] = []
        nodes: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, Tracer) and leaf._trace is recorder:
                refresh_node(leaf)
                nodes.append(leaf._node)
                values.append(leaf._value)
                results.append(COMPUTED)
            elif type(leaf) is np.ndarray and leaf.dtype.kind in "fc":
                # A constant, as the gradient of a sum: the program delivers a copy of it.
                nodes.append(leaf.copy())
                values.append(leaf)
                results.append(COMPUTED)
            else:
                _check_constant(leaf, arguments, f)
                values.append(leaf)
                results.append(_own(leaf))
        nodes += [tracers[k]._node for k in written]
        if any([isinstance(leaf, str) for leaf in leaves]):
            recorder.check_texts()
        recorder.operands.check()
    if share_memory(arguments.operands, written):
        # One array by two names: what is written to one has to be seen through the other.
        return arguments.call(f, arguments.arrays), None
    draws.check()
    if arguments.look is not None:
        warn_of_process_state(f, arguments.look.given_once)
    equations = _own_constants(recorder.program(nodes))
    example = [np.array(g) for g in given]  # before what was written is given back
    y = tree.unflatten(out_tree, [_plain(v) for v in values])
    # After ``np.copyto(x, p)`` the value of x is that of p, which may be written as well.
    entries = [_plain(tracers[k]._value) for k in written]
    for k, found in zip(written, entries, strict=True):
        arguments.arrays[k][...] = found
    if any(isinstance(a, Tracer) for eqn in equations for a in eqn.inputs) or any(
        isinstance(v, Tracer) for v in values
    ):
        return y, None
    spent = 1e3 * (time.perf_counter() - started)
    log.info("traced %s in %.1f ms: %d equations", name_of(f), spent, len(equations))
    out_row = tree.flatten([0.0] * len(nodes))[1]
    tape = Tape(name_of(f), inputs, equations, nodes, tree.row(len(inputs)), out_row)
    computed = [v for v, r in zip(values, results, strict=True) if r is COMPUTED]
    lies = None if recorder.derives else _lies_of(computed)
    counts = recorder.layout_counts or (lies is not None and any([np.ndim(a) > 1 for a in given]))
    layouts = [layout_of(a) for a in arguments.arrays] if counts else None
    flat = [not v.shape and not is_number(v) for v in computed]
    example = [*example, *outside]
    path = Variant(tape, example, results, written, out_tree, layouts, recorder.derives, flat)
    if lies is not None and any([lie != "C" for lie in lies]):
        path.lies = lies
    if recorder.memory_counts:
        path.memory = memory_of_all(arguments.arrays)
    path.changes_outside = _has_changed(arguments, outside)
    path.changes_containers = not _holds_the_same((args, kwargs), held)
    by_python = path.changes_outside or path.changes_containers
    path.interpreted = recorder.errors.finish() or by_python
    return y, path


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
    if callable(leaf) or hasattr(leaf, "matvec"):
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


def _check_shapes(f: Callable[..., Any], tracers: Sequence[Tracer], given: Sequence[Any]) -> None:
    """Raise where a function has set the shape of an argument, and has ended or raised."""
    if [t.shape for t in tracers] != [a.shape for a in given]:
        raise UnsupportedError(
            f"jit: {name_of(f)} sets the shape of an argument, which NumPy would do to the "
            f"caller's array; use y = x.reshape(shape), a view"
        )


def _was_written(tracer: Tracer, node: Any) -> bool:
    refresh_node(tracer)
    buffer = tracer._buffer
    # A write of no entries leaves no equation, and NumPy refuses it for a read-only array.
    return tracer._node is not node or (buffer is not None and buffer.version > 0)


def same_path(a: Variant, b: Variant) -> bool:
    """Whether two recordings are of one path: two threads may find it at the same time."""
    return a.layouts == b.layouts and a.memory == b.memory and _course(a) == _course(b)


def _course(variant: Variant) -> list[Any]:
    return [
        (
            e.primitive,
            [value_key(a) for a in e.inputs if not isinstance(a, Var)],
            [(v.shape, v.dtype) for v in e.outputs],
            Static(e.params["expected"]) if e.primitive in GUARDS else None,
        )
        for e in variant.tape.equations
    ]


def in_single_precision(tape: Tape) -> bool:
    """Whether some of a tape's arrays are of single precision."""
    operands = [a for eqn in tape.equations for a in (*eqn.inputs, *eqn.outputs)]
    return any([getattr(a, "dtype", None) in NARROW for a in operands])


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
