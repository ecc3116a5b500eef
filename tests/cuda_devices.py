"""What linad asks of cuda.core, and whether cuda.core has it: run by ``tox -e cuda``.

There is no GPU here, so nothing is called. Every function that `linad.sweeps.cuda.nvidia` calls is
looked up in the package that is installed, and the arguments are bound to its signature.
"""

import ctypes
import inspect

import numpy as np
import pytest
from fake_device import fake_gpu
from on_device import DRY, main

import linad
from linad.errors import DeviceError
from linad.sweeps.cuda.cubins import ENTRY, cubin_of
from linad.sweeps.cuda.device import Device
from linad.sweeps.cuda.nvidia import BLOCK, NvidiaDevice
from linad.sweeps.cuda.target import CUDA
from linad.sweeps.lower import Lowering

core = pytest.importorskip("cuda.core", reason="tox -e cuda has it")

CALLS = {
    "Device": [((), {})],
    "Device.set_current": [(("self",), {})],
    "Device.create_stream": [(("self",), {})],
    "Device.create_graph_builder": [(("self",), {})],
    "Device.allocate": [(("self", 8), {"stream": None})],
    "Stream.from_handle": [((1,), {})],
    "Stream.wait": [(("self", None), {})],
    "Stream.sync": [(("self",), {})],
    "Stream.__cuda_stream__": [(("self",), {})],
    "Buffer.from_handle": [((1, 8), {"owner": None})],
    "Buffer.copy_from": [(("self", None), {"stream": None})],
    "Buffer.fill": [(("self", 0), {"stream": None})],
    "Buffer.set_deallocation_stream": [(("self", None), {})],
    "LegacyPinnedMemoryResource.allocate": [(("self", 8), {})],
    "ObjectCode.from_cubin": [((b"",), {})],
    "ObjectCode.get_kernel": [(("self", ENTRY), {})],
    "launch": [((None, None, None, *[np.int64(0)] * 4), {})],
    "graph.GraphBuilder.begin_building": [(("self",), {})],
    "graph.GraphBuilder.end_building": [(("self",), {})],
    "graph.GraphBuilder.complete": [(("self",), {})],
    "graph.GraphBuilder.__cuda_stream__": [(("self",), {})],
    "graph.Graph.launch": [(("self", None), {})],
    "utils.StridedMemoryView.from_dlpack": [((None,), {"stream_ptr": 1})],
    "utils.StridedMemoryView.from_buffer": [((None, (2,)), {"dtype": None})],
    "utils.StridedMemoryView.__dlpack__": [(("self",), {"stream": -1, "max_version": None})],
}
ATTRIBUTES = [
    *("Device.compute_capability", "Device.properties", "Device.device_id", "Buffer.handle"),
    *("LEGACY_DEFAULT_STREAM", "PER_THREAD_DEFAULT_STREAM"),
    "_device.DeviceProperties.multiprocessor_count",
    *[f"utils.StridedMemoryView.{name}" for name in ("shape", "strides", "dtype")],
]


def found(name):
    value = core
    for part in name.split("."):
        value = (
            inspect.getattr_static(value, part)
            if inspect.isclass(value)
            else (getattr(value, part))
        )
    return value


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    import cuda.core.graph
    import cuda.core.utils  # noqa: F401

    function = found(name)
    if isinstance(function, staticmethod | classmethod):
        bound = isinstance(function, classmethod)
        function = function.__func__
    else:
        bound = False
    for args, kwargs in CALLS[name]:
        if inspect.isclass(function):
            assert callable(function)
            continue
        given = ("cls", *args) if bound else args
        inspect.signature(function).bind(*given, **kwargs)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name):
    import cuda.core.utils  # noqa: F401

    assert found(name) is not None


def test_launch_configurations():
    config = core.LaunchConfig(grid=7, block=BLOCK)
    assert (config.grid, config.block) == ((7, 1, 1), (BLOCK, 1, 1))
    config = core.LaunchConfig(grid=(2, 3, 1), block=(4, 5, 6))  # of a user's
    assert (config.grid, config.block) == ((2, 3, 1), (4, 5, 6))


def test_libraries_have_names():
    from cuda import pathfinder

    assert issubclass(pathfinder.DynamicLibNotFoundError, Exception)
    assert {"cublas", "cusolver", "cufft"} <= set(pathfinder.SUPPORTED_NVIDIA_LIBNAMES)


def test_a_device_is_whole():
    assert not Device.__abstractmethods__ - set(vars(NvidiaDevice))


def test_no_gpu():
    """A machine with one runs tests/on_device.py."""
    with pytest.raises(DeviceError, match="there is no GPU to run on"):
        linad.jit(np.sin, device="cuda")(np.ones(3))


def test_a_cubin_has_the_entry():
    with fake_gpu():
        _, tape = linad.trace(np.sin, np.ones(300))
        (call,) = Lowering(tape, CUDA).instructions
        code = core.ObjectCode.from_cubin(cubin_of(call.source).code)
        assert code.code_type == "cubin"
        assert ENTRY.encode() in code.code


def test_pinned_memory_keeps_its_owner():
    memory = (ctypes.c_uint8 * 16)()
    memory.owner = owner = []
    assert np.frombuffer(memory, np.uint8).base.owner is owner


def test_the_script_for_a_gpu(capsys):
    """With the fake device in place of one."""
    assert main([DRY]) == 0
    said = capsys.readouterr().out
    for part in ("jax: not installed", "programs, equal to the CPU: ", "two streams give the same"):
        assert part in said
    for part in ("one thread and many", "in-place rules: 0 allocations", "0 bytes of the device"):
        assert part in said
