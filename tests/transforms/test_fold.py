"""Linearized functions as expressions of operators."""

import numpy as np
import pytest

import linad
from linad.operators.blocks import Blocks
from linad.operators.circulant import Circulant
from linad.operators.composites import Chain, Sum
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.recurrences import CumulativeSum
from linad.operators.structured import Diagonal, Identity, Zero
from linad.rules.indexing import Selection
from linad.transforms.tape_operator import TapeOperator

rng = np.random.default_rng(0)
A, B = rng.standard_normal((4, 4)), rng.standard_normal((3, 3))
x, X = rng.standard_normal(4), rng.standard_normal((4, 3))


def written(x):
    y = np.sin(x)
    y[1] = x[0]
    return y


CASES = {
    "elementwise": (lambda x: np.exp(np.sin(x) * x) / (1 + x**2), x, Diagonal),
    "matrix": (lambda x: A @ x, x, Matrix),
    "matrices": (lambda x: A @ np.sin(A @ x) - 2 * x, x, Matrix),
    "kronecker": (lambda X: A @ X @ B, X, Kronecker),
    "einsum": (lambda X: np.einsum("ij,kj->ik", X, B), X, Kronecker),
    "slice": (lambda x: x[::2], x, Selection),
    "slices": (lambda x: x[1:][::-1][:2], x, Selection),
    "of a broadcast": (lambda x: np.broadcast_to(x, (3, 4))[1], x, Identity),
    "of a join": (lambda x: np.concatenate([x, np.sin(x)])[4:], x, Diagonal),
    "of a join, other part": (lambda x: np.concatenate([x, np.sin(x)])[:4], x, Identity),
    "joined and split": (lambda x: np.split(np.concatenate([x, x]), 2)[0], x, Identity),
    "reshape": (lambda X: X.ravel().reshape(4, 3), X, Identity),
    "transpose": (lambda X: (2 * X.T).T, X, Diagonal),
    "running sum": (np.cumsum, x, CumulativeSum),
    "filter": (lambda x: np.fft.ifft(x.mean() * 0 + np.fft.fft(x) * 2).real, x, None),
    "circulant": (lambda x: np.fft.ifft(np.exp(1j * A[0]) * np.fft.fft(x)).real, x, Circulant),
    "shifts": (lambda x: np.roll(x, 1) - 2 * x + np.roll(x, -1), x, Sum),
    "rank one": (lambda x: np.sum(x * x) * A[0], x, Chain),
    "constant": (lambda x: 0 * x + np.ones(4), x, Diagonal),
    "no derivative": (lambda x: np.sign(x), x, Zero),
    "writes": (written, x, Sum),
    "single precision": (lambda x: np.sin(x.astype(np.float32)).astype(float), x, None),
    "complex": (lambda x: np.abs(np.exp(1j * x) + 2), x, None),
    "several results": (lambda x: np.linalg.eigh(np.outer(x, x) + A + A.T)[0], x, TapeOperator),
    "scalar": (lambda x: np.linalg.norm(x), x, None),
}


@pytest.mark.parametrize("name", CASES)
def test_functions(name):
    f, at, kind = CASES[name]
    with linad.config(disconnected="ignore"):
        J = linad.linearize(f, at)[1]
    op = J.simplified()
    assert kind is None or type(op) is kind
    assert (op.in_shape, op.out_shape) == (J.in_shape, J.out_shape)
    assert op.dtype == J.dtype
    tolerance = {"rtol": 0, "atol": 1e-6 if name == "single precision" else 1e-12}
    np.testing.assert_allclose(op.todense(), J.todense(), **tolerance)
    v, w = rng.standard_normal((2, *J.in_shape)), rng.standard_normal((2, *J.out_shape))
    np.testing.assert_allclose(op.pushforward(v), J.pushforward(v), **tolerance)
    np.testing.assert_allclose(op.pullback(w), J.pullback(w), **tolerance)


def test_containers():
    def f(d):
        return {"p": np.sin(d["a"]), "q": A @ d["b"], "constant": np.ones(2)}

    J = linad.linearize(f, {"a": x, "b": x, "unused": X[0]})[1]
    op = J.simplified()
    assert type(op) is Blocks
    np.testing.assert_allclose(op.todense(), J.todense())
    np.testing.assert_allclose(op.T.todense(), J.T.todense())
    mixed = linad.linearize(lambda d: d["a"] * 2, {"a": x.astype(np.float32), "b": x})[1]
    np.testing.assert_allclose(mixed.simplified().todense(), mixed.todense())


def test_branches_that_share_much_are_left():
    """Written out, the expression would double with every step."""

    def f(x):
        for _ in range(30):
            x = np.cumsum(x) + np.linalg.norm(x) * np.cumsum(x[::-1])
            x = x / np.sum(x)
        return x

    J = linad.linearize(f, 1 + x**2)[1]
    assert J.simplified() is J
    assert J.structure == ()


def test_long_programs():
    def f(x):
        for _ in range(3000):
            x = np.sin(0.01 * x) + x
        return np.cumsum(x)

    J = linad.linearize(f, x)[1]
    op = J.simplified()
    assert [type(p) for p in op.factors] == [CumulativeSum, Diagonal]
    np.testing.assert_allclose(op @ x, J @ x)


def test_traced():
    """An operator that holds traced values folds, and is differentiated."""

    def f(t):
        op = linad.linearize(lambda x: np.sin(t * x), x)[1].simplified()
        assert type(op) is Diagonal
        return op @ np.ones(4)

    t = np.full(4, 0.5)
    expected = np.diag(np.cos(t * x) - t * x * np.sin(t * x))
    np.testing.assert_allclose(linad.jacobian(f)(t), expected)
