"""Values and derivatives at special points, of all functions that linad differentiates."""

import itertools

import numpy as np
import pytest

import linad
from survey import special_points
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
        assert judged(lambda t: float(t >= 0), 0.0) == []
        assert judged(lambda t: 3 * t if t >= 0 else np.nan, 2.0) == ["END"]
    a = rng.standard_normal(5)
    points = list(special_points.special_points([a, a + 1], rng))
    assert all(x.shape == y.shape == (5,) for _, (x, y) in points)
    assert len({what for what, _ in points}) == len(points) > 40


COUNT = 3
"""Special points of each problem."""

PARTS = 16

ROUNDING = "its digits are lost: what is exact there is 0 / 0, or a pole that cancels"
KEPT = "at equal or zero eigenvalues its vectors are any; their derivative is NaN, or that of some"
ELSEWHERE = {
    "gradient(": "quotients of equal coordinates: infinities of either sign, or NaN",
    "numpy.linalg.eig": KEPT,
    "spectral-": KEPT,
    "eigenpairs": KEPT,
    "schur": KEPT,
    "cdf2rdf": KEPT,
    "qr": "of dependent columns it depends on rounding, and so do signs in triangular matrices",
    "tklmbda": "SciPy's is flat about the shape 0",
    "ss2tf": "np.poly of a matrix, recorded where its eigenvalues are real, is complex elsewhere",
    "slogdet": "of a singular matrix there is none, and LinAlgError says so",
    "heaviside": "a jump",
    "copysign": "a jump",
    "CZT": ROUNDING,
    "iircomb": ROUNDING,
    "iirnotch": ROUNDING,
    "iirpeak": ROUNDING,
    "lombscargle": ROUNDING,
    "windows": "of width 0, or of no attenuation: NaN, where most entries of the window are 0",
    "siegelslopes": "SciPy reads memory that nothing was written to",
}
"""Problems by a part of their names, and why their findings are none."""

LONG = ("expm_cond", "lsim", "optimize", "solve_bvp", "nct", "carlson", "betainc_wrt_shapes")
"""Parts of the names of those that take seconds at each point."""


def wrong_among(problems):
    """What is wrong, by the names of the problems."""
    told = (*ELSEWHERE, *LONG)
    found = {}
    with linad.config(disconnected="ignore"):
        for problem in problems:
            if not any(part in problem.name for part in told):
                wrong = special_points.wrong_of(problem, COUNT)
                if wrong:
                    found[problem.name] = wrong
    return found


# SciPy and NumPy warn of what such points are to them.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.rest
@pytest.mark.parametrize("source", SOURCES)
def test_some(source):
    """One problem in a hundred."""
    assert wrong_among(itertools.islice(SOURCES[source](), 0, None, 100)) == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("source", SOURCES)
def test_all(source, part):
    assert wrong_among(itertools.islice(SOURCES[source](), part, None, PARTS)) == {}
