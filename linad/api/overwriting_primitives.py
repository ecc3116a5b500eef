"""Primitives that overwrite one of their arguments: ``@linad.primitive(writes=...)``.

The function, and its two derivative rules, work in place, as numerical libraries do:

    function(C, A, B)                          C := f(C, A, B)
    tangent(dC, dA, dB, y, C, A, B)            dC := df;  y is the new C, C the old one
    adjoint(C_bar, A_bar, B_bar, y, C, A, B)   A_bar += ..., B_bar += ...; C_bar := of the old C

To linad each is a function of what it overwrites: a copy is made, the call writes into it, and
the copy is the result. So sweeps can be repeated, and nothing of the forward run is lost.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.api.rule_results import one_by_one
from linad.core.array_type import Array
from linad.core.compiler_lock import compiling
from linad.core.cuda_kernels import is_cuda_kernel, python_function
from linad.core.device_arrays import is_on_device
from linad.core.primitive import Primitive, Traced, innermost_trace
from linad.core.vectors import normal
from linad.errors import ArgumentError, MissingRuleError, TracerError, WrongRuleError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING


def is_compiled(function: Any) -> bool:
    """Whether Numba compiled a function, for the CPU or for a grid of threads."""
    return hasattr(function, "py_func") or hasattr(function, "over")


class InPlaceCall(Primitive):
    """A function that overwrites arguments, as a primitive that returns what it wrote.

    Parameters
    ----------
    name : str
    function : callable
        In NumPy, or compiled by Numba.
    overwrites : tuple of int
        Positions of the arguments that it overwrites, in the order of the results.
    state : callable, optional
        Of the arguments; returns arrays, one or a tuple, that say what scratch memory the
        function wants behind its arguments.

    Attributes
    ----------
    compiled : bool
        Whether Numba compiled it: programs of the CPU call it by address, those of a device launch
        it.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        overwrites: tuple[int, ...],
        state: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(f"@{name}", self._run, outputs=len(overwrites), register=False)
        self.function, self.overwrites, self.state = function, overwrites, state
        self.compiled = is_compiled(function)
        self.owner: Overwriting | None = None
        self._free: dict[Any, list[tuple[np.ndarray, ...]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        if self.owner is not None:
            return getattr, (self.owner, "call")
        return InPlaceCall, (
            self.name.removeprefix("@"),
            self.function,
            self.overwrites,
            self.state,
        )

    @property
    def serial(self) -> "InPlaceCall":
        """What is called, on one thread: itself."""
        return self

    def form(self, arguments: Sequence[Any]) -> "InPlaceCall":
        """What is called with such arguments: itself."""
        return self

    def scratch(self, arguments: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """New scratch arrays for arguments of these shapes and dtypes."""
        if self.state is None:
            return ()
        made = self.state(*[np.broadcast_to(np.zeros((), a.dtype), a.shape) for a in arguments])
        return tuple(np.array(m) for m in (made if isinstance(made, tuple) else (made,)))

    def overwrite(self, arguments: Sequence[Any]) -> None:
        """Call the function, with scratch arrays that nobody else uses."""
        if self.state is None:
            self.function(*arguments)
            return
        known = [a if hasattr(a, "dtype") else np.asarray(a) for a in arguments]
        free = self._free.setdefault(tuple([(a.shape, a.dtype) for a in known]), [])
        try:
            scratch = free.pop()
        except IndexError:
            scratch = self.scratch(known)
        try:
            self.function(*arguments, *scratch)
        finally:
            free.append(scratch)

    def _run(self, *arguments: Any) -> tuple[Any, ...]:
        given = list(arguments)
        if self.compiled:
            given = [np.ascontiguousarray(a) if np.ndim(a) else a for a in given]
        for k in self.overwrites:
            given[k] = np.array(arguments[k], order="C")
        self.overwrite(given)
        return tuple([given[k] for k in self.overwrites])


class Overwriting:
    """A function that overwrites an argument, with a derivative; made by `linad.primitive`."""

    def __init__(
        self,
        function: Callable[..., Any],
        writes: str | int,
        name: str,
        state: Callable[..., Any] | None,
        grid: Any = None,
        host: Callable[..., Any] | None = None,
    ) -> None:
        self._grid = grid
        whole = function
        function = self._on_a_grid(function, grid, host, "function", name)
        names = list(inspect.signature(python_function(whole)).parameters)
        if isinstance(writes, str) and writes in names:
            self.position = names.index(writes)
        elif isinstance(writes, int) and 0 <= writes < len(names):
            self.position = writes
        else:
            raise TypeError(
                f"primitive: writes must be one of the arguments {names} of {name}, or its "
                f"position; got {writes!r}"
            )
        functools.update_wrapper(self, whole)
        self.name = name
        self.call = InPlaceCall(name, function, (self.position,), state)
        self.call.whole, self.call.owner = self._linearized, self
        self._tangent: Any = None
        self._adjoint: Any = None
        self._tested = False

    def _on_a_grid(
        self, function: Any, grid: Any, host: Callable[..., Any] | None, kind: str, name: str
    ) -> Any:
        """A function, or a rule, with its grid if `numba.cuda.jit` made it.

        Raises
        ------
        ArgumentError
        """
        if is_cuda_kernel(function):
            if grid is None:
                raise ArgumentError(
                    f"{name}: a kernel of numba.cuda.jit needs its grid: pass grid=, a function of "
                    f"its arguments that returns (blocks, threads)"
                )
            with compiling:  # it imports Numba
                from linad.sweeps.cuda.grid_kernels import GridKernel
            return GridKernel(function, grid, host, self, kind)
        if grid is not None or host is not None:
            raise ArgumentError(
                f"{name}: grid and host are for what numba.cuda.jit made, got a "
                f"{type(function).__name__}"
            )
        return function

    def _rule(self, kind: str, rule: Any, grid: Any, host: Callable[..., Any] | None) -> Any:
        """A rule; a kernel without a grid of its own runs over that of the function."""
        if grid is None and self._grid is not None and is_cuda_kernel(rule):
            grid = self._grid_of_function if callable(self._grid) else self._grid
        return self._on_a_grid(rule, grid, host, kind, f"{self.name}.{kind}")

    def _grid_of_function(self, *given: Any) -> Any:
        arguments = given[len(given) // 2 + 1 :]
        return self._grid(*arguments, *self.call.scratch(arguments))

    def tangent(
        self,
        rule: Callable[..., Any] | None = None,
        *,
        grid: Any = None,
        host: Callable[..., Any] | None = None,
    ) -> Any:
        """Register the forward rule; it overwrites the tangent of what the function overwrites.

        Parameters
        ----------
        rule : callable
            ``rule(*tangents, y, *arguments)``: a tangent for each argument, the result, and
            the arguments as they were before. In NumPy, or compiled by Numba.
        grid, host : optional
            Of a rule that `numba.cuda.jit` made, as `linad.primitive` takes them for the function;
            by default the grid is the function's.
        """
        if rule is None:
            return functools.partial(self.tangent, grid=grid, host=host)
        self._tangent = self._rule("tangent", rule, grid, host)
        return rule

    def adjoint(
        self,
        rule: Callable[..., Any] | None = None,
        *,
        grid: Any = None,
        host: Callable[..., Any] | None = None,
    ) -> Any:
        """Register the reverse rule; it overwrites cotangents.

        Parameters
        ----------
        rule : callable
            ``rule(*cotangents, y, *arguments)``. At the position of what the function
            overwrites comes the cotangent of the result, to be turned into that of the old
            value; the others come as zeros, to be added to.
        grid, host : optional
            As for `tangent`.
        """
        if rule is None:
            return functools.partial(self.adjoint, grid=grid, host=host)
        self._adjoint = self._rule("adjoint", rule, grid, host)
        return rule

    def __call__(self, *arguments: Any) -> None:
        """Overwrite the argument."""
        target = arguments[self.position]
        if innermost_trace(arguments) is None:
            if not isinstance(target, np.ndarray):
                remedy = (
                    "; a function of linad.jit may pass arrays of a device"
                    if is_on_device(target)
                    else ""
                )
                raise TypeError(
                    f"{self.name}: argument {self.position} is overwritten and must be an array, "
                    f"got a {type(target).__name__}{remedy}"
                )
            self.call.overwrite(arguments)
            return
        if not isinstance(target, Traced):
            raise TracerError(
                f"{self.name} would write a traced value into a plain array; make argument "
                f"{self.position} with np.zeros_like(x), or np.zeros(shape, like=x)"
            )
        target[...] = self.call(*arguments)[0]  # type: ignore[index]

    def _linearized(self, values: Sequence[Any], active: Sequence[int]) -> tuple[Any, Any]:
        y = self.call(*values)
        J = InPlaceJacobian(self, list(values), y[0], tuple(active))
        if not self._tested and innermost_trace((*values, *y)) is None:
            self._test(J)
        return y, J

    def __reduce__(self) -> str:
        return str(self.__qualname__)  # type: ignore[attr-defined]  # found by its name

    def rule(self, kind: str) -> Any:
        """The rule "tangent" or "adjoint"."""
        found = self._tangent if kind == "tangent" else self._adjoint
        if found is None:
            raise MissingRuleError(
                f"{self.name} has no {kind} rule; register one with @{self.name}.{kind}"
            )
        return found

    def _test(self, J: "InPlaceJacobian") -> None:
        """Test at the first use that the rules are adjoint to each other."""
        if self._tangent is None or self._adjoint is None:
            return
        rng = np.random.default_rng(0)
        given = [normal(np.shape(J.values[i]), J.dtype_of(i), rng) for i in J.active]
        seed = normal(J.y.shape, J.y.dtype, rng)
        pushed, pulled = J.pushforward(tuple(given))[0], J.pullback((seed,))
        left = np.vdot(seed, pushed)
        right = sum([np.vdot(b, v) for b, v in zip(pulled, given, strict=True)])
        size = np.linalg.norm(seed) * np.linalg.norm(pushed) + 1e-300
        for b, v in zip(pulled, given, strict=True):
            size += np.linalg.norm(b) * np.linalg.norm(v)
        if not abs(left - right) <= 1e3 * np.finfo(J.y.dtype).eps * size:
            raise WrongRuleError(
                f"{self.name}: tangent and adjoint are not adjoint: <w, J v> = {left:.6g} but "
                f"<J.H w, v> = {right:.6g} for random v and w"
            )
        self._tested = True


class InPlaceJacobian(JacobianOperator):
    """From tangents of the active arguments to that of the result, by rules that overwrite.

    Parameters
    ----------
    owner : Overwriting
    values : list
        The arguments, plain or traced.
    y : array
        The result.
    active : tuple of int
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(
        self, owner: Overwriting, values: list[Any], y: Array, active: tuple[int, ...]
    ) -> None:
        self.owner, self.values, self.y, self.active = owner, values, y, active
        super().__init__((), (), y.dtype)

    def dtype_of(self, i: int) -> Any:
        """Of the tangents of an argument."""
        dtype = getattr(self.values[i], "dtype", np.dtype(float))
        return dtype if dtype.kind in "fc" else self.y.dtype

    def _overwritten(self, kind: str, seeds: list[Any], written: tuple[int, ...]) -> list[Any]:
        """What a rule makes of the tangents, or cotangents, in ``seeds``; None is zero."""
        rule = self.owner.rule(kind)
        known = [s for s in seeds if s is not None] + [self.y, *self.values]
        trace = innermost_trace(tuple(known))
        like = next((a for a in known if isinstance(a, Traced) and a._trace is trace), None)
        buffers = []
        for i, seed in enumerate(seeds):
            value = self.values[i]
            buffer = np.zeros(np.shape(value), self.dtype_of(i), like=like)
            if seed is not None:
                buffer[...] = seed
            buffers.append(buffer)
        if is_compiled(rule):
            call = InPlaceCall(f"{self.owner.name}.{kind}", rule, written)
            return list(call(*buffers, self.y, *self.values))
        rule(*buffers, self.y, *self.values)
        return [buffers[i] for i in written]

    def pushforward(self, tangent: Any) -> Any:
        def apply(given: Sequence[Any]) -> list[Any]:
            seeds: list[Any] = [None] * len(self.values)
            for i, t in zip(self.active, given, strict=True):
                seeds[i] = t
            return self._overwritten("tangent", seeds, (self.owner.position,))

        return one_by_one(apply, tangent, [np.shape(self.values[i]) for i in self.active])

    def pullback(self, cotangent: Any) -> Any:
        def apply(given: Sequence[Any]) -> list[Any]:
            seeds: list[Any] = [None] * len(self.values)
            seeds[self.owner.position] = given[0]
            found = self._overwritten("adjoint", seeds, tuple(range(len(seeds))))
            return [found[i] for i in self.active]

        return one_by_one(apply, cotangent, [self.y.shape])
