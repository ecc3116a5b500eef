"""Compiled functions of packages: numbers of constants for arrays, and an error for the rest."""

import numpy as np
import pytest

import linad
from linad.adoption.compiled_functions import is_compiled
from linad.errors import UnsupportedError

SOURCE = """
import numpy as np

def solved(x):
    d = np.zeros(3)
    d[:] = 2.0
    b = np.zeros(3)
    b[1] = 3.0
    total = solve(d, b)
    total += solve(d=d, b=b)
    return total * b * x

def returned(x):
    b = solve(np.full(2, 2.0), np.full(2, 3.0), "whole")
    b += x
    return b

def viewed(x):
    b = np.ones(2)
    b[1] = 4.0
    part = solve(np.full(2, 2.0), b, "part")
    b[0] = x[0]
    return part * x

def handed_over(x):
    return solve(x, np.ones(3))
"""


def _call(self, d, b, gives=""):
    for name, a in (("d", d), ("b", b)):
        if type(a) is not np.ndarray:
            kind = f"{type(a).__module__}.{type(a).__name__}"
            raise TypeError(f"Argument '{name}' has incorrect type (expected ndarray, got {kind})")
    b /= d
    return b if gives == "whole" else b[:1] if gives == "part" else float(b.sum())


def with_compiled(package):
    """The package, with what stands for a function that Cython compiled."""
    members = {"__call__": _call, "__module__": package.__name__}
    package.solve = type("cython_function_or_method", (), members)()
    return package


def test_constants_are_handed_over_and_written_into(installed):
    package = with_compiled(installed(SOURCE))
    assert is_compiled(package.solve)
    assert not is_compiled(np.dot)
    assert not is_compiled([].append)
    x = np.array([0.3, 0.7, 1.2])
    expected = np.diag([0.0, 2.25 * 0.75, 0.0])
    np.testing.assert_allclose(np.diag(package.solved(np.ones(3))), expected)
    with linad.adopt(package):
        np.testing.assert_allclose(linad.jacobian(package.solved)(x), expected)
        np.testing.assert_allclose(
            linad.jit(linad.grad(lambda x: np.sum(package.solved(x))))(x), expected.sum(0)
        )


def test_arrays_that_compiled_code_returns_or_keeps(installed):
    package, x = with_compiled(installed(SOURCE)), np.array([0.3, 0.7])
    with linad.adopt(package):
        y, J = linad.linearize(package.returned, x)
        np.testing.assert_allclose(y, 1.5 + x)
        np.testing.assert_allclose(J @ np.eye(2), np.eye(2))
        with pytest.raises(UnsupportedError, match="hand over a copy"):
            linad.linearize(package.viewed, x)


def test_a_traced_value_is_refused_in_its_words(installed):
    package = with_compiled(installed(SOURCE))
    with (
        linad.adopt(package),
        pytest.raises(UnsupportedError, match="a traced value is handed to .*compiled code"),
    ):
        linad.linearize(package.handed_over, np.ones(3))


DRAWN = """
import numpy as np

def drawn(x, write):
    z, rng = np.zeros(3), np.random.default_rng(0)
    if write:
        z[...] = rng.random(z.shape)
    else:
        rng.random(out=z)
    return np.sum(z * x)
"""


def test_an_array_that_generators_fill_is_told_with_what_to_write(installed):
    package = installed(DRAWN)
    with linad.adopt(package):
        np.testing.assert_array_equal(
            linad.grad(package.drawn)(np.ones(3), True), np.random.default_rng(0).random(3)
        )
        with pytest.raises(UnsupportedError, match=r"write out\[...\] = draw\(out.shape\)"):
            linad.grad(package.drawn)(np.ones(3), False)
