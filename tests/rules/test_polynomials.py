"""Polynomials."""

import numpy as np
import pytest
from numpy.polynomial import polynomial
from numpy.testing.overrides import get_overridable_numpy_array_functions

import linad
from linad.rules.polynomials import polyval_, polyvalnd, roots_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(1)
SHORT = rng.standard_normal(3)
LONG = rng.standard_normal(5)
SCALAR = np.array(0.7)
MATRIX = rng.standard_normal((2, 3))
COMPLEX = {"complex_": True}
DOUBLE = {"float32": False}  # as NumPy: integer powers, weights of double precision

CASES = [
    Case(polyval_, SHORT, MATRIX, check=COMPLEX),
    Case(polyval_, SHORT, SCALAR),
    Case(np.polyval, LONG, MATRIX),
    Case(np.polyval, SHORT[:1], MATRIX),
    Case(np.polyval, SHORT, np.zeros(2)),
    Case(np.polyval, MATRIX, SHORT),
    Case(np.polyval, [1, 2, 3], SHORT, check={"float32": False}),
    Case(np.polyder, LONG, m=2, check=DOUBLE),
    Case(np.polyint, LONG, check=DOUBLE),
    Case(np.polyint, SHORT, m=2, k=[1.0, 2.0], check={"float32": False}),
    Case(np.polymul, LONG, SHORT),
    Case(np.polyadd, LONG, SHORT),
    Case(np.polysub, SHORT, LONG),
    Case(np.poly, SHORT, check=COMPLEX),
    Case(np.poly, np.array([[0.2, -1.3], [1.1, 0.4]])),
    Case(np.polyfit, LONG, LONG**3, deg=2),
    Case(roots_, np.array([1.0, -0.5, 2.0, 0.3]), check=COMPLEX),
    Case(np.roots, np.array([2.0, -3.0, 0.7])),
    Case(np.polydiv, LONG, SHORT, check=COMPLEX),
    Case(np.polydiv, LONG, SHORT[:1]),
    Case(np.polydiv, SHORT, LONG),
    Case(np.polyfit, LONG, rng.standard_normal((5, 2)), deg=1, w=np.arange(1.0, 6.0), check=DOUBLE),
]
if polynomial.polyval2d in get_overridable_numpy_array_functions():  # since NumPy 2.4
    CASES += [
        Case(polynomial.polyval2d, SHORT, LONG[:3], MATRIX, check=COMPLEX),
        Case(polynomial.polyval2d, SCALAR, SCALAR, rng.standard_normal((2, 2, 3))),
        Case(polynomial.polygrid2d, SHORT, LONG, MATRIX),
    ]


POLYNOMIALS = [
    (np.polyval, (LONG, MATRIX)),
    (np.polyval, (MATRIX, SHORT)),
    (np.polyder, (LONG,)),
    (np.polyder, (LONG, 7)),
    (np.polyint, (LONG, 2, 0.5)),
    (np.polymul, (LONG, SHORT)),
    (np.polyadd, (SHORT, LONG)),
    (np.polysub, (LONG, SHORT)),
    (np.poly, (LONG,)),
    (np.polyfit, (LONG, LONG**3, 2)),
    (np.polyfit, (LONG, LONG**3, 3, None, False, LONG**2)),
]


@pytest.mark.parametrize("function, args", POLYNOMIALS)
def test_values_are_numpys(function, args):
    y = linad.linearize(lambda p: function(p, *args[1:]), args[0])[0]
    np.testing.assert_allclose(y, function(*args), rtol=1e-13)


def test_derivative_in_x_is_polyder():
    found = linad.grad(lambda x: np.sum(np.polyval(LONG, x)))(MATRIX)
    np.testing.assert_allclose(found, np.polyval(np.polyder(LONG), MATRIX))


def test_derivative_in_p_is_vandermonde():
    found = linad.jacobian(lambda p: np.polyval(p, SHORT))(LONG)
    np.testing.assert_allclose(found, np.vander(SHORT, 5))


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda x: np.polyder(x, -1), "derivative must"),
        (lambda x: np.polyint(x, -1), "integral must"),
        (lambda x: np.polyint(x, 3, [1.0, 2.0]), "rank-1"),
    ],
)
def test_errors(call, match):
    with pytest.raises(ValueError, match=match):
        linad.linearize(call, LONG)


@pytest.mark.parametrize(
    "p",
    [
        [1.0, -6.0, 11.0, -6.0],
        [0.0, 0.0, 2.0, 1.0, 0.0],
        [1.0, 0.0, 1.0],
        [3.0],
        [3.0, 0.0],
        [0.0, 0.0],
        [1.0 + 1j, 2.0, -1j],
    ],
)
def test_roots_are_numpys(p):
    p = np.array(p)
    y = linad.linearize(lambda p: np.concatenate([np.roots(p), p]), p)[0]
    np.testing.assert_allclose(y[: -p.size], np.roots(p), rtol=1e-13)


def test_a_polynomial_of_conjugate_zeros_is_real():
    zeros = np.array([0.5 + 1j, -2.0, 0.5 - 1j])
    y, J = linad.linearize(np.poly, zeros)
    assert y.dtype == float
    np.testing.assert_array_equal(y, np.poly(zeros))
    np.testing.assert_allclose(J.pushforward(np.array([1j, 1, -1j])), [0, -1, 3, 2.75], rtol=1e-14)


def test_roots_move_as_the_implicit_function_says():
    p = np.array([1.0, -6.0, 11.0, -6.0])
    r = np.roots(p)
    expected = -np.vander(r, 4) / np.polyval(np.polyder(p), r)[:, None]
    np.testing.assert_allclose(linad.jacobian(np.roots)(p), expected, rtol=1e-10)


def test_roots_at_zero_and_at_infinity_move_too():
    found = linad.jacobian(np.roots)(np.array([0.0, 2.0, -1.0, 0.0]))
    np.testing.assert_allclose(found, [[-0.125, -0.25, -0.5, -1], [0, 0, 0, 1]], atol=1e-15)


@pytest.mark.parametrize(
    "u, v",
    [
        ([3.0, 5.0, 2.0], [2.0, 1.0]),
        ([1.0, 3.0, 2.0], [1.0, 1.0]),  # no remainder
        ([1.0, 2.0], [4.0, 2.0, 1.0]),
        ([1.0, 2.0], [4.0]),
        ([2.0, 1.0, 1.0, 4.0], [1.0, 0.5, 0.5]),  # a short remainder
        ([3.0, 5.0 + 1j, 2.0], [2, 1]),
    ],
)
def test_division_is_numpys(u, v):
    """But for zeros in front of the remainder."""
    found = linad.linearize(lambda u: np.polydiv(u, v), np.array(u))[0]
    for part, expected in zip(found, np.polydiv(u, v), strict=True):
        assert np.all(np.abs(part[: len(part) - len(expected)]) < 1e-14)
        part = part[len(part) - len(expected) :]
        np.testing.assert_allclose(part, expected, rtol=1e-13)
        assert part.dtype == expected.dtype


def test_polynomials_in_many_variables():
    c = rng.standard_normal((2, 3, 2))
    pts = tuple(rng.standard_normal((3, 4)))
    # As polynomial.polyvalnd, which came with NumPy 2.5.
    y, J = linad.linearize(lambda *pts: polyvalnd(pts, c), *pts)
    np.testing.assert_allclose(y, polynomial.polyval3d(*pts, c), rtol=1e-13)
    with pytest.raises(ValueError, match="one shape"):
        linad.linearize(lambda x: polyvalnd((x, x[:2]), c), pts[0])


def test_polynomials_of_traced_coefficients_as_objects():
    def f(a):
        p, q = np.poly1d(a * (1 + 0.3j)), np.poly1d(a[::-1])
        r = p * q + p**2 - q.deriv() / 2.0
        z = r(0.3) + p.integ()(0.5) + p(q)(0.4) + q(q)(a[0]) + p.coeffs[0] + p[1]
        return np.stack([z.real, z.imag])

    linad.check_derivatives(f, np.array([1.0, 2.0, 0.5]))


ZEROS_IN_FRONT = {
    "polymul": lambda p: np.polymul(p, SHORT),
    "remainder": lambda p: np.polydiv(p, SHORT)[1],
    "poly1d": lambda p: np.poly1d(p)(0.7),
    "product": lambda p: (np.poly1d(p) * np.poly1d(SHORT))(0.7),
    "derivative": lambda p: np.poly1d(p).deriv()(0.7),
}


@pytest.mark.parametrize("name", ZEROS_IN_FRONT)
def test_zeros_in_front_move(name):
    """NumPy drops them, so its values beside the point have more coefficients."""
    f = ZEROS_IN_FRONT[name]
    p = np.polymul(SHORT, [1.0, 2.0]) if name == "remainder" else np.array([0.0, 0.0, 0.3, 0.5])
    y, J = linad.linearize(f, p)
    expected = np.atleast_1d(f(p))
    y = np.atleast_1d(y)
    np.testing.assert_allclose(y[len(y) - len(expected) :], expected, atol=1e-14)
    np.testing.assert_allclose(y[: len(y) - len(expected)], 0, atol=1e-14)
    for e in np.eye(p.size):
        ends = [np.atleast_1d(f(p + h * e)) for h in (1e-6, -1e-6)]
        ends = [np.concatenate([np.zeros(len(y) - len(end)), end]) for end in ends]
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(np.atleast_1d(J.pushforward(e)), slope, atol=1e-8)
