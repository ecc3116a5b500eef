"""The derivative of a program on a GPU: its residuals stay there.

    J.pushforward(device array)     an array of the device, of the point's library
    J @ numpy array                 a NumPy array: one copy there, one back

So SciPy's solvers, and all of linad that works with operators, take it as any other Jacobian.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.device_arrays import fetched, is_on_device
from linad.core.primitive import innermost_trace
from linad.errors import DeviceError, DTypeError, GuardError, ShapeError
from linad.sweeps.compiled import CompiledJacobian, seeds_of
from linad.sweeps.cuda.device import Device
from linad.sweeps.cuda.gpu_arrays import Array, handed_back, moved_in, taken_in
from linad.sweeps.fused_operators import FORMS
from linad.transforms.spaces import Slot
from linad.transforms.tape_operator import TapeOperator
from linad.transforms.tuple_entries import Entry


class DeviceJacobian(CompiledJacobian):
    """The derivative of a compiled tape on a device: a map between tuples of arrays.

    Notes
    -----
    Maps tuples of NumPy's arrays, as all operators do; `on_device` those of the device.
    """

    @property
    def point(self) -> list[Any]:
        return [fetched(v) for v in self.values]

    def on_device(self, mode: str, given: tuple[Any, ...], slots: list[Slot]) -> Sequence[Any]:
        """Push, or pull, arrays of the device and numbers; the results are of that kind."""
        if self._interpreted is None:
            try:
                return self._run_sweep(mode, given, slots)
            except (GuardError, ArithmeticError):
                self._interpret()
        return self._applied(mode, tuple([fetched(g) for g in given]), slots)

    def _run_sweep(self, mode: str, given: tuple[Any, ...], slots: list[Slot]) -> list[Any]:
        sweep, values = self._sweep_for(mode, seeds_of(given, slots), given)
        if innermost_trace(tuple(values)) is not None:
            return list(sweep(*values))  # becomes part of another program
        return sweep.arrays(values)

    def _swept(self, mode: str, given: tuple[Any, ...], slots: list[Slot]) -> tuple[Any, ...]:
        found = [fetched(y) for y in self._run_sweep(mode, given, slots)]
        return tuple([y if y.ndim else y[()] for y in found])


class DeviceOperator(TapeOperator):
    """The derivative of a function of arrays on a GPU; see `linad.TapeOperator`.

    `pushforward` and `pullback` take and give arrays of the device, of the library that the
    point was of. For NumPy's arrays they give NumPy's, as ``J @ v`` does. Numbers are both.

    Parameters
    ----------
    whole : DeviceJacobian
    computed : list of int or None
        For each result the number of the output of the program that it is.
    in_slots, out_slots : list of Slot
    in_tree, out_tree : structure
    device : Device
    stream : Stream
        Where arrays come in.
    like : object
        An array of the library that results are of.
    """

    def __init__(
        self,
        whole: DeviceJacobian,
        computed: list[int | None],
        in_slots: list[Slot],
        out_slots: list[Slot],
        in_tree: Any,
        out_tree: Any,
        device: Device,
        stream: Any,
        like: Any,
    ) -> None:
        self.whole, self.computed, self.device = whole, computed, device
        self.stream, self.like = stream, like
        count, made = len(in_slots), len(whole.out_slots)
        links = [(k, Entry(k, whole.values[i], count)) for k, i in enumerate(whole.active)]
        nodes = tuple(range(count + 1, count + 1 + made))
        outputs = [None if i is None else nodes[i] for i in computed]
        super().__init__(
            [(count, links), (nodes, [(count, whole)])],
            False,
            count + 1 + made,
            list(range(count)),
            outputs,
            in_slots,
            out_slots,
            in_tree,
            out_tree,
        )

    def pushforward(self, tangent: Any, *others: Any) -> Any:
        """Map a tangent, a container like the input, to one like the output."""
        if others:
            tangent = (tangent, *others)
        given = self._taken_in(tangent, self.in_tree, self.in_slots, "tangent")
        if given is None:
            return super().pushforward(tangent)
        found = self.whole.on_device("push", tuple(given), self.whole.in_slots)
        results = [
            np.zeros(slot.shape, slot.dtype) if i is None else found[i]
            for i, slot in zip(self.computed, self.out_slots, strict=True)
        ]
        return tree.unflatten(self.out_tree, [self._handed_back(y) for y in results])

    def pullback(self, cotangent: Any, *others: Any) -> Any:
        """Map a cotangent, a container like the output, to one like the input."""
        if others:
            cotangent = (cotangent, *others)
        given = self._taken_in(cotangent, self.out_tree, self.out_slots, "cotangent")
        if given is None:
            return super().pullback(cotangent)
        every: list[Any] = [None] * len(self.whole.out_slots)
        for i, g in zip(self.computed, given, strict=True):
            if i is not None:
                every[i] = g
        found = self.whole.on_device("pull", tuple(every), self.whole.out_slots)
        return tree.unflatten(self.in_tree, [self._handed_back(y) for y in found])

    def _taken_in(
        self, value: Any, structure: Any, slots: list[Slot], what: str
    ) -> list[Any] | None:
        """The leaves of a container on the device, and numbers; None if they are NumPy's."""
        leaves = tree.flatten(value)[0]
        if any(isinstance(x, np.ndarray) for x in leaves):
            if any(is_on_device(x) for x in leaves):
                raise DeviceError(f"{what}: expected arrays all of NumPy or all of the device")
            return None
        leaves = tree.flatten_like(value, structure, what)
        found: list[Any] = []
        for x, slot in zip(leaves, slots, strict=True):
            if not is_on_device(x):
                found.append(slot.seed(x, what)[0])
                continue
            a = taken_in(self.device, x, self.stream, what)
            if a.dtype != slot.dtype:
                raise DTypeError(f"{what}: expected dtype {slot.dtype}, got {a.dtype}")
            if a.shape[len(a.shape) - len(slot.shape) :] != slot.shape:
                raise ShapeError(
                    f"{what}: expected shape {slot.shape} (after any leading seed axes), got "
                    f"{a.shape}"
                )
            found.append(a)
        return found

    def _handed_back(self, y: Any) -> Any:
        if not y.ndim:
            return y[()]
        if type(y) is not Array:
            y = moved_in(self.device, y, self.stream)
        return handed_back(y, self.like)


FORMS[DeviceOperator] = FORMS[TapeOperator]
"""Products and sums of such operators are one program, as those of the CPU's are."""
