"""Functions of matrices."""

import numpy as np
import pytest
import scipy.linalg

import linad
import linad.scipy.linalg as sl
from linad.errors import DegenerateError
from linad.rules import matrixfunctions as m
from linad.testing.rule_checks import Case

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
    Case(m.signm_, np.diag([1.0, -2.0, 3.0]) + small(3, 3), check={"complex_": True}),
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


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_negative_eigenvalues_to_second_order(name):
    """On the cut, and on one side of it: each way there is to a second derivative."""
    function = getattr(sl, name)
    rng = np.random.default_rng(3)
    v = np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    a = v @ np.diag([-1.5, 0.7, 2.0]) @ np.linalg.inv(v)
    weights, e, w = rng.standard_normal((3, 3, 3))

    def f(a):
        y = function(a)
        return np.sum(np.real(y) * weights) + np.sum(np.imag(y) * weights.T)

    g, h = linad.grad(f), 1e-3
    expected = (8 * (g(a + h * e) - g(a - h * e)) - g(a + 2 * h * e) + g(a - 2 * h * e)) / (12 * h)
    pulled = linad.linearize(g, a)[1].pullback(w)
    twice = linad.jvp(lambda a: linad.jvp(f, (a,), (e,))[1], (a,), (e,))[1]
    np.testing.assert_allclose(linad.jvp(g, (a,), (e,))[1], expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(np.vdot(pulled, e), np.vdot(w, expected), rtol=1e-6)
    np.testing.assert_allclose(twice, np.vdot(expected, e), rtol=1e-6)
    with pytest.raises(DegenerateError, match="jumps"):
        linad.linearize(function, a + 1e-18j)


@pytest.mark.parametrize(
    "name, shape",
    [
        *[(name, (0, 0)) for name in ("expm", "sqrtm", "cosm", "sinm", "tanhm", "schur")],
        *[("expm", shape) for shape in ((2, 0, 0), (0, 2, 2))],
    ],
)
def test_matrices_without_entries(name, shape):
    empty = np.zeros(shape)
    f = getattr(sl, name)
    y, J = linad.linearize((lambda a: f(a)[0]) if name == "schur" else f, empty)
    assert y.shape == J.pushforward(empty).shape == J.pullback(empty).shape == shape
