"""Functions of SciPy that run as SciPy's own code on traced values."""

import importlib

import numpy as np
import pytest
import scipy.signal
import scipy.spatial.transform
import scipy.stats
import twin_cases
from survey.table import mirrored_functions

import linad
import linad.scipy.signal as ls
import linad.scipy.spatial
import linad.scipy.stats as lt
from linad.errors import LinadError
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import class_twin, function_twin, twin_of
from linad.testing.derivative_checks import check_derivatives

ROOMS = {
    "signal": twin_cases.SIGNAL,
    "spatial": twin_cases.SPATIAL,
    "stats": twin_cases.STATS,
}
ALL = [(room, name) for room, cases in ROOMS.items() for name in cases]


@pytest.mark.sweep(part=0.08)
@pytest.mark.parametrize("room, name", ALL)
def test_values_and_both_derivatives(room, name):
    f, *arrays = ROOMS[room][name]
    theirs = getattr(scipy, room)
    ours = importlib.import_module(f"linad.scipy.{room}")
    if not hasattr(theirs, name.partition("-")[0].partition(".")[0]):
        return  # of a later SciPy
    # What ranks alone tell does not move.
    with np.errstate(all="ignore"), linad.config(disconnected="ignore"):
        expected = np.asarray(f(theirs, *arrays))
        np.testing.assert_array_equal(f(ours, *arrays), expected)
        found = linad.linearize(lambda *a: f(ours, *a), *arrays)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        check_derivatives(lambda *a: f(ours, *a), *arrays)


def test_every_twin_has_a_case():
    forms = mirrored_functions()
    twins = {
        name.removeprefix("scipy.") for name, form in forms.items() if hasattr(form, "is_twin")
    }
    cases = {f"{room}.{name.partition('-')[0]}" for room, name in ALL}
    assert twins - cases == set()


def test_results_have_scipys_names():
    def f(x):
        result = lt.ttest_ind(x, twin_cases.Y)
        assert type(result).__name__ == "TtestResult"
        t, p = result
        return result.statistic + result.pvalue * 0 + t + p * 0 + result.df

    assert np.all(linad.grad(f)(twin_cases.X) != 0)


@pytest.mark.parametrize(
    "normmax, llf, x",
    [
        (lambda m, x: m.boxcox(x)[1], "boxcox_llf", twin_cases.P),
        (lambda m, x: m.yeojohnson_normmax(x), "yeojohnson_llf", twin_cases.X),
    ],
)
def test_the_best_exponent_moves_with_the_data(normmax, llf, x):
    exponent, J = linad.linearize(lambda x: normmax(lt, x), x)
    assert exponent == normmax(scipy.stats, x)
    # Of l'(λ, x) = 0, by differences of the likelihood alone.
    h, likelihood, v = 1e-3, getattr(scipy.stats, llf), np.cos(np.arange(x.size))

    def slope(change, step):
        moved = x + change * v
        return (likelihood(exponent + step, moved) - likelihood(exponent - step, moved)) / (
            2 * step
        )

    curvature = (
        likelihood(exponent + h, x) - 2 * likelihood(exponent, x) + likelihood(exponent - h, x)
    ) / h**2
    expected = -(slope(h, h) - slope(-h, h)) / (2 * h) / curvature
    np.testing.assert_allclose(J.pushforward(v), expected, rtol=1e-4)


def test_a_coefficient_that_is_one_has_a_derivative():
    """SciPy divides by it only where it is something else."""
    b, a, y = np.array([0.2, 0.5]), np.array([1.0, -0.4, 0.2]), np.array([0.3, 0.6])
    _, J = linad.linearize(lambda a: ls.lfiltic(b, a, y), a)
    step = np.array([1e-6, 0, 0])
    differences = (
        scipy.signal.lfiltic(b, a + step, y) - scipy.signal.lfiltic(b, a - step, y)
    ) / 2e-6
    np.testing.assert_allclose(J.pushforward(np.eye(3)[0]), differences, rtol=1e-6)


def test_what_is_left_in_place_is_written_in_place():
    """iircomb writes into its coefficients and drops what the writing gives."""
    traced = linad.linearize(lambda q: ls.iircomb(0.25, q), 20.0)[0]
    for y, expected in zip(traced, scipy.signal.iircomb(0.25, 20.0), strict=True):
        np.testing.assert_allclose(y, expected)


# How twins are made.


def test_scipy_itself_is_left_alone():
    before = scipy.signal.butter.__code__, dict(scipy.signal.butter.__globals__)
    linad.grad(lambda w: np.sum(ls.butter(2, w)[1] ** 2))(0.3)
    assert (scipy.signal.butter.__code__, dict(scipy.signal.butter.__globals__)) == before


def test_plain_arguments_go_to_scipy():
    assert ls.butter.__wrapped__ is scipy.signal.butter
    assert isinstance(ls.lti([1.0], [1.0, 2.0]), scipy.signal.lti)
    assert isinstance(ls.lti([1.0], [1.0, 2.0]), ls.lti)
    assert type(lt.Normal(mu=1.0)) is scipy.stats.Normal
    np.testing.assert_array_equal(
        lt.dirichlet.logpdf([0.2, 0.8], [1.0, 2.0]),
        scipy.stats.dirichlet.logpdf([0.2, 0.8], [1.0, 2.0]),
    )


def test_a_form_of_linads_is_preferred_to_a_twin():
    assert twin_of(scipy.signal.lfilter) is ls.lfilter
    assert function_twin(scipy.signal.butter).__name__ == "butter"
    assert twin_of(3.0) == 3.0
    assert twin_of(np.sin) is np.sin


def test_classes_keep_their_bases():
    twin = class_twin(scipy.signal.TransferFunction)
    assert twin is class_twin(scipy.signal.TransferFunction)
    assert [kind.__name__ for kind in twin.__mro__] == [
        kind.__name__ for kind in scipy.signal.TransferFunction.__mro__
    ]
    assert class_twin(ValueError) is ValueError
    assert form_by_twin(scipy.signal.lti) is form_by_twin(scipy.signal.lti)


REFUSED = {
    "shapiro": lambda x: lt.shapiro(x)[0],
    "kstest": lambda x: lt.kstest(x, "norm")[0],
    "find_peaks_cwt": lambda x: ls.find_peaks_cwt(x, [1, 2]),
    "remez": lambda x: ls.remez(7, [0, 0.2, 0.3, 0.5], x[:2]),
    "gust": lambda x: ls.filtfilt(x[:2], 1, x, method="gust"),
    "normmax": lambda x: lt.boxcox_normmax(x**2 + 1),
    "count": lambda x: lt.betabinom.logpmf(2, x[0], 1.0, 2.0),
    "point": lambda x: lt.nbinom.logpmf(x[0], 3, 0.4),
    "entropy": lambda x: lt.norminvgauss.entropy(x[0] ** 2 + 2, 0.5),
    "tree": lambda x: linad.scipy.spatial.KDTree(x[:, None]).sparse_distance_matrix(None, 1.0),
    "hull": lambda x: linad.scipy.spatial.ConvexHull(x.reshape(7, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_compiled_code_would_get_is_refused(name):
    with pytest.raises(LinadError, match=r"linad|compiled"):
        linad.linearize(REFUSED[name], twin_cases.X)
