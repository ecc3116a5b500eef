"""`curve_fit` and `fit`: as SciPy's where SciPy has it; intervals by simulation and by hand."""

import copy
import datetime as dt
import functools
import pickle
from functools import partial
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from scipy.optimize import OptimizeWarning
from solve.problems import unfinished

import linad
from linad.core.shapes import name_of
from linad.errors import ShapeError, TracerError
from linad.solve import curve_fit, fit, waiting
from linad.solve.fitting import model_curves, plots
from linad.solve.fitting.reports import rounded
from linad.solve.problems import Equations

mpl.use("Agg")

RNG = np.random.default_rng(0)
T = np.linspace(0.0, 4.0, 30)


def decay(t, a, rate, c):
    return a * np.exp(-rate * t) + c


Y = decay(T, 2.5, 1.3, 0.5) + 0.02 * RNG.standard_normal(30)
SIGMA = np.linspace(0.01, 0.05, 30)
FACTOR = 0.02 * RNG.standard_normal((30, 30))
COVARIANCE = FACTOR @ FACTOR.T + 1e-3 * np.eye(30)
START = [1.0, 1.0, 0.0]
OPEN = pytest.warns(OptimizeWarning, match="the data do not determine all parameters")
LISTS = {"a": 1, "rate": 1.2, "line": [0, 0]}


class TestSeveralDataSets:
    """Each with a number or an array as its standard deviation, in containers of all kinds."""

    def model(self, t, p):
        return [p[0] * np.exp(-p[2] * t), p[1] * np.exp(-p[2] * t)]

    YS = (2.0 * np.exp(-T) + 0.02 * np.sin(9 * T), 3.0 * np.exp(-T) + 0.2 * np.cos(7 * T))
    EACH = (np.full(30, 0.02), np.full(30, 0.2))

    def fitted(self, model=None, ydata=None, **given):
        ydata = list(self.YS) if ydata is None else ydata
        return curve_fit(model or self.model, T, ydata, np.ones(3), **given).x

    @pytest.mark.parametrize(
        "sigma",
        [[0.02, 0.2], (0.02, 0.2), np.array([0.02, 0.2]), [0.02, EACH[1]], [list(EACH[0]), 0.2]],
        ids=["list", "tuple", "array", "number and array", "lists"],
    )
    def test_sigma_for_each(self, sigma):
        expected = self.fitted(sigma=self.EACH)
        assert not np.allclose(expected, self.fitted(), rtol=1e-4)
        np.testing.assert_allclose(self.fitted(sigma=sigma), expected, rtol=1e-9)
        np.testing.assert_allclose(
            self.fitted(weights=[1 / np.asarray(s) for s in sigma]), expected, rtol=1e-9
        )

    def test_data_sets_by_name(self):
        def model(t, p):
            return dict(zip("ab", self.model(t, p), strict=True))

        data = dict(zip("ab", self.YS, strict=True))
        expected = self.fitted(sigma=self.EACH)
        found = self.fitted(model, data, sigma={"b": 0.2, "a": self.EACH[0]})
        np.testing.assert_allclose(found, expected, rtol=1e-9)

    def test_lists_tuples_and_rows_stand_for_each_other(self):
        expected = self.fitted(sigma=[0.02, 0.2])
        for data in (self.YS, [list(y) for y in self.YS]):
            np.testing.assert_allclose(self.fitted(ydata=data, sigma=[0.02, 0.2]), expected)
        rows = self.fitted(lambda t, p: np.stack(self.model(t, p)), sigma=[0.02, 0.2])
        np.testing.assert_allclose(rows, expected)
        line = curve_fit(lambda t, a, b: a + b * t, [1, 2, 3, 4], [1, 3, 5, 7])
        np.testing.assert_allclose(line.x, [-1, 2], atol=1e-9)

    @pytest.mark.parametrize(
        "sigma, came",
        [
            ([0.1, 0.2, 0.3], r"got \[\*, \*, \*\]"),
            ({"a": 0.1}, r"got \{'a': \*\}"),
            (np.full(30, 0.1), r"got an array of shape \(30,\)"),
        ],
    )
    def test_refused(self, sigma, came):
        with pytest.raises(ValueError, match=f"each data set .data set 1, data set 2.*{came}"):
            self.fitted(sigma=sigma)

    @pytest.mark.parametrize("option", ["sigma", "weights"])
    def test_a_dict_for_one_data_set(self, option):
        words = f"{option} must be a number, or an array like ydata.*got a dict of P, S"
        with pytest.raises(linad.errors.OptionError, match=words):
            curve_fit(decay, T, Y, START, **{option: {"P": 0.05, "S": 0.12}})

    def test_a_shape_that_does_not_fit(self):
        with pytest.raises(ValueError, match="sigma of data set 2 must have the shape .30,."):
            self.fitted(sigma=[0.1, np.ones(5)])


def test_a_start_may_stand_in_fixed_alone():
    wanted = curve_fit(decay, T, Y, START, fixed={"rate": 1.5})
    found = curve_fit(decay, T, Y, {"a": START[0], "c": START[2]}, fixed={"rate": 1.5})
    assert found["rate"] == 1.5
    np.testing.assert_allclose(found["a"], wanted["a"], rtol=1e-9)
    with pytest.raises(linad.errors.ArgumentError, match="rate is missing"):
        curve_fit(decay, T, Y, {"a": 1.0, "c": 0.0}, fixed={"rate": True})


class TestAsSciPy:
    @pytest.mark.parametrize("absolute", [False, True])
    @pytest.mark.parametrize("sigma", [None, SIGMA, COVARIANCE], ids=["none", "each", "matrix"])
    def test_parameters_and_covariance(self, sigma, absolute):
        given = {"sigma": sigma, "absolute_sigma": absolute}
        exact, expected = scipy.optimize.curve_fit(decay, T, Y, START, xtol=1e-14, **given)
        found, covariance = curve_fit(decay, T, Y, START, **given)
        np.testing.assert_allclose(found, exact, rtol=1e-6)
        np.testing.assert_allclose(covariance, expected, rtol=1e-4)

    def test_no_start(self):
        np.testing.assert_allclose(curve_fit(decay, T, Y).x, curve_fit(decay, T, Y, START).x)
        found = curve_fit(decay, T, Y, bounds=([0, 2, -1], [5, 9, np.inf]))
        assert found["rate"] == 2.0
        with pytest.raises(linad.errors.ArgumentError, match="give p0"):
            curve_fit(lambda t, *p: p[0] * t, T, Y)

    @pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
    def test_robust(self, loss):
        spiked = Y + np.where(np.arange(30) % 9 == 4, 2.0, 0.0)
        exact, expected = scipy.optimize.curve_fit(
            decay, T, spiked, START, jac=lambda t, *p: linad.jacobian(lambda q: decay(t, *q))(
                np.array(p)), method="trf", loss=loss, f_scale=0.05, xtol=1e-14, ftol=1e-14,
            gtol=1e-14,
        )  # fmt: skip
        absolute = {"sigma": 1.0, "absolute_sigma": True}
        found = curve_fit(decay, T, spiked, START, loss=loss, f_scale=0.05, **absolute)
        np.testing.assert_allclose(found.x, exact, rtol=1e-5)
        np.testing.assert_allclose(
            found.covariance * found.reduced_chi_square, expected, rtol=1e-3
        )  # the other errors: TestRobust

    def test_vectorized_models_have_names(self):
        def bent(t, a, rate):
            return a * np.exp(-rate * t) if t > 1 else a

        found = curve_fit(linad.numpy.vectorize(bent), T, np.vectorize(bent)(T, 2.0, 0.7))
        np.testing.assert_allclose(found.x, [2.0, 0.7])
        assert found.names == ["a", "rate"]
        for start in (None, [1.0, 1.0]):
            with pytest.raises(linad.errors.TracerError, match=r"^numpy.vectorize\(\) would"):
                curve_fit(np.vectorize(bent), T, Y, start)
        with pytest.raises(linad.errors.ArgumentError, match="give p0"):
            curve_fit(lambda *p: p[1] * p[0], T, Y)

    def test_numbers_count_what_is_unpacked(self):
        found = curve_fit(decay, T, Y, START)
        assert found[0] is found.x
        assert found[-1] is found.covariance
        with pytest.raises(IndexError):
            found[2]

    def test_data_sets_are_called_by_their_keys(self):
        data = {278: T, 318.5: 2 * T, "a": [T, 3 * T]}
        found = curve_fit(
            lambda t, p: {278: p * t, 318.5: 2 * p * t, "a": [p * t, 3 * p * t]}, T, data, 1.3
        )
        assert sorted(found.data.names) == [
            "318.5",
            "a, data set 1",
            "a, data set 2",
            "data set 278",
        ]

    def test_numbers_that_are_keys_are_names(self):
        start = {2: 1.0, 1: 1.0, 0: {5: 0.0, 6: 0.0}}
        found = curve_fit(
            lambda t, p: decay(t, p[2], p[1], p[0][5] + p[0][6]), T, Y, start, fixed=["p[0][6]"]
        )
        plain = curve_fit(decay, T, Y, START)
        np.testing.assert_allclose([found[2], found[1], found[0][5]], plain.x, rtol=1e-6)
        assert found["p[1]"] == found[1]
        assert found[-1] is found.covariance

    @unfinished
    def test_unpacking_a_failure(self):
        found = curve_fit(decay, T, Y, START, maxiter=1)
        assert not found.success
        with pytest.raises(linad.errors.ConvergenceError, match="limit of iterations"):
            found[0]
        with pytest.raises(linad.errors.ConvergenceError, match="limit of iterations"):
            _, _ = found


class TestParameters:
    @pytest.mark.parametrize(
        "f, p0, names",
        [
            (decay, START, ["a", "rate", "c"]),
            (decay, np.array(START), ["a", "rate", "c"]),
            (decay, {"a": 1.0, "rate": 1, "c": 0.0}, ["a", "rate", "c"]),
            (lambda t, *p: decay(t, *p), START, ["p[0]", "p[1]", "p[2]"]),
            (lambda t, p: decay(t, *p), np.array(START), ["p[0]", "p[1]", "p[2]"]),
            (lambda t, p: decay(t, p["a"], *p["b"]), {"a": 1.0, "b": np.array([1.0, 0.0])},
             ["a", "b[0]", "b[1]"]),
            (lambda t, a, b: decay(t, a, b[0], b[1]), [1.0, np.array([1.0, 0.0])],
             ["a", "b[0]", "b[1]"]),
            (lambda t, line: decay(t, line["x"]["a"], line["x"]["b"], line["c"]),
             {"x": {"a": 1.0, "b": 1.0}, "c": 0.0}, ["x.a", "x.b", "c"]),
        ],
    )  # fmt: skip
    def test_forms(self, f, p0, names):
        found = curve_fit(f, T, Y, p0)
        assert found.names == names
        assert found.success, found.message
        expected = curve_fit(decay, T, Y, START)
        np.testing.assert_allclose(sorted(found.vector), sorted(expected.vector), rtol=1e-6)
        assert sorted(found.report()) != []
        np.testing.assert_allclose(found.predict(T), expected.predict(T), rtol=1e-6)

    @pytest.mark.parametrize(
        "fixed", ["c", ["c"], [2], {"c": 0.4}, [False, False, True], {"c": True, "a": False}]
    )
    def test_fixed(self, fixed):
        start = [1.0, 1.0, 0.4]
        found = curve_fit(decay, T, Y, start, fixed=fixed)
        exact, expected = scipy.optimize.curve_fit(
            lambda t, a, rate: decay(t, a, rate, 0.4), T, Y, [1.0, 1.0], xtol=1e-14
        )
        np.testing.assert_allclose(found.x, [*exact, 0.4], rtol=1e-6)
        np.testing.assert_allclose(found.covariance[:2, :2], expected, rtol=1e-4)
        assert found.errors[2] == 0.0
        assert found.free_parameters == 2
        assert "fixed" in found.report()

    def test_bounds_by_name(self):
        found = curve_fit(decay, T, Y, START, bounds={"a": (0, 2), "rate": (None, 9)})
        assert found["a"] == 2.0
        assert "at its bound" in found.report()

    def test_shared_between_data_sets(self):
        other = decay(T[:20], 1.0, 1.3, 0.0)

        def model(t, p):
            return [decay(t, p["a"], p["rate"], 0.5), decay(t[:20], p["b"], p["rate"], 0.0)]

        found = curve_fit(model, T, [Y, other], {"a": 1.0, "b": 1.0, "rate": 1.0}, sigma=0.02)
        assert found.success, found.message
        assert found.observations == 50
        assert found["rate"] == pytest.approx(1.3, abs=0.02)

    @pytest.mark.parametrize(
        "p0, shape",
        [(np.ones(1), (1,)), ([1.0], ()), (1.0, ()), (None, ()), ({"k": np.ones(1)}, (1,))],
    )
    def test_one_alone_is_of_the_shape_that_was_given(self, p0, shape):
        shapes = set()

        def model(t, k):
            shapes.add(np.shape(k))
            return 2.5 * np.exp(-k * t) + 0.5

        found = curve_fit(model, T, Y, p0)
        assert shapes == {shape}
        assert found.names == (["k[0]"] if isinstance(p0, dict) else ["k"])
        np.testing.assert_allclose(found.vector, [1.3], rtol=0.02)
        assert np.shape(found.predict(T)) == T.shape
        assert np.size(found.propagate(lambda k: np.log(2) / k).errors) == 1

    def test_an_array_of_one_where_a_number_is_needed(self):
        with pytest.raises(ValueError, match="must have the same shape") as raised:
            curve_fit(lambda t, k: np.stack([k, 1.0]) @ np.stack([t, t]), T, Y, np.ones(1))
        assert "k is an array of shape (1,), as p0 is; p0=[1.0] gives a number" in str(
            raised.value.__notes__
        )

    def test_one_that_is_not_determined(self):
        with OPEN:
            found = curve_fit(lambda t, a, b, c: (a + b) * t + c, T, Y, START)
        assert np.isinf(found.errors[:2]).all()
        assert np.isfinite(found.errors[2])
        assert "undetermined" in found.report()

    @pytest.mark.parametrize(
        "given, words",
        [
            ({"p0": [1.0, 1.0]}, "it has a, rate, c, and p0 has 2 numbers"),
            ({"p0": np.ones((3, 1))}, r"it has a, rate, c, and p0 is an array of shape \(3, 1\)"),
            ({"p0": {"a": 1.0, "r": 1.0}}, "it has a, rate, c, and p0 a, r"),
            ({"bounds": [(0, 1)] * 4}, r"4 pairs for 3 parameters; of pairs there must be one"),
            ({"f": lambda t, a: None, "p0": [1.0]}, "returned None; return the prediction"),
            ({"ydata": ["a"] * 30}, "got texts; 'a' in it is not a number"),
            ({"fixed": "d"}, "fixed names 'd', which is not a parameter; they are a, rate, c"),
            ({"fixed": ["a", "rate", "c"]}, "leave one free"),
            ({"fixed": {"a": "x"}}, "the value of 'a' in fixed must be 1 number, got 'x'"),
            ({"fixed": {"a": None}}, "the value of 'a' in fixed must be 1 number, got None"),
            ({"bounds": {"d": (0, 1)}}, "bounds names 'd'"),
            ({"sigma": SIGMA[:3]}, "sigma must have the shape"),
            ({"sigma": 0 * SIGMA}, "sigma must be positive"),
            ({"sigma": -COVARIANCE}, r"positive definite; the variance at \[\d+, \d+\] is -0.0"),
            ({"sigma": SIGMA, "weights": SIGMA}, "give one of them"),
            ({"ydata": Y[:4]}, r"xdata has the shape \(30,\) and ydata \(4,\); give as many"),
            (
                {"ydata": np.where(T > 3, np.nan, Y)},
                "ydata is infinite or NaN in 8 of 30 places, first at index 22; ",
            ),
            (
                {"ydata": {"day": Y, "night": np.where(T > 3, np.nan, Y)}},
                r"ydata\['night'\] is infinite or NaN in 8 of 30 places, first at index 22; ",
            ),
            ({"p0": {"a": "1.0", "rate": 1, "c": 0}}, r"p0\['a'\] is the text '1.0', float\('1.0'"),
            ({"p0": [1.0, "two", 3]}, r"p0\[1\] is the text 'two'$"),
            ({"p0": [1.0, [2.0, None], 3]}, r"p0\[1\]\[1\] is None$"),
            ({"p0": [1.0, np.inf, 3]}, r"p0\[1\] is inf$"),
            ({"p0": np.array(["1", "2", "3"])}, r"np.asarray\(p0, float\) reads the numbers"),
            ({"p0": {"a": 1.0}.values()}, r"give a list, list\(p0\)"),
            ({"p0": {1.0, 2.0}}, "a set has no order"),
            ({"ydata": Y[:, None]}, r"must return the shape \(30, 1\)"),
            ({"loss": "tukey"}, "loss must be"),
            ({"verbose": 3}, "verbose must be 0, 1 or 2"),
            ({"bounds": {"rate": (2, 3)}}, "the start must lie within the bounds, but rate starts"),
            ({"maxfev": 9}, "^curve_fit: .* got 'maxfev'; maxiter limits the steps"),
            ({"missing": "drop"}, "got 'missing'; nan_policy='omit' leaves out"),
            (
                {"method": "lm"},
                "^curve_fit: expected options among p0, .* ftol, .* got 'method'; leave it",
            ),
        ],
    )
    def test_what_cannot_be_meant(self, given, words):
        with pytest.raises((ValueError, TypeError), match=words):
            curve_fit(**{"f": decay, "xdata": T, "ydata": Y, "p0": START, **given})


class TestListsWithinTheStart:
    """Are arrays, as a list of numbers that stands alone is."""

    def model(self, t, p):
        return p["a"] * np.exp(-p["rate"] * t) + np.stack([t, t**0], 1) @ p["line"]

    @pytest.mark.parametrize(
        "given",
        [
            {},
            {"bounds": {"line": ([0, 0], [1, 2])}},
            {"bounds": ({**LISTS, "a": 0, "rate": 0}, {"a": 9, "rate": 9, "line": [9, None]})},
            {"fixed": {"line": [0.3, 1.0]}},
        ],
    )
    def test_fits(self, given):
        true = {"a": 2.0, "rate": 1.0, "line": np.array([0.3, 1.0])}
        found = curve_fit(self.model, T, self.model(T, true), LISTS, **given)
        np.testing.assert_allclose(found["line"], [0.3, 1.0], rtol=1e-9)

    def test_lists_of_one_length(self):
        def two(t, heights, rates):
            return np.sum(heights * np.exp(-rates * t[:, None]), axis=1)

        y = two(T, np.array([2.0, 1.0]), np.array([0.5, 3.0]))
        found = curve_fit(two, T, y, [[1, 1], [0.4, 2]])
        assert found.names == ["heights[0]", "heights[1]", "rates[0]", "rates[1]"]
        np.testing.assert_allclose(found["rates"], [0.5, 3.0], rtol=1e-7)

    def test_other_solvers(self):
        found = linad.solve.newton(lambda p: p["x"] * p["x"] - np.array([4, 9]), {"x": [1, 1]})
        np.testing.assert_allclose(found.x["x"], [2, 3], rtol=1e-12)


class TestWhatTheModelReturns:
    """An array like ydata, or a list of numbers, as SciPy takes one."""

    def test_lists_of_numbers(self):
        def one_by_one(t, a, rate, c):
            return [decay(moment, a, rate, c) for moment in t]

        expected = curve_fit(decay, T, Y, START)
        np.testing.assert_allclose(curve_fit(one_by_one, T, Y, START).x, expected.x, rtol=1e-12)
        two = curve_fit(lambda t, p: [one_by_one(t, *p), decay(t, *p)], T, [Y, Y], START)
        np.testing.assert_allclose(two.x, expected.x, rtol=1e-9)

    @pytest.mark.parametrize(
        "returned, words",
        [
            (lambda t, a: {"y": a * t}, r"like ydata, it returned a dict: \{'y': Tracer"),
            (lambda t, a: (a * moment for moment in t), "it returned a generator"),
            (lambda t, a: "text", "it returned a str: 'text'"),
            (lambda t, a: [a * t, a], "list cannot be made one: .* shape"),
            (lambda t, a: None, "returned None"),
        ],
    )
    def test_anything_else_is_refused(self, returned, words):
        with pytest.raises(linad.errors.OutputError, match=words):
            curve_fit(returned, T, Y, [1.0])

    def test_the_other_way_round(self):
        with pytest.raises(linad.errors.ShapeError, match=r"returned \(2, 30\); transpose it"):
            curve_fit(lambda t, a, b: [a * t, b * t], T, np.stack([Y, Y], 1), [1.0, 1.0])

    @unfinished
    def test_where_it_is_no_number_is_told(self):
        found = curve_fit(lambda t, a, b: a * np.log(t) + b, T, Y)
        assert not found.success
        assert "in f(x0): 1 of 30 residuals, first that of index 0" in found.message
        found = curve_fit(lambda t, a, b: a + np.sqrt(b + t), T, Y, [1.0, 0.0])
        assert "of 1 of 30 residuals, first that of index 0" in found.message
        found = fit(lambda p: [p["rates"][0], np.sqrt(p["rates"])], {"rates": np.array([1.0, 0.0])})
        assert "of 1 of 3 residuals, first that of index 2, which itself is finite" in found.message

    @unfinished
    def test_what_is_cut_off_from_the_parameters_is_no_success(self):
        def by_bisection(t, a):
            found = []
            for value in t:
                low, high = 0.0, 9.0
                for _ in range(40):
                    middle = 0.5 * (low + high)
                    low, high = (middle, high) if middle < a * value else (low, middle)
                found.append(middle)
            return np.array(found)

        found = curve_fit(by_bisection, T, 1.5 * T, [1.0])
        assert not found.success
        assert "no residual depends on any parameter" in found.report()
        assert curve_fit(lambda t, a: a * t, T, 1.5 * T, [1.5]).success

    @pytest.mark.parametrize("start", [[None, 1.0, 1.0], {"a": 1.0, "rate": None, "c": 0.0}])
    def test_starts_that_hold_none_are_refused(self, start):
        with pytest.raises(linad.errors.OptionError, match="p0 must be finite real numbers"):
            curve_fit(decay, T, Y, start)

    def test_tables_of_one_column_are_refused_with_a_remedy(self):
        with pytest.raises(linad.errors.ShapeError, match="a table of one column: give the column"):
            curve_fit(decay, T[:, None], Y, START)
        with pytest.raises(linad.errors.ShapeError, match=r"give the column, np.ravel\(ydata\)"):
            curve_fit(decay, T, Y[:, None], START)

    @unfinished
    def test_a_start_where_nothing_responds_is_named(self):
        def model(t, height, low, high):
            return np.where((t > low) & (t < high), height * (t - low), 0.0)

        found = curve_fit(model, T + 20, Y)
        assert not found.success
        assert "low = 1, high = 1; start elsewhere, where the model responds" in found.message
        assert "Nothing is determined: start elsewhere" in found.report()
        assert "Fix one parameter" not in found.report()

    def test_one_parameter_that_starts_where_nothing_responds(self):
        """Milliseconds, and a rate per second: all of the decay is over."""
        with pytest.warns(OptimizeWarning, match="near its start, rate = 1: start elsewhere if"):
            found = curve_fit(decay, 1000 * T, Y, [1.0, 1.0, 0.0])
        assert list(found.undetermined[0]) == ["rate"]

    @pytest.mark.parametrize("kind", [list, np.array, lambda texts: np.array(texts, object)])
    def test_texts_are_told_of(self, kind):
        with pytest.raises(TypeError) as caught:
            curve_fit(decay, kind([f"{t:.3f}" for t in T]), Y, START)
        assert "texts; np.asarray(xdata, float) reads the numbers in them" in str(caught.value)

    def test_dates_are_told_of(self):
        dates = np.datetime64("2026-01-01") + np.arange(30)
        with pytest.raises(TypeError) as caught:
            curve_fit(decay, dates, Y, START)
        assert "numbers, as days since the first" in str(caught.value)
        days = (dates - dates[0]) / np.timedelta64(1, "D")
        found = curve_fit(lambda t, a, b: a * ((t - t[0]) / np.timedelta64(1, "D")) + b, dates, Y)
        np.testing.assert_allclose(found.x, np.polyfit(days, Y, 1))

    def test_bounds_that_cross_are_named(self):
        with pytest.raises(ValueError, match="got 3 and 2 for rate"):
            curve_fit(decay, T, Y, START, bounds={"rate": (3, 2)})

    @unfinished
    def test_a_fit_far_off_is_told_without_warnings_of_overflow(self):
        found = curve_fit(lambda t, a, b: a * np.exp(b * t), 170 * T[1:], Y[1:], [1.0, 1.0])
        assert not found.success
        assert "the sum of squares overflows; start nearer" in found.report()


class TestUncertainties:
    def test_intervals(self):
        found = curve_fit(decay, T, Y, START)
        t = scipy.stats.t.ppf(0.975, 27)
        for (name, value, error), (low, high) in zip(
            found.rows(), found.confidence_intervals().values(), strict=True
        ):
            np.testing.assert_allclose([low, high], [value - t * error, value + t * error])
            assert found.values[name] == value

    def test_what_is_undetermined_is_named(self):
        """a and b enter as a exp(b) with d in no place: two directions, found and said."""
        with OPEN:
            found = curve_fit(
                lambda t, a, b, c, d: a * np.exp(b - c * t) + 0.0 * d, T, Y, [1.0, 0.2, 1.0, 5.0]
            )
        alone, pair = sorted(found.undetermined, key=len)
        assert alone == {"d": 1.0}
        assert pair == {"a": 1.0, "b": pytest.approx(-1 / found["a"])}
        report = found.report()
        assert "± ?" in report
        assert "d: no residual depends on it" in report
        assert "a and b: no residual changes if they move together" in report
        determined = curve_fit(decay, T, Y, START)
        assert determined.undetermined == []
        assert "ndetermined" not in determined.report()

    def test_the_part_that_is_explained(self):
        """Of a constant none is, whatever the errors; of the exact model all."""
        for sigma in (None, SIGMA, COVARIANCE):
            constant = curve_fit(lambda t, a: a + 0 * t, T, Y, [1.0], sigma=sigma)
            np.testing.assert_allclose(constant.r_squared, 0.0, atol=1e-9)
            assert 0.9 < curve_fit(decay, T, Y, START, sigma=sigma).r_squared < 1.0

    def test_data_of_weight_zero_do_not_count(self):
        keep = np.arange(30) % 5 != 2
        spoiled = np.where(keep, Y, 99.0)
        found = curve_fit(decay, T, spoiled, START, weights=keep.astype(float))
        alone = curve_fit(decay, T[keep], Y[keep], START)
        assert found.observations == alone.observations == 24
        np.testing.assert_allclose(found.errors, alone.errors, rtol=1e-9)
        twice = curve_fit(
            lambda t, *p: decay(t, *p) * (1 + 1j), T, spoiled * (1 + 1j), START, weights=1.0 * keep
        )
        assert twice.observations == 48

    def test_as_many_parameters_as_observations(self):
        with pytest.warns(OptimizeWarning, match="no observations are left"):
            found = curve_fit(lambda t, a, b: a * t + b, [1.0, 2.0], [2.0, 3.0])
        assert "no observations are left" in found.message
        report = found.report()
        assert "no observations are left" in report
        assert "ndetermined" not in report

    def test_intervals_end_at_bounds(self):
        found = curve_fit(decay, T, Y, [1, 1, 1], bounds={"c": (0.55, None), "a": (0, 2.46)})
        assert found["c"] == 0.55
        free = found._quantile(0.95) * found.errors
        intervals = found.confidence_intervals()
        assert intervals["c"] == (0.55, pytest.approx(0.55 + free[2]))
        assert intervals["a"] == (pytest.approx(found["a"] - free[0]), 2.46)

    def test_a_profile_of_a_line_is_its_interval(self):
        found = curve_fit(lambda t, a, b: a * t + b, T, Y, [1.0, 1.0], sigma=0.1)
        for (low, high), exact in zip(
            found.profile_intervals().values(), found.confidence_intervals().values(), strict=True
        ):
            np.testing.assert_allclose([low, high], exact, rtol=1e-5)

    def test_a_profile_is_where_the_sum_of_squares_says(self):
        """Of y = exp(-k t), by bisection on the sum of squares itself."""
        t = np.array([1.0, 2.0, 4.0])
        y = np.array([0.5, 0.2, 0.12])
        found = curve_fit(lambda t, k: np.exp(-k * t), t, y, [1.0], sigma=0.1, absolute_sigma=True)

        def excess(k):
            return np.sum(((np.exp(-k * t) - y) / 0.1) ** 2) - found.chi_square - 1.95996**2

        (low, high) = found.profile_intervals(0.95)["k"]
        best = float(found.x[0])
        assert low == pytest.approx(scipy.optimize.brentq(excess, 0.0, best), rel=1e-5)
        assert high == pytest.approx(scipy.optimize.brentq(excess, best, 9.0), rel=1e-5)

    def test_a_profile_ends_at_a_bound_or_nowhere(self):
        y = 1.0 + 0.1 * np.cos(9 * T)
        found = curve_fit(
            lambda t, a, b: a + b * np.exp(-3 * t), T, y, [1.0, 0.1], bounds={"b": (-0.01, None)}
        )
        low, high = found.profile_intervals(names="b")["b"]
        assert low == -0.01
        assert np.isfinite(high)
        wide = curve_fit(
            lambda t, a, b: a / (1 + np.exp(-b)) + 0 * t, T, y, [1.0, 1.0], fixed={"a": 1.0}
        )
        low, high = wide.profile_intervals()["b"]
        assert np.isfinite(low)
        assert high == np.inf

    def test_coverage(self):
        """Of 95% intervals about 95% hold the truth; and a prediction's error is its spread."""
        rng = np.random.default_rng(1)
        held, spread, said = 0, [], []
        for _ in range(60):
            y = decay(T, 2.5, 1.3, 0.5) + 0.05 * rng.standard_normal(30)
            found = curve_fit(decay, T, y, [2.5, 1.3, 0.5])
            low, high = found.confidence_intervals()["rate"]
            held += low < 1.3 < high
            spread.append(found.predict(1.0))
            said.append(found.prediction_errors(1.0))
        assert held >= 51
        np.testing.assert_allclose(np.std(spread), np.mean(said), rtol=0.3)

    def test_predictions_have_the_form_of_what_the_model_returns(self):
        found = curve_fit(
            lambda t, p: {"one": decay(t, *p), "all": np.stack([t * p[0], t], 1)},
            T,
            {"one": Y, "all": np.stack([2.5 * T, T], 1)},
            np.array(START),
        )
        errors = found.prediction_errors(T[:7])
        assert errors["one"].shape == (7,)
        assert errors["all"].shape == (7, 2)
        np.testing.assert_allclose(errors["all"], T[:7, None] * [found.errors[0], 0.0])

    def test_predictions_of_what_is_left_open(self):
        known = {"sigma": 0.1, "absolute_sigma": True}
        line = curve_fit(lambda x, a, b: a * x + b, T, Y, [1.0, 1.0], **known)
        errors = line.prediction_errors(T)
        with OPEN:
            found = curve_fit(lambda x, a, b, c: (a + c) * x + b, T, Y, np.ones(3), **known)
        np.testing.assert_allclose(found.prediction_errors(T), errors, rtol=1e-9)

        def jumping(x, a, b, c):
            return np.where(x < 9, a * x + b, c)

        with OPEN:
            found = curve_fit(jumping, T, Y, np.ones(3), **known)
        elsewhere = found.prediction_errors(np.array([T[3], 10.0]))
        np.testing.assert_allclose(elsewhere, [errors[3], np.inf], rtol=1e-9)

    def test_complex_data(self):
        z = np.exp((-0.3 + 2j) * T) + 0.01 * (np.cos(9 * T) + 1j * np.sin(7 * T))
        found = curve_fit(lambda t, a, b: np.exp((a + 1j * b) * t), T, z, [-0.2, 1.9])
        both = fit(
            lambda p: [
                np.exp(p[0] * T) * np.cos(p[1] * T) - z.real,
                np.exp(p[0] * T) * np.sin(p[1] * T) - z.imag,
            ],
            np.array([-0.2, 1.9]),
        )
        assert found.observations == both.observations == 60
        np.testing.assert_allclose(found.errors, both.errors, rtol=1e-6)


class TestRobust:
    """Errors of a robust fit, by the formula and by simulation."""

    SPIKED = Y + np.where(np.arange(30) % 9 == 4, 2.0, 0.0)

    def test_covariance_is_hubers(self):
        c = 0.03
        found = curve_fit(decay, T, self.SPIKED, START, loss="huber", f_scale=c)
        r = found.residuals
        J = linad.jacobian(lambda p: decay(T, *p))(found.x)
        psi, slopes = np.clip(r, -c, c), (abs(r) <= c).astype(float)
        m, n = J.shape
        K = 1 + n / m * np.var(slopes) / np.mean(slopes) ** 2
        expected = K**2 * np.sum(psi**2) / (m - n) / np.mean(slopes) ** 2 * np.linalg.inv(J.T @ J)
        np.testing.assert_allclose(found.covariance, expected, rtol=1e-6)

    @pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy", "arctan"])
    def test_a_loss_that_is_hardly_one_has_the_errors_of_squares(self, loss):
        squares = curve_fit(decay, T, Y, START)
        found = curve_fit(decay, T, Y, START, loss=loss, f_scale=1e3)
        np.testing.assert_allclose(found.covariance, squares.covariance, rtol=1e-5)
        wanted = squares.profile_intervals(names="rate")["rate"]
        np.testing.assert_allclose(found.profile_intervals(names="rate")["rate"], wanted, rtol=1e-5)

    @pytest.mark.rest
    def test_errors_are_the_spread(self):
        """With one point of ten an outlier, over and over."""
        rng = np.random.default_rng(3)
        t = np.linspace(-1.0, 1.0, 60)
        found, said, held = [], [], 0
        for _ in range(200):
            wrong = np.where(rng.random(60) < 0.1, rng.uniform(5, 20, 60), 0)
            y = rng.standard_normal(60) + wrong * rng.choice([-1, 1], 60)
            fitted = curve_fit(lambda t, a, b: a + b * t, t, y, [0.0, 0.0], loss="soft_l1")
            low, high = fitted.confidence_intervals()["b"]
            held += low < 0 < high
            found.append(fitted.x)
            said.append(fitted.errors)
        assert 183 <= held <= 198
        np.testing.assert_allclose(np.mean(said, axis=0), np.std(found, axis=0), rtol=0.15)

    def test_points_without_weight_do_not_count(self):
        weights = np.where(np.arange(30) % 5 == 2, 0.0, 1.0)
        keep = weights > 0
        given = {"loss": "soft_l1", "f_scale": 0.02}
        some = curve_fit(decay, T[keep], self.SPIKED[keep], START, **given)
        all_ = curve_fit(decay, T, self.SPIKED, START, weights=weights, **given)
        np.testing.assert_allclose(all_.covariance, some.covariance, rtol=1e-6)

    def test_a_scale_that_makes_outliers_of_all(self):
        far = np.linspace(-90, 90, 30)
        with pytest.warns(OptimizeWarning, match="most residuals are many times f_scale"):
            found = curve_fit(lambda t, a: a + 0 * t, T, far, [0.0], loss="cauchy")
        assert np.isinf(found.errors).all()
        assert "most residuals are many times f_scale" in str(found)

    def test_what_is_explained_is_told_of_squares(self):
        found = curve_fit(decay, T, self.SPIKED, START, loss="cauchy", f_scale=0.02)
        r = decay(T, *found.x) - self.SPIKED
        wanted = 1 - np.sum(r**2) / np.sum((self.SPIKED - np.mean(self.SPIKED)) ** 2)
        np.testing.assert_allclose(found.r_squared, wanted)
        assert "sum of losses" in str(found)


class TestTelling:
    def test_report(self):
        found = curve_fit(decay, T, Y, START, bounds={"rate": (0, 5)})
        words = repr(found)
        for part in ("Fit of decay", "rate", "±", "reduced chi-square", "[0, 5]", "c, rate"):
            assert part in words
        assert "<table>" in found._repr_html_()

    def test_parameters_by_name(self):
        def both(t, p):
            return [p["height"][k] * np.exp(-p["line"]["rate"] * t) for k in range(2)]

        found = curve_fit(both, T, [Y, 2 * Y], {"height": np.ones(2), "line": {"rate": 1.0}})
        np.testing.assert_array_equal(found["height"], found.x["height"])
        assert found["height[1]"] == found.x["height"][1]
        assert found["line.rate"] == found["line"] == found.x["line"]["rate"]
        with pytest.raises(linad.errors.OptionError, match="'slope', which is not a parameter; th"):
            found["slope"]
        for name, words in (
            ("stderr", "standard errors are errors"),
            ("line.rate", "found\\['line"),
        ):
            with pytest.raises(AttributeError, match=words):
                getattr(found, name)
        assert copy.deepcopy(found).values == found.values

    def test_names_of_others_are_answered(self):
        found = curve_fit(decay, T, Y, START)
        for call, words in [
            (lambda: curve_fit(decay, T, Y, START, vary={"a": 1}), "vary'; parameters that stay"),
            (lambda: curve_fit(decay, T, Y, START, yerr=1), "yerr'; standard deviations"),
            (lambda: curve_fit(decay, T, Y, START, wieghts=1), "wieghts'; weights?"),
            (lambda: curve_fit(decay, T, Y, START, xerr=1), "xerr'; errors in x are unknowns"),
            (lambda: curve_fit(decay, T, Y, a=2, c=0), "a is a parameter of decay; starts"),
            (lambda: curve_fit(decay, T, Y, 2, 1, 3), "all starts are in one list"),
            (lambda: fit(lambda p: p, START, lb=0), "lb'; bounds are"),
            (lambda: fit(lambda p: p, START, nan_policy="omit"), "'; leave out what is missing"),
            (lambda: fit(lambda p: p, START, sigma=2), "sigma'; divide the residuals by it"),
            (
                lambda: linad.solve.maximum_likelihood(np.sum, START, sigma=2),
                "sigma'; how well data are known is in the likelihood",
            ),
            (lambda: found.profile_intervals(names="K"), "profile_intervals: names has 'K', which"),
            (lambda: found.propagate(lambda RATE: RATE**2), "Did you mean rate?"),
            (lambda: fit(lambda a, b: a * b, START), "start, 3 numbers; let it take one argument"),
            (lambda: found.plot(figsize=(3, 3)), "figsize'; axes are made"),
            (lambda: found.plot(filename="a.png"), "filename'; what it returns is axes"),
        ]:
            with pytest.raises(linad.errors.LinadError) as raised:
                call()
            assert words in str(raised.value)
        with pytest.raises(AttributeError, match=r"; prediction_errors\(x\) are"):
            found.bands  # noqa: B018
        assert list(found.standard_errors.values()) == found.errors.tolist()
        assert list(found.standard_errors) == found.names

    def test_what_follows_a_star_is_no_parameter(self):
        def powers(t, a, b, *, power=2, off=0.5):
            return a * t**power + b + off

        found = curve_fit(powers, T, 3.0 * T**2 + 1.0)
        assert found.names == ["a", "b"]
        np.testing.assert_allclose(found.x, [3.0, 0.5])

    def test_caches_of_traced_values_are_told_of(self):
        @functools.cache
        def twice(a):
            return 2 * a

        with pytest.raises(linad.errors.UnsupportedError, match=r"functools.cache, or call what"):
            curve_fit(lambda t, a: twice(a) * t, T, Y)
        found = curve_fit(lambda t, a: twice.__wrapped__(a) * t, T, 4 * T)
        np.testing.assert_allclose(found.x, 2.0)

    def test_tables_are_no_columns(self):
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame({"K": T + 1, "L": 2 * T + 1})

        def product(X, a, b):
            K, L = X
            return K**a * L**b

        with pytest.raises(TypeError, match=r"X\['K'\], X\['L'\]; or give xdata.to_numpy\(\).T"):
            curve_fit(product, table, Y)
        assert curve_fit(product, table.to_numpy().T, Y).success

    def test_labelled_starts(self):
        pandas = pytest.importorskip("pandas")
        wanted = curve_fit(decay, T, Y, START)
        found = curve_fit(decay, T, Y, pandas.Series({"c": 0.0, "a": 1, "rate": 1}))
        np.testing.assert_allclose([found[name] for name in wanted.names], wanted.x)
        np.testing.assert_allclose(curve_fit(decay, T, Y, pandas.Series(START)).x, wanted.x)

    def test_labelled_bounds_of_labelled_starts(self):
        """They belong to the parameters that they name."""
        pandas = pytest.importorskip("pandas")
        start = {"c": 0.0, "a": 1.0, "rate": 2.0}
        lower, upper = {"a": 0.0, "c": -1.0, "rate": 1.5}, {"rate": 9.0, "a": 3.0, "c": 1.0}
        wanted = curve_fit(decay, T, Y, start, bounds=(lower, upper))
        sides = pandas.Series(lower), pandas.Series(upper)
        found = curve_fit(decay, T, Y, pandas.Series(start), bounds=sides)
        for name in ("a", "rate", "c"):
            np.testing.assert_allclose(found[name], wanted[name])
        assert found["rate"] == 1.5

    @unfinished
    def test_one_residual_is_told_of(self):
        def squares(p):
            return np.sum((decay(T, *p) - Y) ** 2)

        for solver in (fit, linad.solve.gauss_newton, linad.solve.least_squares):
            with pytest.raises(linad.errors.ShapeError, match=r"return r, not np.sum\(r\*\*2\)"):
                solver(squares, np.array(START))
        with pytest.raises(linad.errors.ShapeError, match=r"return the equations r, not np.sum"):
            linad.solve.newton(squares, np.array(START))
        found = fit(lambda a: squares(np.array([1.0, 0.5, 0.0]) * a), 1.0)
        assert "There is one residual: return all of them" in str(found)

    def test_starts_as_lmfit_has_them_are_told_of(self):
        told = {"a": {"value": 1.0, "min": 0}, "rate": 1.0, "c": {"value": 0.0, "vary": False}}
        with pytest.raises(linad.errors.OptionError) as raised:
            curve_fit(decay, T, Y, told)
        written = str(raised.value).partition("write ")[2]
        assert written == (
            "p0={'a': 1.0, 'rate': 1.0, 'c': 0.0}, bounds={'a': (0, None)}, fixed=['c']"
        )
        assert eval(f"curve_fit(decay, T, Y, {written})").success  # as it is printed
        with pytest.raises(linad.errors.OptionError, match="write x0={'a': 1.0, 'rate': 1.0"):
            fit(lambda p: decay(T, **p) - Y, told)
        plain = {"a": {"value": 1.0}}
        assert fit(lambda p: p["a"]["value"] * Y - Y, plain).names == ["a.value"]

    @pytest.mark.parametrize("rows", [False, True])
    def test_integrations_that_fail_are_refused_as_steps(self, rows):
        def grown(t, k, y0):  # y' = k y² has a pole at 1 / (k y0)
            y = y0 / (1 - k * y0 * t[t * k * y0 < 0.95])
            return np.stack([y, 2 * y]) if rows else y

        t = np.linspace(0.0, 2.0, 10)
        y = grown(t, 0.45, 1.0)
        with pytest.raises(linad.errors.ShapeError, match="must return the shape"):
            curve_fit(grown, t, y, [1.0, 1.0])
        found = curve_fit(grown, t, y, [0.01, 0.5])
        np.testing.assert_allclose(found.x, [0.45, 1.0], rtol=1e-6)
        assert "steps were refused where grown returned fewer numbers" in found.message

    def test_lists_of_dates_are_told_of(self):
        days = [dt.timedelta(days=k) for k in range(len(Y))]
        first = dt.datetime(2020, 1, 1)
        for given in (days, [first + day for day in days]):
            with pytest.raises(TypeError) as raised:
                curve_fit(lambda t, a, b: a + b * t, given, Y)
            assert "total_seconds() / 86400" in str(raised.value)
        with pytest.raises(linad.errors.ArgumentError, match=r"ydata / np.timedelta64\(1, 'D'\)"):
            curve_fit(lambda t, a, b: a + b * t, T, np.array(days, "m8[D]"))

    @unfinished
    def test_flat_ground_is_told_of(self):
        def planck(wave, T):  # wave in µm, T in K
            return 1e4 / wave**5 / (np.exp(14388.0 / (wave * T)) - 1.0)

        wave = np.linspace(0.2, 3.0, 30)
        found = curve_fit(planck, wave, planck(wave, 5800.0) + np.cos(wave), [50.0])
        assert not found.success
        assert "start elsewhere, where the residuals respond more" in found.message
        assert found.errors == [np.inf]
        assert "start elsewhere, where the model responds" in str(found)

    def test_pairs_as_bounds_are_told_of(self):
        with pytest.raises(linad.errors.OptionError, match=r"tuple\(zip\(\*pairs\)\)"):
            curve_fit(lambda t, a, b: a + b * t, T, Y, bounds=[(0, 9), (0, 5)])

    def test_starred_parameters_have_names(self):
        found = curve_fit(lambda t, a, *line: a * t**2 + line[0] * t + line[1], T, Y, [1, 1, 1])
        assert found.names == ["a", "line[0]", "line[1]"]

    def test_a_compiled_partial_has_its_functions_name(self):
        assert name_of(linad.jit(partial(decay, c=0.5))) == "decay"

    @pytest.mark.usefixtures("kernels")
    def test_a_fit_in_python_that_takes_long_says_so_once(self, capsys, monkeypatch):
        monkeypatch.setattr(waiting, "SECONDS", 0.0)
        monkeypatch.setattr(waiting, "WORTH", 0.0)
        with linad.config(progress=True):
            curve_fit(decay, T, Y, START)
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert "curve_fit(linad.jit(decay), ...) compiles it" in said
        with linad.config(progress=True):
            curve_fit(linad.jit(decay), T, Y, START)
        with linad.config(progress=False):
            fit(lambda p: decay(T, *p) - Y, np.array(START))
        assert capsys.readouterr().err == ""

    def test_a_minimum_in_python_that_takes_long_says_so_once(self, capsys, monkeypatch):
        monkeypatch.setattr(waiting, "SECONDS", 0.0)
        monkeypatch.setattr(waiting, "WORTH", 0.0)

        def misfit(p):
            return np.sum((decay(T, *p) - Y) ** 2)

        with linad.config(progress=True):
            linad.solve.newton_cg(misfit, np.array(START))
            said = capsys.readouterr().err
            assert said.count("\n") == 1
            assert "newton_cg(linad.jit(misfit), ...) compiles it" in said
            linad.solve.minimum(misfit, np.array(START))
        assert capsys.readouterr().err == ""

    def test_time_in_products_counts_and_time_beside_the_function_does_not(self, monkeypatch):
        clock, said = [0.0], []
        clocks = SimpleNamespace(perf_counter=lambda: clock[0], thread_time=lambda: clock[0])
        monkeypatch.setattr(waiting, "time", clocks)
        monkeypatch.setattr(waiting, "say", said.append)

        class Slow:
            def pushforward(self, tangent):
                clock[0] += 1.5
                return tangent

        problem = Equations(lambda x: x**3 - 1, np.array([2.0]), (), "newton")
        with linad.config(progress=True):
            problem.waiting = waiting.Waiting("newton", "f", np.sin, np.sin)
        for _ in range(3):
            clock[0] += 100.0
            J = problem.linearize(np.array([2.0]))[1]
        assert said == []
        J.op = Slow()
        for _ in range(3):
            J @ np.ones(1)
        (line,) = said
        assert line.startswith("newton: f has run for 3 s in Python; newton(linad.jit(f), ...)")

    @pytest.mark.parametrize("start", [START, {"a": 1, "rate": 1, "c": 0}], ids=["list", "names"])
    def test_a_result_is_pickled(self, start):
        found = curve_fit(decay, T, Y, start, bounds={"a": (0, 2.4)})
        again = pickle.loads(pickle.dumps(found))
        assert again.report() == found.report()
        assert again.profile_intervals() == found.profile_intervals()
        np.testing.assert_array_equal(again.prediction_errors(T), found.prediction_errors(T))

    @pytest.mark.parametrize("unit, number", [("units", "magnitude"), ("unit", "value")])
    def test_quantities_are_refused(self, unit, number):
        kinds = {unit: "second", number: Y, "to": None, "__array__": lambda self, *_, **__: Y}
        quantity = type("Quantity", (), kinds)()
        for given in ({"ydata": quantity}, {"ydata": Y, "sigma": quantity}):
            with pytest.raises(
                linad.errors.ArgumentError, match=rf"in second.*\.{number}, and let"
            ):
                curve_fit(decay, T, p0=START, **given)

    def test_verbose(self, capsys):
        curve_fit(decay, T, Y, START, verbose=False)
        assert capsys.readouterr().out == ""
        curve_fit(decay, T, Y, START, verbose=1)
        assert capsys.readouterr().out.startswith("Fit of decay")
        curve_fit(decay, T, Y, START, verbose=2)
        assert "nfev" in capsys.readouterr().out

    @pytest.mark.parametrize(
        "found",
        [
            curve_fit(decay, T, Y, START, sigma=SIGMA),
            curve_fit(lambda t, p: [decay(t, *p)], T, [Y], np.array(START)),
            curve_fit(lambda x, a, b: a * x[0] + b * x[1], np.stack([T, T**2]), Y, [1.0, 1.0]),
            fit(lambda p: decay(T, *p) - Y, np.array(START)),
        ],
        ids=["curve", "container", "surface", "residuals"],
    )
    def test_plot(self, found):
        above, below = found.plot()
        assert len(below.lines) == 2
        plt.close(above.figure)

    def test_each_data_set_is_drawn_at_its_own_points(self):
        places = [T, 2 * T[:-1]]
        found = curve_fit(
            lambda x, a, b, c: [decay(x[0], a, b, c), decay(x[1], a, 2 * b, c)],
            places,
            [Y, Y[:-1]],
            START,
        )
        above, below = found.plot()
        for k, line in enumerate(below.lines[1:]):
            np.testing.assert_array_equal(line.get_xdata(), places[k])
            assert line.get_color() == f"C{k}"
        assert len(above.get_legend().get_texts()) == 2
        for k in range(2):
            name = f"data set {k + 1}"
            line = next(line for line in above.lines if line.get_label() == name)
            x, y = line.get_data()
            assert np.isin(places[k], x).all()
            assert len(x) >= 400
            np.testing.assert_allclose(y, decay(x, found["a"], (k + 1) * found["b"], found["c"]))
        assert len(above.collections) == 2  # the bands
        plt.close(above.figure)

    @pytest.mark.parametrize("axis", [0, 1])
    def test_columns_of_data_are_curves(self, axis):
        x = np.geomspace(0.01, 10.0, 9)

        def columns(x, a, b):
            return np.stack([a * x, b / (1 + x)], axis)

        found = curve_fit(columns, x, columns(x, 2.0, 3.0), [1.0, 1.0])
        above, below = found.plot()
        assert [len(line.get_xdata()) for line in below.lines] == [2, 9, 9]
        kind = "column" if axis else "row"
        first, second = [line for line in above.lines if line.get_label().startswith(kind)]
        np.testing.assert_allclose(first.get_ydata(), 2 * first.get_xdata())
        np.testing.assert_allclose(second.get_ydata(), 3 / (1 + second.get_xdata()))
        assert np.sum(first.get_xdata() < 0.1) > 100  # smooth on a logarithmic scale
        plt.close(above.figure)

    def test_complex_data_are_two_curves(self):
        def rotating(t, a, rate):
            return a * np.exp(1j * rate * t)

        found = curve_fit(rotating, T, rotating(T, 2.0, 0.7), [1.0, 1.0], sigma=0.1)
        above, below = found.plot()
        assert [len(line.get_xdata()) for line in below.lines] == [2, 30, 30]
        lines = {line.get_label(): line for line in above.lines}
        for name, part in (("real part", np.real), ("imaginary part", np.imag)):
            x, y = lines[name].get_data()
            assert len(x) >= 400
            np.testing.assert_allclose(y, part(rotating(x, 2.0, 0.7)), atol=1e-12)
        plt.close(above.figure)

    def test_predictions_take_lists_as_fits_do(self):
        found = curve_fit(lambda t, a, b: a * t + b, T.tolist(), Y.tolist())
        np.testing.assert_array_equal(found.predict([1, 2]), found.predict(np.array([1.0, 2.0])))
        errors = found.prediction_errors([1, 2])
        np.testing.assert_array_equal(errors, found.prediction_errors(np.array([1.0, 2.0])))

    def test_residuals_alone_are_drawn_with_their_distribution(self):
        found = fit(lambda p: [p["a"] - T, p["b"] * T + 1j * Y], {"a": 1.0, "b": 1.0})
        left, right = found.plot()
        assert sum(patch.get_width() for patch in left.patches) == 90
        assert [len(line.get_xdata()) for line in right.lines] == [2, 30, 30, 30]
        plt.close(left.figure)

    @pytest.mark.parametrize("part", [1.0, 1.0 + 0.5j], ids=["real", "complex"])
    def test_points_without_weight_are_not_drawn(self, part):
        data, weights = part * Y, np.full(len(T), 20.0)
        data[5], weights[5] = 1e6 * part, 0.0
        found = curve_fit(lambda *p: part * decay(*p), T, data, START, weights=weights)
        above, below = found.plot()
        shown = [line for line in below.lines if len(line.get_xdata()) > 2]
        assert [len(line.get_xdata()) for line in shown] == [len(T) - 1] * len(shown)
        assert len(shown) == (2 if np.iscomplexobj(data) else 1)
        assert above.get_ylim()[1] < 10
        plt.close(above.figure)

    def test_an_image_is_drawn_as_one(self):
        rows, columns = np.mgrid[0:9, 0:12]

        def ramp(place, a, b):
            return a * place[0] + b * place[1]

        image = ramp((rows, columns), 2.0, 3.0)
        found = curve_fit(ramp, (rows, columns), image, [1.0, 1.0])
        left, right = found.plot()
        assert left.images[0].get_array().shape == image.shape
        assert right.get_title() == "residuals"
        assert left.get_title() == "data; lines: ramp"
        plt.close(left.figure)

    @pytest.mark.parametrize("form", ["grids", "vectors", "rows", "columns", "ij"])
    def test_an_image_that_is_a_vector_is_drawn_as_one(self, form):
        indexing = "ij" if form == "ij" else "xy"
        X, Y = np.meshgrid(np.linspace(0, 1, 12), np.arange(9.0), indexing=indexing)
        flat = X.ravel(), Y.ravel()
        places = {"grids": (X, Y), "rows": np.stack(flat), "columns": np.stack(flat, 1)}
        columns = form == "columns"

        def ramp(place, a, b):
            x, y = place.T if columns else place
            return (a * x + b * y).ravel()

        found = curve_fit(ramp, places.get(form, flat), 2 * flat[0] + 3 * flat[1], [1.0, 1.0])
        left, right = found.plot()
        image = left.images[0]
        wanted = 2 * np.linspace(0, 1, 12) + 3 * np.arange(9.0)[:, None]
        np.testing.assert_allclose(image.get_array(), wanted)
        np.testing.assert_allclose(image.get_extent(), [-1 / 22, 1 + 1 / 22, -0.5, 8.5])
        assert right.images[0].get_array().shape == wanted.shape
        plt.close(left.figure)

    @pytest.mark.parametrize("form", ["full", "sparse", "rows first", "upside down"])
    def test_an_image_stands_where_its_places_are(self, form):
        x, y = np.linspace(0, 5.5, 12), np.linspace(1, 3, 9)
        if form == "upside down":
            y = y[::-1]
        places = np.meshgrid(x, y, sparse=form == "sparse")
        places = tuple(places[::-1] if form == "rows first" else places)
        image = 3.0 * x + y[:, None]
        weights = np.ones(image.shape)
        image[2, 5], weights[2, 5] = 1e9, 0.0

        def ramp(p, a, b):
            return a * p[0] + b * p[1]

        found = curve_fit(ramp, places, image, [1.0, 1.0], weights=weights)
        left, right = found.plot()
        np.testing.assert_allclose(left.images[0].get_extent(), [-0.25, 5.75, 0.875, 3.125])
        drawn = left.images[0].get_array()
        np.testing.assert_allclose(drawn[-1], 3.0 * x + 3.0)
        assert drawn.max() < 20
        for axes in (left, right):
            assert np.ma.getmaskarray(axes.images[0].get_array()).sum() == 1
        plt.close(left.figure)

    def test_places_that_fill_no_grid_are_no_image(self):
        x, y = RNG.random((2, 81))
        found = curve_fit(lambda p, a, b: a * p[0] + b * p[1], (x, y), 2 * x + y, [1.0, 1.0])
        above, below = found.plot()
        assert not above.images
        assert below.get_xlabel() == "index in the data"
        plt.close(above.figure)

    def test_axes_and_words_of_ones_own(self):
        found = curve_fit(decay, T, Y, START)
        figure, ax = plt.subplots()
        assert found.plot(ax=ax, xlabel="t", ylabel="y", title="decay") is ax
        assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("t", "y", "decay")
        assert len(ax.lines) == 2  # data and model
        above, below = found.plot(xlabel="t", ylabel="y")
        assert (below.get_xlabel(), above.get_ylabel()) == ("t", "y")
        with pytest.raises(ValueError, match="give one of them"):
            found.plot(ax, ax=ax)
        plt.close(figure)
        plt.close(above.figure)

    def test_files_figures_and_looks_are_told_where_they_go(self, tmp_path):
        found = curve_fit(decay, T, Y, START)
        figure = plt.figure()
        for given, words in (
            ("fit.png", r"fit.plot\(\)\[0\].figure.savefig\('fit.png'\)"),
            (tmp_path / "fit.pdf", "figure.savefig"),
            ("r-", "is set on the axes"),
            (figure, r"fig.subplots\(2, 1\)"),
        ):
            with pytest.raises(linad.errors.ArgumentError, match=words):
                found.plot(given)
        for option, words in (
            ("color", r"axes\[0\].lines\[-1\].set\(color='black'\) is the model"),
            ("dpi", "savefig"),
            ("figsize", "plt.subplots"),
        ):
            with pytest.raises(linad.errors.OptionError, match=words):
                found.plot(**{option: 1})
        axes = found.plot(figure.subplots(2, 1))
        axes[0].lines[-1].set(color="black")
        assert axes[0].lines[-1].get_label() == "decay"
        assert len(axes[0].containers[0][0].get_xdata()) == len(T)
        axes[0].figure.savefig(tmp_path / "fit.png")
        plt.close(figure)

    def test_several_values_at_one_place_are_marks(self):
        group = np.arange(30) % 3

        def grouped(t, rate, heights):
            return heights[group] * np.exp(-rate * t)

        t = np.repeat(np.linspace(0, 3, 10), 3)
        y = grouped(t, 1.0, np.array([1.0, 2.0, 3.0]))
        found = curve_fit(grouped, t, y, [0.5, np.ones(3)])
        above, _ = found.plot()
        assert [line.get_linestyle() for line in above.lines] == ["None"] * len(above.lines)
        plt.close(above.figure)

    @pytest.mark.parametrize(
        "x, lengths",
        [
            ([0, 1, 2, 3, 1, 2, 3, 4], [4, 4]),
            ([4, 3, 2, 1, 4, 2, 1], [4, 3]),
            ([0, 1, 2, 3, 3, 2, 1, 0, 1, 2], [10]),
            ([0, 3, 1, 2, 5, 4], [6]),
            ([3, 2, 1], [3]),
            ([1, 1, 1], [3]),
            ([1], [1]),
        ],
    )
    def test_the_order_of_a_line(self, x, lengths):
        x = np.array(x, float)
        runs = plots._runs(x)
        assert [len(run) for run in runs] == lengths
        assert sorted(np.concatenate(runs)) == list(range(len(x)))
        if len(x) == 6:  # in no order
            assert (np.diff(x[runs[0]]) > 0).all()

    @unfinished
    def test_derivatives_that_are_all_infinite_ask_for_another_start(self):
        found = curve_fit(lambda t, a: np.exp(-1 / (a * a)) + 0 * t, T, Y, [1e-200])
        assert "start elsewhere" in found.message

    def test_a_slow_model_is_drawn_through_fewer_points(self, monkeypatch):
        monkeypatch.setattr(model_curves, "SLOW", 0.0)
        monkeypatch.setattr(model_curves, "LONG", 0.0)
        above, _ = curve_fit(decay, T, Y, START).plot()
        most = max(len(line.get_xdata()) for line in above.lines)
        assert most == len(np.union1d(T, np.linspace(T[0], T[-1], model_curves.POINTS[0])))
        plt.close(above.figure)

    def test_a_slow_model_has_its_band_from_the_data(self, monkeypatch, capsys):
        derived, plain = [], []

        def model(t, a, k):
            (plain if type(a) is np.float64 else derived).append(len(t))
            return a * np.exp(-k * t)

        t = T[::-1]  # in any order
        found = curve_fit(model, t, Y[::-1], [1.0, 1.0])
        there = found.confidence_band(T)
        monkeypatch.setattr(model_curves, "LONG", 0.0)
        derived.clear()
        with linad.config(progress=True):
            above, _ = found.plot()
        assert set(derived) == {len(T)}
        assert max(plain) >= model_curves.POINTS[-1]
        (line,) = capsys.readouterr().err.splitlines()
        assert "plot: model took" in line
        assert "for its band at the data, where it is drawn from" in line
        band = above.collections[-1].get_paths()[0].vertices
        for x, low, high in zip(T, *there, strict=True):
            drawn = np.sort(band[band[:, 0] == x][:, 1])
            np.testing.assert_allclose(drawn[[0, -1]], [low, high], rtol=1e-6)
        plt.close(above.figure)

    @unfinished
    @pytest.mark.filterwarnings("error")
    def test_what_hardly_depends_on_a_parameter_does_not_at_all(self):
        found = curve_fit(lambda t, a, b: a * t + 1e-305 * b, T, Y, [1.0, 1.0])
        assert found.undetermined == [{"b": 1.0}]
        assert found.errors[1] == np.inf

    def test_data_sets_end_to_end_are_lines(self):
        t = np.concatenate([T, 2 * T[:9], T[3:20]])
        heights = np.repeat([1.0, 2.0, 3.0], [30, 9, 17])
        found = curve_fit(
            lambda t, a, b: a * heights * np.exp(-b * t), t, heights * np.exp(-t), [0.5, 0.5]
        )
        above, _ = found.plot()
        lines = [line for line in above.lines if line.get_linestyle() == "-"]
        assert [len(line.get_xdata()) for line in lines] == [30, 9, 17]
        assert len(above.get_legend().get_texts()) == 2
        plt.close(above.figure)

    def test_outliers_leave_the_other_residuals_to_be_seen(self):
        spiked = Y + np.where(np.arange(30) == 4, 1e9, 0.0)
        given = {"loss": "soft_l1", "f_scale": 0.02}
        found = curve_fit(decay, T, spiked, START, **given)
        above, below = found.plot()
        assert below.get_yscale() == "symlog"
        assert "log beyond ±0.06" in below.get_ylabel()
        ticks = below.get_yticks()
        assert len(set(ticks)) == len(ticks) >= 3
        assert (ticks == 0).sum() == 1
        plt.close(above.figure)
        found = fit(lambda p: decay(T, *p) - spiked, START, **given)
        left, _ = found.plot()
        assert 4 <= len(left.patches) < 60
        assert sum(patch.get_width() for patch in left.patches) == 30
        plt.close(left.figure)

    @pytest.mark.filterwarnings("error")
    def test_a_model_on_the_grid_of_the_data_is_drawn_there(self):
        def heat(x, kappa, source):
            u = np.zeros_like(x * kappa)
            for _ in range(20):  # unstable on a finer grid
                u[1:-1] += kappa * (u[2:] - 2 * u[1:-1] + u[:-2]) / (x[1] - x[0]) ** 2 + source
            return u

        x = np.linspace(0.0, 8.0, 9)
        found = curve_fit(heat, x, heat(x, np.float64(0.3), 2.0), [0.2, 1.0])
        above, _ = found.plot()
        assert max(len(line.get_xdata()) for line in above.lines) == 9
        plt.close(above.figure)

    def test_short_events_are_seen_between_the_data(self):
        def transit(t, period, t0, depth):
            phase = np.abs(((t - t0) / period + 0.5) % 1 - 0.5)
            return 1 - depth * np.clip((0.05 - phase) / 0.02, 0, 1)

        t = np.sort(np.random.default_rng(5).uniform(0, 30, 60))
        found = curve_fit(transit, t, transit(t, 2.37, 1.3, 0.2), [2.37, 1.3, 0.2])
        above, _ = found.plot()
        x, y = above.lines[-1].get_data()
        everywhere = np.linspace(t[0], t[-1], 5001)
        drawn = np.interp(everywhere, x, y)
        np.testing.assert_allclose(drawn, found.predict(everywhere), atol=0.004)
        assert len(x) < model_curves.DENSE
        plt.close(above.figure)

    def test_a_model_of_the_points_alone_is_drawn_there(self):
        found = curve_fit(lambda _, a, b: [decay(T, a, 1.3, b)], T, [Y], [1.0, 1.0])
        above, _ = found.plot()
        assert max(len(line.get_xdata()) for line in above.lines) == 30
        plt.close(above.figure)

    def test_long_reports_end(self):
        found = fit(lambda p: [p - np.arange(30.0), np.sum(p) - 3.0], np.zeros(30))
        assert "  ... and 415 weaker ones" in found.report(0.01)

    @pytest.mark.parametrize(
        "f, use",
        [
            (lambda t, p: p["a"] * t, r"p\['a'\]"),
            (lambda t, p: p[0] * t + p[1], r"p\[0\]"),
            (lambda t, p: np.polyval([*p], t), "which it unpacks"),
            (lambda t, p: p.a * t, r"p\.a"),
            (lambda t, p: p @ np.stack([t, t]), "p @ ..."),
            (lambda t, p: len(p) * t, r"len\(p\)"),
        ],
    )
    @pytest.mark.parametrize("p0", [None, 2.0])
    def test_a_model_of_a_container_asks_for_its_start(self, f, use, p0):
        with pytest.raises(linad.errors.ArgumentError, match=rf"\(t, p\).*{use}.*; give p0 as p"):
            curve_fit(f, T, Y, p0)

    def test_a_mistake_in_a_model_of_numbers_is_told_as_it_is(self):
        with pytest.raises(IndexError, match="index 99"):
            curve_fit(lambda t, a: a.sum() * t[99], T, Y)

    def test_one_number_for_several_parameters(self):
        with pytest.raises(
            linad.errors.ArgumentError, match=r"a, b, and p0 is one number, 10; giv"
        ):
            curve_fit(lambda t, a, b: a * t + b, T, Y, 10)

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("where", ["ydata", "xdata", "sigma", "weights", "NaN", "covariance"])
    def test_what_is_left_out_does_not_count(self, where):
        out = np.isin(np.arange(30), [4, 11])
        y, t = np.where(out, 1e9, Y), T
        given = {"sigma": SIGMA}
        if where == "xdata":
            t = np.ma.array(T, mask=out)
        elif where == "sigma":
            given = {"sigma": np.ma.array(np.where(out, np.nan, SIGMA), mask=out)}
        elif where == "weights":
            given = {"weights": np.where(out, 0.0, 1 / np.broadcast_to(SIGMA, Y.shape))}
        elif where == "NaN":
            t, y = np.where(out, np.nan, T), np.where(out, np.nan, Y)
            given = {"weights": np.where(out, 0.0, 1 / np.broadcast_to(SIGMA, Y.shape))}
        else:
            y = np.ma.array(y, mask=out)
            if where == "covariance":
                given = {"sigma": np.diag(np.broadcast_to(SIGMA, Y.shape) ** 2)}
        found = curve_fit(decay, t, y, START, **given)
        sigma = np.broadcast_to(SIGMA, Y.shape)[~out]
        wanted = curve_fit(decay, T[~out], Y[~out], START, sigma=sigma)
        np.testing.assert_allclose(found.x, wanted.x, rtol=1e-8)
        np.testing.assert_allclose(found.errors, wanted.errors, rtol=1e-6)
        assert found.observations == 28
        above, below = found.plot()
        assert len(below.lines[-1].get_xdata()) == 28
        assert len(above.lines[-1].get_xdata()) >= model_curves.POINTS[-1]
        plt.close(above.figure)

    def test_a_mask_alone_is_no_sigma(self):
        found = curve_fit(decay, T, np.ma.array(Y, mask=T < 0.1), START)
        above, below = found.plot()
        assert below.get_ylabel() == "residuals"
        assert not above.containers[0].has_yerr
        plt.close(above.figure)

    def test_error_bars_of_a_covariance_are_its_diagonal(self):
        covariance = 0.01 * np.exp(-np.abs(T[:, None] - T))
        found = curve_fit(decay, T, Y, START, sigma=covariance, absolute_sigma=True)
        above, _ = found.plot()
        _, _, (bars,) = above.containers[0]
        np.testing.assert_allclose([bar[1, 1] - bar[0, 1] for bar in bars.get_segments()], 0.2)
        plt.close(above.figure)

    @pytest.mark.parametrize("given", [{"sigma": 5.0 + T}, {"weights": 1.0 / (5.0 + T)}])
    def test_error_bars_are_as_long_as_residuals_say(self, given):
        found = curve_fit(decay, T, Y, START, **given)
        above, _ = found.plot()
        scale = np.sqrt(found.reduced_chi_square)
        _, _, (bars,) = above.containers[0]
        lengths = [bar[1, 1] - bar[0, 1] for bar in bars.get_segments()]
        np.testing.assert_allclose(lengths, 2 * scale * (5.0 + T))
        assert f"data ± {scale:.2g} sigma" in [t.get_text() for t in above.get_legend().texts]
        plt.close(above.figure)

    def test_a_model_that_reads_a_series_gets_one_elsewhere(self):
        pd = pytest.importorskip("pandas")
        t = pd.Series(T, name="t", index=3 * np.arange(len(T)))
        found = curve_fit(lambda t, a, b: a * np.exp(-b * t.values), t, Y, [1.0, 1.0])
        above, _ = found.plot()
        assert len(above.lines[-1].get_xdata()) > len(T)
        plt.close(above.figure)
        plain = curve_fit(lambda t, a, b: a * np.exp(-b * t), T, Y, [1.0, 1.0])
        grid = np.linspace(0.0, 6.0, 3)
        np.testing.assert_allclose(found.confidence_band(grid), plain.confidence_band(grid))
        labelled = curve_fit(
            lambda t, a, b: (a * np.exp(-b * t)).loc[t.index[: len(T)]], t, Y, [1.0, 1.0]
        )
        above, _ = labelled.plot()
        plt.close(above.figure)
        table = curve_fit(
            lambda x, a, b: a * np.exp(-b * x["t"]), pd.DataFrame({"t": T}), Y, [1.0, 1.0]
        )
        with pytest.raises(
            linad.errors.ArgumentError, match="a table of the columns t, and places"
        ):
            table.confidence_band(grid)

    @pytest.mark.parametrize(
        "given, match",
        [
            ({"sigma": ["0.3"] * 30}, r"got texts; np.asarray\(sigma, float\)"),
            ({"weights": ["0.3"] * 30}, r"got texts; np.asarray\(weights, float\)"),
            ({"sigma": np.where(np.arange(30) == 7, 0.0, 1.0)}, "in 1 of 30 places, first at ind"),
            ({"ydata": np.ma.array(Y, mask=True)}, "all of ydata is masked"),
            ({"xdata": np.ma.array([T, T], mask=[Y > 1, Y > 1])}, "not the shape of ydata"),
            ({"ydata": np.where(T < 1, np.nan, Y), "sigma": 0.1}, r"weights=np.where\(keep, 1 / s"),
            (
                {"xdata": (T, np.where(T < 1, np.nan, T))},
                r"weights=keep .* np.isfinite\(xdata\[1\]\)",
            ),
        ],
    )
    def test_what_cannot_be_meant_by_data(self, given, match):
        with pytest.raises((linad.errors.ArgumentError, linad.errors.OptionError), match=match):
            curve_fit(decay, **{"xdata": T, "ydata": Y, "p0": START, **given})

    @pytest.mark.parametrize(
        "value, error, wanted",
        [
            (2459001.29987, 5.3e-4, ("2459001.29987", "0.00053")),
            (1234567890.0, 12.0, ("1234567890", "12")),
            (2.5e6, 1e3, ("2.5000e+06", "1.0e+03")),
            (6e23, 1e17, ("6.0000000e+23", "1.0e+17")),
            (0.5, 2e-4, ("0.50000", "0.00020")),
        ],
    )
    def test_digits_of_a_report(self, value, error, wanted):
        assert rounded(value, error) == wanted

    def test_residuals_alone_have_no_predictions(self):
        found = fit(lambda p: decay(T, *p) - Y, np.array(START))
        with pytest.raises(linad.errors.ArgumentError, match="has no model to predict with"):
            found.predict(T)


def test_traced_data_name_what_is_differentiated_through():
    x = np.array([1.0, 2.0, 4.0])

    def fitted(**changed):
        given = {"xdata": x, "ydata": x, "p0": [1.0, 1.0], "sigma": None} | changed
        return linad.solve.curve_fit(lambda x, a, b: a * x + b, **given).x

    for name in ("xdata", "ydata", "sigma", "p0"):
        with pytest.raises(TracerError, match=f"^curve_fit: {name} is traced, .*stop_gradient"):
            linad.jacobian(lambda v, name=name: fitted(**{name: v[:2] if name == "p0" else v}))(x)
    with pytest.raises(TracerError, match="<lambda> depends on .*linad.scipy.optimize.curve_fit"):
        linad.jacobian(lambda y: linad.solve.fit(lambda p: p[0] * x - y, [1.0]).x)(x)


def test_a_container_by_its_name():
    def model(t, p):
        return p["height"]["a"] * np.exp(-p["rate"] * t) + p["height"]["b"]

    t = np.linspace(0.0, 2.0, 9)
    start = {"height": {"a": 1.0, "b": 0.0}, "rate": 1.0}
    found = curve_fit(model, t, 2.0 * np.exp(-t) + 0.5, start)
    assert found["height"] == found.x["height"]
    assert found["height"]["a"] == found["height.a"]


def test_predictions_are_of_the_data_by_default():
    t = np.linspace(0.0, 2.0, 9)
    found = curve_fit(lambda t, a, k: a * np.exp(-k * t), t, 2.0 * np.exp(-t) + 0.01 * t, [1, 1])
    np.testing.assert_array_equal(found.predict(), found.predict(t))
    np.testing.assert_array_equal(found.prediction_errors(), found.prediction_errors(t))


def test_columns_of_a_table_that_is_no_list_of_rows():
    X = np.stack([np.arange(5.0), np.arange(5.0) ** 2], axis=1)
    with pytest.raises(ShapeError, match=r"given to it as it is, \(5, 2\): a column is X\[:, 0\]"):
        curve_fit(lambda X, a, b: a * X[0] + b * X[1], X, np.arange(5.0), [1, 1])


def test_a_series_of_places_with_gaps():
    pd = pytest.importorskip("pandas")
    t = pd.Series([0.0, 0.5, np.nan, 1.5, 2.0], index=[3, 4, 5, 6, 7])
    y = pd.Series([2.0, 1.3, 9.0, 0.5, np.nan], index=t.index)
    keep = (np.isfinite(t) & np.isfinite(y)).to_numpy()

    def model(t, a, k):
        return a * np.exp(-k * t)

    found = curve_fit(model, t, y, [1, 1], weights=keep)
    plain = curve_fit(model, t[keep].to_numpy(), y[keep].to_numpy(), [1, 1])
    np.testing.assert_allclose(found.x, plain.x, rtol=1e-8)


class TestTheOrderOfStarts:
    """Whatever has names has them in the order of p0."""

    def found(self, **options):
        def model(t, scale, rate):
            return scale * np.exp(-rate * t)

        t = np.linspace(0.0, 3.0, 30)
        y = model(t, 5.0, 1.0) + 0.1 * np.cos(9 * t)
        return curve_fit(model, t, y, {"scale": 4.0, "rate": 0.8}, **options)

    def test_of_all_that_is_found(self):
        found = self.found()
        order = ["scale", "rate"]
        assert found.names == order
        assert [row[0] for row in found.rows()] == order
        for named in (found.x, found.errors, found.values, found.standard_errors, found.result.x):
            assert isinstance(named, dict)
            assert list(named) == order
        assert list(found.result.grad) == order
        assert found.x == found.values
        assert found.errors == found.standard_errors
        np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), list(found.errors.values()))
        bare = curve_fit(
            lambda t, scale, rate: scale * np.exp(-rate * t),
            found.xdata,
            found.data.leaves[0],
            [4.0, 0.8],
        )
        np.testing.assert_allclose(found.covariance, bare.covariance, rtol=1e-6)
        np.testing.assert_allclose(found.prediction_errors(), bare.prediction_errors(), rtol=1e-6)
        intervals = found.profile_intervals()
        assert list(intervals) == order
        np.testing.assert_allclose(
            list(intervals.values()), list(bare.profile_intervals().values()), rtol=1e-6
        )

    def test_of_derivatives_at_what_is_found(self):
        """J Σ J^T is right as it is written, in containers within containers too."""

        def model(t, p):
            return p["up"][1]["z"] * np.exp(-p["rate"] * t) + p["up"][1]["a"] + p["up"][0] * t

        t = np.linspace(0.0, 3.0, 30)
        truth = {"up": [0.1, {"z": 3.0, "a": 0.5}], "rate": 1.2}
        y = model(t, truth) + 0.05 * np.cos(9 * t)
        start = {"up": [0.0, {"z": 1.0, "a": 0.0}], "rate": 1.0}
        found = curve_fit(model, t, y, start)
        bare = scipy.optimize.curve_fit(
            lambda t, b, z, a, k: z * np.exp(-k * t) + a + b * t, t, y, [0, 1, 0, 1], xtol=1e-12
        )
        assert found.names == ["up[0]", "up[1].z", "up[1].a", "rate"]
        np.testing.assert_allclose(found.vector, bare[0], rtol=1e-6)
        np.testing.assert_array_equal(linad.ravel(found.x)[0], found.vector)
        J = linad.linearize(lambda p: p["up"][1]["z"] / p["rate"], found.x)[1].todense()
        b, z, a, k = bare[0]
        row = np.array([0.0, 1 / k, 0.0, -z / k**2])
        np.testing.assert_allclose(J @ found.covariance @ J.T, row @ bare[1] @ row, rtol=1e-5)
        again = curve_fit(model, t, y, found.x, bounds=(-9.0, 9.0))
        assert again.names == found.names
        np.testing.assert_allclose(again.covariance, found.covariance, rtol=1e-6)

    def test_of_keys_that_are_sorted_is_that_of_a_plain_dict(self):
        t = np.linspace(0.0, 3.0, 30)
        found = curve_fit(lambda t, p: p["a"] + p["b"] * t, t, 2 + 3 * t, {"a": 1.0, "b": 1.0})
        assert type(found.x) is type(found.errors) is dict

    def test_flags_and_bounds_follow_it(self):
        assert self.found(fixed=[True, False]).x["scale"] == 4.0
        assert self.found(fixed=np.array([False, True])).x["rate"] == 0.8
        assert self.found(fixed=[0]).x["scale"] == 4.0
        sides = {"rate": 0.0, "scale": 0.0}, {"rate": 0.9, "scale": 9.0}
        assert self.found(bounds=sides).x["rate"] == 0.9

    @pytest.mark.parametrize("fixed", [[1, 0], np.array([1, 0])])
    def test_flags_that_may_be_positions(self, fixed):
        with pytest.raises(linad.errors.OptionError, match="write flags as True and False"):
            self.found(fixed=fixed)


def test_bounds_and_held_values_in_the_form_of_the_start():
    def model(t, p):
        return p["line"]["slope"] * t + p["line"]["offset"] + p["bend"] * t**2

    t = np.linspace(0.0, 1.0, 9)
    start = {"line": {"slope": 1.0, "offset": 0.5}, "bend": 0.1}
    y = model(t, {"line": {"slope": 3.0, "offset": 0.2}, "bend": 0.4})
    bounded = curve_fit(model, t, y, start, bounds={"line": {"slope": (0, 2)}})
    assert bounded.x["line"]["slope"] == 2.0
    held = curve_fit(model, t, y, start, fixed={"line": {"offset": 0.2}})
    assert held.x["line"]["offset"] == 0.2
    flagged = curve_fit(model, t, y, start, fixed={"line": {"offset": True}})
    assert flagged.x["line"]["offset"] == 0.5


def test_pairs_of_two_parameters_are_told_from_sides():
    t = np.linspace(0.0, 1.0, 9)
    with pytest.raises(linad.errors.OptionError, match=r"are pairs.*tuple\(zip\(\*pairs\)\)"):
        curve_fit(lambda t, a, b: a + b * t, t, t, [1, 1], bounds=[(0, 10), (0.5, 12)])


@pytest.mark.parametrize(
    "option, words",
    [
        (
            "sigma",
            r"sigma must be positive and finite everywhere; it is nan in 1 of",
        ),
        ("weights", r"weights must be finite and not negative everywhere; it is nan in 1 of"),
    ],
)
def test_deviations_that_are_no_numbers(option, words):
    given = np.ones(9)
    given[4] = np.nan
    with pytest.raises(linad.errors.OptionError, match=words) as told:
        curve_fit(lambda t, a: a * t, np.arange(9.0), np.arange(9.0), **{option: given})
    assert "at index 4; points that do not count have the weight 0" in str(told.value)
    with pytest.raises(linad.errors.OptionError, match="a matrix given as sigma must be finite"):
        curve_fit(lambda t, a: a * t, np.arange(9.0), np.arange(9.0), sigma=np.diag(given))


@pytest.mark.parametrize("compiled", [lambda f: f, linad.jit])
def test_a_real_model_of_complex_data_is_refused(compiled):
    t = np.linspace(0.0, 1.0, 9)
    f = compiled(lambda t, a, b: a * np.exp(-b * t))
    with pytest.raises(linad.errors.DTypeError, match=r"real numbers for complex ydata.*ydata\.re"):
        curve_fit(f, t, f(t, 2.0, 0.7) + 0j, [1.0, 1.0])


def test_a_complex_model_of_real_data_is_refused():
    t = np.linspace(0.0, 1.0, 9)
    with pytest.raises(linad.errors.DTypeError, match=r"complex numbers for real ydata.*ydata \+"):
        curve_fit(lambda t, a: a * np.exp(1j * t), t, t, [1.0])


def test_further_arguments_in_a_list():
    """As many as the function takes; a list that it takes as one argument stays one."""

    def residuals(p, t, y):
        return decay(t, *p) - y

    def of_data(p, data):
        return residuals(p, *data)

    def log_likelihood(p, t, y):
        return -0.5 * np.sum(residuals(p, t, y) ** 2)

    expected = curve_fit(decay, T, Y, START).x
    for found in (
        fit(residuals, START, args=[T, Y]),
        fit(of_data, START, args=[T, Y]),
        linad.solve.maximum_likelihood(log_likelihood, START, args=[T, Y]),
    ):
        np.testing.assert_allclose(found.x, expected, rtol=1e-5)


def test_bounds_and_what_is_fixed_in_lists_of_dicts():
    def peaks(p):
        return [sum(peak["height"] * np.exp(-peak["rate"] * T) for peak in p["peaks"]) - Y]

    start = {"peaks": [{"height": 1.0, "rate": 1.0}, {"height": 1.0, "rate": 0.1}]}
    bounds = {"peaks": [{"rate": (0, None)}, {"height": (0.2, 3.0), "rate": (None, 0.5)}]}
    found = fit(peaks, start, bounds=bounds, fixed={"peaks": [{}, {"rate": 0.0}]})
    assert found.names == ["peaks[0].height", "peaks[0].rate", "peaks[1].height", "peaks[1].rate"]
    np.testing.assert_array_equal(found.bounds[0], [-np.inf, 0, 0.2, -np.inf])
    np.testing.assert_array_equal(found.bounds[1], [np.inf, np.inf, 3.0, 0.5])
    np.testing.assert_allclose(found.vector[:3], curve_fit(decay, T, Y, START).x, rtol=1e-5)
    assert found["peaks[1].rate"] == 0.0
    with pytest.raises(linad.errors.OptionError, match=r"in it alone is 'peaks\[0\].height'"):
        fit(peaks, start, bounds={"peaks": [(0, None), (0, 1), (0, 1)]})


MATRIX = np.linspace(0.0, 1.0, 6).reshape(2, 3)


def bounded(bounds, start=None):
    """Lower and upper bounds of a matrix of parameters, as a fit and as a likelihood have them."""
    start = {"a": np.ones((2, 3)) / 2} if start is None else start
    found = fit(lambda p: [p["a"] - MATRIX, p["a"] - MATRIX**2], start, bounds=bounds).bounds
    likely = linad.solve.maximum_likelihood(
        lambda p: -np.sum((p["a"] - MATRIX) ** 2), start, bounds=bounds
    ).bounds
    np.testing.assert_array_equal(found, likely)
    return np.array(found)


@pytest.mark.parametrize(
    "upper", [5, [5, 5, 5], np.full((2, 3), 5), [[5], [5]], [5] * 6, np.full((1, 3), 5.0)]
)
def test_bounds_of_a_matrix_have_its_shape_or_one_that_fits_it(upper):
    np.testing.assert_array_equal(bounded({"a": (np.zeros((2, 3)), upper)}), [[0] * 6, [5] * 6])


def test_bounds_of_a_matrix_row_by_row_and_left_open():
    lower, upper = bounded({"a": ([None, -1, 0], [[2, None, np.inf], [5, 6, 7]])})
    np.testing.assert_array_equal(lower, [-np.inf, -1, 0, -np.inf, -1, 0])
    np.testing.assert_array_equal(upper, [2, np.inf, np.inf, 5, 6, 7])


@pytest.mark.parametrize(
    "bounds, words",
    [
        ((0, np.ones((3, 2))), r"upper bounds of 'a' must have the shape \(2, 3\) .* \(3, 2\)"),
        (([0, 0], 5), r"lower bounds of 'a' must have the shape \(2, 3\) .* got the shape \(2,\)"),
        ((0, "5"), "upper bounds of 'a' must be numbers or None, got '5'"),
        ((0, [[5], [5, 5]]), "upper bounds of 'a' must be numbers or None"),
    ],
)
def test_bounds_that_a_matrix_cannot_have_are_told(bounds, words):
    with pytest.raises(ValueError, match=words):
        bounded({"a": bounds})
    with pytest.raises(ValueError, match="'a' must be one number; got the shape"):
        bounded({"a": (0, [5, 5])}, {"a": 0.5})
    with pytest.raises(ValueError, match="the upper bounds must be numbers or None, got '5'"):
        curve_fit(decay, T, Y, [1.0, 1.0, 0.0], bounds=(0, "5"))


def test_pairs_of_bounds_with_a_dict_are_told_the_form_by_name():
    start, pairs = {"a": 1, "rate": 1, "c": 0}, [(0, 5)] * 3
    for bounds in (pairs, tuple(zip(*pairs, strict=True))):
        with pytest.raises(TypeError, match=r"bounds by name: bounds=\{'a': \(0, 1\), \.\.\.\}"):
            curve_fit(lambda t, p: decay(t, **p), T, Y, start, bounds=bounds)


def _with_an_array():
    t = np.linspace(0.0, 3.0, 20)
    y = 2 * np.exp(-t) + 0.5 + 0.01 * np.sin(33 * t)
    start = {"B": [1.0, 0.5], "c": 0.0}
    return lambda t, p: p["B"][0] * np.exp(-p["B"][1] * t) + p["c"], t, y, start


def test_what_is_said_by_name_tells_the_names_of_entries():
    found = linad.solve.curve_fit(*_with_an_array())
    for said in (
        found.standard_errors,
        found.confidence_intervals(),
        found.profile_intervals(names="c") | found.profile_intervals(names="B"),
    ):
        assert set(said) == {"B[0]", "B[1]", "c"}
    for said in (found.standard_errors, found.confidence_intervals(), found.profile_intervals()):
        with pytest.raises(KeyError, match=r"'B' is several numbers, whose keys are 'B\[0\]', 'B"):
            said["B"]
        with pytest.raises(KeyError, match=r"'b' is not a parameter; the keys are 'B\[0\]', .*'c'"):
            said["b"]


def test_one_entry_of_an_array_is_held_by_its_name():
    fit = _with_an_array()
    with pytest.raises(linad.errors.OptionError, match=r"alone, name it: fixed={'B\[0\]': 50}$"):
        linad.solve.curve_fit(*fit, fixed={"B": [50, None]})
    assert linad.solve.curve_fit(*fit, fixed={"B[0]": 2})["B"][0] == 2
