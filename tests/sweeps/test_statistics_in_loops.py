"""Norms, variances, log-sum-exps and differences as loops over their terms."""

import numpy as np
import pytest
from compiled_runs import fallbacks, poisoned

import linad
from linad.core import tree
from linad.core.primitive import Primitive
from linad.transforms.simplify import simplify

hermitian = Primitive.registry["hermitian"]
FUNCTIONS = {
    "2-norm": lambda x: np.linalg.norm(x, axis=-1),
    "1-norm": lambda x: np.linalg.norm(x, ord=1, axis=1),
    "3-norm": lambda x: np.linalg.norm(x, ord=3, axis=0),
    "norm of all": lambda x: np.linalg.norm(x),
    "var": lambda x: np.var(x, axis=1, ddof=1),
    "std": lambda x: [np.std(x), np.std(x, axis=0, keepdims=True)],
    "logsumexp": lambda x: np.logaddexp.reduce(x, axis=1),
    "base 2": lambda x: np.logaddexp2.reduce(x, axis=0),
    "diff": lambda x: [np.diff(x, axis=0), np.diff(x, n=2, axis=-1)],
    "hermitian": lambda x: [
        hermitian(x[:, :4] @ x[:, 1:], lower=True),
        hermitian(x @ x.T, lower=False),
    ],
}


def check(f, x, rtol):
    with np.errstate(all="ignore"):
        y, tape = linad.trace(f, x)
        program = poisoned(simplify(tape))
        found = program.run([x])
    assert not fallbacks(program)
    for got, wanted in zip(found, tree.flatten(y)[0], strict=True):
        assert got.dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_gradients(name, dtype):
    x = np.random.default_rng(0).normal(size=(4, 5)).astype(dtype)
    f = FUNCTIONS[name]
    rtol = 1e-12 if dtype is np.float64 else 2e-5
    check(f, x, rtol)
    check(linad.grad(lambda x: sum(np.sum(y * y) for y in tree.flatten(f(x))[0])), x, rtol)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", ["logsumexp", "base 2", "2-norm", "1-norm", "var", "diff"])
def test_special_values(name):
    x = np.zeros((6, 6))
    x[0] = -np.inf
    x[1, 0] = np.inf
    x[2, 1] = np.nan
    x[3, :2] = -np.inf, np.inf
    x[4] = 1e300
    check(FUNCTIONS[name], x, 1e-12)
