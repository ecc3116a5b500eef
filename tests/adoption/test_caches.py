"""Caches of adopted code that keep what they computed by the bytes of arrays."""

import numpy as np

import linad

SOURCE = """
import numpy as np

CACHE = {}


def key_of(*args):
    return tuple([hash(a.tobytes()) if isinstance(a, np.ndarray) else a for a in args])


def square(x, n):
    key = key_of(x, n)
    if key not in CACHE:
        CACHE[key] = x**2 * n
    return CACHE[key]


def both(x):
    return square(x, 3.0) + square(np.eye(3)[0], 2.0) + square(1.0 * x + 0.0, 3.0) * x
"""

X = np.array([0.3, 0.5, 0.7])


def test_bytes_of_traced_arrays_are_keys_that_are_not_found(installed):
    package = installed(SOURCE)
    expected = np.diag(6 * X + 9 * X**2)
    with linad.adopt(package.__name__):
        value = package.both(X)
        for _ in range(2):
            np.testing.assert_allclose(linad.jacobian(package.both)(X), expected)
        jitted = linad.jit(linad.jacobian(package.both))
        np.testing.assert_allclose(jitted(X), expected)
        np.testing.assert_allclose(jitted(2 * X), np.diag(12 * X + 36 * X**2))
        np.testing.assert_array_equal(package.both(X), value)


def test_hashes_of_bytes_are_not_given_again(installed):
    package = installed(SOURCE)
    seen = set()

    def f(x):
        seen.update([package.key_of(x), package.key_of(x)])
        return x**2

    with linad.adopt(package.__name__):
        for _ in range(5):
            linad.grad(lambda x: np.sum(f(x)))(X)
    assert len(seen) >= 10
