"""A GPU of NVIDIA's, by the package cuda.core.

Each method is one or two calls of that package. None of them has ever run: there was no GPU where
this was written. What is tested is that cuda.core has the functions, and that they take what they
are given here.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.errors import DeviceError
from linad.sweeps.cuda.cubins import ENTRY, Cubin, cubin_of, cubin_of_user
from linad.sweeps.cuda.device import Device, Layout, Memory, handle_of
from linad.sweeps.instructions import GridCall

BLOCK = 128
"""Threads of a block."""

WAVES = 16
"""Blocks for each multiprocessor; of a longer range every thread takes several numbers."""


def _packages() -> Any:
    """The package cuda.core.

    Raises
    ------
    DeviceError
    """
    try:
        import cuda.core
        import numba_cuda  # noqa: F401  # which compiles kernels
    except ImportError as missing:
        raise DeviceError(
            f"cuda: programs on a GPU need a package that is not installed ({missing.name}): "
            f"pip install 'linad[cuda]'"
        ) from missing
    return cuda.core


class NvidiaDevice(Device):
    """The first GPU that the driver shows.

    Raises
    ------
    DeviceError
        If a package is missing, or the driver, or the GPU.
    """

    def __init__(self) -> None:
        self.core = _packages()
        try:
            self.device = self.core.Device()
            self.device.set_current()
            self.capability = tuple(self.device.compute_capability)
            self.block, self.blocks = BLOCK, WAVES * self.device.properties.multiprocessor_count
        except Exception as problem:  # of the driver's, or that it is missing
            raise DeviceError(f"cuda: there is no GPU to run on: {problem}") from problem
        self.streams: dict[int, Any] = {
            1: self.core.LEGACY_DEFAULT_STREAM,
            2: self.core.PER_THREAD_DEFAULT_STREAM,
        }
        self.libraries: dict[str, Any] = {}
        self.host = self.core.LegacyPinnedMemoryResource()

    def activate(self) -> None:
        self.device.set_current()

    # Streams.

    def new_stream(self) -> Any:
        return self.device.create_stream()

    def stream_of(self, handle: int) -> Any:
        if handle not in self.streams:
            self.streams[handle] = self.core.Stream.from_handle(handle)
        return self.streams[handle]

    def wait(self, stream: Any, other: Any) -> None:
        stream.wait(other)

    def synchronize(self, stream: Any) -> None:
        stream.sync()

    # Memory.

    def allocate(self, size: int, stream: Any) -> Memory:
        buffer = self.device.allocate(max(size, 1), stream=stream)
        return Memory(int(buffer.handle), size, buffer)

    def free_on(self, memory: Memory, stream: Any) -> None:
        if isinstance(memory.owner, self.core.Buffer):  # others are freed by who made them
            memory.owner.set_deallocation_stream(stream)

    def pinned(self, size: int) -> np.ndarray:
        buffer = self.host.allocate(size)
        memory: Any = (ctypes.c_uint8 * size).from_address(int(buffer.handle))
        memory.owner = buffer  # which frees it
        return np.frombuffer(memory, np.uint8)

    def _buffer(self, address: int, size: int, owner: Any = None) -> Any:
        return self.core.Buffer.from_handle(address, size, owner=owner)

    def upload(self, address: int, array: np.ndarray, stream: Any) -> None:
        source = self._buffer(array.ctypes.data, array.nbytes, array)
        self._buffer(address, array.nbytes).copy_from(source, stream=stream)

    def download(self, array: np.ndarray, address: int, stream: Any) -> None:
        if array.nbytes:
            target = self._buffer(array.ctypes.data, array.nbytes, array)
            target.copy_from(self._buffer(address, array.nbytes), stream=stream)

    def copy(self, target: int, source: int, size: int, stream: Any) -> None:
        self._buffer(target, size).copy_from(self._buffer(source, size), stream=stream)

    def clear(self, address: int, size: int, stream: Any) -> None:
        self._buffer(address, size).fill(0, stream=stream)

    # Kernels and graphs.

    def kernel(self, source: str, fast: bool) -> Any:
        return self._loaded(cubin_of(source, self.capability))

    def grid_kernel(self, call: GridCall) -> Any:
        return self._loaded(cubin_of_user(*call.key, self.capability))

    def _loaded(self, cubin: Cubin) -> Any:
        return self.core.ObjectCode.from_cubin(cubin.code).get_kernel(ENTRY)

    def launch(self, kernel: Any, extent: int, words: int, status: int, stream: Any) -> None:
        blocks = max(1, min(-(-extent // self.block), self.blocks))
        self._launch(kernel, blocks, self.block, (words, 0, extent, status), stream)

    def launch_grid(self, kernel: Any, call: GridCall, words: int, stream: Any) -> None:
        self._launch(kernel, call.blocks, call.threads, (words, 0, 0, 0), stream)

    def _launch(self, kernel: Any, grid: Any, block: Any, given: Any, stream: Any) -> None:
        config = self.core.LaunchConfig(grid=grid, block=block)
        self.core.launch(stream, config, kernel, *[np.int64(a) for a in given])

    def graph(self, issue: Callable[[Any], None]) -> Any:
        builder = self.device.create_graph_builder()
        builder.begin_building()
        try:
            issue(builder)
        finally:
            builder.end_building()
        return builder.complete()

    def library(self, name: str) -> Any:
        if name not in self.libraries:
            from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

            try:
                path = load_nvidia_dynamic_lib(name).abs_path
            except DynamicLibNotFoundError as missing:
                raise DeviceError(
                    f"cuda: the library {name} is not installed: pip install 'linad[cuda-libs]'"
                ) from missing
            self.libraries[name] = ctypes.CDLL(path)
        return self.libraries[name]

    def has_library(self, name: str) -> bool:
        try:
            self.library(name)
        except DeviceError:
            return False
        return True

    # Arrays of other libraries.

    def layout(self, array: Any, stream: Any) -> Layout:
        from cuda.core.utils import StridedMemoryView

        view = StridedMemoryView.from_dlpack(array, stream_ptr=handle_of(stream))
        dtype = np.dtype(view.dtype)
        strides = view.strides
        if strides is not None:
            strides = tuple([s * dtype.itemsize for s in strides])
        return Layout(view.ptr, tuple(view.shape), strides, dtype, None)

    def capsule(self, array: Any, **asked: Any) -> Any:
        from cuda.core.utils import StridedMemoryView

        memory = array._memory
        buffer = self._buffer(memory.address, max(array.nbytes, 1), memory.owner)
        view = StridedMemoryView.from_buffer(buffer, array.shape, dtype=array.dtype)
        return view.__dlpack__(stream=-1, **asked)  # the order is made already

    @property
    def dlpack_device(self) -> tuple[int, int]:
        return 2, self.device.device_id
