"""Positions and bits, in plain code and in recorded programs."""

import numpy as np
import pytest

import linad

X = np.array([0.4, -0.3, 0.8, 0.1])


def by_position(x):
    """Rearranges by numbers that depend on x."""
    rows, columns = np.unravel_index(np.argsort(x), (2, 2))
    return x[np.ravel_multi_index((columns, rows), (2, 2))] ** 2


def by_bits(x):
    bits = np.unpackbits(np.packbits(x > 0))[: x.size]
    return np.sum(x * bits)


def test_they_are_plain_beside_a_derivative():
    y, J = linad.linearize(by_position, X)
    assert np.array_equal(y, by_position(X))
    assert np.array_equal(J.pullback(np.ones(4)), 2 * X)
    assert np.array_equal(linad.grad(by_bits)(X), X > 0)


@pytest.mark.parametrize("f", [by_position, by_bits])
def test_recorded_programs_use_them(f):
    y, tape = linad.trace(f, X)
    assert np.array_equal(y, f(X))
    assert np.array_equal(tape(X[:] * 0.5), f(X * 0.5))


@pytest.mark.parametrize(
    "call",
    [
        np.packbits,
        np.unpackbits,
        lambda x: np.unravel_index(x, (2, 2)),
        lambda x: np.ravel_multi_index((x, x), (2, 2)),
    ],
    ids=["packbits", "unpackbits", "unravel_index", "ravel_multi_index"],
)
def test_floats_are_refused_as_numpy_refuses_them(call):
    with pytest.raises(TypeError, match=r"int|unsigned"):
        linad.linearize(call, X)
