"""What programs ask of a GPU: memory, streams, kernels, graphs.

A program never touches the driver. It asks an object of this class, and there are two kinds:
`linad.sweeps.cuda.nvidia`, over the package cuda.core, and the one of the tests, whose memory is
the host's and whose streams do their work as late as they may.

Work on a stream runs in order, and at some time after the call that asked for it. Between
streams there is no order but what `wait` makes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from linad.sweeps.instructions import GridCall

LEGACY_STREAM = 1
"""Handle of the stream that libraries use where nobody chose one."""


class Stream(Protocol):
    """A queue of work, or a graph that is being recorded in place of one."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of the protocol, which is 0, and the handle."""
        ...


class Graph(Protocol):
    """Work that was recorded, to be launched as a whole."""

    def launch(self, stream: Any) -> None: ...


class Memory(NamedTuple):
    """Memory of the device.

    Attributes
    ----------
    address : int
    size : int
        Bytes.
    owner : object
        While it lives, the memory does. The memory is freed in the order of its stream.
    """

    address: int
    size: int
    owner: Any


class Layout(NamedTuple):
    """How an array lies in memory of the device, as another library says."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    stream: int | None


def handle_of(stream: Stream) -> int:
    """The address by which C libraries know a stream."""
    return stream.__cuda_stream__()[1]


class Device(ABC):
    """A GPU."""

    @abstractmethod
    def activate(self) -> None:
        """Make it the one that this thread's calls are for."""

    # Streams.

    @abstractmethod
    def new_stream(self) -> Stream:
        """A stream that waits for no other by itself."""

    @abstractmethod
    def stream_of(self, handle: int) -> Stream:
        """The stream of a handle that another library gave."""

    @abstractmethod
    def wait(self, stream: Stream, other: Stream) -> None:
        """Let what comes on a stream wait for what another one has been given so far."""

    @abstractmethod
    def synchronize(self, stream: Stream) -> None:
        """Return when all work of a stream is done."""

    # Memory.

    @abstractmethod
    def allocate(self, size: int, stream: Stream) -> Memory:
        """Memory, from the pool, for work on a stream; it is freed there, too."""

    @abstractmethod
    def pinned(self, size: int) -> np.ndarray:
        """Bytes of the host's that the device writes without a copy between."""

    @abstractmethod
    def upload(self, address: int, array: np.ndarray, stream: Stream) -> None:
        """Copy an array in C order to the device; it may be changed when this returns."""

    @abstractmethod
    def download(self, array: np.ndarray, address: int, stream: Stream) -> None:
        """Copy to an array in C order, whose entries count after `synchronize`."""

    @abstractmethod
    def copy(self, target: int, source: int, size: int, stream: Stream) -> None:
        """Copy bytes within the device."""

    @abstractmethod
    def clear(self, address: int, size: int, stream: Stream) -> None:
        """Set bytes to zero."""

    # Kernels and graphs.

    @abstractmethod
    def kernel(self, source: str, fast: bool) -> Any:
        """Compile, or find, the kernel of a source, and load it."""

    @abstractmethod
    def launch(self, kernel: Any, extent: int, words: int, status: int, stream: Stream) -> None:
        """Run a kernel over a range, with the addresses of its words and of the status."""

    @abstractmethod
    def grid_kernel(self, call: GridCall) -> Any:
        """Compile, or find, a user's kernel, and load it."""

    @abstractmethod
    def launch_grid(self, kernel: Any, call: GridCall, words: int, stream: Stream) -> None:
        """Run a user's kernel over its grid, with the address of its words."""

    @abstractmethod
    def graph(self, issue: Callable[[Any], None]) -> Graph:
        """Record what ``issue(stream)`` asks of a stream. Nothing of it runs before a launch."""

    @abstractmethod
    def library(self, name: str) -> Any:
        """The functions of a C library, "cublas", "cusolver" or "cufft", as attributes.

        Raises
        ------
        DeviceError
            If it is not installed.
        """

    @abstractmethod
    def has_library(self, name: str) -> bool:
        """Whether a C library is there."""

    # Arrays of other libraries.

    @abstractmethod
    def layout(self, array: Any, stream: Stream) -> Layout:
        """Where an array that speaks DLPack alone lies; ``stream`` waits for whoever makes it."""

    @abstractmethod
    def capsule(self, array: Any, **asked: Any) -> Any:
        """The DLPack capsule of a `linad.cuda.Array`, with the options of ``__dlpack__``."""

    @property
    @abstractmethod
    def dlpack_device(self) -> tuple[int, int]:
        """Kind and number, as ``__dlpack_device__`` says them."""

    @abstractmethod
    def free_on(self, memory: Memory, stream: Stream) -> None:
        """Let memory be freed in the order of another stream, whoever works there with it."""
