"""Arithmetic of lists of traced numbers beside plain arrays, as NumPy does it."""

import numpy as np
import pytest

import linad
from linad.errors import TracerError

X = np.array([0.3, 0.5, 0.7])

SOURCE = """
import numpy as np

V = np.array([1.0, 2.0, 3.0])
M = np.arange(9.0).reshape(3, 3)

def of_names(x):
    a, b = [x[0], x[1], x[2]], (x[1], 2.0, x[0])
    a = [2 * v for v in a]
    y = V - a
    y = y * (V / a) + (M @ a) ** 2
    return y + b * V if (V > b).any() else y

def appended(x):
    found = []
    for v in x:
        found.append(v**2)
    y = V.copy()
    y *= found
    while (found < V).all():
        found = found + V
    return y + found

def rows(x):
    return np.array([1.0, 2.0]) * [x[:2], x[1:]] + np.float64(3.0) - [x[0], x[1]]

def lists_stay(x):
    a = [x[0], x[1]] * 2 + [x[2]]
    return V * a[2:] * len(a)

def difference(a, b):
    return a - b

def of_arguments(x):
    a = difference(V, [x[0], x[1], x[2]])
    return difference(a, 2.0) * difference((x[0], x[1], x[2]), V)

class Line:
    def __init__(self, points):
        self.points = points

    def scaled(self):
        scale = lambda v: v * self.points
        return scale(V) if all(V != self.points) else V

def of_attributes(x):
    return Line([x[0], x[1], x[2]]).scaled()

def in_generators(x):
    pairs = [[x[0], x[1], x[2]], [x[2], x[1], x[0]]]
    return sum(V * p for p in pairs)
"""
NAMES = ["of_names", "appended", "rows", "lists_stay", "of_arguments", "of_attributes"]
NAMES += ["in_generators"]


def check(f):
    steps = 1e-6 * np.eye(3)
    expected = np.stack([(f(X + h) - f(X - h)) / 2e-6 for h in steps], axis=-1)
    y, J = linad.linearize(f, X)
    np.testing.assert_allclose(y, f(X), rtol=1e-15)
    np.testing.assert_allclose((J @ np.eye(3)).reshape(expected.shape), expected, atol=1e-8)
    v = np.array([0.2, -1.0, 0.4])
    twice = linad.jvp(linad.jacobian(f), (X,), (v,))[1]
    ahead, behind = (linad.jacobian(f)(X + h * v) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(twice, (ahead - behind) / 2e-6, atol=1e-7)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("whole", [True, False])
def test_lists_beside_arrays(installed, whole):
    """In a package, and in functions that are adopted alone."""
    package = installed(SOURCE)
    code = package.difference.__code__
    alone = (package.difference, package.Line, *[getattr(package, name) for name in NAMES])
    with linad.adopt(*([package.__name__] if whole else alone)):
        for name in NAMES:
            check(getattr(package, name))
        assert package.difference(3, 2) == 1
        jitted = linad.jit(linad.jacobian(package.of_arguments))
        np.testing.assert_allclose(jitted(X), linad.jacobian(package.of_arguments)(X), rtol=1e-14)
    assert package.difference.__code__ is code
    with pytest.raises(TracerError, match=f"linad.adopt\\('{package.__name__}'\\)"):
        linad.jacobian(package.of_arguments)(X)


def test_a_function_alone_is_forgotten_in_the_end(installed):
    package = installed(SOURCE)
    first = linad.adopt(package.difference)
    with linad.adopt(package.difference):
        linad.jacobian(lambda x: package.difference(package.V, [x[0], x[1], x[2]]))(X)
    linad.jacobian(lambda x: package.difference(package.V, [x[0], x[1], x[2]]))(X)
    first.undo()
    with pytest.raises(TracerError):
        linad.jacobian(lambda x: package.difference(package.V, [x[0], x[1], x[2]]))(X)
