"""Dtypes of results, and those asked for: as NumPy has them, or refused.

Every function runs on arrays of all kinds, empty ones and numbers among them, in NumPy and traced.
"""

import numpy as np
import pytest

import linad
from linad.errors import UnsupportedError

GIVEN = ["i8", "i2", "u1", "b1", "f4", "c16"]
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
            np.testing.assert_allclose(b, a, rtol=1e-3 if a.dtype.char in "ef" else 1e-12)


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
