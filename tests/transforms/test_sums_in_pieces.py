"""Sums that share the loop of a gradient."""

import numpy as np
import pytest

import linad
from linad.core import tree
from linad.transforms.simplify import simplify


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def springs(x):
    """The value is read before the end of the program, and there are two sums."""
    y = 0.5 * np.sum((x[1:] - x[:-1]) ** 2)
    return y + np.sqrt(y) + np.sum(x**4)


def surface(u):
    return np.sum((u[1:] - u[:-1]) ** 2) + np.sum((u[:, 1:] - u[:, :-1]) ** 2)


def rows(u):
    return np.sum(np.sum((u[1:] - u[:-1]) ** 2, axis=0) ** 2)


def weighted(x):
    """An array that depends on nothing stands among the terms."""
    v = np.maximum(x[0] * x[1] ** np.linspace(0, 1, 70), 0)
    return np.sum(np.maximum(v[1:] * x[2] + v[:-1], 0) * np.arange(69.0))


def tapes(f, x):
    y, tape = linad.trace(linad.value_and_grad(f), x)
    return tree.flatten(y)[0], simplify(tape, for_programs=True)


@pytest.mark.parametrize("f", [rosenbrock, springs, surface, rows, weighted])
@pytest.mark.parametrize("n", [3, 70])
def test_values(f, n):
    x = np.random.default_rng(0).standard_normal((n, n) if f in (surface, rows) else n)
    x = np.abs(x) if f is weighted else x
    expected, tape = tapes(f, x)
    for a, b in zip(tape.run([x]), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-12)


def test_nan_and_infinity():
    for k in (0, 35, 69):
        for bad in (np.nan, np.inf):
            x = np.ones(70)
            x[k] = bad
            with np.errstate(all="ignore"):
                expected, tape = tapes(rosenbrock, x)
                for a, b in zip(tape.run([x]), expected, strict=True):
                    np.testing.assert_array_equal(a, b)


def sums(f, n):
    tape = tapes(f, np.ones(n))[1]
    return [e.inputs[0].shape for e in tape.equations if e.primitive.name == "sum"]


def test_the_terms_are_those_of_the_piece():
    assert sums(rosenbrock, 1000) == [(998,)]  # the ends are one entry each
    assert sums(rosenbrock, 20) == [(19,)]
    assert sums(lambda x: np.sum(np.sin(x)), 1000) == [(1000,)]
    _, tape = linad.trace(rosenbrock, np.ones(1000))
    assert [e.primitive.name for e in simplify(tape).equations].count("sum") == 1
