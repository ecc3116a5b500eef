"""What stands in the place of NumPy's functions in kernels: run by Python, it is NumPy's."""

import numpy as np
import pytest

import linad
from linad.kernels.numpy_functions import OF_MANY, OTHER_FORMS, WRITTEN

RNG = np.random.default_rng(0)
V, W, THREE = RNG.standard_normal((3, 5))
A, SQUARE = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 4))
GRID = np.sort(V)

NAN = np.array([0.3, np.nan, -0.2, np.nan, 0.7])
TIES = np.array([2, 0, 2, 1, 0])
WHOLE = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]])

ARGUMENTS = {
    np.sort: [(V,), (NAN,), (TIES,), (RNG.standard_normal(40),)],
    np.argsort: [(V,), (NAN[[0, 2, 1]],), (RNG.standard_normal(40),)],
    np.median: [(V,), (V[:4],), (A,), (NAN,)],
    np.quantile: [(V, 0.3), (A, 1.0), (V[:1], 0.5)],
    np.percentile: [(V, 0.0), (A, 81.0)],
    np.roll: [(V, 2), (V, -7)],
    np.count_nonzero: [(V > 0,), (TIES,)],
    np.flatnonzero: [(V > 0,), (TIES,)],
    np.nonzero: [(V > 0,), (TIES,)],
    np.unique: [(TIES,), (V,), (V[:0],), (NAN,)],
    np.convolve: [(V, W[:3])],
    np.correlate: [(V, W[:3]), (V[:2], W), (V, W)],
    np.nansum: [(NAN,), (A,)],
    np.nanmean: [(NAN,), (A,)],
    np.nanmax: [(NAN,), (A,)],
    np.nanmin: [(NAN,), (A,)],
    np.tril: [(A,), (A, 1), (SQUARE, -2)],
    np.triu: [(A,), (A, -1), (SQUARE, 2)],
    np.fliplr: [(A,)],
    np.kron: [(A, SQUARE)],
    np.bincount: [(TIES,)],
    np.linalg.cholesky: [(SQUARE @ SQUARE.T,)],
    np.linalg.slogdet: [(SQUARE,), (SQUARE[[1, 0, 3, 2]],), (WHOLE,)],
    np.cumsum: [(V,), (TIES > 0,)],
    np.cumprod: [(V,), (TIES > 0,)],
    np.argmax: [(V,), (TIES,), (NAN,), (-NAN,)],
    np.argmin: [(V,), (TIES,), (NAN,), (-NAN,)],
    np.any: [(np.zeros(3, bool),), (V > 0,)],
    np.all: [(np.ones(3, bool),), (V > 0,)],
    np.eye: [(4,)],
    np.identity: [(4,)],
    np.linspace: [(1.0, 2.0), (1.0, -2.0, 5), (1.0, 2.0, 1)],
    np.outer: [(V, W[:3]), (TIES, V), (V, TIES)],
    np.cross: [(V[:3], W[:3]), (TIES[:3], V[:3]), (V[:3], TIES[:3])],
    np.trace: [(A,), (SQUARE,)],
    np.searchsorted: [(GRID, x) for x in (-9.0, GRID[2], 0.1, 9.0)],
    np.interp: [(x, GRID, W) for x in (-9.0, GRID[2], 0.1, 9.0)],
    np.linalg.norm: [(V,), (A,)],
    np.linalg.solve: [(SQUARE, V[:4]), (SQUARE[::-1], A.T), (WHOLE, V[:3]), (SQUARE, TIES[:4])],
    np.linalg.inv: [(SQUARE,), (WHOLE,)],
    np.linalg.det: [(SQUARE,), (SQUARE[[1, 0, 3, 2]],), (np.ones((3, 3)),), (WHOLE,)],
}


@pytest.mark.whole
@pytest.mark.parametrize("function", WRITTEN, ids=lambda f: f.__name__)
def test_values(function):
    for args in ARGUMENTS.get(function, [(V,), (W[::2],)]):
        kept = [np.copy(a) for a in args]
        found, expected = WRITTEN[function](*args), function(*args)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
        if not isinstance(found, tuple):
            assert np.shape(found) == np.shape(expected)
        for a, before in zip(args, kept, strict=True):
            np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize(
    "found, expected",
    [
        (OTHER_FORMS[WRITTEN[np.trapezoid]](V, GRID), np.trapezoid(V, GRID)),
        (OTHER_FORMS[WRITTEN[np.bincount]](TIES, V), np.bincount(TIES, V)),
        (OF_MANY[WRITTEN[np.interp]][1](V, GRID, W), np.interp(V, GRID, W)),
        (OF_MANY[WRITTEN[np.searchsorted]][1](GRID, W), np.searchsorted(GRID, W)),
    ],
    ids=["trapezoid", "bincount", "interp", "searchsorted"],
)
def test_forms_for_other_arguments(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_singular_matrix_is_refused():
    with pytest.raises(AssertionError, match="the matrix is singular"):
        WRITTEN[np.linalg.solve](np.zeros((2, 2)), np.ones(2))


@pytest.mark.parametrize("zeros", [np.s_[:, 0], np.s_[1], np.s_[:, 1:], np.s_[:]])
def test_determinants_of_singular_matrices_have_derivatives(zeros):
    a = SQUARE[:3, :3].copy()
    a[zeros] = 0.0
    cofactors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)]
        for i in range(3)
    ]
    np.testing.assert_allclose(linad.grad(linad.kernel(determinant))(a), cofactors, atol=1e-14)


def determinant(a):
    return np.linalg.det(a)


def test_the_logarithm_of_a_determinant_of_zero():
    with np.errstate(divide="ignore"):
        assert WRITTEN[np.linalg.slogdet](np.zeros((3, 3))) == (0.0, -np.inf)


@pytest.mark.usefixtures("kernels")
def test_slopes_where_there_is_a_choice():
    """Those of `docs/conventions.md`: at the tip of a norm, and at knots."""
    knots, at = np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 0.5, 1.0, 2.0, 4.0, 5.0])
    values = np.array([0.0, 1.0, 3.0, 9.0])

    def norms(x):
        return np.linalg.norm(x) + np.std(x)

    def between(x):
        total = 0.0
        for k in range(len(x)):
            total += np.interp(x[k], knots, values)
        return total

    def between_all(x):
        return np.sum(np.interp(x, knots, values))

    np.testing.assert_array_equal(linad.grad(linad.kernel(norms))(np.zeros(3)), np.zeros(3))
    assert np.isnan(linad.hessian(linad.kernel(norms))(np.zeros(3))).all()
    expected = linad.grad(between_all)(at)
    np.testing.assert_array_equal(expected, [1, 1, 2, 3, 3, 0])
    for f in (between, between_all):
        np.testing.assert_array_equal(linad.grad(linad.kernel(f))(at), expected)


TABLE = np.array([[1.0, 3.0, 3.0, 2.0], [-1.0, 3.0, np.inf, -1.0], [-0.0, 0.0, np.inf, 0.0]])


def of_all(a):
    return np.max(a[:2, :2]) * np.min(a)


def of_rows(a):
    return np.sum(np.max(a, axis=1))


def of_columns(a):
    return np.sum(np.min(a, axis=0) * a[0])


def by_methods(a):
    return a[0].max() - a[2].min()


def range_of(a):
    return np.ptp(a[:, :2])


def of_computed(a):
    return np.max((a[:, :2] - 1.0) * (a[:, :2] - 1.0))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f", [of_all, of_rows, of_columns, by_methods, range_of, of_computed])
def test_ties_share_the_slope_as_in_the_rules(f):
    compiled, expected = linad.kernel(f), linad.grad(f)(TABLE)
    np.testing.assert_array_equal(linad.grad(compiled)(TABLE), expected)
    np.testing.assert_array_equal(linad.hessian(compiled)(TABLE), linad.hessian(f)(TABLE))
    tangent = np.arange(12.0).reshape(3, 4)
    moved = [linad.jvp(g, (TABLE,), (tangent,))[1] for g in (f, compiled)]
    np.testing.assert_allclose(*moved, rtol=1e-14)


@pytest.mark.usefixtures("kernels")
def test_an_extremum_that_is_nan_has_the_slope_of_the_rules():
    compiled = linad.kernel(greatest)
    for a in (np.array([1.0, np.nan, 3.0, np.nan]), np.array([np.nan, 2.0])):
        np.testing.assert_array_equal(linad.grad(compiled)(a), linad.grad(greatest)(a))


def greatest(a):
    return np.max(a)


def of_sort(x):
    return np.sum(np.sort(x) * np.arange(1.0, x.size + 1.0) ** 2)


def of_median(x):
    return np.median(x)


def of_quantile(x):
    return np.quantile(x, 0.3)


def of_percentile(x):
    return np.percentile(x, 71.0)


def of_max(x):
    return np.max(x)


def of_min(x):
    return np.min(x)


def of_ptp(x):
    return np.ptp(x)


def of_nanmax(x):
    return np.nanmax(x)


def of_nanmin(x):
    return np.nanmin(x)


def of_argmax(x):
    return x[np.argmax(x)]


def of_argmin(x):
    return x[np.argmin(x)]


def of_unique(x):
    return np.sum(np.unique(x) ** 2)


OF_AN_ORDER = {
    "sort": of_sort,
    "median": of_median,
    "quantile": of_quantile,
    "percentile": of_percentile,
    "max": of_max,
    "min": of_min,
    "ptp": of_ptp,
    "nanmax": of_nanmax,
    "nanmin": of_nanmin,
    "argmax": of_argmax,
    "argmin": of_argmin,
    "unique": of_unique,
}


@pytest.mark.parametrize("name", OF_AN_ORDER)
def test_equal_entries_have_the_derivatives_that_they_have_outside_of_kernels(name):
    f = OF_AN_ORDER[name]
    inside, outside = linad.grad(linad.kernel(f)), linad.grad(f)
    rng = np.random.default_rng(4)
    for n in (2, 3, 4, 5, 8, 21, 40):
        for most in (1, 2, n // 2):
            x = rng.integers(0, most + 1, n).astype(float)
            np.testing.assert_allclose(inside(x), outside(x), atol=1e-12)


@pytest.mark.parametrize("name", ["sort", "median", "quantile", "percentile"])
def test_of_equal_entries_the_first_is_the_smaller_one(name):
    f = OF_AN_ORDER[name]
    rng = np.random.default_rng(5)
    for n in (2, 3, 8, 21, 40):
        x = rng.integers(0, 4, n).astype(float)
        apart = x + 1e-3 * np.arange(n) / n
        np.testing.assert_allclose(linad.grad(f)(x), linad.grad(f)(apart), atol=1e-12)
        rows = np.stack([x, x[::-1]])
        np.testing.assert_allclose(
            linad.grad(lambda a: np.sum(np.median(a, axis=1)))(rows),
            [linad.grad(np.median)(row) for row in rows],
        )
