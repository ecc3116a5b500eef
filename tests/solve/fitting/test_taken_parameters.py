"""Functions of residuals, and likelihoods, that take parameters by name or one by one."""

import numpy as np
import pandas as pd
import pytest

import linad
from linad.errors import ArgumentError, OutputError
from linad.solve import curve_fit, fit, maximum_likelihood

T = np.linspace(0.0, 4.0, 30)
Y = 2.5 * np.exp(-1.3 * T) + 0.02 * np.random.default_rng(0).standard_normal(30)


def residuals(rate, height, t, y):
    return height * np.exp(-rate * t) - y


def log_likelihood(rate, height, t, y):
    return -0.5 * np.sum(residuals(rate, height, t, y) ** 2)


def read_by_index(p, t, y):
    return residuals(p[0], p[1], t, y)


EXPECTED = curve_fit(lambda t, rate, height: height * np.exp(-rate * t), T, Y)


@pytest.mark.parametrize("solver, f", [(fit, residuals), (maximum_likelihood, log_likelihood)])
@pytest.mark.parametrize("start", [[1.0, 2.0], np.array([1.0, 2.0]), {"height": 2.0, "rate": 1.0}])
def test_parameters_by_name_or_one_by_one(solver, f, start):
    """With further arguments after them, or by closures; compiled too."""
    for g, args in (
        (f, (T, Y)),
        (f, [T, Y]),
        (lambda rate, height: f(rate, height, T, Y), ()),
        (linad.jit(f), (T, Y)),
    ):
        found = solver(g, start, args)
        assert type(found.x) is (dict if isinstance(start, dict) else np.ndarray)
        assert list(found.values) == (
            list(start) if isinstance(start, dict) else ["rate", "height"]
        )
        for name in ("rate", "height"):
            np.testing.assert_allclose(found[name], EXPECTED[name], rtol=1e-5)
    half, error = found.propagate(lambda rate: np.log(2) / rate)
    np.testing.assert_allclose(half, np.log(2) / EXPECTED["rate"], rtol=1e-5)
    assert error > 0
    assert found.profile_intervals(names="rate")["rate"][0] < found["rate"]


@pytest.mark.parametrize(
    "start, args, words",
    [
        (
            {"rate": 1.0, "hight": 1.0},
            (T, Y),
            "a dict of rate, hight; let it .* of which there are 2",
        ),
        ([1.0, 1.0, 1.0], (T, Y), "the start, 3 numbers; let it take one argument for all"),
        ([1.0, 1.0], (T,), "of which there are 1, after them"),
        ([1.0, 1.0], (), r"if t, y are data, give args=\(t, y\)"),
        ({"rate": 1.0, "height": 1.0}, (), r"if t, y are data, give args=\(t, y\)"),
    ],
)
def test_what_fits_in_no_way(start, args, words):
    for solver, f in ((fit, residuals), (maximum_likelihood, log_likelihood)):
        with pytest.raises(ArgumentError, match=words):
            solver(f, start, args)


def test_arrays_one_by_one():
    def both(line, rate, t):
        return line[0] * np.exp(-rate[0] * t) + line[1] - Y

    found = fit(both, [np.ones(2), np.ones(1)], (T,))
    assert found.names == ["line[0]", "line[1]", "rate[0]"]
    expected = curve_fit(lambda t, a, c, k: a * np.exp(-k * t) + c, T, Y).x
    np.testing.assert_allclose(found.vector, expected, rtol=1e-5, atol=1e-8)
    with pytest.raises(ArgumentError, match="the start, a list; let it take"):
        fit(both, [np.ones(2), np.ones(1), 1.0], (T,))


def test_an_argument_too_few_is_told():
    """``f(p, t, y)`` of (T,) passes for one of two parameters and of one argument."""
    with pytest.raises(ArgumentError, match=r"if p is all of them, give args=\(t, y\)"):
        fit(lambda p, t, y: p[0] * t - y, [1.0, 1.0], (T,))
    with pytest.raises(TypeError) as raised:
        fit(lambda p, t, y: len(p) * t - y, [1.0, 1.0], (T,))
    assert "called with p, t as single parameters" in raised.value.__notes__[0]


def test_residuals_that_pandas_made_row_by_row():
    table = pd.DataFrame({"t": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]})

    def by_row(p):
        return table.apply(lambda row: p["slope"] * row["t"] - row["y"], axis=1)

    assert fit(by_row, {"slope": 1.0})["slope"] == pytest.approx(2.0)
    with pytest.raises(OutputError, match=r"return np.stack\(list\(series\)\) of one whose"):
        linad.jacobian(by_row)({"slope": 1.0})
    stacked = linad.jacobian(lambda p: np.stack(list(by_row(p))))({"slope": 1.0})
    np.testing.assert_array_equal(stacked["slope"], table["t"])

    def mixed(p):
        return pd.Series([p["slope"], "b"], dtype=object)

    with pytest.raises(OutputError, match="fit: mixed must return numbers, .* one entry is 'b'"):
        fit(mixed, {"slope": 1.0})


@pytest.mark.parametrize("solver", [fit, maximum_likelihood])
def test_data_that_are_not_in_args_are_missed(solver):
    """With as many starts as arguments, the data would be one of the parameters."""
    with pytest.raises(ArgumentError, match=r"if t, y are data, give args=\(t, y\)"):
        solver(read_by_index, [1.0, 1.0])
    with pytest.raises(ArgumentError, match=r"if p is all of them.*give args=\(y,\)"):
        solver(lambda p, y: -np.sum(read_by_index(p, T, y) ** 2), [1.0, 1.0])
    with pytest.raises(ArgumentError, match=r"if y is data, give args=\(y,\)"):
        solver(lambda p, y: -np.sum(read_by_index(p, T, y) ** 2), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("start", [[4.0, 0.1], (4.0, 0.1), np.array([4.0, 0.1])])
def test_any_number_of_parameters_is_taken_one_by_one_by_all(start):
    def falls(*v):
        return -((v[0] - 1.0) ** 2) - (v[1] - 2.0) ** 2

    found = maximum_likelihood(falls, start)
    np.testing.assert_allclose(found.x, [1.0, 2.0])
    assert found.names == ["v[0]", "v[1]"]
    found = fit(lambda *v: [v[0] - 1.0, v[1] - 2.0, 0.0 * v[0]], start)
    np.testing.assert_allclose(found.x, [1.0, 2.0])


def test_what_hands_on_any_keywords_gets_all_parameters_as_one():
    def handed_on(*args, **keywords):
        (p,) = args
        return -((p[0] - 1.0) ** 2) - (p[1] - 2.0) ** 2

    found = maximum_likelihood(handed_on, np.array([4.0, 0.1]))
    np.testing.assert_allclose(found.x, [1.0, 2.0])


def test_a_start_with_too_few_numbers_for_a_star():
    with pytest.raises(IndexError) as raised:
        curve_fit(lambda t, a, *h: a + h[1] * t, T, T, [1.0, 2.0])
    told = "curve_fit: p0 has 2 numbers, and *h takes those that are left"
    assert raised.value.__notes__ == [told]
    with pytest.raises(IndexError) as raised:
        maximum_likelihood(lambda *h: h[1], [1.0])
    assert "maximum_likelihood: p0 has 1 number, and *h takes" in raised.value.__notes__[0]


def test_which_names_of_a_start_are_odd_and_which_are_missing():
    def model(t, height, rate):
        return height * np.exp(-rate * t)

    def likelihood(height, rate):
        return height + rate

    for start, words in (
        ({"height": 1.0, "rat": 0.1}, "it has no rat, and rate is missing"),
        ({"height": 1.0}, "rate is missing"),
        ({"height": 1.0, "rate": 0.1, "floor": 0.0}, "it has no floor"),
    ):
        with pytest.raises(ArgumentError, match=words):
            curve_fit(model, T, T, start)
        with pytest.raises(ArgumentError, match=words):
            maximum_likelihood(likelihood, start)
    with pytest.raises(ArgumentError, match=r"one for each, p0=\[1, 1\]$"):
        curve_fit(model, T, T, 1)
    with pytest.raises(ArgumentError, match=r"one for each, p0=\[1, 1, 1\]$"):
        curve_fit(lambda t, a, b, c: a, T, T, 1)


def test_an_error_of_a_model_that_nobody_gave_a_start():
    def model(t, a, b):
        if a == 1.0:
            raise ValueError("math domain error")
        return a + b * t

    with pytest.raises(ValueError, match="domain") as raised:
        curve_fit(model, T, T)
    assert "no p0 is given, so that each parameter starts with 1" in raised.value.__notes__[0]
