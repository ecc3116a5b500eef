"""The older names of the transforms."""

import numpy as np
import pytest
import scipy.fftpack

import linad
import linad.scipy.fftpack as sf
from linad.errors import DTypeError
from linad.testing.derivative_checks import check_derivatives

X = np.random.default_rng(0).standard_normal((4, 5))
CASES = {
    **{
        f"{name}-{type}-{norm}": lambda m, x, f=name, t=type, norm=norm: getattr(m, f)(
            x, t, norm=norm
        )
        for name in ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn")
        for type, norm in [(1, None), (2, None), (3, "ortho"), (4, None)]
    },
    **{
        name: lambda m, x, f=name: np.abs(getattr(m, f)(x)) ** 2
        for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "fftshift")
    },
    "fft-long": lambda m, x: np.abs(m.fft(x, 7, 0)),
    "dctn-shape": lambda m, x: m.dctn(x, shape=(3, 6), axes=(0, 1)),
    **{
        f"{name}-{n}-{axis}": lambda m, x, f=name, n=n, axis=axis: getattr(m, f)(x, n, axis)
        for name in ("rfft", "irfft")
        for n, axis in [(None, -1), (None, 0), (3, 1), (8, 1), (7, 0)]
    },
}


@pytest.mark.parametrize("name", CASES)
def test_traces(name):
    f = CASES[name]
    expected = f(scipy.fftpack, X)
    np.testing.assert_array_equal(f(sf, X), expected)
    y = linad.linearize(lambda x: f(sf, x), X)[0]
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    check_derivatives(lambda x: f(sf, x), X, order=1)


def test_real_transforms_refuse_complex_numbers():
    for name in ("rfft", "irfft"):
        with pytest.raises(DTypeError, match=f"{name}: x must be real"):
            linad.linearize(lambda x, f=name: getattr(sf, f)(x), X + 1j)


def test_the_rest_is_scipys():
    assert sf.fftfreq is scipy.fftpack.fftfreq
