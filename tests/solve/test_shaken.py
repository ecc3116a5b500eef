"""Data whose last digits are changed."""

import numpy as np
import pytest

from linad.solve.shaken import shaken_data, shaken_function, shaken_numbers

YEARS = np.arange(1990, 2020)
WEIGHTS = np.linspace(0.1, 0.9, 30)


def is_shaken(new, old):
    eps = np.finfo(np.asarray(new).dtype).eps
    return bool((new != old).all() and (np.abs(new - old) <= 2 * eps * np.abs(old)).all())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, complex])
def test_numbers(dtype):
    given = WEIGHTS.astype(dtype)
    new = shaken_numbers(given)
    assert new.dtype == dtype
    assert is_shaken(new, given)


@pytest.mark.parametrize("whole", [True, False])
def test_containers(whole):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"year": YEARS, "w": WEIGHTS, "text": ["a"] * 30})
    new = shaken_data({"a": [YEARS, WEIGHTS], "table": table, "n": 3}, whole)
    assert is_shaken(new["a"][1], WEIGHTS)
    assert is_shaken(new["table"]["w"], WEIGHTS)
    for years in (new["a"][0], new["table"]["year"].to_numpy()):
        assert is_shaken(years, YEARS) if whole else np.array_equal(years, YEARS)
    assert new["n"] == 3
    assert (new["table"]["text"] == "a").all()
    assert table["year"].dtype.kind == "i"  # the user's own stays


def test_what_functions_name():
    inner = WEIGHTS.copy()

    def f(p, *, times=1.0):
        return times * (p * inner + WEIGHTS)

    assert is_shaken(shaken_function(f, True)(0.0), WEIGHTS)
    assert is_shaken(shaken_function(f, True)(1.0), 2 * WEIGHTS)
    np.testing.assert_array_equal(f(1.0), 2 * WEIGHTS)


def helper(p):
    return p * WEIGHTS


def test_functions_that_functions_name():
    def f(p):
        return np.sum([helper(p)], axis=0) if p else f(1.0)  # it names itself, too

    assert is_shaken(shaken_function(f, True)(1.0), WEIGHTS)
    assert is_shaken(shaken_function(f, True)(0.0), WEIGHTS)
