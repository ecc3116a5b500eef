"""Variants: the paths that a jitted function takes through its Python decisions.

The tape of a path goes from the arrays among the arguments to the arrays among the results, and
is compiled when it is first needed. `linad.jit.recording` makes them, `linad.jit.known_paths`
keeps them.
"""

import functools
import logging
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import array
from linad.control.first_runs import WORTH, FirstRun, UsedUp, first_run
from linad.control.rolling import roll
from linad.core import tree
from linad.core.compiler_lock import compiling
from linad.core.during import during
from linad.core.interrupts import is_interrupt
from linad.core.memory_layouts import laid_like, layout_of
from linad.core.settings import compiler_is_off
from linad.core.tape import Tape, Var, guards_in, stop, unchanged
from linad.errors import GuardError, TracerError
from linad.jit.identity import memory_of_all, share_memory
from linad.jit.signature import as_recorded, is_python_number
from linad.jit.written_attributes import StoredAttributes
from linad.transforms.plain_operands import Snapshots

log = logging.getLogger("linad")

LONG = 10_000
"""Operations of a path that take seconds to compile."""

COMPILING = 1e-3
"""Seconds that compiling a program and its derivatives takes, for each operation of a path."""


TIRED = 16
"""Calls that have gone another way, after which a path that none has taken again is asked for at
one call in so many: asking costs as much as a run of the function."""


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
    met_again : bool
        Whether a call has come to it since it was recorded.
    changes_containers : bool
        Whether it puts other things into a dict, a list or an object among the arguments. It has
        been given copies of those, and has to be called again.
    changes_outside : bool
        Whether something that it reads from outside is another after the run. The tape holds for
        what stood there before, which ``example`` has copies of.
    memory : list or None
        Which arguments share memory, and their flags, where the function asks.
    python_numbers : list or None
        Which arguments are Python numbers, where the function asks: in ``repr(x)``.
    lies : list or None
        How those results lie in memory that it computes, where one is not in order C.
    searches : bool
        Whether the function seems to search by comparisons: a derivative may not see what it finds.
    stored : StoredAttributes or None
        What it leaves in attributes of objects; the program computes it behind the results.
    waited : float
        Seconds for which Python has followed it because it was too long to be compiled at once.
    """

    lies: list[Any] | None = None
    searches = False
    interpreted = met_again = False
    stored: StoredAttributes | None = None
    changes_outside = changes_containers = False
    waited = 0.0
    memory: list[Any] | None = None
    python_numbers: list[bool] | None = None

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
        self._left = 0  # calls that went another way
        self._elsewhere: dict[Any, Any] = {}  # by target
        self._callable: Any = None
        self.short: Any = None  # settings, and the short call written for them

    def fits(self, arrays: Sequence[Any]) -> bool:
        """Whether arguments lie in memory as those it was recorded with, where that counts."""
        if self.memory is not None and self.memory != memory_of_all(arrays):
            return False
        numbers = self.python_numbers
        if numbers is not None and numbers != list(map(is_python_number, arrays)):
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
    def _snapshots(self) -> Snapshots:
        """What derivatives keep of the arrays from outside."""
        return Snapshots()

    @functools.cached_property
    def rolled(self) -> Tape:
        """The tape, what it repeats as a loop."""
        return roll(self.tape, lambda: self.example)

    def returning_only(self) -> "Variant":
        """The path as a program by itself, which leaves nothing in attributes."""
        count = len([r for r in self.results if r is COMPUTED])
        tape, last = self.tape, len(self.tape.outputs) - len(self.written)
        outputs = [*tape.outputs[:count], *tape.outputs[last:]]
        row = tree.flatten([0.0] * len(outputs))[1]
        alone = Variant(
            Tape(tape.name, tape.inputs, tape.equations, outputs, tape.in_tree, row),
            self.example,
            self.results,
            self.written,
            self.out_tree,
            self.layouts,
            self.derives,
            self.flat[:count],
        )
        alone.lies = None if self.lies is None else self.lies[:count]
        alone.searches, alone.interpreted = self.searches, self.interpreted
        alone.memory, alone.python_numbers = self.memory, self.python_numbers
        alone.changes_outside = self.changes_outside
        return alone

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

            made = Compiled(self.tape, self.example, NUMPY)
            made.searches = self.searches
            return made
        from linad.sweeps.cpu import short_calls as short  # noqa: F401
        from linad.sweeps.cpu.target import CPU

        made = Compiled(self.rolled, self.example, CPU, in_columns=self._in_columns())
        made.written_out, made.searches = self.tape, self.searches
        return made

    def compiled_for(self, target: Any) -> Any:
        """The tape as a compiled primitive of another target."""
        found = self._elsewhere.get(target)
        if found is None:
            with compiling:
                from linad.sweeps.compiled import Compiled

            made = Compiled(self.rolled, self.example, target)
            made.written_out, made.searches = self.tape, self.searches
            found = self._elsewhere.setdefault(target, made)  # another thread may have been faster
        return found

    def _in_columns(self) -> Any:
        """The arguments and results that the program takes and makes in order F."""
        from linad.sweeps.places import InColumns

        def numbers(lies: list[Any] | None) -> frozenset[int]:
            return frozenset([k for k, lie in enumerate(lies or ()) if lie == "F"])

        return InColumns(numbers(self.layouts), numbers(self.lies))

    def applied(self, arrays: Sequence[Any], outside: Sequence[np.ndarray]) -> Sequence[Any]:
        """What the program computes of traced values, and of arrays from outside.

        Raises
        ------
        GuardError
            If Python would decide otherwise.
        """
        plain = [x.concrete if isinstance(x, Tracer) else x for x in arrays]
        if self.tape.outputs:
            if self.is_awaited:
                self._followed([*plain, *outside])  # a wrong way leaves nothing in the derivative
                values = self._followed([*arrays, *self._snapshots.of(outside)])
            else:
                values = self.compiled(*arrays, *self._snapshots.of(outside))
            if self.derives:
                for x in arrays:
                    if isinstance(x, Tracer):
                        x._trace.derives = True
            elif not all(self.connected):
                pairs = zip(values, self.connected, strict=True)
                values = [v if moves else stop(v) for v, moves in pairs]
            return values  # type: ignore[no-any-return]
        self.computed([*plain, *outside])
        return ()  # there is nothing to differentiate

    @functools.cached_property
    def _patience(self) -> float:
        """Seconds for which Python follows the path before it is compiled.

        One that is long and hangs on decisions may not be met again: it has to be met for as long
        as compiling it would take. So no function takes much longer than twice its best time,
        however often it takes another way.
        """
        if len(self.tape.equations) < LONG or not any(guards_in(self.tape.equations)):
            return 0.0
        operations = len(self.rolled.equations)
        return COMPILING * operations if operations >= LONG else 0.0

    @functools.cached_property
    def _decides(self) -> bool:
        return any(guards_in(self.tape.equations))

    def is_left(self, operands: Sequence[Any]) -> bool:
        """Whether a call goes another way, as far as Python can tell in the time of compiling; a
        way that no call takes again is not compiled."""
        if self._compiled is not None or self.is_awaited or not self._decides:
            return False
        if self._left >= TIRED and self._left % TIRED:
            self._left += 1
            return True
        plain = [x.concrete if isinstance(x, Tracer) else x for x in operands]
        given = FirstRun(WORTH * len(self.tape.equations))
        try:
            with during(first_run, given), np.errstate(all="ignore"):
                self._followed(plain)
        except GuardError:
            self._left += 1
            return True
        except UsedUp:
            return False
        except Exception as failure:  # the program comes to the same
            if is_interrupt(failure):
                raise
        return False

    @property
    def is_awaited(self) -> bool:
        """Whether Python follows the path until it is known to be worth compiling."""
        return self._compiled is None and not self.changes_outside and self.waited < self._patience

    def computed(self, operands: Sequence[Any]) -> Sequence[Any]:
        """What the program computes of plain values.

        Raises
        ------
        GuardError
            If Python would decide otherwise.
        """
        if self.is_awaited:
            return self._followed(operands)
        return self.compiled.impl(*operands)  # type: ignore[no-any-return]

    def _followed(self, operands: Sequence[Any]) -> list[Any]:
        """What the program computes, step by step in Python, of plain values or traced ones."""
        started = time.perf_counter()
        given = [x if isinstance(x, Tracer) else as_recorded(x) for x in operands]
        values = self.tape.run(given)
        self.waited += time.perf_counter() - started
        return [v[()] if type(v) is np.ndarray and not v.ndim else v for v in values]

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

    def take_back(self, arrays: Sequence[Any], outside: Sequence[np.ndarray]) -> None:
        """Give arrays the entries from before the path was recorded: the call starts anew."""
        for k in self.written:
            arrays[k][...] = self.example[k]
        if self.changes_outside:
            for a, entries in zip(outside, self.example[len(arrays) :], strict=True):
                if a.flags.writeable:
                    a[...] = entries

    def finish(self, values: Sequence[Any], arrays: Sequence[Any]) -> Any:
        """The result of a call, of what the program computed; writes into the arguments."""
        count = len(values) - len(self.written)
        for k, value in zip(self.written, values[count:], strict=True):
            lost = isinstance(value, Tracer) and value.dtype.kind in "fc"
            if lost and type(arrays[k]) is np.ndarray:
                raise TracerError(
                    f"linad.jit: the function writes what depends on traced values into a plain "
                    f"array that it was given (array {k} of its arguments, of shape "
                    f"{value.shape}), and its derivative would be lost; pass an array that traces, "
                    f"linad.numpy.zeros(n) or np.array(values, like=x) of a traced x"
                )
            arrays[k][...] = value
        values = self._as_shown(values)
        if self.stored is not None:
            behind = len([r for r in self.results if r is COMPUTED])
            self.stored.store(iter(values[behind:]), arrays, COMPUTED)
        return self._result(values)

    def shown(self, values: Sequence[Any]) -> Any:
        """The result of a call, of what the program computed."""
        return self._result(self._as_shown(values))

    def _as_shown(self, values: Sequence[Any]) -> Sequence[Any]:
        if self.lies is not None:
            values = [
                laid_like(v, lie) if type(v) is np.ndarray else v
                for v, lie in zip(values, self.lies, strict=False)
            ]
        if any(self.flat):
            values = [array(v) if f else v for v, f in zip(values, self.flat, strict=False)]
        return values

    def _result(self, values: Sequence[Any]) -> Any:
        found = iter(values)
        leaves = [next(found) if r is COMPUTED else own(r) for r in self.results]
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


def own(value: Any) -> Any:
    """A constant result: an array, or a set, is the caller's to write into."""
    if type(value) is np.ndarray:
        return np.array(value)
    return value.copy() if isinstance(value, set) else value
