"""Fourier transforms: every function of numpy.fft, cropped, padded and scaled."""

import numpy as np
import pytest

import linad
from linad.errors import TracerError
from linad.rules.fourier import fit_, fourier_, irfft_, rfft_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


def coefficients(*shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


CASES = [
    Case(fit_, array(2, 3), shape=(3, 2), check=COMPLEX),
    Case(fourier_, coefficients(2, 3), axes=(-2, -1), inverse=False, norm="ortho"),
    Case(rfft_, array(3, 2), axis=-2, norm="forward"),
    Case(irfft_, coefficients(2, 3), n=5, axis=-1, norm="backward"),
    Case(np.fft.fft, array(4), check=COMPLEX),
    Case(np.fft.fft, array(3, 2), n=2, axis=0, norm="ortho"),
    Case(np.fft.fft, array(2, 3), n=5, norm="forward", check=COMPLEX),
    Case(np.fft.ifft, array(5), check=COMPLEX),
    Case(np.fft.ifft, array(2, 3), n=4, axis=-1, norm="forward"),
    Case(np.fft.rfft, array(4)),
    Case(np.fft.rfft, array(5)),
    Case(np.fft.rfft, array(4, 2), n=3, axis=0, norm="ortho"),
    Case(np.fft.irfft, coefficients(4)),
    Case(np.fft.irfft, coefficients(2, 4), n=5, norm="ortho"),
    Case(np.fft.irfft, coefficients(3, 2), n=8, axis=0, norm="forward"),
    Case(np.fft.irfft, array(3)),
    Case(np.fft.hfft, coefficients(3)),
    Case(np.fft.hfft, coefficients(2, 3), n=5, norm="forward"),
    Case(np.fft.ihfft, array(5)),
    Case(np.fft.ihfft, array(2, 4), n=6, norm="ortho"),
    Case(np.fft.fft2, array(2, 2, 3), check=COMPLEX),
    Case(np.fft.ifft2, array(2, 3), s=(3, 2), norm="ortho"),
    Case(np.fft.fftn, array(2, 3, 2)),
    Case(np.fft.fftn, array(2, 3), s=(4, 2), axes=(1, 0), norm="forward", check=COMPLEX),
    Case(np.fft.fftn, array(2, 3), axes=(0, 0), check=COMPLEX),
    Case(np.fft.ifftn, array(2, 3), axes=(-1,), check=COMPLEX),
    Case(np.fft.rfft2, array(3, 4)),
    Case(np.fft.rfftn, array(2, 3, 4), axes=(0, 2), norm="ortho"),
    Case(np.fft.rfftn, array(3, 4), s=(2, 5), axes=(0, 1)),
    Case(np.fft.irfft2, coefficients(3, 3)),
    Case(np.fft.irfftn, coefficients(2, 3), s=(3, 5), axes=(0, 1), norm="forward"),
    Case(np.fft.irfftn, coefficients(3, 2, 2), axes=(1, 0)),
    Case(np.fft.fftshift, array(3, 4), check=COMPLEX),
    Case(np.fft.fftshift, array(3, 4), axes=0),
    Case(np.fft.ifftshift, array(5, 2), axes=(0,)),
]


@pytest.mark.parametrize("k", range(4, len(CASES)))
def test_values_are_numpys(k):
    case = CASES[k]
    y, _ = linad.linearize(lambda x: case.function(x, **case.params), *case.args)
    expected = case.function(*case.args, **case.params)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("function", [np.fft.fft, np.fft.rfft, np.fft.irfft, np.fft.ihfft])
def test_single_precision_stays(function):
    y, J = linad.linearize(function, np.ones(4, np.float32))
    assert y.dtype == function(np.ones(4, np.float32)).dtype
    assert J.pullback(np.ones_like(y)).dtype == np.float32


def test_matrix_of_the_transform():
    J = linad.linearize(np.fft.fft, np.ones(5, complex))[1]
    k = np.arange(5)
    np.testing.assert_allclose(J.todense(), np.exp(-2j * np.pi * np.outer(k, k) / 5), atol=1e-14)


def test_imaginary_parts_that_irfft_does_not_read_have_no_gradient():
    J = linad.linearize(np.fft.irfft, coefficients(4))[1]
    gradient = J.pullback(array(6))
    assert gradient[0].imag == 0
    assert gradient[-1].imag == 0


ERRORS = {
    "no points": lambda x: np.fft.fft(x, 0),
    "norm": lambda x: np.fft.fft(x, norm="sideways"),
    "axis": lambda x: np.fft.fft(x, axis=3),
    "one coefficient": lambda x: np.fft.irfft(x[:1]),
    "lengths and axes": lambda x: np.fft.fftn(x, s=(2, 2), axes=(0,)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_numpys(name):
    function = ERRORS[name]
    x = np.ones(4)
    with pytest.raises((ValueError, IndexError)) as numpys:
        function(x)
    with pytest.raises(type(numpys.value)):
        linad.linearize(function, x)


@pytest.mark.parametrize(
    "name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "rfftn", "irfftn", "fft2"]
)
def test_out_is_refused(name):
    function = getattr(np.fft, name)
    x = np.ones((3, 3))
    out = np.zeros_like(function(x))
    with pytest.raises(TracerError):
        linad.linearize(lambda x: function(x, out=out), x)


def test_rfft_of_complex_values_is_refused_as_by_numpy():
    with pytest.raises(TypeError):
        linad.linearize(np.fft.rfft, np.ones(4, complex))
