"""Fourier transforms in compiled programs: bit by bit NumPy's, without Python."""

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.sweeps.cpu import fourier_routines

NORMS = (None, "ortho", "forward")
TRANSFORMS = {
    "fft": np.fft.fft,
    "ifft": np.fft.ifft,
    "rfft": lambda x, **k: np.fft.rfft(x.real, **k),
    "rfft of more": lambda x, **k: np.fft.rfft(x.real, 9, **k),
    "irfft": lambda x, **k: np.fft.irfft(x, 5, **k),
    "irfft of all": lambda x, **k: np.fft.irfft(x, **k),
    "hfft": np.fft.hfft,
    "ihfft": lambda x, **k: np.fft.ihfft(x.real, **k),
}
SEVERAL = {
    "fft2": np.fft.fft2,
    "ifftn": np.fft.ifftn,
    "rfftn": lambda x, **k: np.fft.rfftn(x.real, **k),
    "irfft2": np.fft.irfft2,
    "upside down": lambda x, **k: np.fft.fftn(x[::-1].T, axes=(2, 0), **k),
}


def array(shape, dtype):
    rng = np.random.default_rng(len(shape))
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def check(f, x):
    compiled = linad.jit(f)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x), linad.linearize(f, x)[0])
    assert not linad.explain(compiled)(x).fallbacks


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["D", "F"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_one_axis(name, dtype):
    for norm in NORMS:
        for axis in range(3):
            along = {"norm": norm, "axis": axis}
            check(lambda x, along=along: TRANSFORMS[name](x, **along), array((4, 6, 5), dtype))
        check(lambda x, n=norm: TRANSFORMS[name](x, norm=n), array((7,), dtype))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["D", "F"])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_axes(name, dtype):
    for norm in NORMS:
        check(lambda x, n=norm: SEVERAL[name](x, norm=n), array((4, 3, 6), dtype))


def test_memory():
    """In poisoned memory, and with nothing to transform."""
    for x in (array((3, 8), "D"), array((0, 8), "D")):
        check_compiled(np.fft.fft, x, rtol=1e-12)
        check_compiled(np.fft.ifft2 if x.size else np.fft.ifft, x, rtol=1e-12)


@pytest.mark.usefixtures("kernels")
def test_where_numpys_loops_are_not_known_numpy_is_called(monkeypatch):
    monkeypatch.setattr(fourier_routines, "loop_of", lambda *what: None)
    f = linad.jit(lambda x: np.fft.irfft(np.fft.rfft(np.fft.fft(x).real)))
    x = array((8,), "D")
    for _ in range(2):
        np.testing.assert_allclose(f(x), np.fft.fft(x).real, rtol=1e-12)
    assert len(linad.explain(f)(x).fallbacks) == 3
