"""Kernels of `numba.vectorize` and `numba.guvectorize`: a function of entries, or of rows.

Such a function is called in a loop over what its arguments broadcast to; this loop is a kernel.
"""

import functools
import linecache
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.errors import KernelError
from linad.kernels.kernel import Kernel

Axes = tuple[str, ...]


class MappedKernel:
    """A function that Numba maps over axes, and that can be differentiated.

    Parameters
    ----------
    function : DUFunc or GUFunc
        What `numba.vectorize` or `numba.guvectorize` made.
    """

    def __init__(self, function: Any) -> None:
        self.function, self.of_rows = function, function.signature is not None
        self.inner = function.__wrapped__
        signature = function.signature or f"{','.join(['()'] * function.nin)}->()"
        self.ins, self.outs = [_core_axes(side) for side in signature.split("->")]
        self.loops: dict[tuple[bool, ...], Kernel] = {}
        functools.update_wrapper(self, self.inner)
        self.name = self.inner.__name__
        self.loop((True,) * len(self.ins))  # refuses what is outside of the language

    def __repr__(self) -> str:
        return f"<linad.kernel {self.name}>"

    def __call__(self, *arguments: Any, out: Any = None) -> Any:
        outs = () if out is None else out if isinstance(out, tuple) else (out,)
        if not any([isinstance(a, Traced) for a in (*arguments, *outs)]):
            return self.function(*arguments, *outs)
        given, n = [*arguments, *outs], len(self.ins)
        if len(given) not in (n, n + len(self.outs)):
            raise KernelError(
                f"kernel {self.name}: expected {n} arguments, and perhaps {len(self.outs)} to "
                f"write into, got {len(given)}"
            )
        return self.traced(given[:n], given[n:])

    def traced(self, arguments: Sequence[Any], outs: Sequence[Any]) -> Any:
        """Call with traced values: one axis is made of those that broadcast, for the loop."""
        sizes: dict[str, int] = {}
        leads = [
            self.lead_of(k, np.shape(a), axes, sizes)
            for k, (a, axes) in enumerate(zip(arguments, self.ins, strict=True))
        ]
        lead = np.broadcast_shapes(*leads)
        count = int(np.prod(lead, dtype=int))
        given = []
        for a, own, axes in zip(arguments, leads, self.ins, strict=True):
            core = tuple([sizes[n] for n in axes])
            given.append(np.reshape(np.broadcast_to(a, lead + core), (count, *core)) if own else a)
        shapes = [lead + self.core_of(axes, sizes) for axes in self.outs]
        rows = [(count, *self.row_of(shape[len(lead) :])) for shape in shapes]
        like = next(a for a in (*arguments, *outs) if isinstance(a, Traced))
        if outs:
            for k, (o, shape) in enumerate(zip(outs, shapes, strict=True)):
                self.check_result(k, o, shape)
            results = [np.reshape(o * 1.0, r) for o, r in zip(outs, rows, strict=True)]
        else:
            dtype = np.result_type(*arguments, np.float32)
            results = [np.zeros(r, dtype, like=like) for r in rows]  # type: ignore[call-overload]
        self.loop(tuple([bool(own) for own in leads]))(*given, *results)
        found = [np.reshape(r, s) for r, s in zip(results, shapes, strict=True)]
        for o, value in zip(outs, found, strict=False):
            o[...] = value
        return None if outs else found[0] if len(found) == 1 else tuple(found)

    def lead_of(self, k: int, shape: Shape, axes: Axes, sizes: dict[str, int]) -> Shape:
        """The axes of an argument that the loop runs over; ``sizes`` learns those of the others."""
        if len(shape) < len(axes):
            raise KernelError(
                f"kernel {self.name}: argument {k} is {shape}; it needs the axes ({','.join(axes)})"
            )
        n = len(shape) - len(axes)
        for name, size in zip(axes, shape[n:], strict=True):
            if sizes.setdefault(name, size) != size:
                raise KernelError(
                    f"kernel {self.name}: argument {k} is {shape}; its axis {name} must have the "
                    f"length {sizes[name]} that it has in another argument"
                )
        return shape[:n]

    def core_of(self, axes: Axes, sizes: dict[str, int]) -> Shape:
        """The shape of one result."""
        unknown = [n for n in axes if n not in sizes]
        if unknown:
            raise KernelError(
                f"kernel {self.name}: the length of the axis {unknown[0]} is in no argument"
            )
        return tuple([sizes[n] for n in axes])

    def row_of(self, core: Shape) -> Shape:
        """The shape in which the loop keeps one result: a number of a row is an array of one."""
        return (1,) if self.of_rows and not core else core

    def check_result(self, k: int, given: Array, shape: Shape) -> None:
        if not isinstance(given, Traced):
            raise KernelError(
                f"kernel {self.name} would write values that depend on traced ones into the "
                f"plain array given as result {k}; make it with np.zeros(n, like=x)"
            )
        if np.shape(given) != shape:  # type: ignore[arg-type]  # a traced array
            raise KernelError(
                f"kernel {self.name}: result {k} is {np.shape(given)}; "  # type: ignore[arg-type]
                f"it must be {shape}"
            )

    def loop(self, moving: tuple[bool, ...]) -> Kernel:
        """The kernel that runs over entries or rows; arguments that do not move have none."""
        found = self.loops.get(moving)
        if found is None:
            names = [f"x{k}" for k in range(len(moving))]
            results = [f"y{k}" for k in range(len(self.outs))]
            given = ", ".join([f"{n}[k]" if m else n for n, m in zip(names, moving, strict=True)])
            if self.of_rows:
                call = f"{self.name}({given}, {', '.join([f'{y}[k]' for y in results])})"
            else:
                call = f"y0[k] = {self.name}({given})"
            text = (
                f"def each_{self.name}({', '.join([*names, *results])}):\n"
                f"    for k in range(len(y0)):\n"
                f"        {call}\n"
            )
            file = f"<linad kernel each_{self.name} {''.join([str(int(m)) for m in moving])}>"
            scope = {self.name: self.inner}
            exec(compile(text, file, "exec"), scope)
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
            found = self.loops.setdefault(moving, Kernel(scope[f"each_{self.name}"], {}))
        return found


def _core_axes(side: str) -> list[Axes]:
    """The names of the axes of a row, for each argument on one side of a signature."""
    parts = [part.replace(" ", "") for part in re.findall(r"\((.*?)\)", side)]
    return [tuple(part.split(",")) if part else () for part in parts]
