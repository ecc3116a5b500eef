"""Mixed second derivatives at special points: the same in both orders.

A rule that masks an argument where a factor is 0 (x**y at y = 0, xlogy at x = 0) has the right
first derivatives there. What it hides is the slope in the factor.
"""

import numpy as np
import pytest
import scipy.special as sp

import linad


def mixed(f, i, j, args):
    """The derivative in argument j of that in argument i, entry by entry."""

    def slope(v):
        return linad.grad(lambda *a: np.sum(f(*a)), i)(*args[:j], v, *args[j + 1 :])

    with np.errstate(all="ignore"):
        return linad.jvp(slope, (args[j],), (np.ones_like(args[j]),))[1]


@pytest.mark.parametrize(
    "f, point, expected",
    [
        (np.power, (7.0, 0.0), 1 / 7),
        (np.float_power, (7.0, 0.0), 1 / 7),
        (sp.powm1, (7.0, 0.0), 1 / 7),
        (sp.xlogy, (0.0, 4.0), 1 / 4),
        (sp.xlog1py, (0.0, 4.0), 1 / 5),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_known(f, point, expected):
    args = [np.array([p]) for p in point]
    for pair in ((0, 1), (1, 0)):
        np.testing.assert_allclose(mixed(f, *pair, args), [expected], rtol=1e-14)


@pytest.mark.parametrize("f", [sp.rel_entr, sp.kl_div], ids=lambda f: f.__name__)
def test_relative_entropies_of_nothing(f):
    with np.errstate(all="ignore"):
        assert linad.grad(linad.grad(f, 1))(0.0, 4.0) == -1 / 4
        assert linad.grad(linad.grad(f, 0), 1)(0.0, 4.0) == -1 / 4
