"""A jitted model runs in Python at numbers of places that no program is for, at first."""

import numpy as np
import pytest

import linad
from linad.errors import ArgumentError
from linad.solve.fitting import other_places

pytestmark = pytest.mark.usefixtures("kernels")

X = np.linspace(0.0, 4.0, 12)
PLACES = np.linspace(0.0, 4.0, 31)


def decay(x, a, k):
    out = np.zeros(len(x), like=a * x)
    for i in range(len(x)):
        out[i] = np.sum(a * np.exp(-k * x[i]))
    return out


def of_traced_numbers(x, a, k):
    """NumPy's ``like`` takes arrays, and no number but a traced one."""
    return decay(x, np.ones(1, like=a) * a, k)


def fit_of(f):
    y = 2.0 * np.exp(-0.7 * X) + 0.01 * np.cos(9 * X)
    return linad.solve.curve_fit(f, X, y, [1.0, 1.0])


def recorded(f):
    return sum(map(len, f.variants.values()))


def test_no_program_is_made_for_a_few_calls():
    compiled, plain = fit_of(f := linad.jit(decay)), fit_of(decay)
    compiled.predict(X)
    before = recorded(f)
    for _ in range(3):
        np.testing.assert_allclose(compiled.predict(PLACES), plain.predict(PLACES), rtol=1e-9)
        for band, expected in zip(
            compiled.confidence_band(PLACES), plain.confidence_band(PLACES), strict=True
        ):
            np.testing.assert_allclose(band, expected, rtol=1e-6)
    assert recorded(f) == before


def test_one_is_made_where_python_takes_long(monkeypatch):
    monkeypatch.setattr(other_places, "WORTH", 0.0)
    compiled = fit_of(f := linad.jit(decay))
    before = recorded(f)
    for _ in range(3):
        expected = decay(PLACES, *compiled.x)
        np.testing.assert_allclose(compiled.predict(PLACES), expected, rtol=1e-12)
    assert recorded(f) == before + 1


def test_what_runs_as_a_program_alone_is_one():
    found = fit_of(linad.jit(of_traced_numbers))
    expected = decay(PLACES, *found.x)
    np.testing.assert_allclose(found.predict(PLACES), expected, rtol=1e-12)


def test_a_number_in_place_of_places_is_told():
    found = fit_of(decay)
    with pytest.raises(ArgumentError, match=r"predict: decay takes arrays .*np.array\(\[1.5\]\)"):
        found.predict(1.5)
