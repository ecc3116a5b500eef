"""The polygamma functions of complex arguments, against SciPy on the real line and themselves."""

import math

import numpy as np
import scipy.special as sp

import linad
from linad.rules.polygammas import polygamma
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
Z = 5 * (rng.standard_normal(40) + 1j * rng.standard_normal(40))

CASES = [
    Case(polygamma, Z[:4], n=1),
    Case(polygamma, Z[:2].reshape(2, 1), n=3),
]


def test_they_are_scipys_on_the_real_line():
    x = np.linspace(0.1, 40, 60)
    for n in range(1, 9):
        expected = sp.polygamma(n, x)
        np.testing.assert_allclose(polygamma(x + 0j, n=n), expected, rtol=1e-12)


def test_recurrence_holds_left_and_right():
    for n in range(1, 6):
        step = polygamma(Z + 1, n=n) - polygamma(Z, n=n)
        expected = (-1) ** n * math.factorial(n) * Z ** (-n - 1)
        np.testing.assert_allclose(step, expected, atol=1e-12 * np.max(np.abs(polygamma(Z, n=n))))


def test_far_from_the_real_line_nothing_cancels():
    z = np.array([-0.5 + 60j, -300 - 200j, 1e8 - 1j, 1e300 + 1j])
    for n in (1, 2, 3):
        leading = (-1) ** (n - 1) * math.factorial(n - 1) * (1 / z) ** n
        found = polygamma(z, n=n) / np.where(leading == 0, 1, leading)
        np.testing.assert_allclose(found[:3], 1, atol=0.03)


def test_derivatives_of_log_gamma_at_complex_arguments():
    z, h = np.array([0.3 + 2j, -1.7 - 0.4j]), 1e-3
    second = linad.jvp(lambda z: linad.jvp(sp.loggamma, (z,), (z * 0 + 1,))[1], (z,), (z * 0 + 1,))
    expected = (sp.psi(z + h) - sp.psi(z - h)) / (2 * h)
    np.testing.assert_allclose(second[1], expected, rtol=1e-5)
