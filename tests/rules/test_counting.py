"""Weighted counts and histograms."""

import numpy as np
import pytest

import linad
from linad.errors import DTypeError
from linad.testing.rule_checks import Case

rng = np.random.default_rng(1)
WHERE = np.array([0, 3, 3, 1, 0, 6])
WEIGHTS = rng.standard_normal(6)
POSITIVE = rng.uniform(0.5, 1.5, 6)
DATA = np.array([0.1, 0.5, 1.0, 0.72, 0.33, 0.9])
EDGES = np.array([0.0, 0.4, 0.6, 1.0])
DOUBLE = {"float32": False}  # as numpy.bincount
POINTS = rng.uniform(size=(6, 2))
GRID = [np.array([0.0, 0.4, 1.0]), np.array([0.1, 0.5, 0.8])]

CASES = [
    Case(np.bincount, WHERE, WEIGHTS, check=DOUBLE),
    Case(np.bincount, WHERE, WEIGHTS, minlength=9, check=DOUBLE),
    Case(lambda w: np.histogram(DATA, EDGES, weights=w)[0], WEIGHTS, check={"complex_": True}),
    Case(lambda w: np.histogram(DATA, 4, (0.2, 0.8), weights=w)[0], WEIGHTS),
    Case(lambda w: np.histogram(DATA, EDGES, density=True, weights=w)[0], POSITIVE, check=DOUBLE),
    Case(
        lambda e, w: np.histogram(5 * DATA, e, None, True, w)[0],
        5 * EDGES[:3],
        POSITIVE,
        check=DOUBLE,
    ),
    Case(np.histogram_bin_edges, DATA, bins=4),
    Case(lambda a: np.histogram(a, bins=3)[1], DATA),
    Case(lambda a: np.histogram(a, bins=3, density=True)[0], DATA * 3, check=DOUBLE),
    Case(
        lambda a: np.concatenate(
            np.histogram(a, 3, (0.5 * np.min(a), 1.1 * np.max(a)), density=True)
        ),
        DATA * 3,
        check=DOUBLE,
    ),
    Case(lambda w: np.histogramdd(POINTS, GRID, weights=w)[0], WEIGHTS, check=DOUBLE),
    Case(lambda x: np.histogramdd(x, 3, density=True)[0], POINTS, check=DOUBLE),
    Case(lambda x: np.histogramdd(x, (2, GRID[0]))[1][0], POINTS),
    Case(lambda e: np.histogramdd(POINTS, [e, 2], density=True)[0], GRID[0], check=DOUBLE),
    Case(lambda x: np.histogram2d(x, x**2, 2, density=True)[0], DATA * 3, check=DOUBLE),
    Case(lambda w: np.histogram2d(DATA, DATA, EDGES, None, True, w)[0], POSITIVE, check=DOUBLE),
]

HISTOGRAMS = [
    {},
    {"bins": 4},
    {"bins": EDGES},
    {"bins": 5, "range": (0.2, 0.8)},
    {"bins": "sturges"},
    {"bins": 3, "density": True},
    {"bins": EDGES, "density": True},
    {"bins": EDGES, "weights": WEIGHTS},
    {"bins": 4, "weights": [1, 2, 3, 4, 5, 6]},
    {"bins": 4, "weights": POSITIVE, "density": True},
]


@pytest.mark.parametrize("keywords", HISTOGRAMS)
@pytest.mark.parametrize("data", [DATA, np.full(6, 0.5), np.round(DATA, 1)], ids=["a", "b", "c"])
def test_values_are_numpys(keywords, data):
    found = []

    def f(x):
        found.extend(np.histogram(x, **keywords))
        return np.sum(x)

    linad.linearize(f, data)
    found = [getattr(part, "concrete", part) for part in found]
    for part, expected in zip(found, np.histogram(data, **keywords), strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-14)
        assert part.dtype == expected.dtype


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"bins": 3},
        {"bins": (2, 3)},
        {"bins": GRID},
        {"bins": 2, "range": [(0.2, 0.8), None]},
        {"bins": 2, "density": True},
        {"bins": GRID, "weights": WEIGHTS},
        {"bins": (2, GRID[0]), "weights": POSITIVE, "density": True},
    ],
)
@pytest.mark.parametrize("points", [POINTS, np.round(POINTS, 1)], ids=["a", "b"])
def test_histograms_of_points_are_numpys(keywords, points):
    found = []

    def f(x):
        found.extend(np.histogramdd(x, **keywords))
        found.extend(np.histogram2d(x[:, 0], x[:, 1], **keywords))
        return np.sum(x)

    linad.linearize(f, points)
    n, edges, n2, *edges2 = found
    expected, sides = np.histogramdd(points, **keywords)
    for part, exact in [*zip((n, *edges), (expected, *sides), strict=True)] * 2:
        part = getattr(part, "concrete", part)
        np.testing.assert_allclose(part, exact, rtol=1e-14)
        assert part.dtype == exact.dtype
        n, edges = n2, edges2


def test_counts_are_plain_integers():
    counts = []

    def f(x):
        counts.append(np.histogram(x, EDGES)[0])
        return np.sum(x)

    linad.grad(f)(DATA)
    assert type(counts[0]) is np.ndarray
    assert counts[0].dtype == np.intp


def test_edges_move_with_the_extremes():
    found = linad.jacobian(lambda x: np.histogram(x, bins=2)[1])(DATA)
    expected = np.zeros((3, 6))
    expected[:, DATA.argmin()] = [1.0, 0.5, 0.0]
    expected[:, DATA.argmax()] = [0.0, 0.5, 1.0]
    np.testing.assert_array_equal(found, expected)


def test_bincount_is_linear_in_the_weights():
    found = linad.jacobian(lambda w: np.bincount(WHERE, w))(WEIGHTS)
    np.testing.assert_array_equal(found, np.arange(7)[:, None] == WHERE)


ERRORS = [
    (lambda x: np.bincount(x, x), DTypeError, "integers"),
    (lambda x: np.bincount(WHERE[:2], x), ValueError, "length"),
    (lambda x: np.bincount(WHERE, x + 1j), TypeError, "complex"),
    (lambda x: np.histogram(x, 3, (2.0, -x[0]))[1], ValueError, "max must be larger"),
    (lambda x: np.histogram(DATA[:2], 3, weights=x), ValueError, "same shape"),
    (lambda x: np.histogramdd(POINTS[:2], 3, weights=x), ValueError, "same length"),
    (lambda x: np.histogramdd(POINTS, 3, weights=x + 1j), TypeError, "complex"),
    (lambda x: np.histogramdd(x.reshape(3, 2), [2, 2, 2]), ValueError, "dimension"),
    (lambda x: np.histogram2d(x, DATA[:2]), ValueError, "same length"),
]


@pytest.mark.parametrize("call, error, match", ERRORS, ids=map(str, range(len(ERRORS))))
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        linad.linearize(call, WEIGHTS)


def test_weighted_counts_of_nothing_are_integers():
    nothing = np.zeros(0, int)
    f = linad.jit(lambda x, i: np.bincount(i, x, 3))
    expected = np.bincount(nothing, np.zeros(0), 3)
    for found in (
        linad.linearize(lambda x: (x, np.bincount(nothing, x, 3)), np.zeros(0))[0][1],
        *[f(np.zeros(0), nothing) for _ in range(3)],
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_points_on_a_line_in_a_list():
    def counts(a, b):
        return linad.numpy.histogramdd([a, b, 0.9], bins=[[0.0, 0.4, 1.0]], weights=[a, b, 1.0])[0]

    value, slope = linad.jvp(counts, (0.5, 0.2), (1.0, 3.0))
    assert np.array_equal(value, counts(0.5, 0.2))
    assert np.array_equal(slope, [3, 1])
