"""Recording: a run of a function on traced arrays, and the path that it took."""

import datetime as dt
import enum
import logging
import numbers
import operator
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import is_number
from linad.control.search_loops import with_searches_as_loops
from linad.control.search_watch import SearchWatch
from linad.control.watching import watched
from linad.core import tree
from linad.core.adopted import repeated
from linad.core.array_type import Array
from linad.core.during import during
from linad.core.memory_layouts import copy_in_layout, layout_of
from linad.core.own_draws import WATCHES
from linad.core.patience import Patience, say
from linad.core.running_loops import described, running_loops
from linad.core.settings import settings
from linad.core.shapes import name_of
from linad.core.stand_ins import standing
from linad.core.tape import Equation, Tape, guards_in
from linad.errors import OutputError, UnsupportedError
from linad.jit.identity import compares_objects, first_of_each, memory_of_all, share_memory
from linad.jit.process_state import warn_of_process_state
from linad.jit.random_draws import RandomDraws
from linad.jit.signature import Signature, as_recorded, is_python_number
from linad.jit.specializations import COMPUTED, LONG, Variant, own
from linad.jit.written_attributes import (
    AttributesBefore,
    AttributeWatch,
    changeable_objects,
    writable_first,
)
from linad.transforms.plain_operands import same_bits
from linad.transforms.recorded_run import RecordedRun
from linad.transforms.traced_values import refuse_keys

log = logging.getLogger("linad")


@repeated
def record(f: Callable[..., Any], arguments: Signature) -> tuple[Any, Variant | None]:
    """Run a function on traced arrays; return its result, and the path it took.

    The path is None where it cannot be repeated: the function uses values of a derivative
    around it that are not arguments, or writes into an array that has two names.
    """
    return _Recording(f, arguments).run()


class _Recording:
    """A run of a function for arguments of one kind.

    Parameters
    ----------
    f : callable
    arguments : Signature

    Attributes
    ----------
    given : list
        The arrays and numbers among the arguments, as they are before.
    outside : list of ndarray
        What is read from outside, as it is before.
    attributes : AttributeWatch
        Those that the function is known to write.
    kept : list of Tracer
        What it has left in them.
    before : AttributesBefore
        Those of all objects that the call reaches, as they are before.
    traced : RecordedRun
        The function's run on traced arrays.
    stored : set of int
        Arrays from outside that sparse matrices are made of which only multiply traced values.
    """

    def __init__(self, f: Callable[..., Any], arguments: Signature) -> None:
        self.f, self.arguments = f, arguments
        self.given = [as_recorded(x) for x in arguments.arrays]
        self.outside = [copy_in_layout(a) for a in arguments.outside]
        direct, self.stored = arguments.direct(f)
        self.direct = direct | self.stored
        compares = len(self.given) > 1 and compares_objects(f)
        first = first_of_each(arguments.arrays) if compares else None
        owners = changeable_objects(arguments.static_leaves)
        if arguments.look is not None:
            owners = list({id(x): x for x in (*arguments.look.users, *owners)}.values())
        self.attributes = AttributeWatch(arguments.unread, owners)
        self.kept: list[Any] = []
        self.before = AttributesBefore(owners)
        self.long = _LongRecording(name_of(f))
        waits = self.long.still_running
        self.traced = RecordedRun(self.given, self.outside, self.direct, first, waits)
        pairs = zip(self.traced.inputs, arguments.arrays, strict=False)
        self.traced.trace.watching = SearchWatch
        numbers = [node for node, x in pairs if is_python_number(x)]
        self.traced.trace.python_numbers = frozenset(numbers)

    def run(self) -> tuple[Any, Variant | None]:
        started = time.perf_counter()
        f, arguments, traced = self.f, self.arguments, self.traced
        numbers = sorted(self.direct)
        plain = [arguments.outside[k] for k in numbers]
        stand_ins = [traced.stand_ins[k] for k in numbers]
        look = arguments.look
        draws = RandomDraws(f, arguments.leaves, () if look is None else look.generators)
        watches = (*WATCHES.get(), draws)
        with traced.trace, standing(plain, stand_ins), during(WATCHES, watches):
            try:
                filled = arguments.filled(traced.tracers)
                held = tree.flatten(filled)
                with self.attributes:
                    result = watched(traced.trace, f, *filled[0], **filled[1])
            except BaseException:
                self._check_shapes()
                traced.find_written()
                if self._writes_to_two_names():
                    return arguments.call(f, arguments.arrays), None
                self._write_back()  # as NumPy would have before it raised
                self._give_values()
                raise
            leaves, out_tree = tree.flatten(result)
            stored = self.attributes.stored(traced.trace, traced.tracers, leaves)
            self.kept = [part for part in stored.parts if isinstance(part, Tracer)]
            if traced.trace.keys:
                refuse_keys(traced.trace, result)
            self._check_shapes()
            self._make_loops([*leaves, *self.kept])
            equations = traced.finish([*leaves, *self.kept])
            if not leaves and not traced.written:
                raise OutputError(f"{name_of(f)} returned {result!r}, which holds no array")
            pairs = zip([*leaves, *self.kept], traced.nodes, strict=True)
            results = [self._delivered(*pair) for pair in pairs]
        if self._writes_to_two_names():
            # What is written to one has to be seen through the other.
            return arguments.call(f, arguments.arrays), None
        draws.check()
        if arguments.look is not None:
            warn_of_process_state(f, arguments.look.given_once)
        asked = [e.params["expected"] for e in guards_in(equations)]
        if traced.trace.holds_matrices or any(map(np.ndim, asked)):
            # SciPy itself multiplies booleans and integers, having asked for their entries.
            equations = [*traced.checks(self.stored), *equations]
        example = [np.array(g) for g in self.given]  # before what was written is given back
        y = tree.unflatten(out_tree, traced.delivered[: len(leaves)])
        stored = stored._replace(
            parts=[COMPUTED if isinstance(p, Tracer) else p for p in stored.parts]
        )
        self._write_back()
        operands = [a for eqn in equations for a in eqn.inputs]
        if any([isinstance(a, Tracer) for a in (*operands, *traced.values)]):
            self._give_values()
            return y, None
        spent = 1e3 * (time.perf_counter() - started)
        log.info("traced %s in %.1f ms: %d equations", name_of(f), spent, len(equations))
        self.long.is_recorded(equations, bool(asked))
        nodes = traced.outputs
        out_row = tree.flatten([0.0] * len(nodes))[1]
        row = tree.row(len(traced.inputs))
        tape = Tape(name_of(f), traced.inputs, equations, nodes, row, out_row)
        path = self._path(tape, [*example, *self.outside], results, out_tree)
        path.changes_outside = self._changes_outside(stored.places)
        if path.changes_outside:
            self._give_values()
        path.changes_containers = not _holds_the_same(filled, held)
        by_python = path.changes_outside or path.changes_containers
        path.interpreted = traced.trace.errors.finish() or by_python
        if stored.places:
            path.stored = stored
            stored.store(iter(traced.delivered[len(leaves) :]), arguments.arrays, COMPUTED)
        return y, path

    def _make_loops(self, leaves: Sequence[Any]) -> None:
        """Make loops of the searches that Python has made."""
        traced, trace = self.traced, self.traced.trace
        if trace.decided is None:
            return
        trace.decided.end()
        if not trace.ended_searches():
            return
        read = [*leaves, *traced.tracers]
        for leaf in read:
            if isinstance(leaf, Tracer) and leaf._trace is trace:
                refresh_node(leaf)
        outputs = [getattr(leaf, "_node", None) for leaf in read]
        outputs += [node for node, *_ in trace.texts]
        given = dict(zip(traced.inputs, [*self.given, *self.outside], strict=True))
        trace.equations = with_searches_as_loops(
            trace, trace.equations, trace.ended_searches(), outputs, given
        )

    def _check_shapes(self) -> None:
        if [t.shape for t in self.traced.tracers] != [a.shape for a in self.given]:
            raise UnsupportedError(
                f"jit: {name_of(self.f)} sets the shape of an argument, which NumPy would do to "
                f"the caller's array; use y = x.reshape(shape), a view"
            )

    def _write_back(self) -> None:
        """What the function wrote into its arguments, into the caller's arrays."""
        for k, entries in zip(self.traced.written, self.traced.entries, strict=True):
            self.arguments.arrays[k][...] = entries

    def _delivered(self, leaf: Array, node: Any) -> Any:
        """What a call delivers of a leaf: `COMPUTED`, or a constant."""
        if node is not None:
            return COMPUTED
        _check_constant(leaf, self.arguments, self.f)
        return own(leaf)

    def _writes_to_two_names(self) -> bool:
        return share_memory(self.arguments.operands, self.traced.written)

    def _path(self, tape: Tape, example: list[Any], results: list[Any], out_tree: Any) -> Variant:
        traced, arrays = self.traced, self.arguments.arrays
        returned = len(results) - len(self.kept)
        trace = traced.trace
        pairs = zip(traced.values, results, strict=True)
        computed = [v for v, r in pairs if r is COMPUTED]
        lies = None if trace.derives else _lies_of(computed)
        several = any([np.ndim(a) > 1 for a in self.given])
        counts = trace.layout_counts or (lies is not None and several)
        layouts = [layout_of(a) for a in arrays] if counts else None
        flat = [not v.shape and not is_number(v) for v in computed]
        path = Variant(
            *(tape, example, results[:returned], traced.written),
            *(out_tree, layouts, trace.derives, flat),
        )
        if lies is not None and any([lie != "C" for lie in lies]):
            path.lies = lies
        if trace.memory_counts:
            path.memory = memory_of_all(arrays)
        if trace.types_count:
            path.python_numbers = list(map(is_python_number, arrays))
        rolled = any([e.primitive.searches for e in tape.equations])
        path.searches = trace.may_search() or (rolled and not trace.stops)
        return path

    def _changes_outside(self, stored: Sequence[tuple[Any, str]]) -> bool:
        """Whether the run has changed what calls are known by, but for attributes that its program
        will write; what it reads of that, and how it leaves the rest, is known for the next."""
        place, read = self.arguments.place, self.attributes.read
        changed = _has_changed(self.arguments, self.outside)
        if place is None:
            return changed or bool(read)
        added = {(k, name) for k, name in self.before.added() if name in place.names}
        if added:
            place.look_again()
        if read:
            place.are_read(read)
        elif changed or added:
            place.are_written(writable_first(self.before.changed()))
        return changed or bool(read or added - {(id(owner), name) for owner, name in stored})

    def _give_values(self) -> None:
        """Values in attributes that Python writes at each call, as at this."""
        arguments, traced = self.arguments, self.traced
        given = dict(zip(map(id, traced.tracers), arguments.arrays, strict=False))
        self.before.give_values(traced.trace, given)


_LONG: set[tuple[str, str]] = set()
"""Functions of which that has been said, with the line that has most of them."""


class _LongRecording:
    """Says of a recording that it takes longer than one waits in silence, or will take so to
    compile."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.patience = Patience()

    def still_running(self) -> None:
        seconds = self.patience.spent()
        if seconds is not None:
            place = described(running_loops())
            self.patience.say(
                f"recording {self.name}: {seconds:.0f} s so far{place and f', in {place}'}; Python "
                f"runs it once, step by step, where linad.scan and linad.loop record one step of a "
                f"long loop"
            )

    def is_recorded(self, equations: Sequence[Equation], decides: bool) -> None:
        """Say once that there is much to compile, and of which line, before it takes its time."""
        if len(equations) < LONG or not settings().progress:
            return
        (line, times), *_ = Counter(e.source for e in equations).most_common(1)
        if (self.name, str(line)) in _LONG:
            return
        _LONG.add((self.name, str(line)))
        anew = ", and anew where an if takes another way" * decides
        when = ", once Python has run them for as long as that takes" * decides
        say(
            f"{self.name} is {len(equations)} operations, {times} of them of {line}; they are "
            f"compiled one by one{anew}{when}, where a loop is one if all of its steps do the "
            f"same: collect in every step what some are to store, and pick it after the loop; or "
            f"let linad.kernel compile loops and ifs over numbers as they stand"
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


def _holds_the_same(container: tuple[Any, ...], held: tuple[list[Any], Any]) -> bool:
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
