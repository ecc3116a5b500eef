"""A GPU that is none: memory of the host, kernels on the host, and the manners of a real one.

Streams do their work as late as they may: when somebody waits for it. So a program that reads
what another stream makes, and does not say so, reads memory full of NaN. What is freed is
full of NaN from then on, and an address that no allocation has is refused. While a graph is
recorded there are no allocations and no copies from or to the host, and what a graph has recorded
keeps its parameters.
"""

import contextlib
import ctypes
import gc
import threading
import weakref
from unittest import mock

import numpy as np
from fake_libraries import FakeLibraries
from kernels_in_python import FUNCTION, elements, kernels_in_python

from linad.errors import DeviceError
from linad.sweeps.cpu.program_kernels import addresses_of
from linad.sweeps.cuda import opening
from linad.sweeps.cuda.device import Device, Layout, Memory
from linad.sweeps.cuda.device_target import DeviceTarget
from linad.sweeps.cuda.host_program import host_source

POISON = 0xFF


class FakeStream:
    """A queue of work that runs when somebody waits for it."""

    def __init__(self, device, handle):
        self.device, self.handle = device, handle
        self.work, self.done, self.asked = [], 0, 0

    def __cuda_stream__(self):
        return 0, self.handle

    def add(self, work):
        with self.device.lock:
            self.work.append(work)
            self.asked += 1

    def run_until(self, count):
        with self.device.lock:
            while self.done < count:
                self.done += 1  # first, as a wait may come back here
                self.work.pop(0)()


class Recording:
    """A stream while a graph is recorded from it."""

    def __init__(self, handle):
        self.handle, self.work = handle, []

    def __cuda_stream__(self):
        return 0, self.handle

    def add(self, work):
        self.work.append(work)


class FakeGraph:
    def __init__(self, work):
        self.work = work
        self.launches = 0

    def launch(self, stream):
        self.launches += 1
        for work in self.work:
            stream.add(work)


class FakeDevice(Device):
    """Memory, streams, kernels and graphs on the host.

    Attributes
    ----------
    counts : dict
        How often memory was allocated, copied ...
    """

    def __init__(self, threads=3, libraries=("cublas", "cusolver", "cufft")):
        self.threads, self.with_libraries = threads, libraries
        self.lock = threading.RLock()
        self.streams = {}
        self.live = {}
        self.kept = []  # what is freed stays readable, and full of NaN
        self.counts = dict.fromkeys(("allocate", "upload", "download", "graph", "launch"), 0)
        self.libraries = FakeLibraries(self)
        self.active = self.is_recording = False

    def activate(self):
        self.active = True

    # Streams.

    def new_stream(self):
        with self.lock:
            return self.stream_of(1000 + 8 * len(self.streams))

    def stream_of(self, handle):
        return self.streams.setdefault(handle, FakeStream(self, handle))

    def wait(self, stream, other):
        count = other.asked
        stream.add(lambda: other.run_until(count))

    def synchronize(self, stream):
        self._refuse_recording(stream, "synchronization")
        stream.run_until(stream.asked)

    def _refuse_recording(self, stream, what):
        if isinstance(stream, Recording):
            raise DeviceError(f"{what} while a graph is recorded")

    # Memory.

    def allocate(self, size, stream):
        self._refuse_recording(stream, "an allocation")
        assert self.active
        assert not self.is_recording
        self.counts["allocate"] += 1
        memory = np.full(size + 64, POISON, np.uint8)
        address = memory.ctypes.data + -memory.ctypes.data % 64
        self.kept.append(memory)
        owner = Owner(stream)
        self.live[address] = size

        def free():
            def work():
                self.live.pop(address)
                memory.fill(POISON)

            owner_stream[0].add(work)

        owner_stream = owner.stream
        weakref.finalize(owner, free)
        return Memory(address, size, owner)

    def free_on(self, memory, stream):
        memory.owner.stream[0] = stream

    def check(self, address, size):
        assert any(a <= address and address + size <= a + n for a, n in self.live.items()), (
            f"{size} bytes at {address} are not the device's"
        )

    def pinned(self, size):
        return np.zeros(size, np.uint8)

    def upload(self, address, array, stream):
        self._refuse_recording(stream, "an upload")
        assert array.flags.c_contiguous
        self.counts["upload"] += 1
        data = array.tobytes()

        def work():
            self.check(address, len(data))
            ctypes.memmove(address, data, len(data))

        stream.add(work)

    def download(self, array, address, stream):
        self._refuse_recording(stream, "a download")
        assert array.flags.c_contiguous
        self.counts["download"] += 1

        def work():
            self.check(address, array.nbytes)
            ctypes.memmove(array.ctypes.data, address, array.nbytes)

        stream.add(work)

    def copy(self, target, source, size, stream):
        def work():
            self.check(target, size)
            self.check(source, size)
            ctypes.memmove(target, source, size)

        stream.add(work)

    def clear(self, address, size, stream):
        def work():
            self.check(address, size)
            ctypes.memset(address, 0, size)

        stream.add(work)

    # Kernels and graphs.

    def kernel(self, source, fast):
        return FUNCTION(addresses_of([(host_source(source, self.threads), fast)], "fake")[0])

    def launch(self, kernel, extent, words, status, stream):
        self.counts["launch"] += 1

        def work():
            self.check(words, 8)
            found = kernel(words, 0, extent)
            if found:
                elements(status, 1, np.dtype(np.int64))[0] = found

        stream.add(work)

    def grid_kernel(self, call):
        return call.function

    def launch_grid(self, kernel, call, words, stream):
        self.counts["launch"] += 1
        count = sum(1 + o.ndim for o in call.described)

        def work():
            self.check(words, 8 * count)
            given, operands = iter(elements(words, count, np.dtype(np.int64)).tolist()), []
            for dtype, ndim, is_array in call.described:
                address, shape = next(given), tuple(next(given) for _ in range(ndim))
                a = elements(address, np.prod(shape, dtype=int), np.dtype(dtype)).reshape(shape)
                operands.append(a if is_array else a[()])
            kernel.in_python(*operands)

        stream.add(work)

    def graph(self, issue):
        self.counts["graph"] += 1
        recording = Recording(4 + 8 * self.counts["graph"])
        self.streams[recording.handle] = recording
        self.is_recording = True
        try:
            issue(recording)
        finally:
            self.is_recording = False
        del self.streams[recording.handle]
        return FakeGraph(recording.work)

    def library(self, name):
        if not self.has_library(name):
            raise DeviceError(f"{name} is not installed")
        return self.libraries.library(name)

    def has_library(self, name):
        return name in self.with_libraries

    # Arrays of other libraries.

    def layout(self, array, stream):
        return array.layout(stream)

    def capsule(self, array, **asked):
        self.synchronize(array._stream)
        memory = elements(array._memory.address, array.size, array.dtype).reshape(array.shape)
        return memory.__dlpack__()

    @property
    def dlpack_device(self):
        return 2, 0

    def put(self, array, stream=1):
        """The address of a copy of an array, made on a stream as another library would."""
        self.active = True
        array = np.ascontiguousarray(array)
        memory = self.allocate(array.nbytes, self.stream_of(stream))
        self.upload(memory.address, array, self.stream_of(stream))
        return memory


class Owner:
    def __init__(self, stream):
        self.stream = [stream]


class Foreign:
    """An array of another library's, by the CUDA array interface."""

    def __init__(self, device, array, stream=1, **more):
        self.memory, self.device = device.put(array, stream), device
        self.shape, self.dtype = np.shape(array), np.asarray(array).dtype
        self.ndim = len(self.shape)
        self.stream, self.more = stream, more

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.memory.address, False),
            "stream": self.stream,
            "version": 3,
            **self.more,
        }

    def numpy(self):
        found = np.empty(self.shape, self.dtype)
        stream = self.device.stream_of(self.stream)
        self.device.download(found, self.memory.address, stream)
        self.device.synchronize(stream)
        return found


class Tensor:
    """An array of another library's that speaks DLPack alone."""

    def __init__(self, device, array):
        self.memory = device.put(array)
        self.shape, self.dtype, self.device = np.shape(array), np.asarray(array).dtype, device

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **asked):
        raise BufferError("the device reads it")

    def layout(self, stream):
        self.device.wait(stream, self.device.stream_of(1))
        return Layout(self.memory.address, self.shape, None, self.dtype, None)


@contextlib.contextmanager
def fake_gpu(compiled=False, **options):
    """Within, the process has a GPU: a `FakeDevice`, whose kernels run in Python."""
    device = FakeDevice(**options)
    target = DeviceTarget(device)
    kernels = contextlib.nullcontext() if compiled else kernels_in_python()
    with mock.patch.object(opening, "_made", return_value=target), kernels:
        yield device


@contextlib.contextmanager
def transfers(device):
    """The sizes of all that is copied to the host within, in bytes."""
    sizes, download = [], device.download

    def counted(array, *where):
        sizes.append(array.nbytes)
        download(array, *where)

    with mock.patch.object(device, "download", counted):
        yield sizes


def bytes_in_use(device):
    """What is allocated, when all work is done."""
    gc.collect()
    for stream in list(device.streams.values()):
        stream.run_until(stream.asked)
    return sum(device.live.values())
