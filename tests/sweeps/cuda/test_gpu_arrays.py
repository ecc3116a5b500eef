"""Arrays in and out of a device, between libraries and their streams."""

import sys
import types

import numpy as np
import pytest
from fake_device import Foreign, Tensor, bytes_in_use, fake_gpu

import linad
from linad.errors import DeviceError, DTypeError

X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "i8", "b1"])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 3)])
def test_there_and_back(dtype, shape):
    x = np.ones(shape, dtype)
    with fake_gpu():
        a = linad.cuda.asarray(x)
        assert (a.shape, a.dtype, a.ndim, a.size) == (x.shape, x.dtype, x.ndim, x.size)
        assert a.nbytes == x.nbytes
        found = a.numpy()
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, x)
        assert linad.cuda.asarray(a) is a


def test_any_layout_of_numpys():
    with fake_gpu():
        np.testing.assert_array_equal(linad.cuda.asarray(X.T[::-1]).numpy(), X.T[::-1])


def test_refusals():
    with fake_gpu() as device:
        with pytest.raises(DTypeError, match="asarray: expected an array of floats"):
            linad.cuda.asarray(np.array(["a"]))
        with pytest.raises(DeviceError, match=r"linad.cuda.Array float64\[6\].* x.numpy\(\)"):
            bool(linad.cuda.asarray(np.arange(6.0)))
        flipped = Foreign(device, X, strides=(8, 16))
        with pytest.raises(DeviceError, match=r"argument 0: expected an array in C order"):
            linad.jit(np.sin)(flipped)
        strange = Foreign(device, X, typestr="nonsense")
        with pytest.raises(DeviceError, match="does not say where its entries are"):
            linad.jit(np.sin)(strange)


def test_strides_that_say_nothing():
    with fake_gpu() as device:
        x = Foreign(device, X, strides=(24, 8))
        np.testing.assert_array_equal(linad.jit(np.sin)(x).numpy(), np.sin(X))


@pytest.mark.parametrize("stream", [1, 2, 4096])
def test_streams_wait_for_each_other(stream):
    """Entries that another library has only asked for are read when they are there, and it may
    write over them as soon as it likes, in its own order."""
    with fake_gpu() as device:
        f = linad.jit(lambda x: np.sin(x) * 2)
        for _ in range(2):
            x = Foreign(device, X, stream)
            y = f(x)
            device.upload(x.memory.address, X * 0 + np.nan, device.stream_of(stream))
            np.testing.assert_allclose(y.numpy(), 2 * np.sin(X))
            y = f(Foreign(device, X, stream))  # which is freed at once
            np.testing.assert_allclose(y.numpy(), 2 * np.sin(X))


def test_by_dlpack_alone():
    with fake_gpu() as device:
        f = linad.jit(lambda x: np.sin(x) * 2)
        for _ in range(2):
            y = f(Tensor(device, X))
            np.testing.assert_allclose(y.numpy(), 2 * np.sin(X))
        a = linad.cuda.asarray(Tensor(device, X))
        np.testing.assert_array_equal(a.numpy(), X)


def test_a_result_for_others():
    """They read it in the order of their stream, and it is freed in that order."""
    with fake_gpu() as device:
        f = linad.jit(lambda x: np.sin(x) * 2)
        f(Foreign(device, X))
        y = f(Foreign(device, X))
        said = y.__cuda_array_interface__
        assert (said["shape"], said["typestr"], said["strides"]) == ((2, 3), "<f8", None)
        assert (said["version"], said["stream"]) == (3, 1)
        found, theirs = np.empty((2, 3)), device.stream_of(1)
        device.download(found, said["data"][0], theirs)
        del y
        device.synchronize(theirs)
        np.testing.assert_allclose(found, 2 * np.sin(X))


@pytest.mark.parametrize("stream", [None, 1, 4096])
def test_capsules(stream):
    with fake_gpu():
        y = linad.jit(np.sin, device=None)(linad.cuda.asarray(X))
        assert y.__dlpack_device__()[0] == 2

        class OnHost:
            """What the fake device's memory is."""

            def __dlpack__(self, **asked):
                return y.__dlpack__(stream=stream)

            def __dlpack_device__(self):
                return 1, 0

        np.testing.assert_allclose(np.from_dlpack(OnHost()), np.sin(X))


def test_results_are_of_the_callers_kind(monkeypatch):
    module = types.ModuleType("cupy")
    module.from_dlpack = lambda a: ("cupy's", a.numpy())
    monkeypatch.setitem(sys.modules, "cupy", module)
    kind = type("ndarray", (Foreign,), {"__module__": "cupy"})
    with fake_gpu() as device:
        f = linad.jit(lambda x: (np.sin(x), np.sum(x)))
        for _ in range(2):
            (word, y), total = f(kind(device, X))
            assert word == "cupy's"
            np.testing.assert_allclose(y, np.sin(X))
            assert type(total) is np.float64


def test_memory_is_freed():
    with fake_gpu() as device:
        f = linad.jit(lambda x: np.sin(x) * 2)
        f(linad.cuda.asarray(X))
        before = bytes_in_use(device)
        kept = [f(linad.cuda.asarray(X)) for _ in range(5)]
        assert bytes_in_use(device) == before + 5 * X.nbytes
        del kept
        assert bytes_in_use(device) == before
