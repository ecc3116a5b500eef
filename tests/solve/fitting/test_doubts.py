"""What a fit says, in its message and in a warning, of what the data leave open."""

import warnings

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import OptimizeWarning
from solve.problems import unfinished

from linad.errors import OutputError
from linad.solve import Status, curve_fit, fit, maximum_likelihood

T = np.linspace(0.0, 3.0, 20)
Y = 2.0 * np.exp(-1.1 * T) + 0.01 * np.cos(9 * T)


def decay(t, a, rate):
    return a * np.exp(-rate * t)


@pytest.mark.parametrize(
    "model, start, names, words",
    [
        (lambda t, a, b, r: (a + b) * np.exp(-r * t), None, ["b", "a"], "if they move together"),
        (lambda t, a, b, r: a * np.exp(-r * t) + 0 * b, None, ["b"], "b: no residual depends"),
        (lambda t, a, b, r: a * np.exp(-r * t) + np.exp(-999 * b), None, ["b"], r"fixed=\['b'\]"),
        (lambda t, a, b, r: a * np.exp(-r * t), {"a": 1, "b": 3, "r": 1}, ["b"], "b: no residual"),
        (lambda t, a, b, r: a * np.exp(-r * t) + (t > 9) * b, [1, 1, 1], ["b"], "a model without"),
        (lambda t, a, r: a * np.exp(-r * t.mean()), None, ["a", "r"], "one number for 20 data"),
        (lambda t, a, r: a * np.exp(-r * t[1]), None, ["a", "r"], "one number for 20 data"),
    ],
)
def test_what_is_undetermined(model, start, names, words):
    """SciPy warns likewise of a covariance that it cannot tell, or does not see that it cannot."""
    with pytest.warns(OptimizeWarning, match=words) as told:
        found = curve_fit(model, T, Y, start)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert found.success
    assert sorted(found.message.partition("; undetermined: ")[2].split(", ")) == sorted(names)
    assert [k for k, e in found.standard_errors.items() if np.isinf(e)] == sorted(names)
    assert found.report().count("undetermined") >= len(names)


SUCTION = np.array([10.0, 20, 30, 50, 70, 100, 150, 200, 300])
WATER = np.array([0.404, 0.401, 0.410, 0.397, 0.407, 0.394, 0.392, 0.396, 0.379])


def retention(h, dry, wet, alpha, n):
    """Van Genuchten's water content of a soil."""
    return dry + (wet - dry) / (1 + (alpha * h) ** n) ** (1 - 1 / n)


def test_a_valley_without_end():
    """Wet soil alone: how dry it gets, at a suction far beyond the data, is not in them."""
    with pytest.warns(OptimizeWarning, match=r"hardly determine dry, .*fixed=\['dry'\]"):
        found = curve_fit(retention, SUCTION, WATER, [0.1, 0.5, 1.0, 1.0])
    assert found.success
    assert found.standard_errors["dry"] > 1e3 * abs(found["dry"])
    assert "the data hardly determine dry" in found.report()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = curve_fit(retention, SUCTION, WATER, [0.1, 0.5, 0.01, 1.4], fixed=["dry"])
    assert known.success


def test_what_is_about_zero_is_not_in_doubt():
    """An offset of nothing, from zero: its error is many times what it is, and all there is."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = curve_fit(lambda t, a, c: a * t + c, T, 2.0 * T + 1e-3 * np.cos(9 * T), [1.0, 0.0])
        flat = curve_fit(lambda t, a, c: a * t + c, T - T.mean(), np.cos(8 * T), [0.0, 0.0])
    assert found.success
    assert flat.success


def test_what_is_at_a_bound():
    found = curve_fit(decay, T, Y, [1.0, 0.5], bounds={"rate": (0, 1)})
    assert found.message.endswith("; at a bound: rate")
    assert "at its bound" in found.report()
    assert "bound" not in curve_fit(decay, T, Y, [1.0, 0.5], bounds={"rate": (0, 2)}).message
    held = curve_fit(decay, T, Y, [1.0, 0.5], bounds={"rate": (0.5, 2)}, fixed=["rate"])
    assert "bound" not in held.message


def test_of_residuals_and_of_many():
    with pytest.warns(OptimizeWarning, match=r"^fit: .*\.\.\. and 4 more"):
        found = fit(lambda p: p["a"] * T + 0 * np.sum(p["idle"]) - Y, {"a": 1, "idle": np.ones(10)})
    assert found.message.count("idle") == 6
    assert found.message.endswith("and 4 more")


def test_errors_as_scipy_has_them():
    """Of as many data as parameters the errors are infinite, and said to be."""
    with pytest.warns(OptimizeWarning, match="could not be estimated"):
        theirs = scipy.optimize.curve_fit(decay, T[:2], Y[:2])
    with pytest.warns(OptimizeWarning, match="no observations are left to tell errors by"):
        ours = curve_fit(decay, T[:2], Y[:2])
    np.testing.assert_array_equal(ours.covariance, theirs[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = curve_fit(decay, T[:2], Y[:2], sigma=0.1, absolute_sigma=True)
    assert np.isfinite(known.covariance).all()


@unfinished
def test_a_fit_that_has_not_ended_says_that_alone():
    found = curve_fit(lambda t, a, b: np.exp(-a * t) + 0 * b, T, Y, [9.0, 1.0], maxiter=1)
    assert not found.success
    assert "undetermined" not in found.message


def test_a_fit_that_has_not_ended_warns_unless_its_caller_stopped_it():

    def model(t, a):
        return np.exp(-a * t)

    with pytest.warns(OptimizeWarning, match="limit of iterations .* those of where it ended"):
        curve_fit(model, T, Y, 9.0, maxiter=1)

    def enough(intermediate_result):
        raise StopIteration

    found = curve_fit(model, T, Y, 9.0, callback=enough)
    assert found.status == Status.STOPPED


def test_a_start_that_nobody_gave_is_told():
    def two(t, a, b):
        with np.errstate(all="ignore"):
            return (np.exp(-a * t) - np.exp(-b * t)) / (a - b)

    with pytest.warns(OptimizeWarning, match="nobody has said, with p0 = 1"):
        curve_fit(two, T, Y)
    with pytest.warns(OptimizeWarning) as told:
        curve_fit(two, T, Y, [1.0, 1.0])
    assert "nobody" not in str(told[0].message)


def test_what_is_to_be_fixed_determines_the_rest():
    """Two directions of which both hold CL and V: fixing CL twice mends nothing."""
    t = np.array([0.25, 0.5, 1, 2, 4, 6, 8.5, 9, 10, 12, 16, 20, 24])

    def model(t, ka, CL, V, D, F):
        return F * D * ka / (V * (ka - CL / V)) * (np.exp(-CL / V * t) - np.exp(-ka * t))

    y = model(t, 1.1, 5.0, 30.0, 100.0, 1.0) * (1 + 0.05 * np.cos(7 * t))
    start = [1.0, 3.0, 20.0, 80.0, 1.2]
    with pytest.warns(OptimizeWarning, match=r"fixed=\['D', 'F'\]"):
        curve_fit(model, t, y, start)
    found = curve_fit(model, t, y, start, fixed=["D", "F"])
    assert found.success
    assert np.isfinite(found.errors).all()
    assert not found.undetermined


def test_where_nobody_said_where_to_start_that_may_be_the_matter():
    z = np.arange(50.0, 3000.0, 150.0)
    y = 55 * np.exp(-z / 1800) + 3 + np.cos(z)
    with pytest.warns(OptimizeWarning, match="No p0 was given: say where to start, p0="):
        curve_fit(lambda z, a, length, floor: a * np.exp(-z / length) + floor, z, y)


def test_a_class_or_a_function_in_place_of_numbers():
    class Decay:
        def __init__(self, t=T, rate=1.0):
            self.rate = rate

        def __call__(self, t, a):
            return a * np.exp(-self.rate * t)

    with pytest.raises(OutputError, match=r"that is a class: .* its objects, as .*Decay\(...\)$"):
        curve_fit(Decay, T, Y, [1.0])
    assert curve_fit(Decay(), T, Y, [1.0]).success
    with pytest.raises(OutputError, match="that is a function: return what it returns"):
        curve_fit(lambda t, a: lambda s: a * s, T, Y, [1.0])


def test_a_model_that_is_one_number_may_be_meant():
    found = curve_fit(lambda t, c: c, T, Y)
    np.testing.assert_allclose(found.x, Y.mean())
    assert "one number" not in found.report()


@pytest.mark.parametrize(
    "name, words",
    [
        *[(name, "standard errors are errors") for name in ("error", "err", "uncertainties")],
        ("chisq", "is chi_square"),
        ("nobs", "that is observations"),
        ("sigma", "errors are those of parameters"),
        ("intervals", "confidence_intervals"),
    ],
)
def test_names_of_other_libraries(name, words):
    with pytest.raises(AttributeError, match=f"{name!r}; .*{words}"):
        getattr(curve_fit(decay, T, Y), name)


@pytest.mark.parametrize("name", ["rss", "rmse", "p_value", "to_dict", "to_frame", "save"])
def test_names_that_a_result_does_not_have_say_what_does(name):
    """The words run as they are written."""
    found = curve_fit(decay, T, Y)
    with pytest.raises(AttributeError, match=f"{name!r}; .*(values|found|chi_square)"):
        getattr(found, name)
    likelihood = maximum_likelihood(lambda a: -np.sum((Y - a) ** 2), 1.0)
    with pytest.raises(AttributeError, match="'bic'; .*how many data"):
        likelihood.bic  # noqa: B018


@unfinished
def test_a_parameter_that_starts_at_0_is_named_where_the_model_divides_by_it():
    t = np.linspace(0.0, 4.0, 9)
    for times in (t, t + 1.0):
        found = curve_fit(
            lambda t, a, tau_h: a * np.exp(-t / tau_h), times, t, {"a": 1.0, "tau_h": 0.0}
        )
        assert "tau_h = 0: what is divided by it has no value there" in found.message
        assert "a = 1" not in found.message
        assert "arccos" not in found.message


@unfinished
@pytest.mark.parametrize("low", [-np.inf, 0.0])
def test_a_parameter_that_starts_at_0_is_not_blamed_for_others(low):
    def peak(t, slope, height, tau, other):
        return slope * t + height * np.exp(1 / (2 * tau**2) - t / tau) + 0 * np.divide(t, other)

    t = np.linspace(6.0, 9.0, 20)
    bounds = {"slope": (low, None), "other": (low, None)}
    found = curve_fit(peak, t, t, [0.0, 4.0, 0.01, 1.0], bounds=bounds)
    assert "infinite or NaN" in found.message
    assert "divided by" not in found.message
    found = curve_fit(peak, t, t, [0.0, 4.0, 1.0, 0.0], bounds=bounds)
    assert "; other = 0: what is divided by it has no value there" in found.message
    found = curve_fit(lambda t, a, b: a * np.log(t - 8) + b * t, t, t, [0.0, 0.0], bounds=(low, 9))
    assert "divided by" not in found.message  # some have no value wherever a and b start


@unfinished
def test_numpys_first_warning_is_told_where_nothing_is_divided_by_what_starts_at_0():
    def width(t, u, v, w):
        return np.sqrt(u * t**2 + v * t + w)

    t = np.linspace(0.2, 1.0, 30)
    for v in (0.0, 0.001):
        found = curve_fit(width, t, t, [0.01, v, -0.02])
        assert "divided by" not in found.message
        assert "warnings there is 'invalid value encountered in sqrt' (at" in found.message
        assert "test_doubts.py:" in found.message
    found = curve_fit(lambda t, a: np.exp(a * t), t, t, [1e4])
    assert "'overflow encountered in exp' (at" in found.message


@unfinished
@pytest.mark.parametrize("absolute", [True, False])
def test_where_no_step_could_be_taken_nothing_is_known(absolute):
    t = np.arange(6.0)
    y = np.where(t == 2, np.nan, 2 * t + 1)
    options = {"absolute_sigma": absolute, "nan_policy": "propagate"}
    found = curve_fit(lambda t, a, b: a * t + b, t, y, [1, 1], sigma=0.1, **options)
    assert not found.success
    assert np.isinf(list(found.errors)).all()
    assert "± ?" in str(found)


@unfinished
def test_all_zeros_that_are_divided_by_are_named_and_no_others():
    t = np.linspace(1.0, 4.0, 9)
    found = curve_fit(lambda t, a, b, c: a + t / b + 1 / (t * c), t, t, [0.0, 0.0, 0.0])
    assert "; b = 0 and c = 0: what is divided by it" in found.message
    found = curve_fit(
        lambda t, a, b, c: c + a * np.exp(-t / b), t, t, [1.0, 0.0, 0.0], fixed=["c"]
    )
    assert "; b = 0: what is divided by it" in found.message


def test_where_most_is_not_determined_the_start_is_the_matter():
    def peak(t, height, center, width, floor):
        return height * np.exp(-(((t - center) / width) ** 2)) + floor

    t = np.linspace(1000.0, 1010.0, 40)
    y = peak(t, 2.0, 1004.0, 1.5, 0.3)
    with pytest.warns(OptimizeWarning, match=r"no p0 was given: say where to start, p0=\[...\]"):
        found = curve_fit(peak, t, y)
    assert "fixed=" not in found.report()
    with pytest.warns(OptimizeWarning, match="Most is not determined: start elsewhere.*in that or"):
        curve_fit(peak, t, y, [1.0, 500.0, 1.0, 0.0])
    assert curve_fit(peak, t, y, [1.0, 1003.0, 1.0, 0.0]).success
