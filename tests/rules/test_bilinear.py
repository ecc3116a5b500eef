"""Kronecker and cross product."""

import functools

import numpy as np
import pytest

import linad
from linad.errors import ShapeError
from linad.rules.bilinear import cross_, kron_
from linad.testing.derivative_checks import check_derivatives
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


IN_A_PLANE = np.lib.NumpyVersion(np.__version__) < "2.5.0"
"""Whether NumPy takes vectors of two entries."""


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.filterwarnings("ignore:Arrays of 2-dim:DeprecationWarning")
def test_vectors_of_two_entries(sizes, axis):
    """As NumPy has it: in the plane, and the third entry alone where both are."""
    a, b = [np.moveaxis(array(4, n), -1, axis) for n in sizes]

    def f(a, b):
        return np.cross(a, b, axis=axis)

    if not IN_A_PLANE:
        with pytest.raises(ValueError, match="3-dimensional vectors"):
            linad.linearize(f, a, b)
        return
    y, _ = linad.linearize(f, a, b)
    np.testing.assert_allclose(y, f(a, b), rtol=1e-14)
    check_derivatives(f, a, b)


def test_vectors_of_two_entries_are_told_of_as_numpy_does():
    expected = pytest.warns(DeprecationWarning, match="2-dimensional")
    with expected if IN_A_PLANE else pytest.raises(ValueError, match="3-dimensional"):
        linad.grad(lambda x: np.cross(x, np.ones(2)))(np.ones(2))


def test_vectors_of_other_sizes():
    with pytest.raises(ShapeError, match="of 2 or 3 entries, got 4 and 3"):
        linad.linearize(lambda x: np.cross(x, np.ones(3)), np.ones(4))
    with pytest.raises(ShapeError, match="linalg.cross: expected .* of 3 entries, got 2 and 2"):
        linad.linearize(lambda x: np.linalg.cross(x, np.ones(2)), np.ones(2))


@pytest.mark.parametrize("dtype", [np.uint8, bool])
def test_cross_product_of_integers_without_sign(dtype):
    a, x = np.array([1, 0, 1], dtype), np.array([0.3, 0.6, 0.8])
    expected = linad.jacobian(lambda x: np.cross(a.astype(float), x))(x)
    np.testing.assert_array_equal(linad.jacobian(lambda x: np.cross(a, x))(x), expected)
    np.testing.assert_array_equal(linad.jacobian(lambda x: np.cross(x, a))(x), -expected)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dim:DeprecationWarning")
@pytest.mark.skipif(not IN_A_PLANE, reason="NumPy refuses them")
def test_cross_products_in_the_plane_lie_in_memory_as_numpys():
    x = np.asfortranarray(np.arange(12.0).reshape(2, 3, 2))
    y = linad.linearize(lambda x: np.cross(x, x[..., ::-1]), x)[0]
    assert y.strides == np.cross(x, x[..., ::-1]).strides
