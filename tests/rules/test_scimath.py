"""numpy.emath: complex answers outside of the real domain."""

import numpy as np
import pytest

import linad
from linad.testing.rule_checks import Case

INSIDE = np.array([0.3, 0.7, 0.9])
SIGNED = np.array([0.3, -0.7, 1.9])
COMPLEX = {"complex_": True}

CASES = [
    *[Case(getattr(np.emath, n), SIGNED) for n in ("sqrt", "log", "log2", "log10")],
    *[Case(getattr(np.emath, n), SIGNED) for n in ("arcsin", "arccos", "arctanh")],
    Case(np.emath.sqrt, INSIDE, check=COMPLEX),
    Case(np.emath.arcsin, INSIDE, check=COMPLEX),
    Case(np.emath.arctanh, np.array(0.4)),
    Case(np.emath.power, SIGNED, INSIDE),
    Case(np.emath.power, INSIDE, np.array([-1, 2, -3]), check={"float32": False}),  # as NumPy
    Case(np.emath.logn, np.array([0.3, -0.2, 2.9]), SIGNED, check=COMPLEX),
]

ONE = ["sqrt", "log", "log2", "log10", "arcsin", "arccos", "arctanh"]


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("x", [INSIDE, SIGNED], ids=["inside", "outside"])
def test_values_and_types_are_numpys(name, dtype, x):
    function = getattr(np.emath, name)
    x = x.astype(dtype)
    y, J = linad.linearize(function, x)
    expected = function(x)
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y, expected)
    assert J.pullback(y).dtype == x.dtype


def test_a_real_input_becomes_complex_and_real_again():
    x = np.array([-2.0, 3.0])
    found = linad.grad(lambda x: np.sum(np.abs(np.emath.sqrt(x)) ** 2))(x)
    np.testing.assert_allclose(found, [-1.0, 1.0], rtol=1e-14)
    both = linad.linearize(np.emath.power, x, np.array([2, -1]), argnums=0)[0]
    np.testing.assert_array_equal(both, np.emath.power(x, np.array([2, -1])))
