"""The C functions of cuBLAS, cuSOLVER and cuFFT: handles, streams, types, statuses.

What each function is called with says `linad.sweeps.cuda.library_forms`. A sweep has handles of
its own, which work on its stream, or on the graph that is recorded in place of it.

Nothing here has run on a GPU. The tests call a stand-in for the libraries that has the same
functions and computes by SciPy on the host.

Source: NVIDIA, "cuBLAS Library", "cuSOLVER API Reference" and "cuFFT API Reference", version 13.
"""

import ctypes
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.array_type import Array
from linad.errors import DeviceError
from linad.sweeps.cpu.blas_lapack import OperandStack
from linad.sweeps.cuda.device import Device, Memory, handle_of
from linad.sweeps.cuda.library_calls import LibraryCall

if TYPE_CHECKING:
    from linad.sweeps.cuda.device_sweep import DeviceSweep

FLAGS = {
    "s": {"L": 0, "R": 1},
    "u": {"L": 0, "U": 1},
    "o": {"N": 0, "T": 1, "C": 2},
    "d": {"N": 0, "U": 1},
}
"""Numbers of the flags for a side, a triangle, a transposition and a diagonal of ones."""

KINDS = {
    **dict.fromkeys("suodi", ctypes.c_int),
    **dict.fromkeys("hap", ctypes.c_void_p),
    "l": ctypes.c_longlong,
    "b": ctypes.c_byte,
    "z": ctypes.c_size_t,
}
"""C types by letter: flags and sizes; a handle, an address on the host, one on the device; a long
size, a character, a number of bytes."""

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
"""By the first letter of a routine."""

SCRATCH = 32 << 20
"""Bytes of working memory of a cuBLAS handle, as NVIDIA advises for compute capability 9.0."""

OF_HANDLES = {
    "cublas": ("cublasCreate_v2", "cublasSetStream_v2", "cublasDestroy_v2"),
    "cusolver": ("cusolverDnCreate", "cusolverDnSetStream", "cusolverDnDestroy"),
}


class Libraries:
    """The libraries of a device.

    Parameters
    ----------
    device : Device
    """

    def __init__(self, device: Device) -> None:
        self.device = device

    def function(self, symbol: str, form: str) -> Callable[..., None]:
        """A function that returns a status, which is looked at.

        Parameters
        ----------
        symbol : str
            It begins with the library's name.
        form : str
            Letters of `KINDS`, one for each argument.
        """
        library = next(name for name in ("cublas", "cusolver", "cufft") if symbol.startswith(name))
        found = getattr(self.device.library(library), symbol)
        found.argtypes = [KINDS[kind] for kind in form.split()]
        found.restype = ctypes.c_int

        def checked(*arguments: Any) -> None:
            status = found(*arguments)
            if status:
                raise DeviceError(f"{symbol} returned the status {status}")

        return checked

    def handle(self, library: str, sweep: "DeviceSweep", stream: Any) -> int:
        """The handle with which a sweep calls a library, set to a stream."""
        create, choose, destroy = OF_HANDLES[library]
        if library not in sweep.handles:
            made = ctypes.c_void_p()
            self.function(create, "a")(ctypes.addressof(made))
            value = int(made.value or 0)
            scratch = self.device.allocate(SCRATCH, sweep.stream) if library == "cublas" else None
            sweep.handles[library] = value, scratch
            _finally(sweep, self.function(destroy, "h"), value)
        kept, scratch = sweep.handles[library]
        self.function(choose, "h p")(kept, handle_of(stream))
        if scratch is not None:
            # The choice of a stream has taken it away. With it no graph allocates memory, and
            # two runs give the same bits.
            place = self.function("cublasSetWorkspace_v2", "h p z")
            place(kept, scratch.address, scratch.size)
        return int(kept)

    def plan(
        self, sweep: "DeviceSweep", lengths: tuple[int, ...], kind: int, batch: int, stream: Any
    ) -> int:
        """The plan of a sweep for transforms of arrays in C order, set to a stream."""
        key: Any = "cufft", lengths, kind, batch
        if key not in sweep.handles:
            number, size = ctypes.c_int(), ctypes.c_size_t()
            self.function("cufftCreate", "a")(ctypes.addressof(number))
            n = np.array(lengths, np.int64)
            make = self.function("cufftMakePlanMany64", "i i a a l l a l l i l a")
            # Without a memory layout arrays are in C order, one after the other.
            make(
                number.value, len(lengths), n.ctypes.data, None, 1, 0, None, 1, 0, kind, batch,
                ctypes.addressof(size),
            )  # fmt: skip
            sweep.handles[key] = number.value
            _finally(sweep, self.function("cufftDestroy", "i"), number.value)
        plan = int(sweep.handles[key])
        self.function("cufftSetStream", "i p")(plan, handle_of(stream))
        return plan


def _finally(sweep: "DeviceSweep", destroy: Callable[..., None], handle: int) -> None:
    """Destroy a handle with its sweep; the driver takes care of the end of the process."""
    weakref.finalize(sweep, destroy, handle).atexit = False


class Operands:
    """The arguments of a call, as C functions take them.

    Parameters
    ----------
    libraries : Libraries
    call : LibraryCall
    sweep : DeviceSweep
    stream : Stream
        Or the graph that is recorded.
    """

    def __init__(
        self, libraries: Libraries, call: LibraryCall, sweep: "DeviceSweep", stream: Any
    ) -> None:
        self.libraries, self.call, self.sweep, self.stream = libraries, call, sweep, stream
        self.letter, self.name = call.routine[0], call.routine[1:]
        self.dtype = np.dtype(DTYPES[self.letter])
        self._numbers: list[np.ndarray] = []  # which are read when the function is called

    def handle(self, library: str) -> int:
        return self.libraries.handle(library, self.sweep, self.stream)

    def function(self, symbol: str, form: str) -> Callable[..., None]:
        """The function for the dtype of the call, whose letter stands where ``?`` does."""
        return self.libraries.function(symbol.replace("?", self.letter.upper()), form)

    def number(self, value: Array) -> int:
        """The address, on the host, of a number."""
        self._numbers.append(np.array(value, self.dtype))
        return int(self._numbers[-1].ctypes.data)

    def offset(self, position: int, entry: int) -> int:
        a = self.call.arguments[position]
        return int(a.offsets[entry]) if isinstance(a, OperandStack) else int(a.offset)

    def address(self, position: int, entry: int = 0) -> int:
        """Where the array at a position is, for an entry of the stack."""
        a = self.call.arguments[position]
        place = a.place if isinstance(a, OperandStack) else a
        begin = self.sweep.fixed_address(place.buffer)
        assert begin is not None, "what a library is called with keeps its address"
        return begin + self.offset(position, entry)

    def table(self, position: int) -> int:
        """Where, on the device, the addresses of the arrays of a stack are."""
        return self.sweep.words_of(self.call) + 8 * self.call.tables[position]

    def step(self, position: int) -> int | None:
        """Bytes from each array of a stack to the next; None if that differs."""
        offsets = [self.offset(position, e) for e in range(self.call.extent)]
        steps = set(np.diff(offsets).tolist())
        return int(steps.pop()) if len(steps) == 1 else None

    def given(self, position: int, kind: str, entry: int = 0) -> Any:
        """The argument at a position, for the letter that says what it is."""
        a = self.call.arguments[position]
        if kind in FLAGS:
            return FLAGS[kind][a]
        if kind == "a":
            return self.number(a)
        return self.address(position, entry) if kind == "p" else int(a)

    def scratch(self, symbol: str, form: str, *arguments: Any) -> tuple[Memory, int]:
        """Working memory for a function of cuSOLVER, as another one says how much."""
        count = ctypes.c_int()
        self.function(symbol, form)(*arguments, ctypes.addressof(count))
        size = max(count.value, 1) * self.dtype.itemsize
        return self.libraries.device.allocate(size, self.stream), count.value
