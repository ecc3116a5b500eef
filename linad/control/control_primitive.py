"""What loops and branches have in common as primitives."""

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np

from linad.arrays.traces import running_traces
from linad.control.bodies import Body
from linad.control.first_runs import FirstRun, UsedUp, first_run, worth_compiling
from linad.core.compiler_lock import compiling
from linad.core.during import during
from linad.core.primitive import Primitive
from linad.core.settings import compiler_is_off
from linad.core.shapes import Shape
from linad.core.tape import Var
from linad.core.zero_seeds import results_are_zeros
from linad.transforms.demands import may_raise

_uncompiled: ContextVar[bool] = ContextVar("linad_uncompiled", default=False)
_unrepeated: ContextVar[bool] = ContextVar("linad_unrepeated", default=False)


@contextmanager
def uncompiled(*, unrepeated: bool = False) -> Iterator[None]:
    """NumPy runs the bodies of what is called here: on examples, say, whose results nobody
    wants.

    Parameters
    ----------
    unrepeated : bool
        Whether loops that may end at once do so.
    """
    with during(_uncompiled, True), during(_unrepeated, unrepeated):
        yield


def end_at_once() -> bool:
    """Whether loops that may end at once are to do so: see `uncompiled`."""
    return _unrepeated.get()


def _any_varies(*operands: Any) -> bool:
    return any([isinstance(a, Var) for a in operands])


class ControlPrimitive(Primitive):
    """A primitive made of bodies: compiled where it can be, and differentiated as a whole.

    Attributes
    ----------
    form : str
        "repeat", "while" or "branch".
    body : Body
        The one whose operands are those of the primitive.
    parts : tuple of Body
        All bodies that it is made of.
    limited : bool
        Whether it raises where it would have to go on for too long.
    """

    form: ClassVar[str]

    def __init__(
        self,
        name: str,
        body: Body,
        outputs: int,
        parts: tuple[Body, ...],
        limited: bool = False,
    ) -> None:
        super().__init__(name, self._run, outputs=outputs, register=False)
        self.body, self.parts = body, parts
        self.whole = self._linearized
        equations = [e for part in parts for e in part.tape.equations]
        self.guards = any([e.primitive.guards for e in equations])
        self.endless = self.endless or any([e.primitive.endless for e in equations])
        if limited or any(map(may_raise, equations)):
            self.partial, self.stumbles = "what its bodies take", _any_varies
        self._runner: Any = None
        self._left = worth_compiling(parts)  # operations that NumPy may do before it is compiled

    @functools.cached_property
    def searches(self) -> bool:  # type: ignore[override]
        """Whether a body searches by comparisons."""
        return any([part.searches for part in self.parts])

    def remade(self, bodies: Sequence[Body]) -> "ControlPrimitive":
        """The same of other bodies, in the order of `parts`."""
        raise NotImplementedError

    @property
    def options(self) -> tuple[Any, ...]:
        """All that it is made of beside its bodies; equal for those that differ in these alone."""
        raise NotImplementedError

    @property
    def results(self) -> list[tuple[Shape, Any]]:
        """Shape and dtype of each result."""
        raise NotImplementedError

    def _run(self, *values: Any) -> tuple[Any, ...]:
        if results_are_zeros():
            return tuple([np.zeros(shape, dtype)[()] for shape, dtype in self.results])
        if compiler_is_off() or _uncompiled.get():
            return self.by_numpy(values)
        if self._runner is None:
            found = self._first(values)
            if found is not None:
                return found
            with compiling:
                from linad.control.runner import Runner

                if self._runner is None:
                    self._runner = Runner(self)
        return self._runner(values)  # type: ignore[no-any-return]

    def _first(self, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """What NumPy makes of values in a recording; None where the loop is to be compiled."""
        around = first_run.get()
        if around is not None:
            return self.by_numpy(values, around)
        if self._left < self.operations(values):
            return None
        if not any([trace.records for trace in running_traces()]):
            return None
        given = FirstRun(self._left)
        try:
            with during(first_run, given), np.errstate(all="ignore"):
                return self.by_numpy(values, given)
        except UsedUp:
            return None
        finally:
            self._left = given.left

    def operations(self, values: Sequence[Any]) -> int:
        """How many a run by NumPy takes at least, as far as that is known before."""
        return 0

    def lower_into(self, lowering: Any, eqn: Any) -> bool:
        """Add it to a program that is being compiled, if there are instructions for it."""
        raise NotImplementedError

    def by_numpy(self, values: Sequence[Any], runs: Any = None) -> tuple[Any, ...]:
        """Run the bodies by NumPy, or by ``runs(body, values)``."""
        raise NotImplementedError

    def _linearized(self, values: Sequence[Any], active: Sequence[int]) -> tuple[Any, Any]:
        """The results, and the Jacobian from the active operands to all of them."""
        raise NotImplementedError
