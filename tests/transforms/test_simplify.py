"""Rewrites of tapes: each with its identity, on numbers that are not tame."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from random_programs import DTYPES, assert_same, make, near_a_jump, rounding

import linad
from linad.core import tree
from linad.transforms.rewriting import number_of
from linad.transforms.simplify import simplify

NUMBERS = [0.0, -0.0, 1.0, -1.5, 3.0, 1e-310, 1e200, np.inf, -np.inf, np.nan]


def swap(x):
    return np.swapaxes(x, 0, 1)


def written(x, v):
    y = x * 2
    y[1:, :2] = v[1:, :2]
    return y[1:, :2] + 1, y


def overwritten(x, v):
    y = x * 2
    y[...] = v * 3
    return y


def filled(x, v):
    y = np.zeros_like(x[0])
    y[1] = 7.0
    for k in range(3):
        y[k] = x[k, 0] + y[k]
    y[1] += v[1, 1]
    return y


def accumulated(x, v):
    y = np.zeros_like(x[:2])
    y[0] = x[0]
    y[0] += v[0]
    y[1] += v[1]
    return y[0] * y[1]


def twice_written(x, v):
    y = x * 2
    y[1] = v[0]
    y[0] = v[1]
    y[1] = v[2] + 1
    return y


def read_between(x, v):
    y = x * 2
    y[1] = v[0]
    z = np.sum(y)
    y[1] = v[2] + 1
    return y, z


def written_nowhere(x, v):
    y = x * 2
    y[1:1] = v[1:1]
    return y


# Each: a program of two arrays (3, 3), and how many equations of these names are left of it.
IDENTITIES = {
    "copy(x) = x": (lambda x, v: np.copy(x) * v, {"copy": 0}),
    "+x = x": (lambda x, v: +x * v, {"positive": 0}),
    "astype of the same dtype": (lambda x, v: x.astype(float) * v, {"astype": 0}),
    "broadcast to its own shape": (
        lambda x, v: np.broadcast_to(x, (3, 3)) * v,
        {"broadcast_to": 0},
    ),
    "filled with an array of its shape": (lambda x, v: np.full_like(x, x) * v, {"spread": 0}),
    "reshape of reshape": (lambda x, v: x.reshape(9).reshape(1, 9) * 2, {"reshape": 1}),
    "reshape there and back": (lambda x, v: x.reshape(9).reshape(3, 3) * v, {"reshape": 0}),
    "transpose of transpose": (lambda x, v: swap(swap(x)) * v, {"transpose": 0}),
    "transposes in a row": (
        lambda x, v: (x[None] * 2).transpose(1, 2, 0).transpose(1, 2, 0),
        {"transpose": 1},
    ),
    "conj of a real array": (lambda x, v: np.conj(x) * v, {"conjugate": 0}),
    "real of a real array": (lambda x, v: np.real(x) * v, {"real": 0}),
    "x * 1": (lambda x, v: x * 1 * np.ones(3) + v, {"multiply": 0}),
    "1 * x": (lambda x, v: 1 * x + v, {"multiply": 0}),
    "x / 1": (lambda x, v: x / 1 + v, {"divide": 0}),
    "x + -0.0": (lambda x, v: x + -0.0 + np.full((3, 3), -0.0) - v, {"add": 0}),
    "x + 0.0 is 0.0 for -0.0": (lambda x, v: x + 0.0 - v, {"add": 1}),
    "x - 0": (lambda x, v: x - 0 + v, {"subtract": 0}),
    "x * -1 = -x": (lambda x, v: x * -1.0 * v, {"multiply": 1, "negative": 1}),
    "-(-x) = x": (lambda x, v: np.negative(-x) * v, {"negative": 0}),
    "a + (-b) = a - b": (lambda x, v: x + (-v), {"negative": 0, "add": 0}),
    "a - (-b) = a + b": (lambda x, v: x - (-v), {"negative": 0, "subtract": 0}),
    "arrays of one number": (lambda x, v: x * np.full((3, 3), 2.5) / np.full(3, -3.0), {}),
    "zeros of both signs": (lambda x, v: x / np.array([0.0, -0.0, 0.0]), {"divide": 1}),
    "x ** 1": (lambda x, v: x**1.0, {"power": 0}),
    "x ** 2": (lambda x, v: x**2.0 + v, {"power": 0}),
    "x ** 3": (lambda x, v: x**3.0 + v, {"power": 0}),
    "x ** 4": (lambda x, v: x**4.0 + v, {"power": 0}),
    "x ** -1": (lambda x, v: x**-1.0 + v, {"power": 0}),
    "where(c, a, a) = a": (lambda x, v: np.where(x > 0, v, v) * 2, {"where": 0}),
    "where(True, a, b) = a": (lambda x, v: np.where(np.full((3, 3), True), x, v), {"where": 0}),
    "sum of length one": (lambda x, v: np.sum(x[:, :1] * v[:, :1], axis=1), {"sum": 0}),
    "max of length one": (lambda x, v: np.max(x[:, :1] * 2, axis=1), {"max": 0}),
    "mean = sum / n": (lambda x, v: np.mean(x * v, axis=0), {"mean": 0}),
    "sum of copies": (lambda x, v: np.sum(np.broadcast_to(x, (4, 3, 3)), axis=0), {"sum": 0}),
    "sum of copies and more": (
        lambda x, v: np.sum(np.broadcast_to(x, (4, 3, 3)), axis=(0, 2)),
        {"broadcast_to": 0},
    ),
    "dot = sum of products": (lambda x, v: np.dot(x[0], v[1]), {"dot": 0}),
    "column times row": (lambda x, v: x[:, :1] @ v[:1], {"matmul": 0}),
    "kron": (lambda x, v: np.kron(x, v[:2]), {"kron": 0}),
    "read what was written": (written, {}),
    "entry of a stack": (lambda x, v: np.stack([x[0], v[1]])[1] * 2, {"concatenate": 0}),
    "entries put in one by one": (filled, {"write_region": 3, "read_region": 0}),
    "entry of what was added to": (accumulated, {"write_region": 0, "read_region": 0}),
    "write before a write": (twice_written, {"write_region": 2, "empty_like": 0}),
    "write before a read and a write": (read_between, {"write_region": 2}),
    "write of nothing": (written_nowhere, {"write_region": 0}),
    "write of everything": (overwritten, {"write_region": 0}),
    "once is enough": (lambda x, v: np.sin(x) * np.sin(x) + np.sin(x), {"sin": 1}),
    "nobody needs it": (lambda x, v: (np.exp(x), x + v)[1], {"exp": 0}),
    "known already": (lambda x, v: x + np.sqrt(np.ones(3) * 4) * np.eye(3), {}),
}


def names(tape):
    return [eqn.primitive.name for eqn in tape.equations]


@pytest.mark.parametrize("name", IDENTITIES)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_identity(name, seed):
    f, left = IDENTITIES[name]
    rng = np.random.default_rng(seed)
    x, v = rng.normal(size=(2, 3, 3))
    if seed % 3:
        odd = rng.random((3, 3)) < 0.3
        x[odd] = rng.choice(NUMBERS, size=odd.sum())
    with np.errstate(all="ignore"):
        y, tape = linad.trace(f, x, v)
        simple = simplify(tape)
        simple.check()
        found = simple.run([x, v])
    for a, b in zip(found, tree.flatten(y)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, strict=True)
    for primitive, count in left.items():
        assert names(simple).count(primitive) == count, simple
    assert len(simplify(simple)) <= len(simple)


RANDOM = given(seed=st.integers(0, 2**32), length=st.integers(10, 30))


@settings(max_examples=40, deadline=None, derandomize=True)
@RANDOM
def test_random_tapes(seed, length):
    check_random_tape(seed, length)


@pytest.mark.full
@settings(max_examples=500, deadline=None, derandomize=True)
@RANDOM
def test_many_random_tapes(seed, length):
    check_random_tape(seed, length)


def check_random_tape(seed, length):
    with np.errstate(all="ignore"):
        f, inputs = make(seed, length, DTYPES)
        if near_a_jump(f, inputs):
            return
        variant, outside = linad.jit(f)._variant(inputs, {})
        tape = variant.tape
        simple = simplify(tape)
        simple.check()
        assert len(simple.inputs) == len(tape.inputs)
        given_ = [np.array(x) for x in inputs]
        expected = tape.run([*[np.array(x) for x in inputs], *outside])
        found = simple.run([*given_, *outside])
        assert_same(found, expected, rounding(tape))
        for a, b in zip(given_, inputs, strict=True):
            np.testing.assert_array_equal(a, b)


class TestWhatMustStay:
    def test_dtypes(self):
        for dtype in ("?", "i4", "u1", "f4"):
            x = np.arange(3).astype(dtype)
            for f in (
                lambda x: np.sum(np.broadcast_to(x, (4, 3)), axis=0),
                lambda x: np.arange(3) + (-x if x.dtype.kind != "b" else x),
                lambda x: np.mean(x),
                lambda x: np.prod(x[:, None], axis=1),
                lambda x: np.einsum("i,j->j", x, np.ones(2)),
            ):
                tape = linad.jit(f).variant(x).tape
                for a, b in zip(simplify(tape).run([x]), [f(x)], strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-6, strict=True)

    def test_operands_in_another_order(self):
        _, tape = linad.trace(lambda x, y: x * y + y * x - (x - y) * (y - x), *np.ones((2, 3)))
        assert sorted(names(simplify(tape))) == [
            *("add", "multiply", "multiply", "subtract", "subtract", "subtract")
        ]

    def test_sums_of_negatives(self):
        _, tape = linad.trace(lambda x: np.sum(-x, axis=0), np.ones((2, 3)))
        assert names(simplify(tape)) == ["sum", "negative"]

    def test_guards(self):
        def f(x):
            return x * 2 if x[0] > 0 else x

        _, tape = linad.trace(f, np.ones(2))
        assert "guard" in names(simplify(tape))

    def test_calls_with_other_parameters(self):
        _, tape = linad.trace(lambda x: (np.sum(x, axis=0), np.sum(x, axis=1)), np.eye(3))
        assert names(simplify(tape)).count("sum") == 2

    def test_operations_of_users(self):
        """Nobody knows what they do: called as often as written."""
        calls = []

        @linad.primitive
        def noisy(x):
            calls.append(1)
            return x + len(calls)

        noisy.pullback(lambda x: (noisy(x), lambda w: w))
        _, tape = linad.trace(lambda x: noisy(x) + noisy(x), np.zeros(2))
        calls.clear()
        np.testing.assert_array_equal(simplify(tape).run([np.zeros(2)])[0], [3, 3])

    def test_windows_that_only_look_alike(self):
        """Long lists of positions print alike, and are not."""
        first = np.arange(40)
        second = np.array([*range(20), *range(39, 19, -1)])
        second[-3:], second[:3] = first[-3:], first[:3]
        second = np.array(list(dict.fromkeys(second.tolist() + list(range(40)))))[:40]

        def f(x, v):
            y = x * 2
            y[first] = v
            return y[second] * 1

        x, v = np.zeros(40), np.arange(40.0)
        y, tape = linad.trace(f, x, v)
        np.testing.assert_array_equal(simplify(tape).run([x, v])[0], y)


def test_windows_with_seeds_in_front():
    """Slices of the last axis, pulled back for many seeds: each column is written once."""

    def f(x):
        return np.sin(x[:, :2]) * x[:, 1:3] + x[:, 38:]

    def blocks(x, w):
        return linad.linearize(f, x)[1].pullback(w)

    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(7, 40)), rng.normal(size=(3, 7, 2))
    y, tape = linad.trace(blocks, x, w)
    simple = simplify(tape)
    assert "add_at" not in names(simple)
    np.testing.assert_allclose(simple.run([x, w])[0], y, rtol=1e-13)
    np.testing.assert_allclose(linad.jit(blocks)(x, w), y, rtol=1e-13)


def test_number_of():
    assert number_of(np.full((2, 3), 4.0)) == 4
    assert number_of(np.broadcast_to(0.0, (5,))) == 0
    assert number_of(np.array([0.0, -0.0])) is None
    assert np.signbit(number_of(np.array([-0.0, -0.0])))
    assert number_of(np.array([1.0, 2.0])) is None
    assert number_of(np.array([np.nan, np.nan])) is None
    assert number_of(np.zeros(0)) is None
