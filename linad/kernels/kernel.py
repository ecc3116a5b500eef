"""`linad.kernel`: a function for Numba that can be differentiated."""

import functools
import inspect
import math
import threading
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete, share_storage
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.core.compiler_lock import compiling
from linad.core.primitive import Traced, lists_traced
from linad.errors import KernelError
from linad.kernels.analysis import KernelProgram, varied_names
from linad.kernels.array_windows import ArrayWindow
from linad.kernels.call_lowering import check_calls
from linad.kernels.called_functions import CalledFunctions, calls_plain_functions
from linad.kernels.calls import ProgramCall
from linad.kernels.compiling import source_of
from linad.kernels.expression_source import kind_of, text
from linad.kernels.expressions import ONE, ZERO, ArrayKind, Expr, Kind, dim, get, nodes, var
from linad.kernels.function_source import FunctionSource
from linad.kernels.lowering import LoweredKernel
from linad.kernels.result_lengths import program_of_lengths, values_read
from linad.kernels.statements import For, New, Put, Statement
from linad.transforms.record import is_recorded


class Specialization:
    """A kernel for arguments of certain types.

    Parameters
    ----------
    source : Source
    kinds : sequence
        Of the arguments; a function stands for itself.
    error_model : str
        Numba's.
    checkpoints : int
        How many states the adjoint of a loop keeps.
    """

    def __init__(
        self, source: FunctionSource, kinds: Sequence[Any], error_model: str, checkpoints: int
    ) -> None:
        lowered = LoweredKernel.settled(source, kinds)
        self.source, self.parameters = source, lowered.parameters
        self.results, self.single = lowered.results, lowered.single
        self.constants = list(lowered.constants.values())
        all_kinds: dict[str, Kind] = dict(lowered.kinds)
        body = list(lowered.body)
        self.slots: list[str] = []
        for k, r in enumerate(lowered.results):
            slot = lowered.fresh(f"out{k}")
            self.slots.append(slot)
            if isinstance(r, Expr):
                scalar = kind_of(r, all_kinds)
                dtype = {"f": "float64", "i": "int64", "b": "bool_"}[scalar]
                all_kinds[slot] = ArrayKind(np.dtype(dtype).name, 1)
                body.append(Put(slot, (ZERO,), r))
            else:
                assert isinstance(r, ArrayWindow)
                all_kinds[slot] = all_kinds[r.array]
                body += _copy(slot, r, lowered.fresh, all_kinds)
        self.dims = _dims(lowered)
        arguments = [*lowered.parameters, *lowered.constants, *self.slots]
        program = KernelProgram(
            source.name,
            arguments,
            all_kinds,
            body,
            checkpoints=checkpoints,
            written=source.written,
        )
        self.call = ProgramCall(program, error_model=error_model)
        unknown = {r.array for r in lowered.results if isinstance(r, ArrayWindow)} - set(self.dims)
        made = {s.array: s.dims for s in lowered.body if isinstance(s, New)}
        self.unknown = {dim(a, k): n for a in sorted(unknown) for k, n in enumerate(made[a])}
        self.lengths: ProgramCall | None = None
        if self.unknown:
            slot = lowered.fresh("lengths")
            self.lengths = ProgramCall(
                program_of_lengths(
                    program,
                    [*lowered.parameters, *lowered.constants],
                    lowered.body,
                    [*self.unknown.values()],
                    slot,
                ),
                error_model=error_model,
            )

    def floats(self) -> tuple[str, ...]:
        """The arguments that can be differentiated by."""
        kinds = [(n, self.call.program.kinds[n]) for n in self.parameters]
        return tuple([n for n, k in kinds if (k.scalar if isinstance(k, ArrayKind) else k) == "f"])

    def slot_arrays(self, given: Sequence[Any]) -> list[np.ndarray]:
        """Arrays for the results."""
        found = []
        values = dict(zip(self.parameters, given, strict=False))
        values.update(zip(self.call.program.arguments[len(given) :], self.constants, strict=False))
        known = dict(zip(self.unknown, self.lengths_of(values), strict=True))
        for slot, r in zip(self.slots, self.results, strict=True):
            kind = self.call.program.kinds[slot]
            assert isinstance(kind, ArrayKind)
            if isinstance(r, Expr):
                found.append(np.zeros(1, kind.dtype))
            else:
                dims = self.dims.get(r.array)
                if dims is None:
                    shape = [known[dim(r.array, k)] for k in range(kind.ndim)]
                else:
                    shape = [_evaluated(d, values) for d in dims]
                found.append(np.zeros(shape, kind.dtype))
        return found

    def lengths_of(self, values: dict[str, Any]) -> list[int]:
        """The lengths that depend on values."""
        if self.lengths is None:
            return []
        program = self.lengths.program
        for name in values_read(program):
            if is_recorded(values.get(name)):
                raise KernelError(
                    f"kernel {self.source.name} returns an array whose length depends on values, "
                    f"and a compiled program has one length for all; call it outside of "
                    f"`linad.jit`, or write into an array that is an argument"
                )
        given = [concrete(values[n]) for n in program.arguments[:-1]]
        slot = np.zeros(len(self.unknown), np.int64)
        made = dict(zip(self.lengths.writes, self.lengths(*given, slot), strict=True))
        return [int(n) for n in made[program.arguments[-1]]]


def _copy(
    slot: str, r: ArrayWindow, fresh: Callable[[str], str], kinds: dict[str, Kind]
) -> list[Statement]:
    counters = [fresh("k") for _ in r.dims]
    kinds.update(dict.fromkeys(counters, "i"))
    index = tuple([var(c) for c in counters])
    inner: list[Statement] = [Put(slot, index, get(r.array, *index))]
    for c, n in reversed([*zip(counters, r.dims, strict=True)]):
        inner = [For(c, ZERO, n, ONE, inner)]
    return inner


def _dims(lowered: LoweredKernel) -> dict[str, tuple[Expr, ...]]:
    """The lengths of the arrays that are made first, in terms of the arguments."""
    found = {s.array: s.dims for s in lowered.body if isinstance(s, New)}
    inputs = [*lowered.parameters, *lowered.constants]
    for name in inputs:
        kind = lowered.kinds[name]
        if isinstance(kind, ArrayKind):
            found[name] = tuple([dim(name, k) for k in range(kind.ndim)])
    return {
        a: dims
        for a, dims in found.items()
        if all([n.parts[0] in inputs for d in dims for n in nodes(d) if n.op in ("var", "dim")])
    }


def _evaluated(e: Expr, values: dict[str, Any]) -> int:
    return int(eval(text(e), {"math": math, "np": np, **values}))


class Kernel:
    """A function for Numba that can be differentiated; made by `linad.kernel`."""

    def __init__(self, function: Any, options: dict[str, Any], checkpoints: int = 0) -> None:
        with compiling:
            import numba

        self.checkpoints = checkpoints

        self.source = FunctionSource(function)
        check_calls(self.source)
        if hasattr(function, "py_func"):
            self.function = function
            options = {**function.targetoptions, **options}
            self.calls = CalledFunctions(numba.njit)
        else:
            compiled = numba.njit(**options)
            self.compiled, self.calls = compiled(function), CalledFunctions(compiled)
        self.error_model = options.get("error_model", "python")
        functools.update_wrapper(self, self.source.function)
        self.signature = inspect.signature(self.source.function)
        self.lock = threading.RLock()
        self.specializations: dict[Any, Specialization] = {}
        self.last: Specialization | None = None

    @functools.cached_property
    def function(self) -> Any:
        """Numba's function; which names outside are plain functions shows when it is used."""
        with self.lock:
            plain = calls_plain_functions(self.source.function)
            return self.calls(self.source.function) if plain else self.compiled

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if named:
            bound = self.signature.bind(*arguments, **named)
            bound.apply_defaults()  # a default in the middle would end `args`
            arguments = bound.args
        plain = False
        for a in arguments:
            if type(a) in _MAY_BE_TRACED and lists_traced(a):
                return self.traced(arguments)
            plain = plain or type(a) is FunctionType
        if plain:
            arguments = tuple(map(self.calls.of_argument, arguments))
        try:
            return self.function(*arguments)
        except Exception:  # of any kind: it is raised again, but for Numba's seven lines on a dict
            self._refuse_dicts(arguments)
            raise

    def _refuse_dicts(self, arguments: Sequence[Any]) -> None:
        """Raise for a dict, of which Numba says in seven lines that it has no type."""
        for name, a in zip(self.source.parameters, arguments, strict=False):
            if isinstance(a, dict):
                keys = ", ".join(map(str, a))
                raise KernelError(
                    f"kernel {self.source.name}: argument {name} is a dict; kernels take arrays "
                    f"and numbers: let it take {keys} one by one, {self.source.name}({keys}), as "
                    f"a fit gives them, too"
                )

    def __reduce__(self) -> str:
        return str(self.__qualname__)  # type: ignore[attr-defined]  # found by its name

    @property
    def _numba_type_(self) -> Any:
        """What Numba takes it for where another function calls it: the function itself."""
        return self.function._numba_type_

    def __repr__(self) -> str:
        return f"<linad.kernel {self.source.name}>"

    def kind_of(self, name: str, a: Array) -> Any:
        """The kind of an argument; None and functions stand for themselves."""
        if a is None:
            return None
        if isinstance(a, (bool, np.bool_)):
            return "b"
        if isinstance(a, (int, np.integer)):
            return "i"
        if isinstance(a, (float, np.floating)):
            return "f"
        if isinstance(a, (np.ndarray, Traced)):
            dtype = np.dtype(a.dtype)  # type: ignore[union-attr]
            if dtype.kind not in "fiub" or dtype.itemsize > 8 or dtype == np.float16:
                raise KernelError(
                    f"kernel {self.source.name}: argument {name} is an array of {dtype}; kernels "
                    f"take float64, float32 and integers"
                )
            ndim = np.ndim(a)  # type: ignore[arg-type]
            if ndim == 0:
                return "f" if dtype.kind == "f" else "b" if dtype.kind == "b" else "i"
            return ArrayKind(dtype.name, ndim)
        if callable(a):
            return a
        raise KernelError(
            f"kernel {self.source.name}: argument {name} is a {type(a).__name__}; kernels take "
            f"arrays, numbers and functions"
        )

    def specialized(self, arguments: Sequence[Any]) -> Specialization:
        """The kernel for arguments of these types."""
        if len(arguments) != len(self.source.parameters):
            defaults = self.source.function.__defaults__ or ()
            missing = len(self.source.parameters) - len(arguments)
            if not 0 < missing <= len(defaults):
                raise KernelError(
                    f"kernel {self.source.name}: expected {len(self.source.parameters)} arguments, "
                    f"got {len(arguments)}"
                )
            arguments = (*arguments, *defaults[-missing:])
        kinds = [self.kind_of(n, a) for n, a in zip(self.source.parameters, arguments, strict=True)]
        key = tuple(kinds)
        found = self.specializations.get(key)
        if found is None:
            with self.lock:
                found = self.specializations.get(key)
                if found is None:
                    found = Specialization(self.source, kinds, self.error_model, self.checkpoints)
                    self.specializations[key] = found
        self.last = found
        return found

    def traced(self, arguments: Sequence[Any]) -> Any:
        """Call with traced values: one operation of the trace."""
        defaults = self.source.function.__defaults__ or ()
        missing = len(self.source.parameters) - len(arguments)
        if 0 < missing <= len(defaults):
            arguments = (*arguments, *defaults[-missing:])
        made = self.specialized(arguments)
        given = [
            a
            for a in arguments
            if isinstance(a, (Traced, np.ndarray)) or not (a is None or callable(a))
        ]
        call = made.call
        self.check(made, given)
        results = call(*given, *made.constants, *made.slot_arrays(given))
        found = dict(zip(call.writes, results, strict=True))
        for name, a in zip(made.parameters, given, strict=True):
            if name in found:
                if isinstance(a, Traced):
                    a[...] = found[name]  # type: ignore[index]
                else:
                    a[...] = concrete(found[name])  # integers, which have no derivative
        values = []
        for slot, r in zip(made.slots, made.results, strict=True):
            values.append(found[slot][0] if isinstance(r, Expr) else found[slot])
        if not values:
            return None
        return values[0] if made.single else tuple(values)

    def check(self, made: Specialization, given: Sequence[Any]) -> None:
        """Refuse plain arrays that would be filled with traced values, and arrays that overlap."""
        call = made.call
        active = [n for n, a in zip(made.parameters, given, strict=True) if isinstance(a, Traced)]
        floats = [
            n
            for n in active
            if not isinstance(call.program.kinds[n], str) or call.program.kinds[n] == "f"
        ]
        varied = varied_names(call.program, floats)
        by_name = dict(zip(made.parameters, given, strict=True))
        written = [n for n in call.writes if n in by_name]
        for n in written:
            a = by_name[n]
            recorded = any([is_recorded(b) for b in given])
            if not isinstance(a, Traced) and (n in varied or recorded):
                like = active[0] if active else "x"
                raise KernelError(
                    f"kernel {self.source.name} would write values that depend on traced ones "
                    f"into the plain array {n}; make it with np.array({n}, like=x), a copy of its "
                    f"values, or with np.zeros(n, like=x), where x is the traced array given as "
                    f"{like}"
                )
            for m, b in by_name.items():
                if m != n and np.ndim(b) and share_storage(a, b):
                    raise KernelError(
                        f"kernel {self.source.name}: arguments {n} and {m} share memory, and "
                        f"{n} is written; pass a copy"
                    )

    def _shown(self) -> Specialization:
        if self.last is None:
            raise KernelError(
                f"kernel {self.source.name} has not met any types yet; call it once inside a "
                f"derivative, or ask `specialized(arguments)`"
            )
        return self.last

    @property
    def adjoint_source(self) -> str:
        """The generated adjoint, for the types of the last differentiated call."""
        shown = self._shown()
        return source_of(shown.call.adjoint(shown.floats()).program)

    @property
    def tangent_source(self) -> str:
        """The generated tangent, for the types of the last differentiated call."""
        shown = self._shown()
        return source_of(shown.call.tangent(shown.floats()).program)


_MAY_BE_TRACED = frozenset([Tracer, tuple, list])


__all__ = ["Kernel"]
