"""Inlined functions against wider numbers, over the whole range, and at its ends."""

import math

import numba
import numpy as np
import pytest
import scipy.special
from numba.extending import intrinsic

from linad.sweeps.cpu import elementary_code
from linad.sweeps.cpu.vector_math import FUNCTIONS, INLINED, RANGES
from linad.sweeps.cpu.written_numbers import Written

WIDE = np.finfo(np.longdouble).nmant >= 60


@intrinsic
def written_erf(context, x):
    """The polynomials also where glibc's vector function is faster."""

    def generate(context, builder, signature, args):
        return elementary_code.erf(Written(builder, args[0])).value

    return x(x), generate


@pytest.fixture(scope="module")
def rows():
    """All functions in one loop, right everywhere (``w_``) and in their range (``v_``)."""
    names = [f"{prefix}_{name}" for name in INLINED for prefix in "wv"]
    lines = [f"        y[{k}, i] = {name}(x[i])" for k, name in enumerate(names)]
    lines = ["def rows(x, y):", "    for i in range(x.size):", *lines]
    lines.append(f"        y[{len(names)}, i] = written_erf(x[i])")
    scope = dict(FUNCTIONS, written_erf=written_erf)
    exec("\n".join(lines), scope)
    compiled = numba.njit(error_model="numpy")(scope["rows"])

    def of(x):
        y = np.empty((len(names) + 1, x.size), x.dtype)
        compiled(x, y)
        return dict(zip([*names, "written_erf"], y, strict=True))

    return of


def numbers(dtype):
    """All sizes and signs, many where functions change their way, denormals, ends."""
    rng = np.random.default_rng(7)
    limits = np.finfo(dtype)
    sizes = np.exp(rng.uniform(np.log(float(limits.tiny)), np.log(float(limits.max)), 4000))
    quarters = np.pi / 2 * rng.integers(1, 600_000 if dtype == np.float64 else 4_000, 4000)
    ends = [-745, -708, -103, -88, -37, -20, 20, 88, 128, 709, 1024, -149, -1074]
    found = [
        sizes,
        -sizes,
        rng.uniform(-1, 1, 8000),
        rng.normal(size=8000) * 5,
        rng.uniform(-750, 750, 8000),
        1 + rng.uniform(-0.1, 0.1, 8000),
        quarters,
        *[end + rng.uniform(-2, 2, 500) for end in ends],
        rng.uniform(0, 1, 500) * float(limits.tiny),
        2.0 ** np.arange(-140, 128),
    ]
    return np.concatenate(found).astype(dtype)


def units(found, exact, dtype):
    """Errors in units of the last place; zero where rounding gives the same."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        errors = np.abs(found - exact) / np.spacing(np.abs(rounded))
    same = (found == rounded) | np.isnan(found) & np.isnan(rounded)
    return np.where(same, 0, np.where(np.isnan(errors), np.inf, errors)).astype(float)


@pytest.mark.skipif(not WIDE, reason="needs a wider type to compare with")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_errors_are_within_four_units(rows, dtype):
    x = numbers(dtype)
    found = rows(x)
    for name in INLINED:
        with np.errstate(all="ignore"):
            if name != "erf":
                exact = getattr(np, name)(x.astype(np.longdouble))
            elif dtype == np.float32:
                exact = scipy.special.erf(x.astype(float))
            else:
                continue
        errors = units(found[f"w_{name}"], exact, dtype)
        worst = np.argmax(errors)
        assert errors[worst] <= 4, (name, errors[worst], x[worst])


def test_erf_is_within_four_units(rows):
    x = np.random.default_rng(8).uniform(-7, 7, 20_000)
    exact = np.array([math.erf(v) for v in x])  # to one unit
    assert units(rows(x)["written_erf"], exact, float).max() <= 5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeros_infinities_and_nan_are_numpy_s(rows, dtype):
    limits = np.finfo(dtype)
    given = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, limits.max, -limits.max]
    x = np.array([*given, limits.smallest_subnormal, -limits.smallest_subnormal], dtype)
    found = rows(x)
    for name in INLINED:
        function = getattr(np, name, None) or getattr(scipy.special, name)
        with np.errstate(all="ignore"):
            expected = function(x)
        np.testing.assert_allclose(found[f"w_{name}"], expected, 4 * limits.eps, err_msg=name)
        fine = ~np.isnan(expected)
        signs = np.signbit(found[f"w_{name}"]) == np.signbit(expected)
        assert signs[fine].all(), name


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_both_forms_agree_in_range_to_the_last_digit(rows, dtype):
    x = numbers(dtype)
    found = rows(x)
    far = elementary_code.FAR[np.dtype(dtype).itemsize * 8]
    for name, test in RANGES.items():
        normal = (x >= np.finfo(dtype).tiny) & (x < np.inf)
        kept = np.abs(x) < far if test is elementary_code.is_far else normal
        np.testing.assert_array_equal(found[f"v_{name}"][kept], found[f"w_{name}"][kept], name)
