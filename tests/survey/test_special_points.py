"""Values and derivatives at special points, of all functions that linad differentiates."""

import itertools

import numpy as np
import pytest

from survey import special_points
from survey.points_sweep import wrong_among
from survey.special_points import SOURCES


def test_what_is_wrong_is_found():
    """The judge itself, on slopes of |x|, x², sqrt(x) and a jump at 0."""
    rng = np.random.default_rng(0)

    def judged(f, slope):
        told = special_points.sides(lambda t: np.array([f(t)]))
        with np.errstate(all="ignore"):
            found = special_points.judge(np.array([slope]), told, lambda: np.array([True]), True)
        return [word.split(":")[0] for word in found]

    with np.errstate(all="ignore"):
        assert judged(abs, 0.3) == judged(abs, np.nan) == []
        assert judged(abs, 1.2) == ["OUTSIDE"]
        assert judged(lambda t: t + t * t, 1.0) == []
        assert judged(lambda t: t + t * t, 0.9) == ["WRONG"]
        assert judged(lambda t: t + t * t, np.nan) == ["NAN"]
        assert judged(lambda t: np.sqrt(t) if t >= 0 else np.nan, np.inf) == []
        assert judged(lambda t: np.cbrt(t), 0.0) == ["FINITE"]
        assert judged(lambda t: np.sqrt(abs(t)), 0.0) == []
        assert judged(lambda t: float(t >= 0), 0.0) == []
        assert judged(lambda t: 3 * t if t >= 0 else np.nan, 2.0) == ["END"]
    a = rng.standard_normal(5)
    points = list(special_points.special_points([a, a + 1], rng))
    assert all(x.shape == y.shape == (5,) for _, (x, y) in points)
    assert len({what for what, _ in points}) == len(points) > 40


# SciPy and NumPy warn of what such points are to them.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.rest
@pytest.mark.parametrize("source", SOURCES)
def test_some(source):
    """One problem in a hundred."""
    assert wrong_among(itertools.islice(SOURCES[source](), 0, None, 100)) == {}
