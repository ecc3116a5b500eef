"""Mixed second derivatives at special points: the same in both orders.

A rule that masks an argument where a factor is 0 (x**y at y = 0, xlogy at x = 0) has the right
first derivatives there. What it hides is the slope in the factor.
"""

import itertools

import numpy as np
import pytest
import scipy.special as sp

import linad
from linad.errors import LinadError

UFUNCS = {
    f"{module.__name__}.{name}": function
    for module in (np, sp)
    for name, function in sorted(vars(module).items())
    if isinstance(function, np.ufunc) and not function.signature
    if function.nout == 1 and function.nin == 2
}
POWERS = {"numpy.power", "numpy.pow", "numpy.float_power"}


def mixed(f, i, j, args):
    """The derivative in argument j of that in argument i, entry by entry."""

    def slope(v):
        return linad.grad(lambda *a: np.sum(f(*a)), i)(*args[:j], v, *args[j + 1 :])

    with np.errstate(all="ignore"):
        return linad.jvp(slope, (args[j],), (np.ones_like(args[j]),))[1]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_orders_of_differentiation_agree():
    compared, wrong = 0, []
    for name, f in UFUNCS.items():
        points = np.array(list(itertools.product([0.0, 0.5, 1.0, 2.0, -1.0], repeat=2))).T
        try:
            one, other = (mixed(f, *pair, [*points]) for pair in ((0, 1), (1, 0)))
        except (LinadError, TypeError):  # of integers, or an argument without a slope
            continue
        both = np.isfinite(one) & np.isfinite(other)
        compared += np.count_nonzero(both)
        apart = both & ~np.isclose(one, other, rtol=1e-6, atol=1e-9)
        if name in POWERS:
            apart &= points[0] != 0  # 0**1, where it is infinite
        wrong += [(name, *points[:, k]) for k in np.flatnonzero(apart)]
    assert not wrong
    assert compared > 300


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
