"""The Schur form and what turns with it."""

import numpy as np
import pytest
import scipy.linalg

import linad
from linad.errors import DegenerateError
from linad.rules.schurforms import pulled_turn_, schur_, turn_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
A = rng.standard_normal((4, 4))
B = np.array([[1.0, 2.0, 0.3], [-2.5, 1.2, 0.1], [0.3, 0.5, -1.0]])  # has a complex pair
Z = A[:3, :3] + 1j * rng.standard_normal((3, 3))
T = np.triu(A) + np.diag(np.arange(4.0))

REAL = {"complex_": False, "float32": False}  # signs and order are those of the precision


def squares(*parts):
    """What does not depend on phases."""
    return [np.real(p * np.conj(p)) for p in parts]


def complex_form(a):
    return squares(*schur_(a, output="complex", sort=None))


def turn(t, m):
    return turn_(np.triu(t), m)


def pulled(t, w):
    return pulled_turn_(np.triu(t), w)


REAL_FORM = scipy.linalg.schur(B)[0]

CASES = [
    Case(schur_, B, output="real", sort=None, check=REAL),
    Case(schur_, np.stack([B, B.T]), output="real", sort=None, check=REAL),
    Case(schur_, A, output="real", sort="lhp", check=REAL),
    Case(complex_form, B, check=REAL),
    Case(complex_form, Z, check={"float32": False}),
    Case(turn_, REAL_FORM, B, check={"wrt": [1], "complex_": False}),
    Case(pulled_turn_, REAL_FORM, B, check={"wrt": [1], "complex_": False}),
    Case(turn, T, np.stack([A, A.T]), check=REAL),
    Case(turn, np.triu(Z), Z.T, check=REAL),
    Case(pulled, T, np.stack([A, A.T]), check=REAL),
    Case(pulled, np.triu(Z), Z.T, check=REAL),
]


def test_the_first_results_in_a_program():
    """The blocks of a form are found at each run."""
    jitted = linad.jit(linad.jacobian(lambda a: schur_(a, output="real", sort=None)[0]))
    plain = linad.jacobian(lambda a: schur_(a, output="real", sort=None)[0])
    for a in (B, B * [[1], [-1], [1]], B + 0.1):
        np.testing.assert_allclose(jitted(a), plain(a), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "a, words",
    [(np.eye(2), "eigenvalues are equal"), (B[:2, :2] * 0 + [[0, 1], [-1, 0]], "normal")],
)
def test_where_there_is_no_derivative(a, words):
    J = linad.linearize(lambda a: schur_(a, output="real", sort=None), a)[1]
    with pytest.raises(DegenerateError, match=words):
        J.pushforward(np.ones((2, 2)))
    with pytest.raises(DegenerateError, match=words):
        J.pullback((np.ones((2, 2)), np.eye(2)))
