"""Dtypes of results, and those asked for: as NumPy has them, or refused.

Every function runs on arrays of all kinds, empty ones and numbers among them, in NumPy and traced.
"""

import numpy as np
import pytest

import linad
from linad.errors import UnsupportedError

GIVEN = ["i8", "i2", "u1", "b1", "f2", "f4", "c16"]
SHAPES = [(3,), (3, 0), (), (2, 3)]
NAMES = """
    modf spacing sqrt exp floor trunc rint sign cbrt degrees square absolute fabs conjugate sinc
    round fix nan_to_num angle mean cumsum prod sum gradient median std diff ediff1d unwrap
    trapezoid cov average nanmedian max cumprod sort argsort
"""
FUNCTIONS = {
    **{name: getattr(np, name) for name in NAMES.split()},
    "quantile": lambda a: np.quantile(a, 0.5),
    "nanpercentile": lambda a: np.nanpercentile(a, 50),
    "interp": lambda a: np.interp(a, [0.0, 1.0], [1.0, 2.0]),
    "correlate": lambda a: np.correlate(a, a),
    "convolve": lambda a: np.convolve(a, a),
    "divmod": lambda a: np.divmod(a, a + 1),
    "arctan2": lambda a: np.arctan2(a, a),
    "hypot": lambda a: np.hypot(a, a),
    "clip": lambda a: np.clip(a, 0, 1),
    "i0": np.i0,
    "geomspace": lambda a: np.geomspace(a + 1, a + 2, 3),
    "linspace": lambda a: np.linspace(a, a + 2, 3),
    **{n: getattr(np.fft, n) for n in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "irfftn")},
    "cov in single": lambda a: np.cov(a, dtype=np.float32),
    "copyto": lambda a: np.copyto(a, 2),
    "copyto half": lambda a: np.copyto(a, 0.5),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtypes_are_numpys(name, given, kernels):
    for shape in SHAPES:
        x = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(given)

        def f(x):
            y = FUNCTIONS[name](x)
            return x if y is None else y

        try:
            expected = f(x.copy())
        except (TypeError, ValueError, IndexError) as error:
            with pytest.raises((type(error), UnsupportedError, *([] if x.size else [TypeError]))):
                linad.jit(f)(x.copy())
            continue
        if isinstance(expected, tuple) and not expected:
            continue  # the gradient along no axis
        try:
            found = linad.jit(f)(x.copy())
        except (IndexError, UnsupportedError, TypeError):
            assert not x.size  # nothing to choose from
            continue
        pairs = zip(*[y if isinstance(y, tuple) else (y,) for y in (expected, found)], strict=True)
        for a, b in pairs:
            assert type(a) is type(b)
            assert a.dtype == b.dtype
            # NumPy's ifft of half precision is complex64, by a factor 1/n in half precision.
            rounded = a.dtype.char in "ef" or given == "f2"
            np.testing.assert_allclose(b, a, rtol=1e-3 if rounded else 1e-12)


@pytest.mark.parametrize("name", ["var", "std", "mean"])
@pytest.mark.parametrize("given", ["f8", "i8", "c16"])
@pytest.mark.parametrize("wanted", [int, bool, np.uint8, np.float32, np.complex64])
@pytest.mark.filterwarnings("ignore")
def test_moments_in_a_dtype(name, given, wanted):
    x = (np.random.default_rng(0).standard_normal((3, 4)) * 3).astype(given)
    for axis in (None, 0):

        def f(x, axis=axis):
            return getattr(np, name)(x, dtype=wanted, axis=axis)

        try:
            found = linad.jit(f)(x)
        except UnsupportedError:
            assert np.dtype(wanted).kind in "biu" or given == "c16"
            continue
        np.testing.assert_allclose(found, f(x), rtol=1e-5)
        assert found.dtype == f(x).dtype


def test_numbers_of_bins_and_ranks_of_vectors(kernels):
    """What stays a Python number, or counts, though it comes from a traced array."""

    def f(x, n, edges):
        return np.histogram_bin_edges(x, n), np.histogram(x, edges)[0], np.linalg.matrix_rank(x)

    jitted, x = linad.jit(f), np.array([0.5, 0.25, 2.0])
    for n in (3, 4, 3):
        args = x, np.array(n), np.array([0.0, 0.5, 3.0])
        for a, b in zip(jitted(*args), f(*args), strict=True):
            assert type(a) is type(b)
            np.testing.assert_allclose(a, b)
    assert jitted(x * 0, np.array(3), args[2])[2] == 0
    for edges in (np.array([3.0, 1.0]), np.ones((2, 2))):
        with pytest.raises(ValueError, match=r"bins must be|must increase|1d"):
            jitted(x, np.array(3), edges)


def test_an_array_is_no_dtype():
    for like in (np.ones_like, np.zeros_like, lambda x, d: np.full_like(x, 2.0, d)):
        with pytest.raises(TypeError, match="expected a dtype, got an array"):
            linad.linearize(lambda x, like=like: x * like(x, x), np.ones(3))
