"""Arrays in the memory of a GPU: linad's own, and those of other libraries as such.

Another library's array comes in by ``__cuda_array_interface__``, or by DLPack where it has only
that, and a result goes out by the function with which its library takes arrays in. Between two
libraries that queue their work on different streams there is no order by itself. So every array
here knows the stream on which its entries are made; whoever reads them lets its own stream wait
for that one, and that one for itself, so that nobody writes there too early.
"""

import importlib
from typing import Any

import numpy as np

from linad.core.callers import defining_package
from linad.core.shapes import Shape, size_of
from linad.errors import DeviceError, ShapeError
from linad.sweeps.cuda.device import LEGACY_STREAM, Device, Layout, Memory, Stream, handle_of
from linad.sweeps.places import c_strides

TAKEN_BY = {
    "cupy": ("cupy", "from_dlpack"),
    "torch": ("torch", "from_dlpack"),
    "jax": ("jax.dlpack", "from_dlpack"),
    "jaxlib": ("jax.dlpack", "from_dlpack"),
    "numba": ("numba.cuda", "as_cuda_array"),
    "numba_cuda": ("numba.cuda", "as_cuda_array"),
}
"""For the package of an array's class the module and the function that take arrays in."""


class Array:
    """An array in the memory of a GPU, in C order.

    It holds entries and no arithmetic: a jitted function takes it, `numpy` fetches it, and CuPy,
    PyTorch, JAX and Numba share its memory by ``__dlpack__`` or ``__cuda_array_interface__``.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype

    See Also
    --------
    linad.cuda.asarray : makes one of a NumPy array.
    """

    __slots__ = ("__weakref__", "_device", "_memory", "_stream", "dtype", "shape")

    def __init__(
        self, device: Device, memory: Memory, stream: Stream, shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        """Say where an array lies.

        Parameters
        ----------
        device : Device
        memory : Memory
        stream : Stream
            On which its entries are made.
        shape : tuple of int
        dtype : numpy.dtype
        """
        self._device, self._memory, self._stream = device, memory, stream
        self.shape, self.dtype = shape, dtype

    @property
    def ndim(self) -> int:
        """How many axes it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many entries it has."""
        return size_of(self.shape)

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return self.size * int(self.dtype.itemsize)

    def reshape(self, shape: Shape) -> "Array":
        """The same memory in another shape, of as many entries."""
        if size_of(shape) != self.size:
            raise ShapeError(f"reshape: {self!r} does not have {size_of(shape)} entries")
        return Array(self._device, self._memory, self._stream, tuple(shape), self.dtype)

    def numpy(self) -> np.ndarray:
        """Wait for the entries, and copy them to the host.

        Returns
        -------
        ndarray
        """
        found = np.empty(self.shape, self.dtype)
        self._device.activate()
        self._device.download(found, self._memory.address, self._stream)
        self._device.synchronize(self._stream)
        return found

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self._hand_over(LEGACY_STREAM)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._memory.address, False),
            "strides": None,
            "stream": LEGACY_STREAM,
            "version": 3,
        }

    def __dlpack__(self, *, stream: int | None = None, **asked: Any) -> Any:
        if stream != -1:  # which asks for no order
            self._hand_over(stream or LEGACY_STREAM)
        return self._device.capsule(self, **asked)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device.dlpack_device

    def _hand_over(self, handle: int) -> None:
        """From here on another stream works with it, and it is freed in the order of that one."""
        if handle == handle_of(self._stream):
            return
        stream = self._device.stream_of(handle)
        self._device.activate()
        self._device.wait(stream, self._stream)
        self._device.free_on(self._memory, stream)
        self._stream = stream

    def __repr__(self) -> str:
        return f"<linad.cuda.Array {self.dtype}{list(self.shape)}>"

    def __bool__(self) -> bool:
        raise DeviceError(f"{self!r} is on the device: fetch it, x.numpy(), to decide by its value")


def taken_in(device: Device, x: Any, stream: Stream, what: str) -> Array:
    """An array of any library as one of linad's, of the same memory.

    Parameters
    ----------
    device : Device
    x : object
        For which `linad.core.device_arrays.is_on_device` holds.
    stream : Stream
        That waits for whoever makes the entries, if ``x`` speaks DLPack alone. Nobody then waits
        for whoever reads them: the caller has to, before ``x`` may go.
    what : str
        Its name, for errors.

    Raises
    ------
    DeviceError
        If it is not in C order, or of a dtype that NumPy does not have.
    """
    if type(x) is Array:
        return x
    by_interface = hasattr(x, "__cuda_array_interface__")
    lies = _layout(device, x, stream, what, by_interface)
    if lies.strides is not None and size_of(lies.shape) > 1:
        expected = c_strides(lies.shape, lies.dtype)
        trio = zip(lies.shape, lies.strides, expected, strict=True)
        if any(n != 1 and s != e for n, s, e in trio):
            raise DeviceError(
                f"{what}: expected an array in C order, got strides {lies.strides} for shape "
                f"{lies.shape} of {lies.dtype}; pass a copy in C order "
                f"(cupy.ascontiguousarray(x), x.contiguous() in PyTorch)"
            )
    size = size_of(lies.shape) * lies.dtype.itemsize
    # Who names no stream works on the one that libraries use where nobody chose one.
    made_on = device.stream_of(lies.stream or LEGACY_STREAM) if by_interface else stream
    return Array(device, Memory(lies.address, size, x), made_on, lies.shape, lies.dtype)


def _layout(device: Device, x: Any, stream: Stream, what: str, by_interface: bool) -> Layout:
    try:
        if not by_interface:
            return device.layout(x, stream)
        interface = x.__cuda_array_interface__
        strides = interface.get("strides")
        return Layout(
            interface["data"][0],
            tuple(interface["shape"]),
            None if strides is None else tuple(strides),
            np.dtype(interface["typestr"]),
            interface.get("stream"),
        )
    except (BufferError, KeyError, TypeError, ValueError) as error:
        kind = type(x)
        raise DeviceError(
            f"{what}: expected an array of numbers on the device, got a {kind.__module__}."
            f"{kind.__qualname__} that does not say where its entries are: {error}"
        ) from error


def handed_back(array: Array, like: Any) -> Any:
    """A result as an array of the library that ``like`` is of."""
    package = defining_package(type(like))
    if package not in TAKEN_BY:
        return array
    module, function = TAKEN_BY[package]
    return getattr(importlib.import_module(module), function)(array)


def moved_in(device: Device, a: np.ndarray, stream: Stream) -> Array:
    """A NumPy array as one on the device, copied on a stream."""
    a = np.asarray(a, order="C")
    memory = device.allocate(a.nbytes, stream)
    if a.nbytes:
        device.upload(memory.address, a, stream)
    return Array(device, memory, stream, a.shape, a.dtype)


def copied(a: Array, stream: Stream) -> Array:
    """The same entries in memory of its own, made on a stream."""
    device = a._device
    memory = device.allocate(a.nbytes, stream)
    device.wait(stream, a._stream)
    if a.nbytes:
        device.copy(memory.address, a._memory.address, a.nbytes, stream)
    device.wait(a._stream, stream)
    return Array(device, memory, stream, a.shape, a.dtype)
