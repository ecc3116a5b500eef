"""Data that functions read, which errors name: in helpers, closures, attributes, arguments."""

import re
from functools import partial

import numpy as np
import pytest

import linad
from linad.errors import ArgumentError
from linad.solve import fit, maximum_likelihood
from linad.solve.read_data import data_read, words_of_nan, words_of_shapes

T = np.linspace(0.0, 4.0, 20)
LACKING = np.where(T[4] == T, np.nan, np.exp(-T))
TABLE = {"t": T, "y": [1, LACKING]}
SHORT = T[:5]


def decay(p):
    return p[0] * np.exp(-p[1] * SHORT)


def deviations(p):
    (y,) = [np.exp(-p[1] * TABLE["t"]) - y for y in TABLE["y"][1:]]
    return y


def likelihood(p):
    return -np.sum(deviations(p) ** 2)


class Model:
    def __init__(self):
        self.y, self.named = LACKING, np.array(["a"])

    def predicted(self, p):
        return np.exp(-p * T)

    def likelihood(self, p):
        return -np.sum((self.predicted(p) - self.y) ** 2)

    __call__ = likelihood


def from_default(p, scale=1.0):
    return likelihood(p) * scale


@pytest.mark.parametrize(
    "f, args, words",
    [
        (deviations, (), r"deviations reads hold NaN, TABLE\['y'\]\[1\] at index 4: leave"),
        (likelihood, (), r"deviations reads hold NaN, TABLE\['y'\]\[1\] at index 4: leave"),
        (linad.jit(likelihood), (), "deviations reads hold NaN"),
        (partial(from_default, scale=2.0), (), "deviations reads hold NaN"),
        (partial(lambda p, y: p - y, y=LACKING), (), "reads hold NaN, y at index 4"),
        (lambda p, y: p - y, (LACKING,), r"<lambda> reads hold NaN, args\[0\] at index 4"),
        (Model().likelihood, (), "likelihood reads hold NaN, self.y at index 4"),
        (Model(), (), "reads hold NaN, self.y at index 4"),
        (decay, (), "^$"),
        (np.sin, (), "^$"),
    ],
)
def test_nan(f, args, words):
    found = words_of_nan(f, args)
    assert found == "" if words == "^$" else re.search(words, found)


LISTED = {"seen": [1, 2.5, np.nan], "names": ["a", "b"], "more": [[1.0], [2, 3]], "none": []}


def test_lists_of_numbers_are_data():
    def of_lists(mean):
        return sum(-((v - mean) ** 2) for v in LISTED["seen"])

    assert "of_lists reads hold NaN, LISTED['seen'] at index 2: leave" in words_of_nan(of_lists, ())
    sizes = {r.name: r.array.size for r in data_read(of_lists)}
    assert sizes == {"LISTED['seen']": 3, "LISTED['more'][0]": 1, "LISTED['more'][1]": 2}
    with pytest.raises(ArgumentError, match=r"LISTED\['seen'\] at index 2: leave such points out"):
        maximum_likelihood(of_lists, 1.0)


def test_each_is_read_once_where_functions_call_each_other():
    def even(p):
        return T[0] if p < 1 else odd(p - 1)

    def odd(p):
        return SHORT[0] if p < 1 else even(p - 1)

    assert {(r.name, r.reader) for r in data_read(even)} == {("T", "even"), ("SHORT", "odd")}


def test_errors_of_solvers():
    with pytest.raises(ArgumentError, match="nan at the start.* deviations reads hold NaN"):
        maximum_likelihood(likelihood, [1.0, 1.0])
    with pytest.warns(match="1 of 20 residuals, first that of index 4; data that deviations read"):
        fit(deviations, [1.0, 1.0])
    with pytest.warns(match=r"index 4; data that <lambda> reads hold NaN, args\[0\] at"):
        fit(lambda p, y: p[0] * T - y, [1.0], LACKING)


def test_shapes():
    def residuals(p):
        return decay(p) - T

    with pytest.raises(ValueError, match="could not be broadcast") as raised:
        fit(residuals, [1.0, 1.0])
    words = "of the data that are read, of shape (5,) SHORT (in decay) and of shape (20,) T (in"
    assert any(words in note for note in raised.value.__notes__)
    assert words_of_shapes(ValueError("another"), residuals, ()) == ""
    assert words_of_shapes(ValueError("broadcast (7,) (8,)"), residuals, ()) == ""
