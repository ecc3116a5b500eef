"""Least squares against certified answers: NIST's Statistical Reference Datasets.

Source: National Institute of Standards and Technology, Statistical Reference Datasets, nonlinear
regression, https://www.itl.nist.gov/div898/strd/. Parameters are certified to 11 digits, and so
are the residual sums of squares.
"""

import numpy as np
import pytest
from solve.hahn1 import EXPANSION, KELVIN

import linad


def array(text):
    return np.array(text.split(), float)


MISRA1A_X = array("77.6 114.9 141.1 190.8 239.9 289 332.8 378.4 434.8 477.3 536.8 593.1 689.1 760")
MISRA1A_Y = array(
    "10.07 14.73 17.94 23.93 29.61 35.18 40.02 44.82 50.76 55.05 61.01 66.40 75.47 81.78"
)
MGH09_X = array("4 2 1 0.5 0.25 0.167 0.125 0.1 0.0833 0.0714 0.0625")
MGH09_Y = array("0.1957 0.1947 0.1735 0.16 0.0844 0.0627 0.0456 0.0342 0.0323 0.0235 0.0246")
RAT42_X = array("9 14 21 28 42 57 63 70 79")
RAT42_Y = array("8.93 10.8 18.59 22.33 39.35 56.11 61.73 64.62 67.08")
THURBER_X = array(
    "-3.067 -2.981 -2.921 -2.912 -2.84 -2.797 -2.702 -2.699 -2.633 -2.481 -2.363 -2.322 -1.501 "
    "-1.46 -1.274 -1.212 -1.1 -1.046 -0.915 -0.714 -0.566 -0.545 -0.4 -0.309 -0.109 -0.103 0.01 "
    "0.119 0.377 0.79 0.963 1.006 1.115 1.572 1.841 2.047 2.2"
)
THURBER_Y = array(
    "80.574 84.248 87.264 87.195 89.076 89.608 89.868 90.101 92.405 95.854 100.696 101.06 401.672 "
    "390.724 567.534 635.316 733.054 759.087 894.206 990.785 1090.109 1080.914 1122.643 1178.351 "
    "1260.531 1273.514 1288.339 1327.543 1353.863 1414.509 1425.208 1421.384 1442.962 1464.35 "
    "1468.705 1447.894 1457.628"
)


def misra1a(b):
    return b[0] * (1 - np.exp(-b[1] * MISRA1A_X)) - MISRA1A_Y


def mgh09(b):
    x = MGH09_X
    return b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]) - MGH09_Y


def rat42(b):
    return b[0] / (1 + np.exp(b[1] - b[2] * RAT42_X)) - RAT42_Y


def thurber(b):
    x = THURBER_X
    above = b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3
    return above / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3) - THURBER_Y


def hahn1(b):
    x = KELVIN
    above = b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3
    return above / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3) - EXPANSION


CERTIFIED = {
    "Misra1a": (
        misra1a,
        [[500, 0.0001], [250, 0.0005]],
        [2.3894212918e2, 5.5015643181e-4],
        1.2455138894e-1,
    ),
    "MGH09": (
        mgh09,
        [[25, 39, 41.5, 39], [0.25, 0.39, 0.415, 0.39]],
        [1.9280693458e-1, 1.9128232873e-1, 1.2305650693e-1, 1.3606233068e-1],
        3.0750560385e-4,
    ),
    "Rat42": (
        rat42,
        [[100, 1, 0.1], [75, 2.5, 0.07]],
        [7.2462237576e1, 2.6180768402, 6.7359200066e-2],
        8.0565229338,
    ),
    "Hahn1": (
        hahn1,
        [[10, -1, 0.05, -1e-5, -0.05, 1e-3, -1e-6], [1, -0.1, 0.005, -1e-6, -0.005, 1e-4, -1e-7]],
        [
            1.0776351733,
            -1.2269296921e-1,
            4.0863750610e-3,
            -1.4262662514e-6,
            -5.7609940901e-3,
            2.4053735503e-4,
            -1.2314450199e-7,
        ],
        1.5324382854,
    ),
    "Thurber": (
        thurber,
        [[1000, 1000, 400, 40, 0.7, 0.3, 0.03], [1300, 1500, 500, 75, 1, 0.4, 0.05]],
        [
            1.2881396800e3,
            1.4910792535e3,
            5.8323836877e2,
            7.5416644291e1,
            9.6629502864e-1,
            3.9797285797e-1,
            4.9727297349e-2,
        ],
        5.6427082397e3,
    ),
}


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", list(CERTIFIED))
def test_levenberg_marquardt(name, start):
    f, starts, certified, squares = CERTIFIED[name]
    found = linad.solve.levenberg_marquardt(
        f, np.array(starts[start], float), xtol=1e-13, ftol=0.0, gtol=0.0
    )
    assert found.success, found.message
    np.testing.assert_allclose(found.x, certified, rtol=2e-9)
    np.testing.assert_allclose(2 * found.cost, squares, rtol=1e-10)


@pytest.mark.parametrize("name", list(CERTIFIED))
def test_gauss_newton_from_nearby(name):
    f, starts, certified, squares = CERTIFIED[name]
    found = linad.solve.gauss_newton(f, np.array(starts[1], float), xtol=1e-13, ftol=0.0, gtol=0.0)
    assert found.success, found.message
    np.testing.assert_allclose(found.x, certified, rtol=2e-9)


@pytest.mark.parametrize("name", ["Misra1a", "Rat42"])
def test_standard_errors(name):
    """From the Jacobian at the solution, as NIST certifies them."""
    f, starts, _, squares = CERTIFIED[name]
    errors = {"Misra1a": [2.7070075241, 7.2668688436e-6], "Rat42": [1.7340283401, 8.8295217536e-2]}
    found = linad.solve.levenberg_marquardt(f, np.array(starts[1], float), xtol=1e-13, ftol=0.0)
    J = found.jac.todense()
    m, n = J.shape
    covariance = np.linalg.inv(J.T @ J) * 2 * found.cost / (m - n)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance))[:2], errors[name], rtol=1e-7)
