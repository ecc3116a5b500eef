"""What a model asks of its parameters that they lack is told with the key and the line."""

import numpy as np
import pytest
from scipy.optimize import OptimizeWarning

import linad
from linad.errors import ArgumentError
from linad.solve import curve_fit, fit

T = np.linspace(0.0, 4.0, 30)
Y = 3.0 * np.exp(-0.7 * T)
START = {"height": 1.0, "rate": 1.0}


def misspelt(t, p):
    return p["Height"] * np.exp(-p["rate"] * t)


@pytest.mark.parametrize(
    "f, p0, words",
    [
        (misspelt, START, r"p\['Height'\], and p has 'height', 'rate'; did you mean p\['height'\]"),
        (linad.jit(misspelt), START, r"did you mean p\['height'\]"),
        (lambda t, p: p["height"] + p["floor"] * t, START, "give 'floor' a start too"),
        (lambda t, p: p["a"]["high"] * t, {"a": {"low": 1.0}}, r"p\['a'\]\['high'\], and p\['a'\]"),
        (
            lambda t, line: line["slop"] * t,
            {"line": {"slope": 1.0}},
            r"line\['slop'\], and line has",
        ),
        (lambda t, a, line: line["slop"] * t, {"a": 1.0, "line": {"slope": 1.0}}, "mean line"),
        (lambda t, p: p.height * t, START, r"p.height, and p is a dict.*p\['height'\]"),
        (lambda t, p: p.valuesdict()["rate"] * t, START, r"leave valuesdict\(\) out"),
        (lambda t, p: p[2] * t, np.ones(2), r"p\[2\], and p is an array of shape \(2,\)"),
        (lambda t, a, b: b[1] * t, [1.0, [2.0]], r"b\[1\], and b is an array"),
    ],
)
def test_what_parameters_lack(f, p0, words):
    with pytest.raises(ArgumentError, match=f"reads .*{words}") as raised:
        curve_fit(f, T, Y, p0)
    assert "test_asked_of_parameters.py:" in str(raised.value)
    assert isinstance(raised.value.__cause__, (KeyError, IndexError, AttributeError))


def test_residuals():
    with pytest.raises(ArgumentError, match=r"^fit: .* reads q\['hight'\]"):
        fit(lambda q, t: q["hight"] * t - Y, START, (T,))


def test_errors_that_are_not_of_the_parameters_stay():
    table = {"one": 1.0}

    def model(t, p):
        try:
            floor = p["floor"]
        except KeyError:
            floor = 0.0
        return p["height"] * table["two"] * t + floor

    for f in (model, lambda t, p: p["height"] * t[99]):
        with pytest.raises((KeyError, IndexError)) as raised:
            curve_fit(f, T, Y, START)
        assert not isinstance(raised.value, linad.errors.LinadError)
    with pytest.warns(OptimizeWarning, match=r"<lambda> does not read p\['rate'\]"):
        found = curve_fit(
            lambda t, p: p.get("height") * np.exp(-p.get("rat", 0.7) * t), T, Y, START
        )
    assert found["height"] == pytest.approx(3.0)
    assert "rate: no residual depends on it: <lambda> does not read p['rate']" in found.report()


def test_names_that_a_model_does_not_have():
    with pytest.raises(ArgumentError, match="does not take b, which p0 names beside a, so that"):
        curve_fit(lambda t, a: a * t, T, Y, {"a": 1.0, "b": 1.0})
    one = curve_fit(lambda t, p: p["p"] * np.exp(-p["w"] * t), T, Y, {"p": 1.0, "w": 1.0})
    np.testing.assert_allclose(one.vector, [3.0, 0.7])


def test_likelihoods():
    def likelihood(p):
        return -np.sum((p["mean"] - Y) ** 2)

    with pytest.raises(ArgumentError, match=r"^maximum_likelihood: .* reads p\['mean'\]"):
        linad.solve.maximum_likelihood(likelihood, {"mena": 1.0})
    with pytest.warns(OptimizeWarning, match=r"on it: likelihood does not read p\['width'\]"):
        linad.solve.maximum_likelihood(likelihood, {"mean": 1.0, "width": 1.0})


GROUP = np.repeat([1, 2, 3], 10)


@pytest.mark.parametrize(
    "labels, words",
    [
        (GROUP, r"labels from 1 to 3, and p\['off'\] has 3 entries, .* 0 to 2; .*labels - 1"),
        (2 * GROUP, "labels from 2 to 6, and .* has 3 entries, .* as many numbers as are read"),
        (GROUP - 1.0, r"labels that are floats; .*labels.astype\(int\)"),
        (GROUP.astype(str), r"labels that are texts or objects; .*np.unique\(labels, return_inv"),
    ],
)
def test_labels_of_groups(labels, words):
    start = {"off": np.zeros(3), "slope": 1.0}
    for f in (
        lambda X, p: p["off"][X[1]] + p["slope"] * X[0],
        lambda X, p: p["off"][labels] + p["slope"] * X[0],
    ):
        with pytest.raises(ArgumentError, match=rf"reads p\['off'\]\[labels\] of {words}"):
            curve_fit(f, (T, labels), Y, start)
    found = curve_fit(
        lambda X, p: p["off"][X[1] - 1] + p["slope"] * X[0], (T, GROUP), GROUP + T, start
    )
    np.testing.assert_allclose(found["off"], [1.0, 2.0, 3.0])


def test_keys_read_of_an_array_of_parameters():
    words = r"p\['height'\], and p is an array of shape \(2,\); give the start as a dict, {'height'"
    x = np.linspace(0.0, 1.0, 5)
    with pytest.raises(ArgumentError, match=words):
        linad.solve.curve_fit(lambda x, p: p["height"] * x, x, x, np.ones(2))
    with pytest.raises(ArgumentError, match=words):
        linad.solve.fit(lambda p: p["height"] * x - x, np.ones(2))


@pytest.mark.parametrize("wrap", [lambda f: f, linad.jit])
def test_a_number_by_name_that_is_indexed(wrap):
    group = np.arange(30) % 2

    def model(t, height, rate):
        return height[group] * np.exp(-rate * t)

    with pytest.raises(ArgumentError, match=r"reads height\[...\], and .*'height': \[1, 1, ...\]"):
        curve_fit(wrap(model), T, Y, START)
    with pytest.raises(ArgumentError, match="maximum_likelihood: .* height started as one"):
        linad.solve.maximum_likelihood(lambda height: -np.sum(height[group] ** 2), {"height": 2})


@pytest.mark.parametrize("wrap", [lambda f: f, linad.jit])
def test_a_number_by_key_that_is_indexed(wrap):
    group, start = np.arange(30) % 2, {"height": 2, "line": {"slope": 0}}
    words = r"{}: .* p\['height'\]\[...\], and p\['height'\] started as one .*'height': \[2, 2"
    with pytest.raises(ArgumentError, match=words.format("curve_fit")):
        curve_fit(wrap(lambda t, p: p["height"][group] * t), T, Y, start)
    with pytest.raises(ArgumentError, match=words.format("fit")):
        linad.solve.fit(wrap(lambda p: p["height"][group] * T - Y), start)
    with pytest.raises(ArgumentError, match=words.format("maximum_likelihood")):
        linad.solve.maximum_likelihood(wrap(lambda p: -np.sum(p["height"][group] ** 2)), start)
    with pytest.raises(ArgumentError, match=r"p\['line'\]\['slope'\] started .*'slope': \[0, "):
        curve_fit(wrap(lambda t, p: p["height"] + p["line"]["slope"][group] * t), T, Y, start)
