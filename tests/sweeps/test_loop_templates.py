"""The text of a loop, once written, serves all loops that differ in addresses alone."""

import itertools

import numpy as np
import pytest

import linad

X = np.array([1.5, -0.5, 0.25])
UFUNCS = [
    *(np.add, np.subtract, np.true_divide, np.power, np.maximum, np.fmin),
    *(np.hypot, np.arctan2, np.logaddexp, np.remainder),
]


def check_beside_constant_arrays(ufunc):
    """Whatever was in the arrays of loops before: after entries 2 a product must be no sum."""
    for of_array, of_point in itertools.product(["i8", "f4", "f8"], ["f4", "f8"]):
        x = X.astype(of_point)
        for number in (2, 1, 0, 2, -1, 3):
            constant = np.full(3, number, of_array)
            for f in (
                lambda x, c=constant: ufunc(c, x),
                lambda x, c=constant: ufunc(x, c),
                lambda x, c=constant: np.sum(ufunc(x, c) * c),
            ):
                jitted = linad.jit(f)
                for _ in range(2):
                    np.testing.assert_allclose(jitted(x), f(x), rtol=1e-6)
                found = linad.jvp(linad.jit(f), (x,), (np.ones_like(x),))
                expected = linad.jvp(f, (x,), (np.ones_like(x),))
                np.testing.assert_allclose(found[0], expected[0], rtol=1e-6)
                np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


@pytest.mark.usefixtures("kernels")
def test_products_do_not_depend_on_what_is_in_an_array():
    check_beside_constant_arrays(np.multiply)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda u: u.__name__)
def test_loops_do_not_depend_on_what_is_in_an_array(ufunc):
    check_beside_constant_arrays(ufunc)
