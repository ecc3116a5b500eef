"""A call to differentiate: which leaves of its arguments, and what to hand back."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from linad.api.hidden_searches import check_searches, looks_for_searches, plain
from linad.arrays.buffers import refresh, share_storage, storage_of
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.control import growth as growth  # tells loops of their shorter derivatives
from linad.control.rolled_parts import rolled_part
from linad.control.watching import watched
from linad.core import tree
from linad.core.adopted import repeated
from linad.core.array_type import Array
from linad.core.foreign_arrays import taken_in
from linad.core.frames import held_by
from linad.core.marks import running
from linad.core.memory_layouts import copied
from linad.core.options import FLAG, is_integer
from linad.core.shapes import check_function, name_of
from linad.core.showing import shown
from linad.core.view_regions import repeats
from linad.errors import (
    ArgumentError,
    GuardError,
    OptionError,
    OutputError,
    TracerError,
    TreeError,
)
from linad.transforms.connections import check_connected
from linad.transforms.linearize import linearize_leaves, start
from linad.transforms.record import RecordTrace
from linad.transforms.tape_operator import TapeOperator
from linad.transforms.traced_values import NODE, check_input

Argnums = int | Sequence[int] | None


class DifferentiatedCall:
    """A call ``f(*args, **kwargs)`` split into the leaves to differentiate and the rest.

    Attributes
    ----------
    values : list of array
        Leaves of the chosen arguments.
    in_tree : structure
        Of the one chosen argument, or of a tuple of them.
    every : bool
        Whether these are all, in their order.
    aux : object
        What ``f`` returned beside its result, after a run with ``has_aux``.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Argnums,
        *,
        has_aux: bool = False,
        keep: bool = False,
    ) -> None:
        arrays = _ARRAYS.issuperset(map(type, args))
        if not arrays:
            args = tuple([taken_in(a) for a in args])
        if kwargs:
            kwargs = {name: taken_in(a) for name, a in kwargs.items()}
        self.f, self.args, self.kwargs, self.has_aux = f, args, kwargs, has_aux
        self.around = running.get()
        if self.around is not None:
            self.around.derives = True
        self.keep = keep
        self.aux: Any = None
        count = len(args)
        if type(argnums) is tuple:
            self.every = argnums == all_positions(count)
        else:
            self.every = argnums is None and count != 1
        if self.every:
            self.single, self.argnums, chosen = False, all_positions(count), args
        else:
            self.single = argnums is None or isinstance(argnums, (int, np.integer))
            self.argnums = (
                (argnums,)
                if type(argnums) is int and 0 <= argnums < count
                else positions(argnums, count, f)
            )
            first = args[self.argnums[0]]
            chosen = first if self.single else tuple([args[i] for i in self.argnums])
        if arrays and self.every:
            leaves, self.in_tree = list(args), tree.row(count)  # as `tree.flatten` would find
        else:
            leaves, self.in_tree = tree.flatten(chosen)
        self.given = leaves
        if not leaves:
            raise TreeError(
                f"{name_of(f)}: the arguments to differentiate hold no array, got {shown(chosen)}"
            )
        # The operator outlives this call, and with it the caller's right to leave his arrays
        # alone: residuals must not change when he writes into them.
        self.values: list[Any] = []
        for k, v in enumerate(leaves):
            if type(v) is ndarray and v.dtype.kind in "fc" and v.flags.forc:
                self.values.append(v.copy("K") if keep else v)
            else:
                self.values.append(self._checked(k, v))

    def _checked(self, k: int, v: Array) -> Any:
        """Leaf ``k`` as an array that has a derivative."""
        if type(v) is not ndarray or v.dtype.kind not in "fc":
            v = check_input(v, functools.partial(self._leaf_name, k))
        # What f writes into is a copy with small gaps in memory.
        return copied(v) if type(v) is ndarray and (self.keep or not v.flags.forc) else v

    def _leaf_name(self, k: int) -> str:
        path = tree.leaf_paths(self.in_tree)[k]
        if self.single:
            return f"{name_of(self.f)}: argument {self.argnums[0]}{path}"
        place, _, inside = path.removeprefix("[").partition("]")
        return f"{name_of(self.f)}: argument {self.argnums[int(place)]}{inside}"

    def check_alone(self, k: int) -> None:
        """Raise if leaf ``k``, which ``f`` is about to write into, shares memory with another
        argument: NumPy would change both, and linad differentiates them apart. Or if NumPy may
        not write into it."""
        mine = self.given[k]
        plain = mine.concrete if isinstance(mine, Tracer) else mine
        if isinstance(plain, np.ndarray) and not plain.flags.writeable:
            raise ValueError(f"assignment destination is read-only: {self._leaf_name(k)}")
        if isinstance(plain, np.ndarray) and repeats(plain):
            raise TracerError(
                f"{self._leaf_name(k)} is written into, and has entries that share memory with "
                f"each other; pass a copy (x.copy()) of it"
            )
        for other, j, argument in self._neighbours.get(storage_of(mine), ()):
            if j != k and share_storage(mine, other):
                name = f"the argument {argument!r} that is not differentiated"
                raise TracerError(
                    f"{self._leaf_name(k)} is written into, and shares memory with "
                    f"{name if j is None else self._leaf_name(j)}; pass a copy (x.copy()) of one "
                    f"of them"
                )

    @functools.cached_property
    def _neighbours(self) -> dict[int, list[tuple[Any, int | None, Any]]]:
        """The arrays given, by the memory they live in, each with its number as a leaf or the
        argument it came in."""
        given: list[Any] = [(v, k, None) for k, v in enumerate(self.given)]
        rest = [(i, a) for i, a in enumerate(self.args) if i not in self.argnums]
        for argument, value in [*rest, *self.kwargs.items()]:
            given += [(v, None, argument) for v in tree.flatten(value)[0]]
        groups: dict[int, list[Any]] = {}
        for entry in given:
            if isinstance(entry[0], (np.ndarray, Tracer)):
                groups.setdefault(storage_of(entry[0]), []).append(entry)
        return groups

    def __call__(self, leaves: list[Any]) -> Any:
        trace, inputs = leaves[0]._trace, list(map(NODE, leaves))
        trace.arguments = leaves, self
        given = tree.unflatten(self.in_tree, leaves)
        args: Any = given
        if not self.every:
            args = list(self.args)
            values = (given,) if self.single else given
            for i, value in zip(self.argnums, values, strict=True):
                args[i] = value
        around = self.around
        mark = None
        try:
            if around is None:  # and so no program is recorded
                result = self.f(*args, **self.kwargs)
            else:
                mark = len(around.equations) if isinstance(around, RecordTrace) else None
                result = watched(trace, self.f, *args, **self.kwargs)
        except (TracerError, TypeError) as error:
            self._tell_lists(error)
            raise
        if self.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise OutputError(
                    f"{name_of(self.f)}: with has_aux=True it must return (result, aux)"
                )
            result, self.aux = result
        connected = type(result) is Tracer and result._trace is trace and result._node is not None
        if trace.cut or not connected:
            check_connected(self.f, result, trace, inputs)
        if mark is not None:
            # Of a loop that is found while it is recorded the trace has seen the first steps.
            trace.searches |= any([e.primitive.searches for e in around.equations[mark:]])
        if (trace.ties is not None or trace.searches) and looks_for_searches(self.f, trace):
            anew = functools.partial(self._run_anew, args, leaves)
            check_searches(self.f, anew, self.values)
        return result

    def _run_anew(self, args: Any, leaves: list[Any], others: list[Any]) -> Any:
        """The result of the function with others in the place of traced leaves of its arguments,
        and no trace of the rest."""
        places = {id(leaf): k for k, leaf in enumerate(leaves)}
        parts, structure = tree.flatten((tuple(args), self.kwargs))
        found = [others[places[id(x)]] if id(x) in places else plain(x) for x in parts]
        args, kwargs = tree.unflatten(structure, found)
        result = self.f(*args, **kwargs)
        return result[0] if self.has_aux else result

    def _tell_lists(self, error: TracerError | TypeError) -> None:
        """Say of a list of numbers that it was taken for a container, not for an array: first, if
        what f does with the numbers cannot be traced."""
        for i in self.argnums:
            given = self.args[i]
            if type(given) in (list, tuple) and all(type(part) is float for part in given):
                said = (
                    f"argument {i} is a {type(given).__name__} of {len(given)} numbers, each of "
                    f"which is differentiated by itself; give np.array(...) of it if "
                    f"{name_of(self.f)} wants an array"
                )
                if isinstance(error, TracerError):
                    error.args = (
                        ": ".join([name_of(self.f), said, *error.args[:1]]),
                        *error.args[1:],
                    )
                else:
                    error.add_note(f"linad: {said}")

    @repeated
    def linearize(self) -> tuple[Any, TapeOperator]:
        """Return the untraced result and the operator; strip tracers from aux."""
        recorder = None if self.around is None else _rolling(self.around)
        mark, loops = 0, 0
        if recorder is not None:
            # What f knows of the same values by another way has no derivative here; on a tape
            # they are told apart by their variables.
            self.values = [recorder.by_another_name(v) for v in self.values]
            mark, loops = len(recorder.equations), recorder.loops
        trace, tracers, inputs = start(self.values)
        with trace:
            results, J = trace.finish(self(tracers), self.values, inputs, self.in_tree)
        if recorder is not None and (
            len(recorder.equations) - mark >= LONG or recorder.loops > loops
        ):
            results, J = self._rolled(recorder, mark, results, J)
        if self.keep:
            # A result may be a residual, and it is the caller's to write into.
            for k, y in enumerate(results):
                if type(y) is ndarray:
                    results[k] = y.copy("K")
        if self.has_aux:
            self.aux = untraced(self.aux)
        return tree.unflatten(J.out_tree, results), J

    def _rolled(self, around: RecordTrace, mark: int, results: Any, J: TapeOperator) -> Any:
        """The same of a loop, where what was recorded repeats itself: so its way back is not
        recorded step by step."""
        if self.has_aux:
            return results, J
        others = [v for v in tree.flatten((self.args, self.kwargs))[0] if isinstance(v, Tracer)]
        others += around.stand_ins
        for held in held_by(self.f):
            others += [v for v in tree.flatten(held)[0] if isinstance(v, Tracer)]
        recorded = around.equations[mark:]
        run = rolled_part(around, mark, self.values, others, results)
        if run is None:
            return results, J
        out_tree = J.out_tree
        try:
            return linearize_leaves(
                lambda leaves: tree.unflatten(out_tree, run(leaves)), self.values, self.in_tree
            )
        except GuardError:
            # The loop rounds otherwise than its steps, and a decision hangs on that.
            around.equations[mark:] = recorded
            around.redone.difference_update(recorded)
            return results, J


_ARRAYS = {np.ndarray}


def _rolling(around: Trace) -> RecordTrace | None:
    """The recorder in which a function runs, if it may find loops in what it records of it; where
    a template records in its place, it will find them itself."""
    if isinstance(around, RecordTrace) and around.rolls and around.template is None:
        return around
    return None


LONG = 200
"""Equations of a function from which it is worth looking for loops before it is differentiated."""


def check_transform(name: str, f: Any, argnums: Argnums, has_aux: Any = False) -> None:
    """Raise if what ``linad.<name>`` was given is not a function, or has wrong options."""
    check_function(name, f)
    if type(argnums) is not int:
        _check_argnums(name, f, argnums)
    if type(has_aux) is not bool:
        FLAG.check(name, "has_aux", has_aux)


def check_point(name: str, f: Any, args: Sequence[Any], call: str = "x") -> None:
    """Raise if a transform that takes the point beside the function was given none."""
    if not args:
        raise ArgumentError(
            f"{name}: expected a point beside the function: linad.{name}({name_of(f)}, {call})"
        )


AT_A_POINT = {"linearize", "hessian_operator", "sparse_jacobian", "sparse_hessian"}
"""Transforms that take the point beside the function."""


def _check_argnums(name: str, f: Any, argnums: Any) -> None:
    if argnums is None and name == "linearize":
        return
    given = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    if given and all(map(is_integer, given)):
        return
    if isinstance(argnums, str):
        remedy = "; an argument is named by its position, argnums=0 is the first"
    elif name in AT_A_POINT:
        remedy = ""
    else:
        remedy = (
            f"; the point goes to the function that {name} returns: linad.{name}({name_of(f)})(x)"
        )
    raise OptionError(
        f"{name}: argnums must be the position of an argument or several, got {shown(argnums)}"
        f"{remedy}"
    )


@functools.cache
def all_positions(count: int) -> tuple[int, ...]:
    """The positions of that many arguments."""
    return tuple(range(count))


def positions(argnums: Argnums, n: int, f: Any) -> tuple[int, ...]:
    if argnums is None:
        return tuple(range(n))
    given = (argnums,) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
    for i in given:
        if not isinstance(i, (int, np.integer)) or not -n <= i < n:
            raise ArgumentError(
                f"{name_of(f)}: argnums={argnums!r} names no positional argument; {n} were given "
                f"(arguments passed by keyword are not differentiated)"
            )
    positions = tuple([int(i) % n for i in given])
    if len(set(positions)) < len(positions):
        raise ArgumentError(f"{name_of(f)}: argnums={argnums!r} names an argument twice")
    return positions


def untraced(value: Any) -> Any:
    """``value`` with finished tracers replaced by what they carry."""
    if value is None:
        return None
    leaves, structure = tree.flatten(value)
    return tree.unflatten(structure, [_refreshed(leaf) for leaf in leaves])


def _refreshed(leaf: Any) -> Any:
    while isinstance(leaf, Tracer) and leaf._trace.finished:
        refresh(leaf)
        leaf = leaf._value
    return leaf
