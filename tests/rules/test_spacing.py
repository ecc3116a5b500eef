"""Evenly spaced numbers between traced ends; functions along axes."""

import numpy as np
import pytest

import linad
from linad.testing.rule_checks import Case

rng = np.random.default_rng(1)
LOW = np.array(0.7)
HIGH = np.array(2.5)
ENDS = np.array([1.5, 3.0])
MATRIX = rng.standard_normal((3, 4))
CUBE = rng.standard_normal((2, 3, 2))

CASES = [
    Case(np.linspace, LOW, HIGH, check={"complex_": True}),
    Case(np.linspace, LOW, HIGH, num=4, endpoint=False),
    Case(np.linspace, ENDS, HIGH, num=3, axis=-1),
    Case(np.linspace, LOW, ENDS, num=1),
    Case(np.linspace, LOW, ENDS, num=0),
    Case(lambda a, b: np.linspace(a, b, 5, retstep=True), LOW, HIGH),
    Case(np.logspace, LOW, ENDS, num=3, base=2.0),
    Case(lambda a, b, c: np.logspace(a, b, 3, base=c), LOW, HIGH, ENDS),
    Case(np.geomspace, LOW, ENDS, num=4, check={"complex_": True, "float32": False}),
    Case(np.geomspace, ENDS, HIGH, num=3, endpoint=False, axis=1, check={"float32": False}),
    Case(lambda x: np.apply_along_axis(np.cumsum, 0, x), MATRIX),
    Case(lambda x: np.apply_along_axis(np.sum, -1, x), MATRIX),
    Case(lambda x: np.apply_along_axis(lambda v, k: np.outer(v, v) * k, 1, x, 2.0), CUBE),
    Case(lambda x: np.apply_over_axes(np.sum, x, (0, -1)), CUBE),
]

SPACINGS = [
    (np.linspace, (0.5, 2.0), {"num": 7}),
    (np.linspace, (0.5, ENDS), {"num": 3, "axis": 1, "endpoint": False}),
    (np.linspace, (0.5, 2.0), {"num": 5, "dtype": np.float32}),
    (np.logspace, (0.5, ENDS), {"num": 3}),
    (np.logspace, (0.5, 1.0), {"num": 3, "base": ENDS, "axis": -1}),
    (np.geomspace, (0.5, 200.0), {"num": 6}),
    (np.geomspace, (-0.5, -200.0), {"num": 6}),
    (np.geomspace, (1j, 8j), {"num": 4}),
]


@pytest.mark.parametrize("function, ends, keywords", SPACINGS)
def test_values_are_numpys(function, ends, keywords):
    y = linad.linearize(lambda a: function(a, ends[1], **keywords), np.asarray(ends[0]))[0]
    expected = function(*ends, **keywords)
    np.testing.assert_allclose(y, expected, rtol=1e-14 if y.dtype.itemsize > 4 else 1e-7)
    assert y.shape == expected.shape
    assert y.dtype == expected.dtype


def test_ends_are_exact():
    y = linad.linearize(lambda b: np.linspace(0.1, b, 11), 0.7)[0]
    assert y[0] == 0.1
    assert y[-1] == 0.7


def test_lanes_see_tracers():
    def lane(v):
        return v / np.sum(v)

    y, J = linad.linearize(lambda x: np.apply_along_axis(lane, 0, x), CUBE)
    np.testing.assert_allclose(y, CUBE / CUBE.sum(axis=0))
    np.testing.assert_allclose(J.pushforward(CUBE), 0.0, atol=1e-14)


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda x: np.linspace(x, 1.0, -1), "non-negative"),
        (lambda x: np.geomspace(x, 0.0), "zero"),
        (lambda x: np.apply_along_axis(np.sum, 0, np.reshape(x, (1, 1))[:, :0]), "iteration"),
        (lambda x: np.apply_over_axes(lambda v, k: np.sum(v), np.reshape(x, (1, 1)), 0), "shape"),
    ],
)
def test_errors(call, match):
    with pytest.raises(ValueError, match=match):
        linad.linearize(call, LOW)


@pytest.mark.parametrize(
    "end", [1.0, 2, 2j, np.float32(1.5), np.float64(3.0), np.array(1.0), [1, 2]], ids=repr
)
@pytest.mark.parametrize("dtype", ["f4", "c8", "f8"])
def test_dtypes_are_numpys(end, dtype):
    """A Python number takes the dtype of the other end."""
    for x in (np.array(2.0, dtype), np.array([2.0, 3.0], dtype)):
        for function in (np.linspace, np.logspace, np.geomspace):
            for f in (
                lambda x, f=function: f(x, end, 3),
                lambda x, f=function: f(end, x, 3),
            ):
                expected, found = f(x), linad.linearize(f, x)[0]
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=1e-5)
