"""linad.scipy.fft and its backend."""

import itertools

import numpy as np
import pytest
import scipy.fft

import linad
import linad.scipy.fft as sf
from linad.errors import UnsupportedError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
X = rng.standard_normal((3, 4))
Z = X + 1j * rng.standard_normal((3, 4))

CASES = {
    "fft": (lambda m, x: m.fft(x, norm="ortho"), Z),
    "fft-real": (lambda m, x: m.fft(x, 6, axis=0), X),
    "ifft": (lambda m, x: m.ifft(x), Z),
    "rfft": (lambda m, x: m.rfft(x, n=3), X),
    "irfft": (lambda m, x: m.irfft(x, n=5), Z),
    "hfft": (lambda m, x: m.hfft(x), Z),
    "ihfft": (lambda m, x: m.ihfft(x), X),
    "fft2": (lambda m, x: m.fft2(x), X),
    "ifft2": (lambda m, x: m.ifft2(x, (2, 5)), Z),
    "rfft2": (lambda m, x: m.rfft2(x), X),
    "irfft2": (lambda m, x: m.irfft2(x), Z),
    "fftn": (lambda m, x: m.fftn(x, axes=0), X),
    "fftn-s": (lambda m, x: m.fftn(x, s=(5,)), X),
    "ifftn": (lambda m, x: m.ifftn(x), Z),
    "rfftn": (lambda m, x: m.rfftn(x, workers=1), X),
    "irfftn": (lambda m, x: m.irfftn(x, s=(3, 5)), Z),
    "hfft2": (lambda m, x: m.hfft2(x), Z),
    "hfftn": (lambda m, x: m.hfftn(x, s=5, axes=0, norm="ortho"), Z),
    "hfftn-real": (lambda m, x: m.hfftn(x, s=(4, 7), norm="forward"), X),
    "ihfft2": (lambda m, x: m.ihfft2(x, (2, 5), norm="forward"), X),
    "ihfftn": (lambda m, x: m.ihfftn(x, s=(6,)), X),
    "fftshift": (lambda m, x: m.ifftshift(m.fftshift(x, 1) ** 2), X),
    "dct-n": (lambda m, x: m.dct(x, n=6), X),
    "dct-complex": (lambda m, x: m.dct(x, 2, axis=0), Z),
    "dctn": (lambda m, x: m.dctn(x, norm="ortho"), X),
    "dctn-s": (lambda m, x: m.dctn(x, s=[2, 6], axes=[1, 0]), X),
    "idctn": (lambda m, x: m.idctn(x, 3, axes=1), X),
    "dstn": (lambda m, x: m.dstn(x, s=5, axes=0), X),
    "idstn": (lambda m, x: m.idstn(x), X),
}
for _name, _type, _norm in itertools.product(
    ("dct", "idct", "dst", "idst"), (1, 2, 3, 4), ("backward", "ortho", "forward")
):
    CASES[f"{_name}-{_type}-{_norm}"] = (
        lambda m, x, f=_name, t=_type, norm=_norm: getattr(m, f)(x, t, norm=norm),
        X[0],
    )
    CASES[f"{_name}-{_type}-{_norm}-ends"] = (
        lambda m, x, f=_name, t=_type, norm=_norm: getattr(m, f)(
            x, t, norm=norm, orthogonalize=norm != "ortho"
        ),
        X[0],
    )


@pytest.mark.parametrize("name", CASES)
def test_traces(name):
    f, x = CASES[name]
    expected = f(scipy.fft, x)
    np.testing.assert_array_equal(f(sf, x), expected)
    y = linad.linearize(lambda x: f(sf, x), x)[0]
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    assert y.dtype == expected.dtype
    check_derivatives(lambda x: f(sf, x), x, order=1)
    if "shift" not in name:
        with scipy.fft.set_backend(sf.backend):
            np.testing.assert_array_equal(f(scipy.fft, x), expected)
            same = linad.linearize(lambda x: f(scipy.fft, x), x)[0]
        np.testing.assert_array_equal(same, y)


def test_what_the_backend_lacks_is_named(monkeypatch):
    monkeypatch.delitem(sf.TRACED, "fht")  # as a function of a later SciPy
    with scipy.fft.set_backend(sf.backend), pytest.raises(UnsupportedError, match="fht"):
        linad.linearize(lambda x: scipy.fft.fht(x, 0.1, 0.5), X[0])


def test_single_precision_stays():
    x = X.astype(np.float32)
    for f in (sf.fft, sf.dct, sf.idstn):
        y, J = linad.linearize(f, x)
        assert y.dtype.itemsize == (8 if y.dtype.kind == "c" else 4)
        assert J.pullback(y).dtype == np.float32


@pytest.mark.parametrize("keyword", [{"type": 5}, {"norm": "both"}, {"axis": 2}])
def test_errors(keyword):
    with pytest.raises(ValueError, match="type|norm|axis"):
        linad.linearize(lambda x: sf.dct(x, **keyword), X)


def test_the_rest_is_scipys():
    assert sf.next_fast_len is scipy.fft.next_fast_len
