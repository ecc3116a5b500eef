"""Functions made of simpler ones, beside NumPy's and SciPy's own."""

import numpy as np
import pytest
import scipy.special

import linad
from linad.core.primitive import Primitive
from linad.rules.composed import FORMS

EDGES = np.array([0.0, -0.0, 1.0, 2.5, -1.0, 1e-300, np.inf, -np.inf, np.nan])
X, Y = (a.ravel() for a in np.meshgrid(EDGES, EDGES))
V = np.array([[0.5, -1.25, 3.0], [-2.345, 0.005, 149.5]])

GIVEN = {
    "isclose": [((X, Y), {}), ((X, Y), {"equal_nan": True}), ((V, V + 0.1, 1e-2, 0.09), {})],
    "allclose": [((V, V + 1e-9), {}), ((V, V[::-1]), {}), ((V, V + 0.1), {"rtol": 30.0})],
    "array_equal": [
        ((V, V.copy()), {}),
        ((V, V[:1]), {}),
        ((EDGES, EDGES), {}),
        ((EDGES, EDGES), {"equal_nan": True}),
    ],
    "round": [((V,), {"decimals": k}) for k in (-2, 0, 2)]
    + [((np.array([15, -7, 249]),), {"decimals": k}) for k in (0, 1)],
    "polyval": [((V[0], V[1]), {}), ((V[0, :1], V[1]), {})],
    "cross": [((V, V[::-1]), {})],
    "fraction": [((X,), {}), ((V,), {}), ((V.astype("f4"),), {})],
    "unwrap": [((9 * V,), {}), ((9 * V,), {"axis": 0}), ((V,), {"discont": 4.0, "period": 5.0})],
    "rel_entr": [((X, Y), {})],
    "kl_div": [((X, Y), {})],
    "huber": [((1.0, V), {}), ((-1.0, V), {}), ((0.0, V), {})],
}

OWN = {"fraction": lambda x: np.modf(x)[0]}
"""What has another name, or is a part of what NumPy gives."""


def test_each_form_has_a_case():
    assert GIVEN.keys() == FORMS.keys()


@pytest.mark.parametrize("name", GIVEN)
def test_values(name):
    own = OWN.get(name) or getattr(np, name, None) or getattr(scipy.special, name)
    for args, params in GIVEN[name]:
        with np.errstate(all="ignore"):
            found, expected = FORMS[name](*args, **params), own(*args, **params)
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-300)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert name in Primitive.registry


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_python_numbers_do_not_widen_what_is_close(dtype):
    """At a tie that single precision has, and double has not."""
    x = np.ones(3, dtype)
    for b, rtol in ((2, 0.4999999999999999), (2.0, 0.4999999999999999), (np.float32(2), 0.5)):

        def f(x, b=b, rtol=rtol):
            return np.isclose(x, b, atol=0, rtol=rtol)

        jitted = linad.jit(f)
        for _ in range(3):
            np.testing.assert_array_equal(jitted(x), f(x))
