"""Results lie in memory as NumPy's do: that decides whether a reshape of them is a view."""

import numpy as np
import pytest

import linad
from survey import table as survey

rng = np.random.default_rng(0)
SQUARE, WIDE = (np.asfortranarray(rng.uniform(0.2, 0.8, shape)) for shape in ((3, 3), (3, 4)))
POINTS = [SQUARE, WIDE, WIDE.T, WIDE[:, ::-1], np.repeat(WIDE, 2, axis=0)[::2]]

# A block of "F" arrays is made by copies into one of order "C"; linad joins them.
KNOWN = {"numpy.block"}


def order(y):
    """Whether the first result is in order C, and whether it is in order F; None for a vector."""
    y = y[0] if isinstance(y, (tuple, list)) and y else y
    if np.ndim(y) < 2 or np.size(y) < 2 or not hasattr(y, "flags"):
        return None
    return y.flags.c_contiguous, y.flags.f_contiguous


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", ["numpy", "Methods of ufuncs", "numpy.ndarray", "numpy.linalg"])
def test_results_lie_as_numpys(title):
    checked, wrong = 0, []
    for entry in survey.entries()[title]:
        for call, point in [(c, p) for c in entry.calls for p in POINTS]:
            found = []

            def f(a, call=call, function=entry.function, found=found):
                y = call(function, a)
                found.append(order(y))
                return a.sum()

            try:
                expected = order(call(entry.function, point.copy("K")))
                linad.linearize(f, point.copy("K"))
            except Exception:  # what traces, and for which arguments, is the table's matter
                continue
            checked += 1
            if expected is not None and found[0] != expected:
                wrong.append(entry.name)
    assert checked > 50
    assert set(wrong) <= KNOWN


def test_a_write_into_a_reshaped_result():
    """Sorted, an array in order F stays so, and its flat form is a copy."""

    def f(x):
        y = np.sort(x, axis=0)
        y.reshape(-1)[0] = 10 * x[1, 0]
        return y

    jitted = linad.jit(f)
    for x in (WIDE, np.ascontiguousarray(WIDE), WIDE, 2 * WIDE):
        np.testing.assert_array_equal(jitted(x), f(x))
        np.testing.assert_array_equal(linad.linearize(f, x)[0], f(x))
