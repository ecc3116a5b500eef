"""Variants: the paths that a jitted function takes through its Python decisions.

A path is recorded by running the function on traced arrays; its tape goes from the arrays
among the arguments to the arrays among the results, and is compiled when it is first needed.
"""

import datetime as dt
import enum
import functools
import logging
import numbers
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import settle
from linad.arrays.tracer import Tracer
from linad.core import tree
from linad.core.adopted import repeated
from linad.core.compiler_lock import compiling
from linad.core.settings import compiler_is_off, settings
from linad.core.shapes import name_of
from linad.core.tape import Equation, Tape, Var, guard, needed, stop
from linad.errors import OutputError
from linad.jit.arguments import NARROW, Arguments, as_recorded, share_memory
from linad.jit.numpy_backend import Interpreted
from linad.jit.random_draws import Draws
from linad.transforms.plain_operands import is_frozen
from linad.transforms.record import RecordTrace

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
    """

    def __init__(
        self,
        tape: Tape,
        example: list[Any],
        results: list[Any],
        written: list[int],
        out_tree: Any,
        layouts: list[Any] | None = None,
        derives: bool = False,
    ) -> None:
        self.tape, self.example, self.layouts, self.derives = tape, example, layouts, derives
        self.results, self.written, self.out_tree = results, written, out_tree
        self._compiled: Any = None
        self._callable: Any = None
        self.short: Any = None  # settings, and the short call written for them

    def fits(self, arrays: Sequence[Any]) -> bool:
        """Whether arguments lie in memory as those it was recorded with, where that counts."""
        return self.layouts is None or self.layouts == [_layout_of(a) for a in arrays]

    @functools.cached_property
    def connected(self) -> list[bool]:
        """Which results depend on an argument, through operations that have a derivative."""
        moving = set(self.tape.inputs)
        for eqn in self.tape.equations:
            flat = eqn.primitive.flat
            reads = [a for i, a in enumerate(eqn.inputs) if isinstance(a, Var) and i not in flat]
            if not eqn.primitive.constant and not moving.isdisjoint(reads):
                moving.update(eqn.outputs)
        return [isinstance(a, Var) and a in moving for a in self.tape.outputs]

    @property
    def compiled(self) -> Any:
        """The tape as a compiled primitive; run by NumPy where Numba must not compile."""
        if self._compiled is None and compiler_is_off():
            self._compiled = Interpreted(self.tape)
        if self._compiled is None:
            with compiling:
                # A fork waits for the lock, not for an import.
                from linad.sweeps.compiled import Compiled
                from linad.sweeps.cpu import short_calls as short  # noqa: F401

                if self._compiled is None:
                    self._compiled = Compiled(self.tape, self.example)
        return self._compiled

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

    def callable_from_numba(self, name: str) -> Any:
        """The program as a compiled function; see `Jitted.njit`."""
        if self._callable is None:
            from linad.sweeps.cpu.njit_function import callable_from_numba

            nodes = iter(self.tape.outputs)
            outputs = [next(nodes) if r is COMPUTED else r for r in self.results] + list(nodes)
            chosen = self.compiled.program.chosen
            self._callable = callable_from_numba(name, self.tape, outputs, self.written, chosen)
        return self._callable

    def finish(self, values: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The result of a call, of what the program computed; writes into the arguments."""
        count = len(values) - len(self.written)
        for k, value in zip(self.written, values[count:], strict=True):
            arrays[k][...] = value
        found = iter(values[:count])
        leaves = [next(found) if r is COMPUTED else _own(r) for r in self.results]
        return tree.unflatten(self.out_tree, leaves)


COMPUTED: Any = object()
"""Stands among results for what the program computes; the others are constants."""


def _own(value: Any) -> Any:
    """A constant result: an array, or a set, is the caller's to write into."""
    if type(value) is np.ndarray:
        return np.array(value)
    return value.copy() if isinstance(value, set) else value


@repeated
def record(f: Callable[..., Any], arguments: Arguments) -> tuple[Any, Variant | None]:
    """Run a function on traced arrays; return its result, and the path it took.

    The path is None where it cannot be repeated: the function uses values of a derivative
    around it that are no arguments.
    """
    started = time.perf_counter()
    recorder = RecordTrace()
    given = [as_recorded(x) for x in arguments.arrays]
    tracers = [recorder.input(x) for x in given]
    inputs = [t._node for t in tracers]
    draws = Draws(f, arguments.leaves)
    with recorder:
        result = arguments.call(f, tracers)
        leaves, out_tree = tree.flatten(result)
        written = [k for k, t in enumerate(tracers) if _was_written(t, inputs[k])]
        if not leaves and not written:
            raise OutputError(f"{name_of(f)} returned {result!r}, which holds no array")
        values: list[Any] = []
        results: list[Any] = []
        nodes: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, Tracer) and leaf._trace is recorder:
                settle(leaf)
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
    if share_memory(arguments.arrays, written):
        # One array by two names: what is written to one has to be seen through the other.
        return arguments.call(f, arguments.arrays), None
    draws.check()
    equations = _own_constants(needed(recorder.equations, nodes))
    for k in written:
        arguments.arrays[k][...] = tracers[k]._value
    y = tree.unflatten(out_tree, [_plain(v) for v in values])
    if any(isinstance(a, Tracer) for eqn in equations for a in eqn.inputs) or any(
        isinstance(v, Tracer) for v in values
    ):
        return y, None
    spent = 1e3 * (time.perf_counter() - started)
    log.info("traced %s in %.1f ms: %d equations", name_of(f), spent, len(equations))
    out_row = tree.flatten([0.0] * len(nodes))[1]
    tape = Tape(name_of(f), inputs, equations, nodes, tree.row(len(inputs)), out_row)
    layouts = [_layout_of(a) for a in arguments.arrays] if recorder.layout_counts else None
    example = [np.array(g) for g in given]
    return y, Variant(tape, example, results, written, out_tree, layouts, recorder.derives)


def _layout_of(x: Any) -> Any:
    """Equal for arrays whose entries lie in memory in the same order and at the same distances."""
    if isinstance(x, Tracer):
        x = np.empty_like(x.concrete)  # what a derivative is taken of has no gaps
    if not isinstance(x, np.ndarray) or x.flags.c_contiguous:
        return "C"
    return "F" if x.flags.f_contiguous else x.strides


def _check_constant(leaf: Any, arguments: Arguments, f: Callable[..., Any]) -> None:
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


def _was_written(tracer: Tracer, node: Any) -> bool:
    settle(tracer)
    return tracer._node is not node


def same_path(a: Variant, b: Variant) -> bool:
    """Whether two recordings are of one path: two threads may find it at the same time."""
    return a.layouts == b.layouts and _course(a) == _course(b)


def _course(variant: Variant) -> list[Any]:
    return [
        (
            e.primitive,
            [(v.shape, v.dtype) for v in e.outputs],
            repr(e.params["expected"]) if e.primitive is guard else "",
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
    to be read at once, not when the program is compiled.
    """
    copies: dict[int, np.ndarray] = {}

    def own(a: Any) -> Any:
        if type(a) is not np.ndarray or a.nbytes <= settings().snapshot_bytes or is_frozen(a):
            return a
        if id(a) not in copies:
            copies[id(a)] = np.array(a, order="C")
            copies[id(a)].flags.writeable = False
        return copies[id(a)]

    return [eqn.with_inputs(tuple([own(a) for a in eqn.inputs])) for eqn in equations]


def _plain(value: Any) -> Any:
    """A value for the caller, who may write into it."""
    if isinstance(value, Tracer):
        return value.alias()
    return np.array(value) if type(value) is np.ndarray else value
