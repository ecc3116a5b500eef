"""A program with the arrays that it works in, which are kept from one call to the next."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.compiler_lock import compiling
from linad.core.shapes import Shape, size_of
from linad.kernels.analysis import KernelProgram
from linad.kernels.compiling import compiled, compiled_phases
from linad.kernels.expression_source import text
from linad.kernels.expressions import ArrayKind
from linad.kernels.phases import ProgramInPhases

SMALLEST = 64
"""Entries of a stack at the first call."""

MOST_SHAPES = 8
"""For how many shapes of a program's own arrays these are kept between calls."""

FEW = 1 << 13
"""Entries of which it does not matter that there are as many more."""


class RunnableProgram:
    """A program, compiled when it is first called.

    Parameters
    ----------
    program : KernelProgram
    error_model : str
        Numba's.
    phases : ProgramInPhases, optional
        If threads share its loops.
    """

    def __init__(
        self,
        program: KernelProgram,
        error_model: str = "numpy",
        phases: ProgramInPhases | None = None,
    ) -> None:
        self.program, self.error_model, self.phases = program, error_model, phases
        self.sizes = [SMALLEST] * len(program.stacks)
        self.free: dict[tuple[Shape, ...], list[tuple[np.ndarray, ...]]] = {}
        self._function: Any = None

    @property
    def function(self) -> Any:
        """The compiled function; it is made when it is first asked for."""
        if self._function is None:
            # Not with a lock of its own: who compiles a program around it asks for it, too.
            with compiling:
                if self._function is None:
                    if self.phases is not None:
                        self._function = compiled_phases(self.phases)
                    else:
                        self._function = compiled(self.program, self.error_model)
        return self._function

    def scratch(self, arguments: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """New arrays that the function works in.

        They are its own arrays, stacks of the sizes that calls have needed so far, and room for
        these sizes. A stack that is too small grows in the compiled function; its size is told
        afterwards.
        """
        p = self.program
        made = [
            np.empty(shape, self._dtype(name))
            for name, shape in zip(p.rooms, self.shapes_of_rooms(*arguments), strict=True)
        ]
        made += [np.empty(n, s.dtype) for n, s in zip(self.sizes, p.stacks, strict=True)]
        return (*made, np.zeros(len(self.sizes), np.int64)) if self.sizes else tuple(made)

    def _dtype(self, array: str) -> str:
        kind = self.program.kinds[array]
        assert isinstance(kind, ArrayKind)
        return kind.dtype

    @functools.cached_property
    def shapes_of_rooms(self) -> Callable[..., tuple[Shape, ...]]:
        """Find the shapes of the program's own arrays from its arguments."""
        p = self.program
        shapes = [f"({''.join([f'{text(d)}, ' for d in dims])}), " for dims in p.rooms.values()]
        found: Callable[..., tuple[Shape, ...]] = eval(
            f"lambda {', '.join(p.arguments)}: ({''.join(shapes)})", {"math": math, "np": np}
        )
        return found

    def pays(self, arguments: Sequence[Any]) -> bool:
        """Whether what the pieces of its loops add to is small beside the arguments."""
        assert self.phases is not None
        shapes = dict(zip(self.program.rooms, self.shapes_of_rooms(*arguments), strict=True))
        added = sum([size_of(shapes[name]) for name in self.phases.copies])
        return 8 * added <= sum([size_of(getattr(a, "shape", ())) for a in arguments]) + FEW

    def call(self, given: Sequence[Any]) -> None:
        """Call the compiled function with arrays that nobody else uses."""
        shapes = self.shapes_of_rooms(*given)
        if not shapes and not self.sizes:
            self.function(*given)
            return
        free = self.free.get(shapes)
        if free is None:
            if len(self.free) >= MOST_SHAPES:
                self.free.clear()
            free = self.free.setdefault(shapes, [])
        try:
            scratch = free.pop()
        except IndexError:
            scratch = self.scratch(given)
        self.function(*given, *scratch)
        sizes = scratch[-1].tolist() if self.sizes else []
        if sizes == [stack.size for stack in scratch[len(shapes) : -1]]:
            free.append(scratch)
        else:
            self.sizes = [max(pair) for pair in zip(sizes, self.sizes, strict=True)]
            self.free.clear()
