"""Results of kernels whose lengths depend on what is computed."""

import numpy as np
import pytest

import linad
from linad.errors import KernelError

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

X = np.array([0.3, 0.8, 0.5, 0.9])


def squares(x):
    found = []
    for v in x:
        found.append(v * v)
    return np.array(found)


def large(x, least):
    return np.array([v * v for v in x if v > least])


def two(x, least):
    more, less = [], []
    for v in x:
        if v > least:
            more.append((v, v * x[0]))
        else:
            less.append(v * v)
            less.append(v * x[1])
    return np.array(more), np.array(less), len(more) * x[0]


def several(x, n):
    return np.array([x[0] ** k for k in range(n) if k % 2 == 0])


@pytest.mark.parametrize(
    "function, least",
    [
        (squares, ()),
        (large, (0.4,)),
        (large, (2.0,)),
        (two, (0.4,)),
        (two, (0.85,)),
        (several, (5,)),
    ],
)
def test_results_are_as_long_as_they_turn_out(function, least, as_python):
    kernel = linad.kernel(function)
    value, J = linad.linearize(lambda x: kernel(x, *least), X)
    given, values = [v if isinstance(v, tuple) else (v,) for v in (function(X, *least), value)]
    for a, b in zip(given, values, strict=True):
        assert np.size(a) == np.size(b)
        np.testing.assert_allclose(np.ravel(a), np.ravel(b), rtol=1e-14)
    v = np.array([0.5, -1.0, 0.3, 0.7])
    pushed = J.pushforward(v)
    for k, t in enumerate(pushed if isinstance(pushed, tuple) else (pushed,)):
        up, down = [function(X + h * v, *least) for h in (1e-6, -1e-6)]
        up, down = [r[k] if isinstance(r, tuple) else r for r in (up, down)]
        np.testing.assert_allclose(np.ravel(t), np.ravel(up - down) / 2e-6, rtol=1e-6, atol=1e-8)
    w = [np.cos(np.arange(np.size(b))).reshape(np.shape(b)) for b in values]
    pulled = J.pullback(tuple(w) if isinstance(value, tuple) else w[0])
    pushed = pushed if isinstance(pushed, tuple) else (pushed,)
    dot = sum([np.sum(a * b) for a, b in zip(w, pushed, strict=True)])
    np.testing.assert_allclose(pulled @ v, dot, rtol=1e-10, atol=1e-13)


def test_several_seeds(as_python):
    J = linad.linearize(lambda x: linad.kernel(large)(x, 0.4), X)[1]
    np.testing.assert_allclose(J.pullback(np.eye(3)), np.diag(2 * X)[1:])


@pytest.mark.compiles
def test_compiled_programs_have_one_length():
    every, some = linad.kernel(squares), linad.kernel(large)
    compiled = linad.jit(linad.grad(lambda x: np.sum(every(x * 1.0))))
    for _ in range(3):
        np.testing.assert_allclose(compiled(X), 2 * X)
    with pytest.raises(KernelError, match="whose length depends on values, and a compiled program"):
        linad.jit(lambda x: np.sum(some(x * 1.0, 0.4)))(X)
