"""Elementary functions: rules against differences, and known answers at special points."""

import numpy as np
import pytest
import scipy.special

import linad
from linad.core.primitive import Primitive
from linad.testing.rule_checks import Case

X = np.array([[-1.7, -0.6, 0.2], [0.4, 1.3, 2.1]])  # anywhere
U = np.array([-0.7, -0.2, 0.1, 0.6])  # inside (-1, 1)
P = np.array([0.3, 1.2, 2.6])  # positive
Q = np.array([1.3, 2.2])  # above 1
EMPTY = np.zeros((0, 3))

DOMAINS = {
    "exp": X, "exp2": X, "expm1": X, "sin": X, "cos": X, "tan": U, "arctan": X, "sinh": X,
    "cosh": X, "tanh": X, "arcsinh": X, "log": P, "log2": P, "log10": P, "log1p": P, "sqrt": P,
    "arcsin": U, "arccos": U, "arctanh": U, "arccosh": Q,
}  # fmt: skip
REAL_DOMAINS = {"cbrt": P, "rad2deg": X, "degrees": X, "deg2rad": X, "radians": X}


def case(name, *args, **check):
    return Case(Primitive.registry[name], *args, check=check)


CASES = [
    *[case(name, x, complex_=True) for name, x in DOMAINS.items()],
    *[case(name, x) for name, x in REAL_DOMAINS.items()],
    *[
        case(name, a, b)
        for name in ("logaddexp", "logaddexp2", "hypot", "arctan2")
        for a, b in [(X, U[:3]), (X[:, :1], P), (np.float64(0.7), P)]
    ],
    case("sin", np.float64(0.4)),
    case("sin", np.array(0.4)),
    case("exp", EMPTY),
    case("hypot", EMPTY, np.ones(3)),
    Case(np.sin, X),
]


def slopes(f, *points):
    """The derivative of f in each of its arguments, at scalar points."""
    return linad.grad(f, argnums=tuple(range(len(points))))(*[np.float64(p) for p in points])


def test_hypot_has_slope_zero_at_the_origin():
    assert slopes(np.hypot, 0.0, 0.0) == (0, 0)


def test_hypot_and_arctan2_do_not_overflow():
    assert slopes(np.hypot, 3e200, 4e200) == pytest.approx((0.6, 0.8))
    assert slopes(np.arctan2, 3e200, 4e200) == pytest.approx((0.8 / 5e200, -0.6 / 5e200))


def test_logaddexp_of_zero_probabilities():
    assert slopes(np.logaddexp, -np.inf, -np.inf) == (0, 0)
    assert slopes(np.logaddexp, -np.inf, 1.0) == (0, 1)
    assert slopes(np.logaddexp2, 1.0, -np.inf) == (1, 0)


def test_arcsin_keeps_its_digits_near_one():
    x = np.nextafter(1.0, 0.0)
    gap = 1 - x
    assert linad.grad(np.arcsin)(x) == pytest.approx(1 / np.sqrt(gap * (1 + x)), rel=1e-14)


@pytest.mark.parametrize("z", [2 + 1j, -2 + 1j, -0.5 - 0.3j, 0.2 - 2j])
def test_roots_stay_on_the_principal_branch(z):
    for f in (np.arcsin, np.arccos, np.arccosh, np.arcsinh, np.arctanh):
        h = 1e-6
        expected = (f(z + h) - f(z - h)) / (2 * h)
        _, found = linad.jvp(f, (np.complex128(z),), (np.complex128(1),))
        assert found == pytest.approx(expected, rel=1e-8)


def test_sqrt_at_zero_is_steep():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert linad.grad(np.sqrt)(np.float64(0)) == np.inf


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arccosh", "sqrt", "log", "arctanh"])
@pytest.mark.parametrize("x", [-1.9, 1.9, -0.4])
@pytest.mark.parametrize("side", [0.0, -0.0])
def test_slopes_on_either_side_of_a_cut(name, x, side):
    """Along a cut the function is smooth; the sign of the zero says on which side."""
    function = getattr(np, name)
    z = complex(x, side)
    slope = linad.jvp(function, (np.complex128(z),), (np.complex128(1),))[1]
    step = 1e-6
    ahead, behind = function(complex(x + step, side)), function(complex(x - step, side))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-8)


@pytest.mark.parametrize("side", [0.0, -0.0])
def test_the_slope_of_arcsinh_on_either_side_of_its_cut(side):
    slope = linad.jvp(np.arcsinh, (np.complex128(complex(side, 2)),), (np.complex128(1),))[1]
    expected = np.copysign(1 / np.sqrt(3), side) * -1j
    np.testing.assert_allclose(slope, expected, rtol=1e-12, atol=1e-15)


T = np.array([1.0, 2.0, np.inf])  # as data that say "never"
AT_INFINITY = {
    "exp": lambda k: np.exp(-k * T),
    "exp of a power": lambda k: np.exp(-((T / k) ** k)),
    "exp2": lambda k: np.exp2(-T / k),
    "expm1": lambda k: np.expm1(-k * T),
    "tanh": lambda k: np.tanh(k * T),
    "arctan": lambda k: np.arctan(k * T),
    "arctan2": lambda k: np.arctan2(k, T),
    "logaddexp": lambda k: np.logaddexp(k, -k * T),
    "logistic": lambda k: 1 / (1 + np.exp(-k * T)),
    "reciprocal": lambda k: np.reciprocal(k * T),
    "divide": lambda k: k / (1 + (T / k) ** 2),
    "power": lambda k: (T + k) ** -k,
    "power of an infinite exponent": lambda k: k**-T,
    "erfc": lambda k: scipy.special.erfc(k * T),
    "expit": lambda k: scipy.special.expit(-k * T),
    "ndtr": lambda k: scipy.special.ndtr(k * T),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", AT_INFINITY)
def test_at_infinite_data_derivatives_are_their_limits(name):
    f, moves = AT_INFINITY[name], name == "logaddexp"  # there y = k
    assert linad.derivative(f)(1.3)[-1] == moves
    assert linad.derivative(linad.derivative(f))(1.3)[-1] == 0

    def total(k):
        return np.sum(f(k))

    def far(k):
        return np.sum(f(k)[:2]) + moves * k

    for order in (linad.grad, lambda g: linad.grad(linad.grad(g)), lambda g: linad.hessian(g)):
        assert order(total)(1.3) == pytest.approx(order(far)(1.3), rel=1e-13)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_compiled_derivatives_at_infinite_data():
    f = linad.jit(lambda k: np.sum(2 * np.exp(-k[0] * T) + (T + k[1]) ** -k[2]))
    k = np.array([0.3, 0.2, 1.5])
    expected = linad.grad(lambda k: np.sum(2 * np.exp(-k[0] * T[:2]) + (T[:2] + k[1]) ** -k[2]))(k)
    for _ in range(3):
        np.testing.assert_allclose(linad.grad(f)(k), expected, rtol=1e-13)
