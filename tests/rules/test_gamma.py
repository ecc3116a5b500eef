"""The gamma function and its relatives: rules against differences, and the poles of 1/Γ."""

import math

import numpy as np
import pytest
import scipy.special as sp
from special_cases import special_case

import linad
from linad.errors import MissingRuleError

P = np.array([1.1, 1.8, 2.7])
U = np.array([0.3, 0.5, 0.7])
Z = np.array([1.2 + 0.7j, -3.3 - 0.2j, 0.4 - 9.0j])
NEGATIVE = np.array([-2.4, -0.7, 0.6])


CASES = [
    *[
        special_case(name, x)
        for name in ("gamma", "gammaln", "loggamma", "psi")
        for x in (P, P[0], P[:0])
    ],
    *[special_case(name, NEGATIVE) for name in ("gamma", "gammaln", "psi", "rgamma")],
    *[special_case(name, P, complex_=True, order=1) for name in ("gamma", "loggamma", "rgamma")],
    *[special_case(name, Z) for name in ("gamma", "loggamma", "psi", "rgamma")],
    special_case("rgamma", np.array([-2.0, -1.0, 0.0, 1.0])),
    special_case("zeta", 2.5, P),
    special_case("beta", P, U),
    special_case("betaln", P[:, None], U),
    special_case("binom", 5 + P, P),
    special_case("poch", P, U),
]


def test_slope_at_the_poles():
    n = np.arange(4.0)
    expected = [(-1) ** k * math.factorial(int(k)) for k in n]
    found = linad.grad(lambda x: np.sum(sp.rgamma(x)))(-n)
    assert found == pytest.approx(np.array(expected))


def test_what_has_no_closed_form_says_so():
    with pytest.raises(MissingRuleError, match=r"zeta: the derivative in argument 0, \w"):
        linad.grad(lambda s: sp.zeta(s, 2.0))(np.float64(2))
