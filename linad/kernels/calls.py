"""A program as a primitive, and its Jacobian: the tangent and the adjoint are programs too.

A call is a pure function: it copies what the program overwrites. So a Jacobian can be applied
any number of times, by several threads, and nothing of it is lost when the arrays are written.
"""

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.compiler_lock import compiling
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.errors import MissingRuleError
from linad.kernels.adjoint import adjoint_of
from linad.kernels.analysis import KernelProgram
from linad.kernels.compiling import compiled
from linad.kernels.expressions import ArrayKind, text
from linad.kernels.split_loops import with_split_loops
from linad.kernels.tangent import tangent_of
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING

SMALLEST = 64
"""Entries of a stack at the first call."""

MOST_SHAPES = 8
"""For how many shapes of a program's own arrays these are kept between calls."""

_CASTS: dict[str, Any] = {"f": float, "i": int, "b": bool}


class ProgramCall(Primitive):
    """A program as a function of its arguments that returns what it wrote.

    Parameters
    ----------
    program : Program
    primal : tuple of ProgramCall and tuple of str, optional
        Of an adjoint: what it is the adjoint of, and with respect to which arguments.
    one_seed : ProgramCall, optional
        Of an adjoint for several seeds: the one for one seed.
    error_model : str
        Numba's, for the values.

    Attributes
    ----------
    compilable : KernelProgram
        The program as it is compiled.
    """

    def __init__(
        self,
        program: KernelProgram,
        primal: tuple["ProgramCall", tuple[str, ...]] | None = None,
        error_model: str = "numpy",
        one_seed: "ProgramCall | None" = None,
    ) -> None:
        self.program, self.primal, self.error_model = program, primal, error_model
        self.one_seed = one_seed
        self.compilable = with_split_loops(program)
        self.writes = program.writes
        self.overwrites = tuple([program.arguments.index(a) for a in self.writes])
        self.lock = threading.RLock()
        self.sizes = [SMALLEST] * len(self.compilable.stacks)
        self._free: dict[tuple[Shape, ...], list[tuple[np.ndarray, ...]]] = {}
        self._function: Any = None
        self._derivatives: dict[Any, ProgramCall] = {}
        super().__init__(
            f"@{program.name}", self._run, outputs=len(self.overwrites), register=False
        )
        self.whole = self._linearized

    @property
    def function(self) -> Any:
        """The compiled function; it is made when it is first asked for."""
        if self._function is None:
            # Not with a lock of its own: who compiles a program around it asks for it, too.
            with compiling:
                if self._function is None:
                    self._function = compiled(self.compilable, self.error_model)
        return self._function

    def scratch(self, arguments: Sequence[Any]) -> tuple[np.ndarray, ...]:
        """New arrays that the function works in.

        They are its own arrays, stacks of the sizes that calls have needed so far, and room for
        these sizes. A stack that is too small grows in the compiled function; its size is told
        afterwards.
        """
        p = self.compilable
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

    def _run(self, *arguments: Any) -> tuple[Any, ...]:
        given: list[Any] = []
        for k, (name, a) in enumerate(zip(self.program.arguments, arguments, strict=True)):
            kind = self.program.kinds[name]
            if not isinstance(kind, ArrayKind):
                given.append(_CASTS[kind](a))
            elif k in self.overwrites:
                given.append(np.array(a, kind.dtype, order="C"))
            else:
                given.append(np.ascontiguousarray(a, kind.dtype))
        self.call_with_scratch(given)
        return tuple([given[k] for k in self.overwrites])

    def call_with_scratch(self, given: Sequence[Any]) -> None:
        """Call the compiled function with stacks that nobody else uses."""
        shapes = self.shapes_of_rooms(*given)
        if not shapes and not self.sizes:
            self.function(*given)
            return
        free = self._free.get(shapes)
        if free is None:
            if len(self._free) >= MOST_SHAPES:
                self._free.clear()
            free = self._free.setdefault(shapes, [])
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
            self._free.clear()

    def tangent(self, active: tuple[str, ...]) -> "ProgramCall":
        """The tangent with respect to some arguments."""
        return self._derivative("tangent", active)

    def adjoint(self, active: tuple[str, ...]) -> "ProgramCall":
        """The adjoint with respect to some arguments."""
        return self._derivative("adjoint", active)

    def adjoint_for_seeds(self, active: tuple[str, ...]) -> "ProgramCall":
        """The adjoint for several seeds, whose cotangents have an axis in front."""
        return self._derivative("adjoint for seeds", active)

    def _derivative(self, kind: str, active: tuple[str, ...]) -> "ProgramCall":
        with self.lock:
            found = self._derivatives.get((kind, active))
            if found is None:
                found = self._derivatives[kind, active] = self._made(kind, active)
        return found

    def _made(self, kind: str, active: tuple[str, ...]) -> "ProgramCall":
        if kind == "tangent":
            return ProgramCall(tangent_of(self.program, active))
        if kind == "adjoint":
            return ProgramCall(adjoint_of(self.program, active), (self, active))
        program = adjoint_of(self.program, active, seeded=True)
        return ProgramCall(program, (self, active), one_seed=self.adjoint(active))

    def _linearized(self, values: Sequence[Any], active: Sequence[int]) -> tuple[Any, Any]:
        y = self(*values)
        return y, ProgramJacobian(self, list(values), tuple(y), tuple(active))

    def with_results(self, values: Sequence[Any]) -> dict[str, Any]:
        """Call; what each array among the arguments is afterwards, by name."""
        found = dict(zip(self.program.arguments, values, strict=True))
        found.update(zip(self.writes, self(*values), strict=True))
        return found

    def push(self, values: Sequence[Any], tangents: dict[str, Any]) -> dict[str, Any]:
        """Tangents of all arrays afterwards, by name; those that are missing are zero."""
        active = tuple([a for a in self.program.arguments if a in tangents])
        call = self.tangent(active)
        p = self.program
        suffix = f"_d{p.level + 1}"
        known = dict(zip(p.arguments, values, strict=True))
        given = list(values)
        names = call.program.arguments[len(values) :]
        for name in names:
            of = name.removesuffix(suffix)
            t = tangents.get(of)
            given.append(_zeros(known[of]) if t is None else t)
        found = call.with_results(given)
        return {n.removesuffix(suffix): found[n] for n in names}

    def pull(
        self,
        values: Sequence[Any],
        cotangents: dict[str, Any],
        active: tuple[str, ...],
        seeds: int | None = None,
    ) -> dict[str, Any]:
        """Cotangents of the active arguments, from those of arrays afterwards, by name.

        For a number of seeds they have an axis in front.
        """
        if self.one_seed is not None:
            return self._pull_of_seeds(values, cotangents, active)
        if self.primal is not None:
            return self._pull_of_adjoint(values, cotangents, active)
        if self.program.stacks:
            raise MissingRuleError(
                f"{self.name} has no third derivative in reverse mode; take the outer derivative "
                f"with linad.jvp"
            )
        call = self.adjoint(active) if seeds is None else self.adjoint_for_seeds(active)
        lead = () if seeds is None else (seeds,)
        p = self.program
        suffix = f"_b{p.level + 1}"
        known = dict(zip(p.arguments, values, strict=True))
        given = list(values)
        names = call.program.arguments[len(values) :]
        for name in names:
            of = name.removesuffix(suffix)
            c = cotangents.get(of)
            if name.endswith(f"_slot{suffix}"):
                given.append(np.zeros(lead or 1))
            elif c is None:
                given.append(_zeros(known[of], lead))
            else:
                given.append(c)
        found = call.with_results(given)
        result = {}
        for name in active:
            slot = f"{name}_slot{suffix}"
            if slot in found:
                number = found[slot] if lead else found[slot][0]
                dtype = getattr(known[name], "dtype", number.dtype)
                result[name] = number if dtype == number.dtype else number.astype(dtype)
            else:
                result[name] = found[name + suffix]
        return result

    def _pull_of_seeds(
        self, values: Sequence[Any], cotangents: dict[str, Any], active: tuple[str, ...]
    ) -> dict[str, Any]:
        """The adjoint for several seeds is the one for one seed, several times."""
        assert self.primal is not None
        assert self.one_seed is not None
        inner = self.primal[0].program.arguments
        bars = self.program.arguments[len(inner) :]
        slots = {b for b in bars if b.endswith(f"_slot_b{self.program.level}")}
        parts = []
        for k in range(np.shape(values[-1])[0]):
            one = [
                a if n in inner else a[k : k + 1] if n in slots else a[k]
                for n, a in zip(self.program.arguments, values, strict=True)
            ]
            along = {
                n: c[k : k + 1] if n in slots else c[k] for n, c in cotangents.items() if n in bars
            }
            parts.append(self.one_seed.pull(one, along, active))
        return {
            n: sum([part[n] for part in parts])
            if n in inner
            else np.stack([part[n][0] if n in slots else part[n] for part in parts])
            for n in active
        }

    def _pull_of_adjoint(
        self, values: Sequence[Any], cotangents: dict[str, Any], active: tuple[str, ...]
    ) -> dict[str, Any]:
        """The derivative of x, w -> J(x)^T w is symmetric in what it is taken along."""
        assert self.primal is not None
        primal, wrt = self.primal
        p = primal.program
        suffix = f"_b{p.level + 1}"
        n = len(p.arguments)
        inner, bars = values[:n], self.program.arguments[n:]
        known = dict(zip(self.program.arguments, values, strict=True))
        along: dict[str, Any] = {}
        for bar in bars:
            slot = bar.removesuffix(f"_slot{suffix}")
            of = slot if slot != bar else bar.removesuffix(suffix)
            given = cotangents.get(bar)
            if given is not None and of in wrt:
                along[of] = given[0] if slot != bar else given
        result: dict[str, Any] = {}
        pushed = primal.push(inner, along) if along else {}
        for bar in bars:
            if bar not in active:
                continue
            of = bar.removesuffix(suffix)
            if of in p.writes:
                t = pushed.get(of)
                result[bar] = _zeros(known[bar]) if t is None else t
            else:
                given = cotangents.get(bar)
                result[bar] = _zeros(known[bar]) if given is None else given
        more = tuple([a for a in active if a in p.arguments])
        if more:
            union = tuple([a for a in p.arguments if a in wrt or a in more])
            full = primal.adjoint(union)
            operands = list(inner)
            for bar in full.program.arguments[n:]:
                of = bar.removesuffix(suffix)
                if bar.endswith(f"_slot{suffix}"):
                    operands.append(np.zeros(1))
                elif of in p.writes and bar in known:
                    operands.append(known[bar])
                else:
                    value = dict(zip(p.arguments, inner, strict=True))[of]
                    operands.append(_zeros(value))
            second = full.push(operands, along) if along else {}
            for a in more:
                entry = second.get(f"{a}_slot{suffix}")
                g = entry[0] if entry is not None else second.get(a + suffix)
                value = dict(zip(p.arguments, inner, strict=True))[a]
                result[a] = _zeros(value) if g is None else g
        return result


def _zeros(value: Any, lead: Shape = ()) -> np.ndarray:
    return np.zeros(lead + np.shape(value), getattr(value, "dtype", float))


class ProgramJacobian(JacobianOperator):
    """From tangents of the active arguments to those of what a program writes.

    Parameters
    ----------
    call : ProgramCall
    values : list
        The arguments, plain or traced.
    y : tuple
        The results.
    active : tuple of int
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(
        self, call: ProgramCall, values: list[Any], y: tuple[Any, ...], active: tuple[int, ...]
    ) -> None:
        self.call, self.values, self.y = call, values, y
        self.active = tuple([call.program.arguments[k] for k in active])
        self.in_shapes = [np.shape(values[k]) for k in active]
        super().__init__((), (), y[0].dtype)

    def pushforward(self, tangent: Any) -> Any:
        def apply(given: Sequence[Any]) -> list[Any]:
            tangents = {n: t for n, t in zip(self.active, given, strict=True) if t is not None}
            found = self.call.push(self.values, tangents) if tangents else {}
            return [
                found.get(name, None) if name in found else np.zeros(y.shape, y.dtype)
                for name, y in zip(self.call.writes, self.y, strict=True)
            ]

        lead = _lead(tangent, self.in_shapes)
        if not lead:
            return tuple(apply(tangent))
        each = [apply([None if t is None else t[k] for t in tangent]) for k in np.ndindex(*lead)]
        if not each:
            return tuple([np.zeros(lead + y.shape, y.dtype) for y in self.y])
        return tuple([np.stack(v).reshape(lead + np.shape(v[0])) for v in zip(*each, strict=True)])

    def pullback(self, cotangent: Any) -> Any:
        lead = _lead(cotangent, [y.shape for y in self.y])
        seeds = int(np.prod(lead, dtype=int)) if lead else None
        given = {n: c for n, c in zip(self.call.writes, cotangent, strict=True) if c is not None}
        if seeds is None:
            found = self.call.pull(self.values, given, self.active)
            return tuple([found[name] for name in self.active])
        flat = {n: np.reshape(c, (seeds, *c.shape[len(lead) :])) for n, c in given.items()}
        found = self.pulled(flat, seeds)
        return tuple(
            [
                np.reshape(found[name], lead + shape)
                for name, shape in zip(self.active, self.in_shapes, strict=True)
            ]
        )

    def pulled(self, cotangents: dict[str, Any], seeds: int) -> dict[str, Any]:
        """Cotangents for a number of seeds: at once, or one by one if the call is an adjoint."""
        if self.call.primal is None:
            return self.call.pull(self.values, cotangents, self.active, seeds)
        each = [
            self.call.pull(self.values, {n: c[k] for n, c in cotangents.items()}, self.active)
            for k in range(seeds)
        ]
        return {name: np.stack([found[name] for found in each]) for name in self.active}


def _lead(given: Sequence[Any], shapes: Sequence[Shape]) -> Shape:
    """The axes that seeds have in front."""
    return next(
        (g.shape[: g.ndim - len(s)] for g, s in zip(given, shapes, strict=True) if g is not None),
        (),
    )
