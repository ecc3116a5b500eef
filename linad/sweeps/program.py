"""A tape, compiled: made once for its shapes, run any number of times.

A run borrows a workspace from the program's pool and gives it back at the end, whatever
happens in between. So a program that is running already (in another thread, in a recursion,
in a callback) gets another workspace. What a run finds in one that another left decides how long
it takes, where data are sorted, and never what it returns.
"""

import functools
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.collection_pause import collection_paused
from linad.core.compiler_lock import compiling
from linad.core.failures import SUSPECT, internal_error, is_own_fault, rewritten, warn_uncompiled
from linad.core.interrupts import is_interrupt
from linad.core.primitive import Traced
from linad.core.settings import Settings, settings
from linad.core.tape import Tape
from linad.errors import FallbackError, GuardError, LinadError
from linad.sweeps.instructions import GUARD_FAILED, OTHER_ARGUMENTS, KernelCall
from linad.sweeps.lower import Lowering
from linad.sweeps.places import ALL_IN_ROWS, InColumns, Result
from linad.sweeps.target import Target
from linad.transforms.simplify import simplify

log = logging.getLogger("linad")


class KernelStoppedError(ArithmeticError):
    """A kernel stopped: a matrix was singular, or the like. NumPy has the words for it."""


class OtherArgumentsError(ValueError):
    """Arguments that are not arrays, or not of the shape, dtype and layout of the program's."""


class UncompiledError(FallbackError):
    """A program that linad failed to compile; NumPy runs its tape."""


def simplified(tape: Tape) -> Tape:
    """A tape in the form in which it is compiled."""
    return rewritten(tape, functools.partial(simplify, for_programs=True))


class SweepProgram(ABC):
    """A tape as a program of a target: what all targets' programs have in common.

    Parameters
    ----------
    tape : Tape
    target : Target
    chosen : Settings, optional
        What it is compiled with; what is in force by default.
    owned : sequence of int
        Inputs that it overwrites, as `linad.sweeps.lower.Lowering` takes them.
    in_columns : InColumns, optional
        Inputs and results that lie in order F.

    Attributes
    ----------
    lowering : Lowering
        Instructions and places; made at the first run.
    seconds : float
        What it took to make it, kernels included.
    compiled, loaded : int
        Kernels that had to be compiled for it, and that were found on disk.
    made : bool
        Whether it has been compiled.
    straight : bool
        Whether it is kernels alone: NumPy has no part in it.
    results : list of Result
    """

    compiled = loaded = 0
    on_device = False
    """Whether its results are in the memory of a device."""

    def __init__(
        self,
        tape: Tape,
        target: Target,
        chosen: Settings | None = None,
        owned: Sequence[int] = (),
        in_columns: InColumns = ALL_IN_ROWS,
    ) -> None:
        self.tape, self.target, self.owned = tape, target, owned
        self.in_columns = in_columns
        self.chosen = chosen or settings()
        self.pool: list[Any] = []
        self.made = False
        self._failure = ""

    def _make(self) -> None:
        with compiling:
            if self._failure:
                raise UncompiledError(self._failure)
            if self.made:
                return
            try:
                self._compile()
            except (LinadError, MemoryError):
                raise
            except Exception as failure:
                if is_interrupt(failure):
                    raise
                self._failure = str(internal_error(failure, self.tape.name))
                self.straight = False
                warn_uncompiled(self.tape.name, failure)
                raise UncompiledError(self._failure) from failure

    def _compile(self) -> None:
        started = time.perf_counter()
        with collection_paused():
            self.lowering = self._lowered()
        self.results = [
            Result(p.shape, p.dtype, "F" if j in self.in_columns.results else "C")
            for j, p in enumerate(self.lowering.outputs)
        ]
        self.straight = all([isinstance(i, KernelCall) for i in self.lowering.instructions])
        self._build(self.lowering)
        self.seconds = time.perf_counter() - started
        self.made = True
        log.info(
            "compiled %d kernels in %.0f ms, loaded %d from disk: %s",
            self.compiled,
            1e3 * self.seconds,
            self.loaded,
            self.tape.name,
        )

    def _lowered(self) -> Lowering:
        return Lowering(self.tape, self.target, self.chosen, self.owned, in_columns=self.in_columns)

    # What the subclass of a target does.

    @abstractmethod
    def _build(self, lowering: Lowering) -> None:
        """Compile the kernels of the instructions, and count them."""

    @abstractmethod
    def new_workspace(self) -> Any:
        """Memory for one run."""

    @abstractmethod
    def run_in(self, workspace: Any, arrays: Sequence[Any], outputs: list[np.ndarray]) -> int:
        """Run in a workspace; return the status."""

    def short_call(self, *what: Any, **more: Any) -> Any:
        """The shortest way through a call, as `linad.sweeps.cpu.short_calls` writes it, or None."""
        return None

    # Runs.

    def borrow(self) -> Any:
        """A workspace that nobody else uses.

        Raises
        ------
        UncompiledError
            If linad failed to compile the program.
        """
        if not self.made:
            self._make()
        try:
            return self.pool.pop()
        except IndexError:
            return self.new_workspace()

    def give_back(self, workspace: Any) -> None:
        self.pool.append(workspace)

    def run(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """Run on arrays of the recorded shapes and dtypes, in C order, or F where it is said so.

        Raises
        ------
        OtherArgumentsError
            If they are not; before anything is done.
        GuardError
            If a Python decision would be taken otherwise.
        KernelStoppedError
            If a kernel could not do its work.
        InternalError
            If linad fails.
        """
        if not self.made and self._are_others(arrays):
            self._raise(OTHER_ARGUMENTS)  # it may never be run: nothing is compiled
        try:
            workspace = self.borrow()
        except UncompiledError:
            return self._run_by_numpy(arrays)
        return self._run_with(workspace, lambda: self._run_on_new(workspace, arrays))

    def _are_others(self, arrays: Sequence[Any]) -> bool:
        """Whether arrays are clearly not what it takes: traced, or of other shapes."""
        pairs = zip(arrays, self.tape.inputs, strict=True)
        return any(
            [isinstance(a, Traced) or getattr(a, "shape", v.shape) != v.shape for a, v in pairs]
        )

    def _run_on_new(self, workspace: Any, arrays: Sequence[Any]) -> tuple[int, list[np.ndarray]]:
        outputs = [np.empty(*result) for result in self.results]
        return self.run_in(workspace, arrays, outputs), outputs

    def _run_with(self, workspace: Any, run: Callable[[], tuple[int, list[Any]]]) -> list[Any]:
        """What ``run()`` makes with a workspace that is borrowed, and is given back."""
        try:
            status, results = run()
        except SUSPECT as error:
            if is_own_fault(error):
                raise internal_error(error, self.tape.name) from error
            raise
        finally:
            self.give_back(workspace)
        if status:
            self._raise(status)
        return results

    def _run_by_numpy(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """What `run` does, for a program that could not be compiled."""
        for a, var in zip(arrays, self.tape.inputs, strict=True):
            if type(a) is not np.ndarray or (a.shape, a.dtype) != (var.shape, var.dtype):
                raise OtherArgumentsError(f"{self.tape.name}: other arrays than recorded")
        found = self.tape.run([a if a.ndim else a[()] for a in arrays])
        return [np.array(y) for y in found]

    def _raise(self, status: int) -> None:
        if status == OTHER_ARGUMENTS:
            raise OtherArgumentsError(f"{self.tape.name}: other arrays than recorded")
        if status == GUARD_FAILED:
            raise GuardError(f"{self.tape.name}: the program took another path when recorded")
        raise KernelStoppedError(f"{self.tape.name}: a kernel stopped with status {status}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tape, self.target, self.chosen, self.owned, self.in_columns)
