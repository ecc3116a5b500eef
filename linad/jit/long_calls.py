"""Calls of jitted functions that no short way knows: a known path is run, or a new one recorded.

From the second or third call of a kind on `Jitted` has a short way, which `LongCall.run` makes.
"""

import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from linad.arrays.tracer import Tracer
from linad.core import device_arrays, tree
from linad.core.collection_pause import collection_paused
from linad.core.error_state import is_loud
from linad.core.failures import is_own_fault, warn_uncompiled
from linad.core.interrupts import is_interrupt
from linad.core.settings import compiler_is_off, settings
from linad.core.shapes import name_of
from linad.core.tape import Var
from linad.errors import GuardError, LinadError, TracerError
from linad.jit.carried_along import has_state
from linad.jit.outside import state_of
from linad.jit.recording import record
from linad.jit.signature import Signature
from linad.jit.specializations import COMPUTED, Variant
from linad.transforms.demands import CAUGHT
from linad.transforms.record import is_recorded

if TYPE_CHECKING:
    from linad.jit.jitted import Jitted

log = logging.getLogger("linad")

makes_programs: ContextVar[bool] = ContextVar("linad_makes_programs", default=True)
"""Whether a call that no program fits is recorded; else it is left to Python."""


def called(jitted: "Jitted[..., Any]", args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call."""
    if is_loud():
        return jitted.function(*args, **kwargs)
    leaves, structure, fixed, orders = jitted.static.flatten(args, kwargs)
    if jitted.device is not None or device_arrays.are_among(leaves):
        from linad.jit import device_calls

        if not any([isinstance(x, Tracer) for x in leaves]):
            return device_calls.called(jitted, args, kwargs)
    arguments = Signature(leaves, structure, fixed, orders, jitted.narrow)
    if arguments.took_in:
        args, kwargs = tree.unflatten(arguments.structure, arguments.leaves)
    traced = [x for x in arguments.arrays if isinstance(x, Tracer)]
    if traced and any(is_recorded(x) for x in traced):
        return jitted.function(*args, **kwargs)  # becomes part of the program around it
    call = LongCall(jitted, arguments)
    return call.derived() if traced else call.run(args, kwargs)


class LongCall:
    """A call, taken apart, and the paths that are known for its kind.

    Parameters
    ----------
    jitted : Jitted
    arguments : Signature
    """

    def __init__(self, jitted: "Jitted[..., Any]", arguments: Signature) -> None:
        arguments.see(jitted.outside)
        self.jitted, self.function, self.arguments = jitted, jitted.function, arguments
        self.paths = jitted.variants.of(arguments)

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call with plain values."""
        arguments, paths = self.arguments, self.paths
        for variant in paths.fitting(arguments.arrays):
            if variant.runs_in_python(arguments.operands):
                variant.met_again = True
                return self.function(*args, **kwargs)
            if variant.is_left(arguments.operands):
                continue
            if not (awaited := variant.is_awaited):
                _ = variant.compiled  # what cannot be imported is the caller's to know
            try:
                values = variant.computed(arguments.operands)
            except GuardError:
                continue
            except CAUGHT as stopped:
                # NumPy says what is wrong, or knows what to return.
                log.debug("%s runs uncompiled: %s", name_of(self.function), stopped)
                return self.function(*args, **kwargs)
            except Exception as failure:
                if isinstance(failure, LinadError) and not variant.written:
                    raise
                if is_interrupt(failure):
                    raise
                # It raises there, too, and what it has written before stays; or is caught.
                return self.function(*args, **kwargs)
            variant.met_again = True
            if not awaited:
                self.jitted._enter(self._shortened(variant))
            return variant.finish(values, arguments.arrays)
        return self._run_anew(args, kwargs)

    def _run_anew(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that no path fits: the function runs, and is recorded if there is room."""
        arguments, paths = self.arguments, self.paths
        outside = arguments.outside
        if not makes_programs.get():
            return self.function(*args, **kwargs)
        if not paths.has_room(outside):
            self._warn()
            return self.function(*args, **kwargs)
        with collection_paused():
            y, path = record(self.function, arguments)
        if path is None:
            return y
        if arguments.met_single_precision(path.tape.equations):
            self.jitted.narrow = True
            path.take_back(arguments.arrays, outside)
            return self.jitted(*args, **kwargs)
        self.jitted.recordings.add(self.function, arguments, paths.add(path))
        if path.changes_containers:
            path.take_back(arguments.arrays, outside)
            return self.function(*args, **kwargs)
        return y

    def derived(self) -> Any:
        """A call with traced values: one operation of the derivative around it."""
        arguments, paths = self.arguments, self.paths
        for variant in paths.fitting(arguments.arrays):
            if variant.runs_in_python(arguments.operands):
                variant.met_again = True
                break
            if variant.is_left(arguments.operands):
                continue
            if not variant.is_awaited:
                _ = variant.compiled  # as in `run`
            try:
                values = variant.applied(arguments.arrays, arguments.outside)
            except GuardError:
                continue
            except CAUGHT:  # of these values, or of those that it was recorded with
                break
            except LinadError:
                raise
            except Exception as failure:  # which Python raises, too, or catches
                if is_interrupt(failure):
                    raise
                if is_own_fault(failure):
                    warn_uncompiled(name_of(self.function), failure)
                break
            variant.met_again = True
            return variant.finish(values, arguments.arrays)
        else:
            records = makes_programs.get()
            if records and paths.has_room(arguments.outside):
                _, new = record(self.function, arguments.on_values())
                if new is not None and new.fits(arguments.arrays):
                    path = paths.add(new)
                    self.jitted.recordings.add(self.function, arguments, path)
                    if new.changes_outside:
                        # That is done now, and must not be done again.
                        before = new.example[len(arguments.arrays) :]
                        values = new.applied(arguments.arrays, before)
                        return new.finish(values, arguments.arrays)
                    if path.runs_in_python(arguments.operands):
                        return arguments.call(self.function, arguments.arrays)
                    try:
                        values = path.applied(arguments.arrays, arguments.outside)
                    except GuardError:
                        # A loop of the program rounds otherwise than the steps that were recorded,
                        # and a decision hangs on that: at the end of an iteration, say.
                        return arguments.call(self.function, arguments.arrays)
                    return path.finish(values, arguments.arrays)
            elif records:
                self._warn()
        return arguments.call(self.function, arguments.arrays)

    def path(self) -> Variant:
        """The path that the call takes, recorded if it is new; the arguments are not changed.

        Raises
        ------
        TracerError
            If the arguments, or what the function uses beside them, are traced.
        """
        arguments, paths = self.arguments, self.paths
        path = None
        if not any(isinstance(x, Tracer) for x in arguments.arrays):
            for variant in paths.fitting(arguments.arrays):
                if variant.compiled.takes(arguments.operands):
                    return variant if variant.stored is None else variant.returning_only()
            _, path = record(self.function, arguments.on_values())
        if path is None:
            raise TracerError(
                f"{name_of(self.function)}: a program of its own needs plain arrays, and a "
                f"derivative around it is being taken; leave the derivative first"
            )
        kept = paths.add(path) if len(paths) < settings().variants else path
        return kept if kept.stored is None else kept.returning_only()

    def _warn(self) -> None:
        self.jitted.variants.warn(name_of(self.function), self.paths)

    def _shortened(self, variant: Variant) -> Any:
        """A way for the next call of this kind that is as short as it can be; None if there is
        none."""
        arguments, jitted = self.arguments, self.jitted
        chosen = settings()
        look = arguments.look
        if variant.short is not None:
            known, seen, short = variant.short
            if known is chosen and seen is look:
                return short
        args, kwargs = tree.unflatten(arguments.structure, arguments.leaves)
        if kwargs or variant.written or variant.stored is not None:
            return None
        if variant.memory is not None or variant.python_numbers is not None:
            return None
        if compiler_is_off() or any([type(lie) is not str for lie in variant.layouts or ()]):
            return None  # the program takes arrays in orders C and F
        slots = list(variant.tape.outputs)
        slots = [Var(k, a.shape, a.dtype) for k, a in enumerate(slots)]
        made = iter(slots)
        leaves = [next(made) if r is COMPUTED else r for r in variant.results]
        result = tree.unflatten(variant.out_tree, leaves)
        program = variant.compiled.program
        objects = [
            (x, *state_of(x, jitted.outside, f"s{k}_"))
            for k, x in enumerate(arguments.static_leaves)
            if has_state(x)
        ]
        short = program.short_call(
            args,
            arguments.arrays,
            result,
            slots,
            variant.flat,
            look,
            objects,
            lies=variant.lies or (),
            any_order=variant.layouts is None,
            python_numbers=not (jitted.narrow or arguments.holds_single_precision()),
        )
        variant.short = chosen, look, short
        return short
