"""Complex numbers in models: as pairs inside, refused outside."""

import numpy as np
import pytest

import linad
from linad.errors import ExportError

rng = np.random.default_rng(0)


def test_complex_numbers_are_refused():
    with pytest.raises(ExportError, match="argument z is complex128.*no complex arithmetic"):
        linad.onnx(lambda z: z * z)(np.ones(2) + 1j)
    with pytest.raises(ExportError, match=r"the result y: .*no complex arithmetic"):
        linad.onnx(np.fft.rfft)(np.ones(4))
    with pytest.raises(ExportError, match=r"onnx: tan at .*no complex arithmetic"):
        linad.onnx(lambda x: np.tan(1j * x).imag)(np.ones(4))


@pytest.mark.parametrize("n", [1, 2, 5, 64, 97, 100, 210])
def test_fourier_transforms_of_any_length(n):
    def f(x):
        z = np.fft.rfft(x)
        return z.real, z.imag, np.fft.irfft(z, n), np.fft.irfft(z, n + 3), np.fft.ifft(x).imag

    assert linad.onnx(f)(rng.standard_normal(n)).check() < 1e-14


@pytest.mark.parametrize("mode", ["full", "valid"])
def test_convolution_of_several_axes(mode):
    kernel = rng.standard_normal((2, 2)) + 1j * rng.standard_normal((2, 2))

    def f(x):
        y = linad.scipy.signal.convolve2d(x * (1 - 2j), kernel, mode=mode)
        return y.real, y.imag

    assert linad.onnx(f)(rng.standard_normal((3, 4))).check() < 1e-14


def test_powers_and_roots_of_complex_numbers():
    def f(x):
        z = x * (1 + 1j) - 0.5j
        found = z**3, z**-2, z**0.5, (0 * z) ** 2.5, np.sqrt(z), np.sqrt(-z), np.sinh(z), np.cos(z)
        return [part for y in found for part in (y.real, y.imag)]

    assert linad.onnx(f)(np.array([0.5, -1.25, 2.0])).check() < 1e-14


def test_entries_of_complex_arrays_are_written():
    def f(x):
        z = x + 1j * x**2
        z[1:] = 2j * z[:-1]
        y = z * (1 - 1j)
        return y.real, y.imag

    assert linad.onnx(f)(np.array([0.5, -1.25, 2.0])).check() < 1e-14


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("dtype", [bool, int, np.int32])
def test_complex_numbers_cast_to_exact_ones(dtype):
    def f(x):
        z = x + 1j * x[::-1]
        return z.astype(dtype) * 1.0, (0 * x + 1j * x).astype(dtype)

    exported = linad.onnx(f)(np.array([0.0, 1.0, 2.0, -3.7, 0.0]))
    assert exported.check() == 0
