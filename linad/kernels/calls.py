"""A program as a primitive, and its Jacobian: the tangent and the adjoint are programs too.

A call is a pure function: it copies what the program overwrites. So a Jacobian can be applied
any number of times, by several threads, and nothing of it is lost when the arrays are written.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.api.rule_results import one_by_one, seed_axes
from linad.core.array_type import Array
from linad.core.compiler_lock import compiling
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.errors import MissingRuleError
from linad.kernels.adjoint import adjoint_of
from linad.kernels.analysis import KernelProgram
from linad.kernels.expressions import ArrayKind
from linad.kernels.phases import in_phases
from linad.kernels.pieces import is_by_pieces
from linad.kernels.running import RunnableProgram
from linad.kernels.searching_loops import searches
from linad.kernels.split_loops import with_split_loops
from linad.kernels.tangent import tangent_of
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING

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
    pieced : callable, optional
        Makes the same program with loops over `prange` in pieces, if there are such loops.
    """

    endless = True

    def __init__(
        self,
        program: KernelProgram,
        primal: tuple["ProgramCall", tuple[str, ...]] | None = None,
        error_model: str = "numpy",
        one_seed: "ProgramCall | None" = None,
        pieced: Callable[[], KernelProgram] | None = None,
    ) -> None:
        self.program, self.primal, self.error_model = program, primal, error_model
        self.one_seed = one_seed
        self.pieced = pieced
        self.serial = RunnableProgram(with_split_loops(program), error_model)
        self.writes = program.writes
        self.overwrites = tuple([program.arguments.index(a) for a in self.writes])
        self.lock = threading.RLock()
        self._derivatives: dict[Any, ProgramCall] = {}
        super().__init__(
            f"@{program.name}", self._run, outputs=len(self.overwrites), register=False
        )
        self.whole = self._linearized

    @functools.cached_property
    def searches(self) -> bool:  # type: ignore[override]
        """Whether a loop in it searches by comparisons."""
        return searches(self.program.body)

    @functools.cached_property
    def shared(self) -> RunnableProgram | None:
        """The program in phases whose loops threads share, if it can be."""
        with compiling:
            from numba import config

        if self.pieced is None or config.DISABLE_JIT:
            return None
        found = in_phases(with_split_loops(self.pieced()))
        return None if found is None else RunnableProgram(found.program, phases=found)

    def form(self, arguments: Sequence[Any]) -> RunnableProgram:
        """What is called with arguments of such shapes, on which alone this depends."""
        with self.lock:
            shared = self.shared
        return shared if shared is not None and shared.pays(arguments) else self.serial

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
        """Call the compiled function with arrays that nobody else uses."""
        self.form(given).call(given)

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
        p = self.program
        loops = any([is_by_pieces(s) for s in p.body])
        if kind == "tangent":
            pieced = None
            if self.pieced is not None:
                whole = self.pieced
                pieced = lambda: tangent_of(whole(), active)  # noqa: E731
            elif loops:
                pieced = lambda: tangent_of(p, active, pieces=True)  # noqa: E731
            return ProgramCall(tangent_of(p, active), pieced=pieced)
        seeded = kind != "adjoint"
        return ProgramCall(
            adjoint_of(p, active, seeded),
            (self, active),
            one_seed=self.adjoint(active) if seeded else None,
            pieced=(lambda: adjoint_of(p, active, seeded, pieces=True)) if loops else None,
        )

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


def _zeros(value: Array, lead: Shape = ()) -> np.ndarray:
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

        return one_by_one(apply, tangent, self.in_shapes)

    def pullback(self, cotangent: Any) -> Any:
        lead = seed_axes(cotangent, [y.shape for y in self.y])
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
        """Cotangents for a number of seeds: at once, or one by one if the call is an adjoint or
        has arrays that grow, which have one axis.
        """
        if self.call.primal is None and not self.call.program.grows:
            return self.call.pull(self.values, cotangents, self.active, seeds)
        each = [
            self.call.pull(self.values, {n: c[k] for n, c in cotangents.items()}, self.active)
            for k in range(seeds)
        ]
        return {name: np.stack([found[name] for found in each]) for name in self.active}
