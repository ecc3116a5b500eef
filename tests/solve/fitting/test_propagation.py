"""Functions of fitted parameters: by closed forms, by SciPy's covariance, by simulation."""

import functools

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import linad
from linad.errors import ArgumentError, OutputError
from linad.solve import curve_fit, fit

T = np.linspace(0.0, 4.0, 30)
Y = 2.5 * np.exp(-1.3 * T) + 0.5 + 0.02 * np.random.default_rng(0).standard_normal(30)


def decay(t, rate, height, floor):
    return height * np.exp(-rate * t) + floor


FOUND = curve_fit(decay, T, Y, {"rate": 1.0, "height": 1.0, "floor": 0.0})
POPT, PCOV = scipy.optimize.curve_fit(decay, T, Y, [1.0, 1.0, 0.0], xtol=1e-13)


def test_one_number_by_names():
    value, error = FOUND.propagate(lambda rate: np.log(2) / rate)
    np.testing.assert_allclose(value, np.log(2) / POPT[0], rtol=1e-6)
    np.testing.assert_allclose(error, np.log(2) / POPT[0] ** 2 * np.sqrt(PCOV[0, 0]), rtol=1e-5)
    known = FOUND.propagate(lambda *, height, rate: height / rate)
    row = np.array([-POPT[1] / POPT[0] ** 2, 1 / POPT[0], 0.0])
    np.testing.assert_allclose(known.covariance, row @ PCOV @ row, rtol=1e-5)
    np.testing.assert_allclose(known.errors**2, known.covariance, rtol=1e-12)
    t = scipy.stats.t.ppf(0.95, 27)
    ends = known.value - t * known.errors, known.value + t * known.errors
    np.testing.assert_allclose(known.interval(0.9), ends, rtol=1e-12)
    assert repr(known) == "1.920 ± 0.020"


def test_a_container_of_the_whole():
    known = FOUND.propagate(
        lambda p: {"z": p["height"] + p["floor"], "a": np.stack([p["rate"], 2 * p["rate"]])}
    )
    J = np.array([[1.0, 0, 0], [2.0, 0, 0], [0, 1.0, 1.0]])
    expected = J @ PCOV @ J.T
    np.testing.assert_allclose(known.covariance, expected, rtol=1e-5, atol=1e-9)
    errors = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(known.errors["a"], errors[:2], rtol=1e-5)
    np.testing.assert_allclose(known.errors["z"], errors[2], rtol=1e-5)
    assert repr(known).splitlines()[2].startswith("['z']: 3.0")


def test_what_simulated_parameters_spread():
    """The fourth moments of 20000 draws leave half a percent of a standard deviation."""
    draws = np.random.default_rng(1).multivariate_normal(POPT, PCOV, 20_000)
    area = draws[:, 1] / draws[:, 0] + 4 * draws[:, 2]
    _, error = FOUND.propagate(lambda height, rate, floor: height / rate + 4 * floor)
    np.testing.assert_allclose(error, area.std(), rtol=0.02)


@pytest.mark.parametrize("start", [[1.0, 1.0, 0.0], np.array([1.0, 1.0, 0.0]), None])
def test_however_the_start_was_given(start):
    found = curve_fit(decay, T, Y, start)
    expected = FOUND.propagate(lambda floor, rate: floor * rate)
    for g in (lambda floor, rate: floor * rate, lambda p: p[0] * p[2]):
        np.testing.assert_allclose(list(found.propagate(g)), list(expected), rtol=1e-6)


def test_parameters_without_names():
    found = curve_fit(lambda t, *p: decay(t, *p), T, Y, [1.0, 1.0, 0.0])
    expected = list(FOUND.propagate(lambda rate, height: height / rate))
    for g in (lambda a, b, c: b / a, lambda p: p[1] / p[0], lambda *p: p[1] / p[0]):
        np.testing.assert_allclose(list(found.propagate(g)), expected, rtol=1e-6)
    with pytest.raises(ArgumentError, match="takes 2 arguments, and there are 3 parameters"):
        found.propagate(lambda a, b: a)


def test_names_where_parameters_are_an_array():
    found = curve_fit(decay, T, Y, [1.0, 1.0, 0.0])
    with pytest.raises(ArgumentError, match=r"propagate: .* reads p\['rate'\], and p is an array"):
        found.propagate(lambda p: np.log(2) / p["rate"])
    with pytest.raises(ArgumentError, match=r"reads p\['raet'\].*did you mean p\['rate'\]"):
        FOUND.propagate(lambda p: np.log(2) / p["raet"])
    with pytest.raises(KeyError, match="own"):
        FOUND.propagate(lambda p: {}["own"])


def test_options_of_a_function_stay():
    plain = FOUND.propagate(lambda rate: 3 * rate)
    for g in (lambda rate, times=3: times * rate, lambda p, times=3: times * p["rate"]):
        np.testing.assert_allclose(list(FOUND.propagate(g)), list(plain), rtol=1e-12)


@pytest.mark.parametrize(
    "g, words",
    [
        (lambda rate, hight: rate, "takes hight, and parameters are rate, height, floor"),
        (lambda: 1.0, "takes nothing, and parameters are rate"),
    ],
)
def test_what_is_no_parameter(g, words):
    with pytest.raises(ArgumentError, match=words):
        FOUND.propagate(g)


def test_functions_of_all_kinds():
    expected = list(FOUND.propagate(lambda rate: 2.0 / rate))
    for g in (
        linad.jit(lambda rate: 2.0 / rate),
        functools.partial(lambda rate, s: s / rate, s=2.0),
        functools.partial(lambda p, s: s / p["rate"], s=2.0),
    ):
        np.testing.assert_allclose(list(FOUND.propagate(g)), expected, rtol=1e-12)


def test_fixed_and_open_parameters():
    """A fixed one has no error; what an open direction does not change has a finite one."""

    def model(t, a, b, rate, floor):
        return (a + b) * np.exp(-rate * t) + floor

    with pytest.warns(scipy.optimize.OptimizeWarning, match="a and b"):
        found = curve_fit(model, T, Y, [1.0, 1.0, 1.0, 0.5], fixed=["floor"])
    assert found.propagate(lambda floor: floor).errors == 0.0
    assert found.propagate(lambda a, rate: a * rate).errors == np.inf
    known = found.propagate(lambda a, b, rate: (a + b) / rate)
    held = curve_fit(model, T, Y, [1.0, 0.0, 1.0, 0.5], fixed=["floor", "b"])
    expected = held.propagate(lambda a, rate: a / rate)
    # One degree of freedom fewer: 30 - 3 in place of 30 - 2.
    np.testing.assert_allclose(known.errors, np.sqrt(28 / 27) * expected.errors, rtol=1e-6)
    both = found.propagate(lambda a, b, floor: np.stack([a, a + b, floor]))
    assert np.isinf(both.covariance[0, :2]).all()
    assert np.isfinite(both.covariance[1, 1])
    assert not both.covariance[2].any()


def test_of_residuals_and_of_complex_numbers():
    found = fit(lambda p: p[0] * np.exp(-p[1] * T) + 0.5 - Y, [1.0, 1.0])
    known = found.propagate(lambda p: p[0] * np.exp(1j * p[1]))
    v, w = found.vector
    J = np.array([np.exp(1j * w), 1j * v * np.exp(1j * w)])
    parts = np.stack([J.real, J.imag])
    expected = parts @ found.covariance @ parts.T
    np.testing.assert_allclose(known.covariance, expected, rtol=1e-9)
    np.testing.assert_allclose([known.errors.real, known.errors.imag], np.sqrt(np.diag(expected)))
    assert "j" in repr(known)


def test_derivatives_without_the_method():
    """What J Σ J^T gives at ``found.x`` is the same, in the order of the covariance."""
    J = linad.linearize(lambda p: p["height"] / p["rate"], FOUND.x)[1].todense()
    error = FOUND.propagate(lambda height, rate: height / rate).errors
    np.testing.assert_allclose(np.sqrt(J @ FOUND.covariance @ J.T), [[error]], rtol=1e-10)


def test_values_have_the_order_of_the_covariance():
    """Keys that are not sorted: an ordered dict of values; sorted ones: a plain dict."""

    def ratio(p):
        return p["rate"] ** 2 / p["height"]

    _, J = linad.linearize(ratio, FOUND.values)
    expected = FOUND.propagate(ratio).errors
    np.testing.assert_allclose(
        (J @ FOUND.covariance @ J.T.todense()).item(), expected**2, rtol=1e-9
    )
    np.testing.assert_array_equal(linad.ravel(FOUND.values)[0], FOUND.vector)
    np.testing.assert_array_equal(
        linad.ravel(FOUND.standard_errors)[0], np.sqrt(np.diag(FOUND.covariance))
    )
    assert list(linad.ravel(FOUND.x)[1](FOUND.vector).values()) == list(FOUND.vector)
    assert type(curve_fit(lambda t, a, b: a * t + b, T, Y).values) is dict


def test_one_argument_that_is_called_as_a_parameter_might_be():
    """An array of all parameters passes for a number, where no entry of it is read."""
    found = curve_fit(decay, T, Y, [1.0, 1.0, 0.0])
    for g in (lambda tau: np.log(2) * tau, lambda Rate: 1 / Rate, linad.jit(lambda k: 2 * k)):
        with pytest.raises(ArgumentError, match=r"no parameter; they are rate, height.*p\[0\] is"):
            found.propagate(g)

    def unpacked(all_of_them):
        rate, height, _ = all_of_them
        return rate * height

    expected = list(found.propagate(lambda rate, height: rate * height))
    for g in (unpacked, lambda fitted: fitted[0] * fitted[1], lambda v: np.prod(v[:2])):
        np.testing.assert_allclose(list(found.propagate(g)), expected, rtol=1e-9)
    np.testing.assert_allclose(found.propagate(lambda p: 2 * p).value, 2 * found.vector)


def test_errors_name_the_function_that_was_given():
    def half_life(rate):
        return None

    with pytest.raises(OutputError, match="half_life returned None"):
        FOUND.propagate(half_life)
    with pytest.raises(OutputError, match="<lambda> returned the Python float"):
        FOUND.propagate(lambda p: 3.0)


def test_a_name_in_other_letters_is_asked_for():
    found = curve_fit(lambda t, Fs, k: Fs[0] * np.exp(-k * t), [0.0, 1.0, 2.0], [2.0, 1.1, 0.5],
                      {"Fs": np.ones(1), "k": 1.0})  # fmt: skip
    with pytest.raises(ArgumentError, match="takes FS, which is no parameter.*Did you mean Fs"):
        found.propagate(lambda FS: FS[0])
    assert np.isfinite(found.propagate(lambda FS: FS["Fs"][0]).errors)


def test_what_is_nan_has_no_error():
    t = np.linspace(0.0, 1.0, 9)
    found = linad.solve.curve_fit(lambda t, a: a * t, t, t + 0.01 * t**2)
    for g in (lambda a: np.where(True, np.nan, a), lambda a: np.array(np.nan)):
        propagated = found.propagate(g)
        assert np.isnan(propagated.errors)
        assert repr(propagated) == "nan ± ?"
    value, errors = found.propagate(lambda a: np.stack([np.nan + 0 * a, a]))
    assert np.isnan(value).tolist() == np.isnan(errors).tolist() == [True, False]
