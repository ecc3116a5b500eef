"""Cotangents of parts of an array that a loop reads are added in these parts of their total."""

import re

import numpy as np
import pytest

import linad

pytestmark = pytest.mark.usefixtures("kernels")

N, T = 70, 40  # entries of a state, too many for registers, and repetitions


def normal(*shape, dtype=float):
    rng = np.random.default_rng(len(shape))
    found = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.normal(size=shape)
    return (0.5 * found).astype(dtype)


def of_last_state(step):
    """What a loop of Python ends with, of weights w and of x, by ``step(state, w, x)``."""

    def f(w, x):
        s = x
        for _ in range(T):
            s = step(s, w, x)
        return s

    return f


def norm_of(f):
    return lambda w, x: np.sum(np.abs(f(w, x)) ** 2)


def slices_of_rows(s, w, x):
    a = np.tanh(s * w[0, :N] + w[1, :N])
    b = np.tanh(x * w[0, N : 2 * N] + w[1, N : 2 * N])
    return a * w[2, 2 * N :] + b * w[3, 3 : N + 3]


STEPS = {
    "slices of rows": (slices_of_rows, (4, 3 * N)),
    "rows": (lambda s, w, x: np.tanh(s * w[0] + w[1]) + x * w[3], (4, N)),
    "a row twice": (lambda s, w, x: np.tanh(s * w[1]) * w[1] + x * w[0], (5, N)),
    "the same and another": (lambda s, w, x: np.tanh(s * w[1:-1]) + x * w[2:] * w[:-2], (N + 2,)),
    "overlap": (lambda s, w, x: np.tanh(s * w[:N]) + x * w[5 : N + 5] * w[-N:], (3 * N,)),
    "a row and all": (lambda s, w, x: np.tanh(s * w[1]) + x * np.sum(w * w, 0), (3, N)),
    "columns": (lambda s, w, x: np.tanh(s * w[:, 0]) + x * w[:, 2], (N, 3)),
    "backwards": (lambda s, w, x: np.tanh(s * w[0, N - 1 :: -1]) + x * w[1, ::2], (2, 2 * N)),
    "numbers": (lambda s, w, x: np.tanh(s * w[0] + w[3]) + x * w[6], (7,)),
    "a number of a row": (lambda s, w, x: np.tanh(s * w[1, 2] + w[2]) + x * w[0, 1], (3, N)),
    "blocks": (
        lambda s, w, x: np.tanh(s * w[:2, :35].ravel() + w[2:, 35:].ravel()) + x * w[0, 40],
        (4, N),
    ),
    "by list": (lambda s, w, x: np.tanh(s * w[[0, 2]].sum(0)) + x * w[1], (3, N)),
    "joined": (lambda s, w, x: np.concatenate([w[0, :5], w[1, 5:]]) * np.tanh(s) + x, (3, N)),
}


@pytest.mark.parametrize("name", STEPS)
def test_against_eager_derivatives(name):
    step, shape = STEPS[name]
    gradient = linad.grad(norm_of(of_last_state(step)), argnums=(0, 1))
    compiled = linad.jit(gradient)
    w, x = normal(*shape), normal(N)
    for k in range(3):
        moved = w + 0.01 * k
        for found, expected in zip(compiled(moved, x), gradient(moved, x), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_other_numbers(dtype):
    gradient = linad.grad(norm_of(of_last_state(slices_of_rows)))
    compiled = linad.jit(gradient)
    w, x = normal(4, 3 * N, dtype=dtype), normal(N, dtype=dtype)
    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for _ in range(3):
        found, expected = compiled(w, x), gradient(w, x)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.rest
def test_many_cotangents_and_second_derivatives():
    f = of_last_state(slices_of_rows)
    w, x = normal(4, 3 * N), normal(N)
    for g in (
        lambda w, x: linad.vjp(f, w, x)[1](normal(3, N))[0],
        lambda w, x: linad.hvp(lambda w: norm_of(f)(w, x), (w,), (np.cos(w),)),
    ):
        compiled = linad.jit(g)
        for _ in range(3):
            np.testing.assert_allclose(compiled(w, x), g(w, x), rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loop", ["while", "repeat"])
def test_constants_beside_a_total(loop):
    """An array that is no variable is added to a carry, or multiplied by it."""
    c = np.array([1.0, 2.0, 3.0])

    def f(x):
        if loop == "while":
            return linad.while_loop(lambda s: np.sum(s) < 40.0, lambda s: s + c, x)
        return linad.fori_loop(0, 20, lambda k, s: c * s, x)

    compiled = linad.jit(linad.jacobian(f))
    for _ in range(3):
        np.testing.assert_allclose(compiled(c / 9), linad.jacobian(f)(c / 9))


def instructions_back(f, *args):
    """Instructions of each repetition on the way back."""
    compiled = linad.jit(linad.grad(f))
    for _ in range(3):
        compiled(*args)
    report = str(linad.explain(compiled)(*args))
    return int(re.findall(r"(\d+) instructions each \(of repeat\(pull", report)[-1])


@pytest.mark.parametrize("name, most", [("slices of rows", 1), ("a row twice", 1), ("numbers", 2)])
def test_parts_cost_no_instructions(name, most):
    step, shape = STEPS[name]
    assert instructions_back(norm_of(of_last_state(step)), normal(*shape), normal(N)) <= most
