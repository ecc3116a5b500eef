"""Arrays of objects that are traced numbers, and objects that NumPy asks for an array."""

import numpy as np
import pytest

import linad
import linad.numpy
from linad.errors import UnsupportedError

X = np.array([0.3, 0.5, 0.7])

SOURCE = """
import math
import numpy as np

def objects(x):
    made = np.empty(3, dtype=object)
    for i in range(3):
        made[i] = x[i] * x[0]
    return made

def beside_arrays(x):
    o = objects(x)
    return o * x + x / o - np.stack([o, x])[0] + np.dot(o, x) + np.array(o, dtype=float)

def reduced(x):
    o = objects(x)
    return o.sum() * x + np.sum(o) + np.mean(o) * o.mean() + np.max(o) * np.linalg.norm(o)

def made_so(x):
    o = np.array([[x[0], 1.0, x[1]], [x[2], x[0], 2]], dtype=object)
    return (o * 2.0).astype(float)[0] * o[1, 0] + np.vectorize(math.cos)(o)[0]

def converted(x):
    o = x.astype(object)
    return np.array(o.tolist()) * np.asarray(o, float) * o[1] + np.asarray(x, dtype=object)[2]

def ragged(x):
    parts = np.array([x[:1], x[1:]], dtype=object)
    return np.concatenate(list(parts * 2.0)) * parts[1][0]

def written(x):
    o, y = np.empty((2, 2), object), np.zeros(3)
    o[:] = [[x[0], x[1]], [x[2], x[0]]]
    y[:] = objects(x)
    return o.astype(float)[0] @ o[1] * y

class Holder:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)

def of_holders(x):
    h, y = Holder(x), np.ones(3)
    y += h
    y[:2] = Holder(x[:2])
    y = y * np.array([h, Holder(2 * x)])[1] + np.concatenate([h, h])[2:5]
    return y * np.sum(h) * np.add(h, x) + np.clip(h, 0.4, 0.6) + np.interp(0.5, x, h)
"""
NAMES = ["beside_arrays", "reduced", "made_so", "converted", "ragged", "written", "of_holders"]


@pytest.mark.usefixtures("kernels")
def test_arrays_of_objects(installed):
    package = installed(SOURCE)
    v = np.array([0.2, -1.0, 0.4])
    with linad.adopt(package.__name__):
        for name in NAMES:
            f = getattr(package, name)
            steps = 1e-6 * np.eye(3)
            columns = [(f(X + h) - f(X - h)).astype(float) / 2e-6 for h in steps]
            y, J = linad.linearize(f, X)
            np.testing.assert_allclose(y, f(X).astype(float), rtol=1e-14)
            np.testing.assert_allclose(J @ np.eye(3), np.stack(columns, axis=-1), atol=1e-8)
            twice = linad.jvp(linad.jacobian(f), (X,), (v,))[1]
            ahead, behind = (linad.jacobian(f)(X + h * v) for h in (1e-6, -1e-6))
            np.testing.assert_allclose(twice, (ahead - behind) / 2e-6, atol=1e-7)
        jitted = linad.jit(linad.jacobian(package.reduced))
        np.testing.assert_allclose(jitted(X), linad.jacobian(package.reduced)(X), rtol=1e-13)


def test_objects_of_a_traced_array():
    seen = []

    def f(x):
        o = linad.numpy.array([x[0], [1, 2], x], dtype=object)
        seen.extend([o.shape, o.dtype.kind, type(o), linad.numpy.array([x, x], object).shape])
        return linad.numpy.array(linad.numpy.array([[x[0], 2]], dtype=object)) * o[2][:2]

    J = linad.jacobian(f)(X)
    assert seen == [(3,), "O", np.ndarray, (2, 3)]
    np.testing.assert_allclose(J, [[[0.6, 0, 0], [0, 2, 0]]])


def test_keys():
    for key in (lambda x: {x[0]: 1.0}, lambda x: {tuple(x)}, lambda x: hash(x[0])):
        with pytest.raises(
            UnsupportedError, match=r"unhashable.*a key.*float\(linad.stop_gradient"
        ):
            linad.grad(lambda x, key=key: key(x) and x[0])(X)
