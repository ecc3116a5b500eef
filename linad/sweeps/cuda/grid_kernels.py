"""Kernels of users' that `numba.cuda.jit` made, over a grid that they choose themselves.

    @cuda.jit
    def kernel(c, a):                                grid(c, a) -> (blocks, threads)
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] * c[i]

In a program for a device such a kernel is an instruction of its own, which a graph takes. Where
there is no device, and where a program is recorded, its threads run on the host one after the
other, compiled by Numba: what a kernel asks of `numba.cuda` is then an index of the thread, or a
sum into an entry. A kernel whose threads wait for each other needs a function that does the same on
the host.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linad.core.compiler_lock import compiling
from linad.core.cuda_kernels import python_function
from linad.core.showing import shown
from linad.core.tape import Equation
from linad.errors import ArgumentError
from linad.sweeps.cpu.user_functions import operands_of
from linad.sweeps.cuda.threads_on_host import host_form
from linad.sweeps.instructions import GridCall, GridOperand
from linad.sweeps.kernel_dtypes import name_of_dtype

Size = tuple[int, int, int]

MOST_THREADS = 1024
"""Of a block, on every GPU."""


class Grid(NamedTuple):
    """How many blocks there are along three axes, and how many threads in each."""

    blocks: Size
    threads: Size


class GridKernel:
    """A kernel, and over which grid it runs.

    Parameters
    ----------
    kernel : object
        What `numba.cuda.jit` made.
    grid : callable or pair
        Of arrays with the arguments' shapes and dtypes, whose entries count for nothing; returns
        the blocks and the threads of a block, each a number or up to three of them. Or these.
    host : callable, optional
        Overwrites NumPy's arrays as the kernel overwrites those of a device.
    """

    def __init__(
        self, kernel: Any, grid: Any, host: Callable[..., Any] | None, owner: Any, kind: str
    ) -> None:
        self.py_function = python_function(kernel)
        self.name = self.py_function.__name__
        self._grid, self._host = grid, host
        self._owner = owner, kind

    def __reduce__(self) -> Any:
        return _kernel_of, self._owner

    def over(self, arguments: Sequence[Any]) -> Grid:
        """The grid for arguments of these shapes and dtypes.

        Raises
        ------
        ArgumentError
        """
        given = self._grid
        if callable(given):
            given = given(*[np.broadcast_to(np.zeros((), a.dtype), a.shape) for a in arguments])
        try:
            blocks, threads = map(_three, given)
        except (TypeError, ValueError):
            blocks = threads = None
        if blocks is None or threads is None or math.prod(threads) > MOST_THREADS:
            raise ArgumentError(
                f"{self.name}: grid must give (blocks, threads), each a positive integer or up to "
                f"three of them, and at most {MOST_THREADS} threads, got {shown(given)}"
            )
        return Grid(blocks, threads)

    def __call__(self, *arguments: Any) -> None:
        """Overwrite arrays of the host."""
        if self._host is not None:
            self._host(*arguments)
            return
        grid = self.over([a if hasattr(a, "dtype") else np.asarray(a) for a in arguments])
        with compiling:
            run = host_form(self.py_function)
        run(np.array(grid, np.int64), *arguments)

    def in_python(self, *arguments: Any) -> None:
        """The same without a compiler, for tests."""
        if self._host is not None:
            self._host(*arguments)
            return
        run = host_form(self.py_function, compiled=False)
        run(np.array(self.over(arguments), np.int64), *arguments)


def _kernel_of(owner: Any, kind: str) -> Any:
    return owner.call.function if kind == "function" else owner.rule(kind)


def _three(given: Any) -> Size | None:
    """Lengths along three axes; None if these are none."""
    sizes = [int(n) for n in (given if isinstance(given, tuple | list) else (given,))]
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        return None
    x, y, z = [*sizes, 1, 1][:3]
    return x, y, z


# On a device.


def lower(lowering: Any, eqn: Equation) -> bool:
    """Add the instruction of a call, if kernels know the dtypes of its operands."""
    call: Any = eqn.primitive
    function: GridKernel = call.function
    found = operands_of(lowering, eqn, call)
    if found is None:
        return False
    words, places = found
    described = tuple(
        [
            GridOperand(
                str(name_of_dtype(p.dtype)), len(p.shape), bool(p.shape) or k in call.overwrites
            )
            for k, p in enumerate(places)
        ]
    )
    grid = function.over(places)
    label = f"call of {eqn.primitive.name}"
    made = GridCall(function, described, grid.blocks, grid.threads, words, places, label)
    lowering.instructions.append(made)
    return True


def entry_source(described: Sequence[GridOperand]) -> str:
    """The source of the entry that calls a kernel with such operands."""
    given, k = [], 0
    for dtype, ndim, is_array in described:
        sizes = "".join([f", operand(p, {k + 1 + d})" for d in range(ndim)])
        read = f"array_{dtype}(operand(p, {k}){sizes})"
        given.append(read if is_array else f"get_{dtype}(operand(p, {k}), 0, -1)")
        k += 1 + ndim
    return (
        "def kernel(p, start, stop, status):\n"
        + "".join([f"    a{j} = {text}\n" for j, text in enumerate(given)])
        + f"    function({', '.join([f'a{j}' for j in range(len(given))])})\n"
    )
