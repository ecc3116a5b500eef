"""Starts as lmfit has them: objects with a value, bounds and a flag, whatever package has them."""

import dataclasses

import numpy as np
import pytest
import scipy.optimize

import linad
from linad.errors import OptionError
from linad.solve import curve_fit, fit

T = np.linspace(0.0, 4.0, 30)


@dataclasses.dataclass
class Parameter:
    value: float
    min: float = -np.inf
    max: float = np.inf
    vary: bool = True
    expr: str | None = None


class Parameters(dict):
    """As lmfit's: NumPy takes it for an array, which it is not."""

    def __array__(self):  # without the arguments that NumPy gives
        return np.array([entry.value for entry in self.values()])


def decay(t, a, rate, c):
    return a * np.exp(-rate * t) + c


Y = decay(T, 2.5, 1.3, 0.5)
START = Parameters(a=Parameter(1.0), rate=Parameter(1.0, min=0.0), c=Parameter(0.5, vary=False))


def test_a_fit_takes_values_bounds_and_flags():
    for found in (curve_fit(decay, T, Y, START), fit(lambda p: decay(T, **p) - Y, START)):
        assert found.success
        np.testing.assert_allclose([found[k] for k in ("a", "rate", "c")], [2.5, 1.3, 0.5])
        assert found.errors["c"] == 0.0
    away = Parameters(a=Parameter(1.0), rate=Parameter(0.5, max=1.0), c=Parameter(0.0))
    assert curve_fit(decay, T, Y, away)["rate"] == 1.0


def test_a_fit_starts_where_another_has_ended():
    by_name = curve_fit(decay, T, Y, {"a": 1.0, "rate": 1.0, "c": 0.0})
    in_order = curve_fit(decay, T, Y)
    theirs = scipy.optimize.least_squares(lambda p: decay(T, *p) - Y, [1.0, 1.0, 0.0])
    for start in (by_name, in_order, theirs):
        for found in (curve_fit(decay, T, Y, p0=start), fit(lambda p: spread(p) - Y, start)):
            assert type(found.x) is type(start.x)
            assert found.nit <= 1
            np.testing.assert_allclose(list(found.values.values()), [2.5, 1.3, 0.5])


def spread(p):
    return decay(T, **p) if isinstance(p, dict) else decay(T, *p)


@pytest.mark.parametrize(
    "given, words",
    [
        ({"bounds": {"a": (0, 3)}}, r"write p0={.*}, bounds={'rate': \(0.0, None\)}, fixed="),
        ({"fixed": ["a"]}, "holds c by vary=False; write p0="),
    ],
)
def test_what_is_said_twice(given, words):
    with pytest.raises(OptionError, match=words):
        curve_fit(decay, T, Y, START, **given)


def test_options_that_it_does_not_say():
    free = Parameters(a=Parameter(1.0), rate=Parameter(1.0), c=Parameter(0.5))
    found = curve_fit(decay, T, Y, free, bounds={"a": (0, 2)}, fixed=["c"])
    assert found["a"] == 2.0
    assert found["c"] == 0.5


def test_expressions_are_written_in_the_model():
    start = Parameters(a=Parameter(1.0), b=Parameter(2.0, expr="2 * a"))
    with pytest.raises(OptionError, match=r"b = 2 \* a, and leave b out of p0={'a': 1.0}"):
        curve_fit(lambda t, a, b: a * t + b, T, Y, start)


def test_a_parameter_without_a_value():
    with pytest.raises(OptionError, match="a in x0 has no value to start from"):
        fit(lambda p: p["a"] * T - Y, Parameters(a=Parameter(-np.inf)))


@pytest.mark.parametrize(
    "solver",
    [
        linad.solve.least_squares,
        linad.solve.levenberg_marquardt,
        linad.solve.lbfgs,
        linad.solve.minimum,
        linad.solve.root,
    ],
)
def test_other_solvers_name_the_dict(solver):
    with pytest.raises(OptionError, match="from a dict of numbers, {'a': 1.0, 'rate': 1.0, 'c'"):
        solver(lambda p: decay(T, **p) - Y, START)


@pytest.mark.parametrize(
    "name", ["least_squares", "gauss_newton", "newton_cg", "lbfgs", "root", "newton"]
)
def test_solvers_start_where_another_search_has_ended(name):
    solver = getattr(linad.solve, name)

    def f(p):
        return np.sum((p - 1) ** 2) if name in ("newton_cg", "lbfgs") else p - 1

    for found in (
        linad.solve.fit(lambda p: (p[0] - np.arange(3.0), 0.1 * (p - 1)), np.ones(2)),
        scipy.optimize.minimize(lambda p: np.sum(p**2), np.ones(2)),
    ):
        ended = solver(f, found)
        np.testing.assert_allclose(getattr(ended, "x", ended), 1.0, rtol=1e-6)
