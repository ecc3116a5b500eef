"""Options of NumPy's functions at the door; `tests/survey/test_options.py` tries all functions."""

import numpy as np
import pytest

import linad
from linad.core.numpy_options import REDUCTIONS
from linad.errors import OptionError

X = np.array([[0.5, 1.5], [2.0, 0.25]])

WRONG = {
    "sum: keepdims": lambda x: np.sum(x, axis=0, keepdims="x"),
    "mean: where": lambda x: np.mean(x, where=2.5),
    "max: axis": lambda x: np.max(x, axis=[]),
    "max: initial": lambda x: np.max(x, initial=[]),
    "add.reduce: where": lambda x: np.add.reduce(x, where=None),
    "subtract.reduce: where": lambda x: np.subtract.reduce(x, initial=1.0, where=np.array([1, 0])),
    "maximum.reduce: keepdims": lambda x: np.maximum.reduce(x, keepdims="x"),
    "concatenate: casting": lambda x: np.concatenate([x, x], casting="x"),
    "linspace: device": lambda x: np.linspace(x, 1.0, device=1),
    "zeros_like: subok": lambda x: np.zeros_like(x, subok="x") + x,
    "cov: bias": lambda x: np.cov(x, bias=None),
    "cov: aweights": lambda x: np.cov(x, aweights="x"),
    "nanvar: ddof": lambda x: np.nanvar(x, ddof=None),
    "vander: N": lambda x: np.vander(x[0], N=-1),
    "full: order": lambda x: linad.numpy.full(3, x[0, 0], order="x"),
    "full_like: order": lambda x: np.full_like(x, x[0, 0], order="x"),
    "nan_to_num: nan": lambda x: np.nan_to_num(x, nan="x"),
    "polyfit: w": lambda x: np.polyfit(x[0], x[1], 1, w="x"),
    "vector_norm: axis": lambda x: np.linalg.vector_norm(x, axis=[]),
}


@pytest.mark.whole
@pytest.mark.parametrize("said", WRONG)
def test_wrong_options(said):
    for transform in (linad.jit, linad.grad):
        with pytest.raises(OptionError, match=f"^{said} must be"):
            transform(lambda x: np.sum(WRONG[said](x)))(X)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_of_reductions(name):
    with pytest.raises(OptionError, match=f"^{name}: axis must be an integer, a tuple of integers"):
        linad.grad(lambda x: getattr(np, name)(x, axis=1.0))(X)


def test_right_options():
    def f(x, mask):
        y = np.sum(x, axis=(0,), keepdims=1, where=mask, initial=np.float64(1))
        return y + np.std(x, ddof=1) + np.cov(x, ddof=None).sum() + np.max(x, axis=None)

    mask = X > 0.3
    for g in (linad.jit(f), lambda x, mask: linad.linearize(f, x, mask, argnums=0)[0]):
        np.testing.assert_allclose(g(X, mask), f(X, mask))
