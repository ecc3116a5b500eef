"""Calls of jitted functions with arrays in the memory of a GPU.

A function is traced on NumPy's arrays: the first call of a kind copies its arguments to the host
and runs it there. What it recorded then runs on the device, at that call and at all later ones.
Python decisions are checked there, and another path is recorded as on the CPU.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.control import conjugate_gradients as conjugate_gradients  # tells the table of programs
from linad.core import tree
from linad.core.collection_pause import collection_paused
from linad.core.device_arrays import fetched, is_on_device
from linad.core.shapes import is_inexact, name_of
from linad.core.tape import Var
from linad.errors import DeviceError, DTypeError, GuardError
from linad.jit.recording import record
from linad.jit.signature import Signature
from linad.jit.specializations import COMPUTED, Variant
from linad.sweeps.cuda.device_jacobian import DeviceJacobian, DeviceOperator
from linad.sweeps.cuda.device_target import PLANNED
from linad.sweeps.cuda.gpu_arrays import Array, copied, handed_back, moved_in, taken_in
from linad.sweeps.cuda.opening import target_here
from linad.sweeps.explain import Report, plan_of
from linad.transforms.spaces import Slot

log = logging.getLogger("linad")

QUOTES = "'\""


class DeviceCall:
    """A call of a jitted function, its arrays on the device.

    Parameters
    ----------
    jitted : Jitted
    args, kwargs
        As it is called with.

    Attributes
    ----------
    arguments : Signature
        With arrays of the host of the same shapes in place of the device's; their entries count
        for nothing.
    operands : list
        Arrays of the device, of the host, and numbers: all that a program reads.
    like : object or None
        The first array of the device among the arguments.

    Raises
    ------
    DeviceError
        If arrays of the device and of the host are mixed.
    """

    def __init__(self, jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.jitted = jitted
        self.target = target_here()
        self.device = self.target.device
        self.device.activate()
        self.stream = self.target.door
        leaves, structure, self.fixed, self.orders = jitted.static.flatten(args, kwargs)
        self.paths = tree.leaf_paths(structure)
        there = [k for k, x in enumerate(leaves) if is_on_device(x)]
        self.like = leaves[there[0]] if there else None
        if there:
            self._check_all_there(leaves)
        self.borrowed = any(
            [type(leaves[k]) is not Array and not _says_its_stream(leaves[k]) for k in there]
        )
        self.given: dict[int, Array] = {}
        stand_ins = list(leaves)
        for k in there:
            self.given[k] = taken_in(self.device, leaves[k], self.stream, self._name(k))
            stand_ins[k] = np.empty(self.given[k].shape, self.given[k].dtype)
        self.leaves, self.structure = leaves, structure
        self.arguments = self._signature(stand_ins)
        self.arguments.see(jitted.outside)
        # Arrays of the CPU's side of other libraries are NumPy's by now.
        taken = [self.given.get(k, self.arguments.leaves[k]) for k in self.arguments.dynamic]
        self.operands = [*taken, *self.arguments.outside]

    def _signature(self, leaves: list[Any]) -> Signature:
        return Signature(leaves, self.structure, self.fixed, self.orders, self.jitted.narrow)

    def _check_all_there(self, leaves: list[Any]) -> None:
        for k, x in enumerate(leaves):
            if isinstance(x, np.ndarray) and k not in self.fixed and x.dtype.kind in "biufc":
                raise DeviceError(
                    f"{self._name(k)} is a NumPy array, and others are on the device: move it "
                    f"there (linad.cuda.asarray), or fetch the others"
                )

    def _name(self, k: int) -> str:
        """What an argument is called in errors: ``f: argument 0['a']``."""
        path = self.paths[k]
        place, _, inside = path.removeprefix("[0][").partition("]")
        if path.startswith("[0]"):
            return f"{name_of(self.jitted.function)}: argument {place}{inside}"
        name, _, inside = path.removeprefix("[1][").partition("]")
        return f"{name_of(self.jitted.function)}: argument {name.strip(QUOTES)}{inside}"

    # Paths.

    def run(self, work: Callable[[Any], Any]) -> tuple[Variant, Any]:
        """Do something with the program of the path that the call takes.

        Returns
        -------
        variant : Variant
        found : object
            What ``work(compiled)`` gave.
        """
        name = name_of(self.jitted.function)
        paths = self.jitted.variants.of(self.arguments)
        for variant in paths.fitting(self.arguments.arrays):
            self._check(variant)
            try:
                return variant, work(variant.compiled_for(self.target))
            except GuardError:
                continue
        if not paths.has_room(self.arguments.outside):
            raise DeviceError(
                f"jit: {name} took a new path through its Python decisions {len(paths)} times, "
                f"and on a device only programs run; np.where decides entry by entry, "
                f"linad.config(variants=...) keeps more paths"
            )
        path = self._recorded()
        self._check(path)
        variant = paths.add(path)
        return variant, work(variant.compiled_for(self.target))

    def _recorded(self) -> Variant:
        """The path that the function takes on copies of the arguments on the host."""
        copies = [np.array(x) if isinstance(x, np.ndarray) else x for x in self.on_host()]
        on_host = self._signature(copies)
        on_host.look, on_host.outside = self.arguments.look, self.arguments.outside
        with collection_paused():
            _, path = record(self.jitted.function, on_host)
        if path is None:
            raise DeviceError(
                f"jit: {name_of(self.jitted.function)} writes into an array that has two names, "
                f"or uses values of a derivative around it: it is not a program for a device"
            )
        if on_host.met_single_precision(path.tape.equations):
            self.jitted.narrow = True
            raise NarrowError
        return path

    def on_host(self) -> list[Any]:
        """The leaves with copies on the host for what is on the device; one array by two names
        stays one."""
        copies: dict[int, np.ndarray] = {}
        found = list(self.arguments.leaves)
        for k, a in self.given.items():
            copy = copies.get(a._memory.address)
            found[k] = a.numpy() if copy is None or copy.shape != a.shape else copy
            copies[a._memory.address] = found[k]
        return found

    def _check(self, variant: Variant) -> None:
        """Refuse a path that is not a program, or that writes where another argument is.

        Raises
        ------
        DeviceError
        """
        name = name_of(self.jitted.function)
        changes = variant.changes_containers or variant.changes_outside
        if variant.interpreted or changes or variant.stored is not None:
            raise DeviceError(
                f"jit: {name} needs Python at each call (it catches what NumPy raises, or changes "
                f"what stands outside): it is not a program for a device"
            )
        spans = [self._span(a) for a in self.operands]
        for k in variant.written:
            for j, other in enumerate(spans):
                if j != k and max(spans[k][0], other[0]) < min(spans[k][1], other[1]):
                    raise DeviceError(
                        f"jit: {name} writes into an argument that shares memory with another; "
                        f"pass a copy of one of them"
                    )

    @staticmethod
    def _span(a: Any) -> tuple[int, int]:
        if type(a) is Array:
            return a._memory.address, a._memory.address + a.nbytes
        return np.lib.array_utils.byte_bounds(a) if isinstance(a, np.ndarray) else (0, 0)

    # Results.

    def finished(self, variant: Variant, values: Sequence[Any]) -> Any:
        """The result of a call, of what the program computed; writes into the arguments."""
        count = len(values) - len(variant.written)
        for k, value in zip(variant.written, values[count:], strict=True):
            self._write(self.operands[k], value)
        shown = [self.shown(y) for y in values[:count]]
        return variant.shown([*shown, *values[count:]])

    def _write(self, target: Any, value: Any) -> None:
        if type(target) is not Array:
            target[...] = fetched(value)
        elif type(value) is not Array:
            self.device.upload(target._memory.address, value, target._stream)
        else:
            self.device.wait(target._stream, value._stream)
            source = value._memory.address
            self.device.copy(target._memory.address, source, value.nbytes, target._stream)
            self.device.wait(value._stream, target._stream)

    def shown(self, y: Any) -> Any:
        """A result as the caller gets it: of his library, or NumPy's where he gave none."""
        if isinstance(y, np.ndarray):
            if not y.ndim or self.like is None:
                return y if y.ndim else y[()]
            y = moved_in(self.device, y, self.stream)
        if type(y) is not Array:
            return y
        return fetched(y) if self.like is None else handed_back(y, self.like)

    def by_numpy(self) -> Any:
        """What the function does on the host, where a kernel has stopped: NumPy says what is
        wrong, or knows what to return."""
        on_host = self.on_host()
        before = {k: on_host[k].tobytes() for k in self.given}
        args, kwargs = tree.unflatten(self.structure, on_host)
        leaves, structure = tree.flatten(self.jitted.function(*args, **kwargs))
        for k, a in self.given.items():
            if on_host[k].tobytes() != before[k]:
                self._write(a, on_host[k])
        return tree.unflatten(structure, [self.shown(y) for y in leaves])

    def release(self) -> None:
        """Let arrays go that came in by DLPack alone, whose libraries know nothing of us."""
        if self.borrowed:
            self.device.synchronize(self.stream)


class NarrowError(Exception):
    """Python numbers of a call are part of the program after all; it has to be taken apart anew."""


def _says_its_stream(x: Any) -> bool:
    return hasattr(x, "__cuda_array_interface__")


def _taken_apart(
    jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any], work: Callable[..., Any]
) -> Any:
    """``work(call)`` with a call taken apart, a second time where numbers turn out to be static."""
    try:
        return work(DeviceCall(jitted, args, kwargs))
    except NarrowError:
        return work(DeviceCall(jitted, args, kwargs))


def called(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a jitted function with arrays on the device, or for the device.

    Raises
    ------
    DeviceError
        If there is no GPU, arrays are mixed, or the function is not a program.
    FallbackError
        If it needs NumPy, and ``linad.config(device_fallback=True)`` is not set.
    """

    def work(call: DeviceCall) -> Any:
        try:
            variant, values = call.run(lambda compiled: compiled.arrays(call.operands))
            result = call.finished(variant, values)
        except ArithmeticError as stopped:
            log.debug("%s runs on the host: %s", name_of(jitted.function), stopped)
            return call.by_numpy()
        call.release()
        return result

    return _taken_apart(jitted, args, kwargs, work)


def planned(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Report:
    """What a call would run on a GPU with all libraries; none is opened."""
    return plan_of(jitted.variant(*args, **kwargs).tape, PLANNED, name_of(jitted.function))


def linearized(
    jitted: Any, args: tuple[Any, ...], argnums: Sequence[int], single: bool
) -> tuple[Any, DeviceOperator]:
    """A jitted function and its derivative at a point on the device.

    Parameters
    ----------
    jitted : Jitted
    args : tuple
    argnums : sequence of int
    single : bool
        Whether tangents look like the one argument, and not like a tuple of several.

    Raises
    ------
    DTypeError
        If an argument to differentiate is not floating or complex.
    """
    return _taken_apart(jitted, args, {}, lambda call: _linearized(call, args, argnums, single))  # type: ignore[no-any-return]


def _linearized(
    call: DeviceCall, args: tuple[Any, ...], argnums: Sequence[int], single: bool
) -> tuple[Any, DeviceOperator]:
    counts = [len(tree.flatten(a)[0]) for a in args]
    chosen = [k for i in argnums for k in range(sum(counts[:i]), sum(counts[: i + 1]))]
    for k in chosen:
        x = call.given.get(k, call.arguments.leaves[k])
        if k not in call.arguments.dynamic or not is_inexact(np.result_type(_dtype(x))):
            raise DTypeError(
                f"{call._name(k)}: expected an array of floating or complex dtype to "
                f"differentiate in, got {_dtype(x)}"
            )
    active = tuple([call.arguments.dynamic.index(k) for k in chosen])
    # The caller may write into his arrays: what is kept are copies.
    values = [
        copied(a, call.stream) if type(a) is Array else np.array(a)[()] for a in call.operands
    ]
    variant, whole = call.run(lambda compiled: DeviceJacobian(compiled, values, active))
    if variant.written:
        raise DeviceError(
            f"linearize: {name_of(call.jitted.function)} writes into its arguments; on a device "
            f"it has to return what it computes"
        )
    tape = variant.tape
    made = iter(range(len(tape.outputs)))
    numbers = [next(made) if r is COMPUTED else None for r in variant.results]
    y = variant.shown([call.shown(v) for v in whole.results])
    leaves, out_tree = tree.flatten(y)
    computed = [
        i
        if i is not None and isinstance(tape.outputs[i], Var) and is_inexact(tape.outputs[i].dtype)
        else None
        for i in numbers
    ]
    out_slots = [
        Slot(whole.results[i]) if i is not None else Slot(np.asarray(v))
        for i, v in zip(numbers, leaves, strict=True)
    ]
    in_tree = tree.flatten(args[argnums[0]] if single else tuple([args[i] for i in argnums]))[1]
    in_slots = [Slot(values[i]) for i in active]
    J = DeviceOperator(
        whole, computed, in_slots, out_slots, in_tree, out_tree, call.device, call.stream, call.like
    )
    call.release()
    return y, J


def _dtype(x: Any) -> Any:
    return getattr(x, "dtype", type(x))
