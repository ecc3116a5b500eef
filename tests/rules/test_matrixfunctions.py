"""Functions of matrices."""

import numpy as np
import pytest
import scipy.linalg

import linad
from linad.rules import matrixfunctions as m
from linad.testing.derivative_checks import Case

rng = np.random.default_rng(0)


def small(*shape):
    return 0.5 * rng.standard_normal(shape)


def positive(n):
    a = rng.standard_normal((n, n))
    return a @ a.T / n + np.eye(n)


CASES = [
    Case(m.expm_, small(3, 3), check={"complex_": True}),
    Case(m.expm_, small(2, 2, 2)),
    Case(m.expm_, np.zeros((2, 2))),
    Case(m.expm_, np.zeros((0, 2, 2))),
    Case(m.logm_, positive(3) + 0.1 * small(3, 3)),
    Case(m.sqrtm_, positive(3) + 0.1 * small(3, 3), check={"complex_": True}),
    Case(m.sqrtm_, np.diag([1.0, -2.0]) + 0.1 * small(2, 2), check={"order": 1}),
    Case(m.cosm_, small(2, 2), check={"order": 1}),
    Case(m.sinm_, small(2, 2)),
    Case(m.tanm_, small(2, 2), check={"order": 1}),
    Case(m.coshm_, small(2, 2), check={"order": 1}),
    Case(m.sinhm_, small(2, 2)),
    Case(m.tanhm_, small(2, 2), check={"order": 1}),
    Case(m.fractional_power_, positive(2), t=0.3),
    Case(m.sylvester_, positive(3), positive(2), small(3, 2), check={"complex_": True}),
]


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_expm_is_scipys_frechet_derivative(scale):
    a, e = rng.standard_normal((4, 4)), scale * rng.standard_normal((4, 4))
    y, J = linad.linearize(m.expm_, a)
    expected, frechet = scipy.linalg.expm_frechet(a, e)
    np.testing.assert_allclose(y, expected, rtol=1e-11)
    np.testing.assert_allclose(J.pushforward(e), frechet, rtol=1e-12)


def test_sylvester_solves():
    a, b, q = positive(3), positive(2), small(3, 2)
    x = m.sylvester_(a, b, q)
    np.testing.assert_allclose(a @ x + x @ b, q)
