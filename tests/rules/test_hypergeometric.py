"""Hypergeometric functions and orthogonal polynomials: rules against differences."""

import numpy as np
import pytest
import scipy.special as sp
from special_cases import special_case

import linad

X = np.array([-0.6, 0.1, 0.7])
P = np.array([0.8, 1.3, 1.9])


ONE_DEGREE = (
    "legendre",
    "sh_legendre",
    "chebyt",
    "chebyu",
    "chebyc",
    "chebys",
    "sh_chebyt",
    "sh_chebyu",
    "laguerre",
    "hermite",
    "hermitenorm",
)
CASES = [
    special_case("hyp0f1", 1.3, X, complex_=True),
    special_case("hyp1f1", 0.7, 1.9, X, complex_=True),
    special_case("hyp2f1", 0.7, 1.9, 2.2, X, complex_=True),
    special_case("hyperu", 0.7, 1.9, P),
    special_case("wright_bessel", 0.5, 1.2, P),
    special_case("log_wright_bessel", 0.5, 1.2, P),
    # The first degree is not 0, which has no slope: the others are checked by `tox -e full`.
    *[special_case(f"eval_{name}", n, X) for name in ONE_DEGREE for n in (4, 0, 1)],
    *[
        special_case(f"eval_{name}", 2.5, X)
        for name in ("legendre", "chebyt", "chebyu", "laguerre")
    ],
    *[special_case("eval_gegenbauer", n, 0.7, X) for n in (3, 0)],
    *[special_case("eval_genlaguerre", n, 0.7, X) for n in (3, 0)],
    *[special_case("eval_jacobi", n, 0.7, 1.2, X) for n in (3, 0)],
    *[special_case("eval_sh_jacobi", n, 2.7, 1.2, X) for n in (3, 0)],
    special_case("lpmv", 1, 2.5, X),
    special_case("lpmv", 0, 0, X),
    special_case("pbdv", 1.3, X),
    special_case("pbvv", 1.3, X),
    special_case("pbwa", 0.6, X),
    # SciPy's are NaN in single precision.
    *[special_case(f"mathieu_{name}", 2, 0.7, 30 * P, float32=False) for name in ("cem", "sem")],
    *[
        special_case(f"mathieu_mod{name}{kind}", 2, 0.7, P / 4, float32=False)
        for name in ("cem", "sem")
        for kind in "12"
    ],
]


def test_complex_arguments_of_polynomials():
    z = np.array([0.3 + 0.2j, -0.5 + 1j])
    _, dz = linad.jvp(lambda z: sp.eval_legendre(3.0, z), (z,), (np.ones(2, complex),))
    assert dz == pytest.approx((15 * z**2 - 3) / 2)


def test_degrees_broadcast():
    n = np.arange(4)
    _, J = linad.linearize(lambda x: sp.eval_legendre(n, x), np.float64(0.5))
    assert J.pushforward(np.float64(1)) == pytest.approx([0, 1, 1.5, 0.375])
