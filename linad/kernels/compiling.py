"""Generated functions as machine code, which is kept on disk under a name made of its source."""

import ast
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.compiler_lock import compiling
from linad.core.settings import settings
from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import (
    ONE,
    ZERO,
    ArrayKind,
    Expr,
    Kind,
    dim,
    nodes,
    num,
    operands,
    var,
)
from linad.kernels.index_checks import beyond_the_end, with_checks
from linad.kernels.phases import ProgramInPhases
from linad.kernels.pieces import PIECES
from linad.kernels.statements import (
    For,
    New,
    Put,
    Statement,
    WhileLoop,
    bodies,
    expressions,
    lines,
)
from linad.sweeps.cpu.kernel_stops import DIVISION, NO_ENTRY, NO_MEMORY, NO_STEP, stop_of
from linad.sweeps.instructions import OTHER_ARGUMENTS


def source_of(program: KernelProgram) -> str:
    """The source of a program, as a function."""
    stacks, rooms = [s.name for s in program.stacks], program.rooms
    extra = [*rooms, *[f"{name}_scratch" for name in stacks], *["sizes"] * bool(stacks)]
    head = f"def {program.name}({', '.join([*program.arguments, *extra])}):"
    tail = [f"    sizes[{k}] = {name}.size" for k, name in enumerate(stacks)]
    return "\n".join([head, *lines(with_rooms(program.body, rooms)), *tail, ""])


def with_rooms(
    statements: Sequence[Statement], rooms: dict[str, tuple[Expr, ...]]
) -> list[Statement]:
    """The statements, with zeros put into arrays that are given where they would be made."""
    body: list[Statement] = []
    for given, group in itertools.groupby(statements, lambda s: made_of(s) in rooms):
        some = [*group]
        body += zeroed(some, rooms) if given else some
    return body


def made_of(s: Statement) -> str:
    """The array that a statement makes, or ""."""
    return s.array if isinstance(s, New) else ""


def zeroed(body: list[Any], rooms: dict[str, tuple[Expr, ...]]) -> list[Statement]:
    """Loops that make zeros of arrays that have been used before, those of one shape together."""
    found: list[Statement] = []
    arrays = [s for s in body if s.zeros]
    for dims in dict.fromkeys([rooms[s.array] for s in arrays]):
        mine = [s for s in arrays if rooms[s.array] == dims]
        first = mine[0].array
        counters = [f"{first}_axis{k}" for k in range(len(dims))]
        index = tuple(map(var, counters))
        inner: list[Statement] = [
            Put(s.array, index, num(np.zeros((), s.dtype)[()]), comment=s.comment) for s in mine
        ]
        for axis, name in reversed([*enumerate(counters)]):
            inner = [For(name, ZERO, dim(first, axis), ONE, inner)]
        found += inner
    return found


def module_of(program: KernelProgram) -> str:
    """The source of a module that defines the program."""
    parts = ["import math", "", "import numpy as np"]
    text = source_of(program)
    called = [name for name in ("any_order", "grown", "within") if f"{name}(" in text]
    if called:
        parts += ["", f"from linad.kernels.in_python import {', '.join(called)}"]
    return "\n".join([*parts, "", "", text])


def python_function(program: KernelProgram) -> Any:
    """The program as a Python function."""
    scope: dict[str, Any] = {"__name__": "linad.kernels.generated"}
    exec(compile(module_of(program), f"<linad kernel {program.name}>", "exec"), scope)
    return scope[program.name]


def compiled(program: KernelProgram, error_model: str = "numpy") -> Any:
    """The program as machine code; in Python where Numba compiles nothing.

    Parameters
    ----------
    error_model : str
        Numba's: with ``"python"`` a division by zero raises.
    """
    with compiling:
        import numba

        if numba.config.DISABLE_JIT:
            return python_function(program)
        return CompiledProgram(program, kernel_source_of(program, error_model))


def compiled_phases(found: ProgramInPhases) -> Any:
    """A program in phases as machine code."""
    with compiling:
        return CompiledPhases(found)


def operands_of(program: KernelProgram) -> list[tuple[str, Kind]]:
    """What the function of a program takes, and of what kinds."""
    found = [(name, program.kinds[name]) for name in (*program.arguments, *program.rooms)]
    stacks: list[tuple[str, Kind]] = [
        (f"{s.name}_scratch", ArrayKind(s.dtype, 1)) for s in program.stacks
    ]
    return [*found, *stacks, *[("sizes", ArrayKind("int64", 1))] * bool(stacks)]


def kernel_source_of(program: KernelProgram, error_model: str) -> str:
    """The program in the language of kernels.

    Its words are, for each operand of `operands_of`, the address, and of arrays the lengths.
    """
    _, *body = source_of(program).splitlines()
    source = "\n".join([*head_of(program, error_model), *body, "    return 0", ""])
    return with_checks(source, stacks_of(program))


def stacks_of(program: KernelProgram) -> list[str]:
    """The arrays that only the program itself reads and writes."""
    return [*[s.name for s in program.stacks], "sizes"]


def head_of(program: KernelProgram, error_model: str) -> list[str]:
    """How a kernel begins: with names for its operands."""
    lines = ["def kernel(_words, _start, _stop):"]
    if error_model == "python":
        lines.append("    check_divisions()")
    k = 0
    for name, kind in operands_of(program):
        if isinstance(kind, ArrayKind):
            words = ", ".join([f"operand(_words, {k + j})" for j in range(1 + kind.ndim)])
            lines.append(f"    {name} = array_{np.dtype(kind.dtype).str[1:]}({words})")
            k += 1 + kind.ndim
        else:
            lines.append(f"    {name} = get_{SCALARS[kind]}(operand(_words, {k}), 0, -1)")
            k += 1
    return lines


SCALARS = {"f": "f8", "i": "i8", "b": "b1"}
"""The dtypes of scalars, by their kinds."""


class CompiledProgram:
    """A program as machine code, to be called with arrays.

    Attributes
    ----------
    source : str
        In the language of kernels, for programs that call it among other kernels.
    dtypes : list of dtype
        Of the operands; numbers are arrays without axes.
    """

    def __init__(self, program: KernelProgram, source: str) -> None:
        from linad.sweeps.cpu import engine, kernel_cache

        self.name = program.name
        kinds = [kind for _, kind in operands_of(program)]
        self.dtypes = [np.dtype(k.dtype if isinstance(k, ArrayKind) else SCALARS[k]) for k in kinds]
        ndims = [k.ndim if isinstance(k, ArrayKind) else 0 for k in kinds]
        self.size = len(ndims) + sum(ndims)
        self.source = source
        self.written = program.written
        self.kernel = kernel_cache.kernel(self.source)
        described = [int(self.kernel), len(kinds), id(np.ndarray)]
        for dtype, ndim in zip(self.dtypes, ndims, strict=True):
            described += [id(dtype), ndim]
        self.description = np.array(described)
        self.run = engine.call_on

    def __call__(self, *operands: Any) -> None:
        self.run_on(operands)

    def run_on(self, operands: Sequence[Any]) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Run the kernel; the words of its operands, and these as arrays, which live as long."""
        words = np.empty(self.size, np.int64)
        arrays = tuple(
            [
                a if type(a) is np.ndarray and a.dtype is dtype else self._array(a, dtype)
                for a, dtype in zip(operands, self.dtypes, strict=True)
            ]
        )
        status = self.run(self.description, words, arrays)
        if status:
            self._raise(status)
        return words, arrays

    def _array(self, a: Any, dtype: np.dtype) -> np.ndarray:
        """A number as an array; an array with the one dtype object that the program knows."""
        if isinstance(a, np.ndarray) and a.dtype == dtype:
            return a.view(np.ndarray).view(dtype)
        return np.array(a, dtype)

    def _raise(self, status: int) -> None:
        if status == OTHER_ARGUMENTS:
            raise TypeError(f"kernel {self.name}: expected other arrays, or others in C order")
        line, reason = stop_of(status)
        if reason == DIVISION:
            raise ZeroDivisionError(f"kernel {self.name}: division by zero")
        if reason == NO_ENTRY:
            what = beyond_the_end(self.source, line, self.written)
            raise IndexError(f"kernel {self.name}: {what}")
        if reason == NO_STEP:
            raise ValueError(f"kernel {self.name}: the step of a range is zero")
        if reason == NO_MEMORY:
            raise MemoryError(f"kernel {self.name}: there is no memory for its arrays")
        text = self.source.splitlines()[line - 1].strip()
        raise ValueError(ast.literal_eval(text.removeprefix("raise ValueError")))


class CompiledPhases(CompiledProgram):
    """A program in phases as machine code; threads share its loops in pieces.

    Attributes
    ----------
    phases : list of tuple
        For each its source, in the language of kernels, the number of its pieces, and its work
        for each entry of the largest operand, which is 0 for one thread's.
    """

    def __init__(self, found: ProgramInPhases) -> None:
        from linad.sweeps.cpu import kernel_cache

        super().__init__(found.program, NO_KERNEL)
        head, rooms = head_of(found.program, "numpy"), found.program.rooms
        self.phases: list[tuple[str, int, int]] = []
        for phase in found.phases:
            body = lines(with_rooms(phase.body, rooms))
            source = "\n".join([*head, *body, "    return 0", ""])
            source = with_checks(source, stacks_of(found.program))
            many = PIECES if phase.shared else 1
            self.phases.append((source, many, work_of(phase.body) if phase.shared else 0))
        self.kernels = [kernel_cache.kernel(s) for s, _, _ in self.phases]
        pairs = zip(self.kernels, self.phases, strict=True)
        code = [[int(k), pieces, work, self.size] for k, (_, pieces, work) in pairs]
        self.code = np.array([[*start, *[0] * self.size] for start in code])
        self.work = max([work for _, _, work in self.phases])

    def __call__(self, *operands: Any) -> None:
        from linad.sweeps.cpu import engine
        from linad.sweeps.cpu.program import SHARED_WORK, crew_class

        code = self.code.copy()
        code[:, 4:], arrays = self.run_on(operands)
        entries = max([a.size for a in arrays])
        code[:, 2] *= entries
        start, end = code.ctypes.data, code.ctypes.data + code.nbytes
        if settings().threads == 1 or self.work * entries < SHARED_WORK:
            status = engine.sweep(start, end)
        else:
            with crew_class()(code, settings().threads) as crew:
                status = crew.sweep(start, end)
        if status:
            self._raise(status)


def work_of(body: Sequence[Statement]) -> int:
    """About how many additions statements take, if loops over arrays take one turn."""
    found = 0
    for s in body:
        found += sum([1 for e in expressions(s) for n in nodes(e) if operands(n)])
        often = TURNS if isinstance(s, WhileLoop) else 1
        found += sum([often * work_of(inner) for inner in bodies(s)])
    return found


TURNS = 4
"""Of a loop whose end only its values tell, where some number has to be taken."""

NO_KERNEL = "def kernel(p, start, stop):\n    return 0\n"
"""Does nothing; a call of it checks the operands, and finds where they are."""
