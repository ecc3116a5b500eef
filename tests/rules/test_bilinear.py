"""Kronecker and cross product."""

import functools

import numpy as np
import pytest

import linad
from linad.errors import ShapeError
from linad.rules.bilinear import cross_, kron_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


CASES = [
    Case(kron_, array(2, 3), array(1, 2), check=COMPLEX),
    Case(np.kron, array(2, 2), array(3)),
    Case(np.kron, array(2), array(2, 1, 2)),
    Case(np.kron, np.array(2.0), np.array(3.0)),
    Case(cross_, array(2, 1, 3), array(2, 3), check=COMPLEX),
    Case(np.cross, array(3, 2), array(2, 3), axisa=0, axisc=0),
    Case(np.cross, array(3), array(3), check=COMPLEX),
    Case(np.linalg.cross, array(3, 2), array(3, 2), axis=0),
]

VALUES = [
    (np.kron, (2, 3), (2,)),
    (np.kron, (2, 1, 2), (3, 2)),
    (functools.partial(np.cross, axis=0), (3, 2), (3, 2)),
]


@pytest.mark.parametrize("k", range(len(VALUES)))
def test_values_are_numpys(k):
    function, a, b = VALUES[k]
    a = array(*a) + 1j * array(*a)
    b = array(*b)
    y, _ = linad.linearize(function, a, b)
    np.testing.assert_allclose(y, function(a, b), rtol=1e-13)


def test_vectors_of_two_entries():
    with pytest.raises(ShapeError, match=r"expected vectors of 3.*a\[..., 0\] \* b"):
        linad.linearize(lambda x: np.cross(x, np.ones(2)), np.ones(3))


@pytest.mark.parametrize("dtype", [np.uint8, bool])
def test_cross_product_of_integers_without_sign(dtype):
    a, x = np.array([1, 0, 1], dtype), np.array([0.3, 0.6, 0.8])
    expected = linad.jacobian(lambda x: np.cross(a.astype(float), x))(x)
    np.testing.assert_array_equal(linad.jacobian(lambda x: np.cross(a, x))(x), expected)
    np.testing.assert_array_equal(linad.jacobian(lambda x: np.cross(x, a))(x), -expected)
