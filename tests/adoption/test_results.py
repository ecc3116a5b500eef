"""What NumPy gives of arrays of a subclass is of the class, a plain array or a number."""

import numpy as np
import pytest

import linad
from linad.adoption import results

X = np.array([0.3, 0.5, 0.7])


class Marked(np.ndarray):
    """An array whose class can be told."""


def marked(x):
    return x.view(Marked)


def square(v):
    return (np.outer(v, v) + np.diag([1.0, 2.0, 3.0])).view(type(v))


CALLS = {
    "sum": np.sum,
    "max": lambda v: v.max(),
    "std": np.std,
    "median": np.median,
    "sqrt": lambda v: np.sqrt(v.sum()),
    "sort": np.sort,
    "diff": np.diff,
    "cumsum": np.cumsum,
    "zeros_like": lambda v: np.zeros_like(v) + v,
    "full_like": lambda v: np.full_like(v, v[1]) * v,
    "meshgrid": lambda v: np.meshgrid(v, v)[1],
    "split": lambda v: np.split(v, 3)[1],
    "dot": lambda v: np.dot(v, v),
    "v.dot": lambda v: v.dot(v),
    "item": lambda v: v.item(1),
    "inner": lambda v: np.inner(v, v),
    "norm": np.linalg.norm,
    "trace": lambda v: square(v).trace(),
    "det": lambda v: np.linalg.det(square(v)),
    "percentile": lambda v: np.percentile(v, 30.0),
    "interp": lambda v: np.interp(0.3, [0.0, 1.0, 2.0], v),
    "einsum": lambda v: np.einsum("i,i", v, v),
    "outer": lambda v: np.outer(v, v),
    "concatenate": lambda v: np.concatenate([v, v]),
    "stack": lambda v: np.stack([v, v]),
    "where": lambda v: np.where(v > 0.4, v, 0.0),
    "cross": lambda v: np.cross(v, v[::-1]),
    "inv": lambda v: np.linalg.inv(square(v)),
    "qr": lambda v: np.linalg.qr(square(v)).R,
    "convolve": lambda v: np.convolve(v, v),
    "fft": np.fft.fft,
    "take": lambda v: np.take(v, [0, 1]),
}


def kind(y):
    return "marked" if isinstance(y, Marked) else "array" if np.ndim(y) else "number"


@pytest.mark.parametrize("name", CALLS)
def test_the_class_of_a_result_is_numpys(name):
    f, found = CALLS[name], []

    def g(x):
        y = f(marked(x))
        found.append(kind(y))
        return np.abs(np.asarray(y))

    with linad.adopt(__name__):
        y, J = linad.linearize(g, X)
    expected = f(marked(X))
    assert found[-1] == kind(expected)
    np.testing.assert_allclose(y, np.abs(np.asarray(expected)), rtol=1e-13)
    h = 1e-6
    J_h = [(g(X + h * e) - g(X - h * e)).ravel() / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose((J @ np.eye(3)).reshape(-1, 3), np.stack(J_h, axis=-1), atol=1e-8)


def test_numpy_is_asked_once():
    with linad.adopt(__name__):
        linad.jvp(lambda x: np.dot(marked(x), x), (X,), (X,))
        known = len(results._KNOWN)
        linad.jvp(lambda x: np.dot(marked(x), 2 * x), (X + 1,), (X,))
    assert len(results._KNOWN) == known


class ByClass(np.ndarray):
    """Calls the methods of ndarray by the class."""

    def sum(self, *args):
        return np.ndarray.sum(self, *args)

    def __mul__(self, other):
        return np.ndarray.__mul__(self, other)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if array.ndim == 0:
            return array.item()
        return np.ndarray.__array_wrap__(self, array, context)


def methods_by_class(x):
    y = x.view(ByClass)
    return np.asarray(y * y[0]) * np.sqrt(y.sum()) + y.item(1) * np.ndarray.dot(x, x)


def test_methods_that_are_called_by_the_class():
    with linad.adopt(__name__):
        y, J = linad.linearize(methods_by_class, X)
        jitted = linad.jit(methods_by_class)
        np.testing.assert_allclose([jitted(X), jitted(X)], [methods_by_class(X)] * 2)
    h = 1e-6
    J_h = [(methods_by_class(X + h * e) - methods_by_class(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(y, methods_by_class(X), rtol=1e-14)
    np.testing.assert_allclose(J @ np.eye(3), np.stack(J_h, axis=-1), atol=1e-8)
