"""A compiled tape as a primitive, and its derivative as compiled sweeps.

To the rest of linad a jitted function that meets traced values is one primitive with many
arguments and results. Its Jacobian runs two more programs (`linad.sweeps.derived_programs`). Both
are tapes of primitives again, so they are primitives of this kind: derivatives of any order compile
in the same way.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np

from linad.arrays.zero_dim import array
from linad.core import tree
from linad.core.array_type import Array
from linad.core.device_arrays import fetched
from linad.core.former_names import unreadable
from linad.core.primitive import Primitive, innermost_trace
from linad.core.settings import Settings
from linad.core.shapes import Shape
from linad.core.tape import Tape, Var
from linad.errors import GuardError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.operators.provided import ANSWERS, OTHER
from linad.sweeps import fused_operators as fused
from linad.sweeps.absent_seeds import without_seeds
from linad.sweeps.derived_programs import MODES, Derived
from linad.sweeps.places import ALL_IN_ROWS, InColumns, canonical
from linad.sweeps.program import OtherArgumentsError, SweepProgram, simplified
from linad.sweeps.target import Target
from linad.transforms.linearize import linearize_leaves
from linad.transforms.spaces import Slot, seeds_of

ANSWERS.fused = fused.applied  # for operators with derivatives of compiled tapes in them
ANSWERS.on_device = fused.applied_on_device


class Compiled(Primitive):
    """A tape as a primitive that runs compiled.

    Parameters
    ----------
    tape : Tape
        Its inputs become arguments; it returns a tuple.
    example : list of ndarray, or callable
        Arguments for which the tape's guards hold, or a function that computes them.
    target : Target
        What it, and its derivatives, run on.
    chosen : Settings, optional
        What it, and its derivatives, are compiled with; what is in force by default.
    in_columns : InColumns, optional
        Arguments and results of its own program that lie in order F.
    """

    def __init__(
        self,
        tape: Tape,
        example: Sequence[Any] | Callable[[], list[Any]],
        target: Target,
        chosen: Settings | None = None,
        in_columns: InColumns = ALL_IN_ROWS,
    ) -> None:
        if isinstance(target, Settings):  # by a pickle of when there was one target
            raise unreadable(f"The derivative of jit({tape.name})")
        super().__init__(f"jit({tape.name})", self._run, outputs=len(tape.outputs), register=False)
        self.tape, self._example = tape, example
        self.written_out = tape  # the same without loops, where there is one
        self.program = target.compile(simplified(tape), chosen, in_columns)
        self.whole = self._linearized
        self.endless = any([e.primitive.endless for e in tape.equations])
        self._derived: dict[Any, Derived] = {}
        self._narrowed: dict[Any, Compiled] = {}
        self.plans: dict[Any, Any] = {}  # programs of operators with its derivative
        self.clinear: dict[tuple[int, ...], bool] = {}  # whether its derivative is, by arguments

    @property
    def example(self) -> Sequence[Any]:
        """Arguments that a derivative is recorded on: those that the tape was recorded on."""
        example = self._example
        if callable(example):
            example = self._example = example()
        return example

    def _run(self, *values: Any) -> tuple[Any, ...]:
        found = self.arrays(values)
        if self.program.on_device:  # what is told apart by operations is NumPy's
            found = [fetched(y) for y in found]
        return tuple([y if y.ndim else y[()] for y in found])

    def arrays(self, values: Sequence[Any]) -> list[np.ndarray]:
        """Run on plain values; the results as arrays, those without axes too."""
        try:
            return self.program.run(values)
        except OtherArgumentsError:
            given = enumerate(zip(values, self.tape.inputs, strict=True))
            columns = self.program.in_columns.inputs
            return self.program.run(
                [_as_recorded(v, var, "F" if k in columns else "C") for k, (v, var) in given]
            )

    def another(self, tape: Tape, example: Callable[..., Any]) -> "Compiled":
        """Another tape, compiled for the same target with the same settings."""
        return Compiled(tape, example, self.program.target, self.program.chosen)

    def takes(self, values: Sequence[Any]) -> bool:
        """Whether Python would decide as recorded, with these arguments."""
        try:
            self._run(*values)
        except GuardError:
            return False
        except ArithmeticError:
            return True  # it went this way until a kernel stopped
        return True

    def programs(self) -> Iterator["Compiled"]:
        """The programs that have run to differentiate this one."""
        for derived in list(self._derived.values()):
            for made in (derived.forward, *derived.sweeps.values()):
                for sweep in (made, *made._narrowed.values()):
                    if sweep.program.made:
                        yield sweep
                        yield from sweep.programs()

    def derived(self, active: tuple[int, ...], mode: str | None, seeds: Shape = ()) -> "Derived":
        """The programs of a derivative in the ``active`` arguments."""
        key = active, mode, seeds
        found = self._derived.get(key)
        if found is None:
            # Of two threads that make it both use one, so that it is compiled once.
            found = self._derived.setdefault(key, Derived(self, active, mode, seeds))
        return found

    def without(self, absent: tuple[int, ...], seeds: int) -> "Compiled":
        """This sweep, of which the last arguments are ``seeds``, where some of them are zero.

        What is made of these alone is zero as well, whatever slopes it has: an infinite one times
        an array of zeros would be NaN.
        """
        if not absent:
            return self
        key = absent, seeds
        found = self._narrowed.get(key)
        if found is None:
            first = len(self.tape.inputs) - seeds
            gone = {first + k for k in absent}
            tape = without_seeds(self.tape, first, gone)

            def example() -> list[Any]:
                return [x for i, x in enumerate(self.example) if i not in gone]

            found = self._narrowed.setdefault(key, self.another(tape, example))
        return found

    def _linearized(self, values: Sequence[Any], active: Sequence[int]) -> tuple[Any, Any]:
        """The results, and the Jacobian from the active arguments to all results."""
        J = CompiledJacobian(self, list(values), tuple(active))
        return J.results, J

    def __reduce__(self) -> tuple[Any, ...]:
        program = self.program
        made = self.tape, self.example, program.target, program.chosen, program.in_columns
        return Compiled, made


def _as_recorded(value: Array, var: Var, order: Literal["C", "F"]) -> np.ndarray:
    """A value as the array that a program takes: in its order, aligned, of the one dtype object."""
    dtype = canonical(var.dtype)
    array = np.asarray(value, dtype, order)
    if not array.flags.aligned:
        array = array.copy(order)
    array = array.reshape(var.shape)
    return array if array.dtype is dtype else array.view(dtype)


class CompiledJacobian(JacobianOperator):
    """The derivative of a compiled tape: a map between tuples of arrays.

    Parameters
    ----------
    primitive : Compiled
    values : list
        The arguments, plain or traced.
    active : tuple of int

    Notes
    -----
    `pushforward` takes a tuple with one tangent per active argument and returns a tuple with one
    an output; `pullback` the reverse. None stands for zero. Each is one compiled sweep, also
    for many seeds.

    Rules decide on values, too: they refuse equal eigenvalues, say. Where a program was recorded
    for others, or a kernel stops, Python follows the tape at these values (`_interpreted`).
    """

    unknown = EVERYTHING

    owns_result = True
    compiled = True

    def __init__(self, primitive: Compiled, values: list[Any], active: tuple[int, ...]) -> None:
        self.primitive, self.values, self.active = primitive, values, active
        self.in_slots = [Slot(values[i]) for i in active]
        self.out_slots = [Slot(v) for v in primitive.tape.outputs]
        self._interpreted: Any = None
        self._known: dict[Any, tuple[Any, list[Any]]] = {}
        dtypes = [s.dtype for s in (*self.in_slots, *self.out_slots)]
        super().__init__((), (), np.result_type(*dtypes))
        try:
            derived = primitive.derived(active, None)
            found, residuals = derived.run(values)
        except (GuardError, ArithmeticError):
            self.results = tuple(self._interpret())
            self.plain = self.compiled = False
            return
        self.results = tuple([y if y.ndim else y[()] for y in found])
        self.plain = innermost_trace(tuple(residuals)) is None
        self._known = {(mode, ()): (derived.sweeps[mode], residuals) for mode in MODES}

    @property
    def clinear(self) -> bool:  # type: ignore[override]
        """Whether the rules on the way are linear over the complex numbers; the tape says so."""
        if not any(slot.dtype.kind == "c" for slot in self.in_slots):
            return True
        known = self.primitive.clinear
        if self.active not in known:
            known[self.active] = self._by_rules()[1].clinear
        return known[self.active]

    def _interpret(self) -> list[Any]:
        """Linearize the tape by its rules; return the results."""
        results, self._interpreted = self._by_rules()
        return results

    def opened(self) -> Any:
        """The same derivative, operation by operation."""
        return self._by_rules(self.primitive.written_out)[1]

    def made_of(self) -> Any:
        return self.opened()

    def loses_zeros(self, asked: list[Any], behind: bool) -> bool:
        # It looks for NaN itself, if it is not known what is read of it.
        return not self.compiled or any([mask is not None for mask in asked])

    @property
    def point(self) -> list[Any]:
        """The arguments, where NumPy works with them."""
        return self.values

    def _by_rules(self, tape: Tape | None = None) -> tuple[list[Any], Any]:
        tape = tape or self.primitive.tape
        values = self.point
        chosen = [values[i] for i in self.active]

        def run(leaves: list[Any]) -> list[Any]:
            given = list(values)
            for i, leaf in zip(self.active, leaves, strict=True):
                given[i] = leaf
            return tape.run(given)

        return linearize_leaves(run, chosen, tree.flatten(chosen)[1])

    def program(self, mode: str) -> SweepProgram:
        """The program that pushes or pulls one seed."""
        sweep: Compiled = self._known[mode, ()][0]
        return sweep.program

    def has_run(self, mode: str, seeds: Shape) -> bool:
        """Whether there is a compiled program that pushes or pulls this many seeds."""
        found = self._known.get((mode, seeds))
        return found is not None and found[0].program.made

    @property
    def residuals(self) -> list[Any]:
        """What the sweeps read besides one seed."""
        return self._known["pull", ()][1]

    def with_residuals(self, residuals: list[Any]) -> "CompiledJacobian":
        """The derivative at another point, of which these are the residuals; for one seed."""
        other = copy.copy(self)
        other.plain = False
        other._known = {key: (sweep, residuals) for key, (sweep, _) in list(self._known.items())}
        return other

    def _applied(self, mode: str, given: tuple[Any, ...], slots: list[Slot]) -> tuple[Any, ...]:
        if self._interpreted is None:
            try:
                return self._swept(mode, given, slots)
            except (GuardError, ArithmeticError):
                self._interpret()
        seeds = seeds_of(given, slots)
        J = self._interpreted
        return tuple((J.pull_leaves if mode == "pull" else J.push_leaves)(given, seeds))

    def _swept(self, mode: str, given: tuple[Any, ...], slots: list[Slot]) -> tuple[Any, ...]:
        if self.plain:
            sweep, values = self._sweep_for(mode, (), given)
            try:
                found = sweep.program.run(values)
            except OtherArgumentsError:  # many seeds, or traced, or not in C order
                pass
            else:
                return tuple([y if y.ndim else y[()] for y in found])
        sweep, values = self._sweep_for(mode, seeds_of(given, slots), given)
        return tuple(sweep(*values))

    def _sweep_for(
        self, mode: str, seeds: Shape, given: tuple[Any, ...]
    ) -> tuple[Compiled, list[Any]]:
        """The program for these tangents or cotangents, of which None are zero, and all that it
        takes."""
        sweep, residuals = self.known(mode, seeds)
        absent = tuple([k for k, g in enumerate(given) if g is None])
        present = [g for g in given if g is not None]
        return sweep.without(absent, len(given)), [*residuals, *present]

    def known(self, mode: str, seeds: Shape) -> tuple[Compiled, list[Any]]:
        """The program that pushes or pulls this many seeds, and its residuals."""
        known = self._known.get((mode, seeds))
        if known is None:
            derived = self.primitive.derived(self.active, mode, seeds)
            known = derived.sweeps[mode], derived.run(self.values)[1]
            self._known[mode, seeds] = known
        return known

    def pushforward(self, tangent: Any) -> Any:
        return self._applied("push", tangent, self.in_slots)

    def pullback(self, cotangent: Any) -> Any:
        return self._applied("pull", cotangent, self.out_slots)


def swept(J: Any, mode: str, given: Any) -> Any:
    """Push or pull a container through a derivative that is one compiled call.

    Parameters
    ----------
    J : TapeOperator
        With ``compiled`` set.
    mode : str
        "push" or "pull".
    given : container
        A tangent or cotangent, not checked yet.

    Returns
    -------
    container
        In new memory; ``OTHER`` where ``given`` is not like that of an earlier call.

    Notes
    -----
    From the second call on one function with the residuals in it
    (`SweepProgram.short_call`): the walk over the steps costs ten times as much.
    """
    known = J.__dict__.get("_swept")
    if known is None:
        known = J.__dict__["_swept"] = {}
    seeds = _leading_axes(J, mode, given)
    call = known.get((mode, seeds)) if seeds else None
    if call is not None:
        return call((given,))
    if (mode, seeds) not in known:
        op = _whole(J)
        if type(op) is not CompiledJacobian or not op.plain:
            known[mode, seeds] = None
        elif op.has_run(mode, seeds):
            _bind_sweep(J, mode, seeds, op, given, known)
    return OTHER


def _whole(J: Any) -> Any:
    """The operator that alone makes all results of all arguments; None if there is no such one, as
    where nothing depends on the arguments."""
    if len(J.steps) != 2:
        return None
    (_, entries), (outputs, ((_, op),)) = J.steps
    straight = [n for n, _ in entries] == J.inputs and list(outputs) == J.outputs
    return op if straight else None


def _leading_axes(J: Any, mode: str, given: Any) -> Shape:
    """Those of the seeds in an array; of containers one seed at a time has the short way."""
    structure, slots = (J.out_tree, J.out_slots) if mode == "pull" else (J.in_tree, J.in_slots)
    if structure is tree.LEAF and type(given) is np.ndarray:
        more = given.ndim - len(slots[0].shape)
        if more > 0:
            return given.shape[:more]
    return ()


def _bind_sweep(
    J: Any, mode: str, seeds: Shape, op: CompiledJacobian, given: Any, known: dict[Any, Any]
) -> None:
    """Write the function for containers and leaves like those given, if all is in order."""
    taken, made = (J.out_tree, J.in_tree) if mode == "pull" else (J.in_tree, J.out_tree)
    # Results are told apart by the slots that stand for them, and operators share slots.
    shared = J.in_slots if mode == "pull" else J.out_slots
    slots = [Slot(slot.zeros(seeds)) if seeds else copy.copy(slot) for slot in shared]
    leaves, structure = tree.flatten(given)
    if structure == taken and all(type(leaf) in (np.ndarray, float) for leaf in leaves):
        sweep, residuals = op.known(mode, seeds)
        known[mode, seeds] = sweep.program.short_call(
            (given,),
            leaves,
            tree.unflatten(made, list(slots)),
            slots,
            [slot.kind is array for slot in slots],
            held=residuals,
        )


ANSWERS.swept = swept
