"""Arithmetic: rules against differences, powers and remainders at special points."""

import numpy as np
import pytest
from released import newer_numpy

import linad
from linad.core.primitive import Primitive
from linad.testing.rule_checks import Case

A = np.array([[1.2, -0.7, 2.4], [0.3, -1.8, 0.9]])
B = np.array([0.8, -1.1, 1.7])
P = np.array([0.4, 1.3, 2.2])
EMPTY = np.zeros((0, 3))


def case(name, *args, **check):
    return Case(Primitive.registry[name], *args, check=check)


PAIRS = [(A, B), (A[:, :1], B), (np.float64(0.7), B), (A, 2), (3.0, B), (EMPTY, B)]

CASES = [
    *[
        case(name, a, b, complex_=True)
        for name in ("add", "subtract", "multiply", "divide")
        for a, b in PAIRS
    ],
    *[case(name, A, complex_=True) for name in ("negative", "positive", "reciprocal", "square")],
    *[case(name, np.float64(0.7)) for name in ("negative", "square")],
    case("power", np.abs(A), B, complex_=True),
    case("power", P, A),
    case("power", np.float64(1.4), B),
    case("power", 2.5, A),
    case("power", 2, A),
    *[case("power", P, b, wrt=(0,), complex_=True) for b in (0, 1, 2, 3, -1, -2, 0.5, 2.5)],
    case("power", A, np.array([0, 2, 3], np.int8)),
    case("power", A, np.array([[-1], [1]], np.int8), complex_=True),
    case("power", EMPTY, B),
    Case(np.float_power, P, B, check={"float32": False, "complex_": True}),
    Case(np.float_power, P, 2, check={"float32": False}),
    Case(np.power, P, B),
    *[
        case(name, a, b)
        for name in ("remainder", "fmod")
        for a, b in [(A, B), (A, 0.75), (-2.3, B), (A[:, :1], np.array([2, 3, -2], np.int8))]
    ],
    Case(np.divmod, A, B),
    case("fraction", A),
    Case(np.modf, A),
    Case(np.frexp, A),
    case("ldexp", A, np.array([1, 0, -2])),
    case("ldexp", np.float64(1.5), np.array([[1], [3]])),
    case("nextafter", A, B),
    case("nextafter", A[:, :1], B),
    case("unwrap", np.array([0.1, 3.0, 6.2, 9.1])),
    Case(np.unwrap, A * 3, axis=0, period=4.0),
    Case(np.unwrap, A * 3, discont=2.5),
    *[Case(ufunc.outer, A, B) for ufunc in (np.add, np.multiply)],
    Case(np.power.outer, P, B),
    Case(np.multiply.outer, np.float64(2.0), B),
    Case(np.subtract.outer, B, EMPTY),
]


def slopes(f, *points):
    """The derivative of f in each of its arguments, at scalar points."""
    return linad.grad(f, argnums=tuple(range(len(points))))(*[np.float64(p) for p in points])


@pytest.mark.parametrize("x", [-2.0, 0.0, 3.0])
@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_integer_powers(x, n):
    expected = n * x ** (n - 1) if n else 0
    for exponent in (n, float(n), np.float64(n), np.int64(n), np.array(n), np.array(float(n))):
        assert linad.grad(lambda x, b=exponent: x**b)(np.float64(x)) == expected


def test_power_of_zero():
    assert slopes(np.power, 0.0, 2.0) == (0, 0)
    assert slopes(np.power, 0.0, 0.0) == (0, 0)
    assert linad.grad(lambda b: 0.0**b)(np.float64(1.5)) == 0
    assert linad.hessian(lambda x: x**2)(np.float64(0)) == 2


def test_power_of_a_negative_base():
    x = np.array([-2.0, -1.0])
    exponents = np.array([3.0, -2.0])
    assert np.array_equal(linad.grad(lambda x: np.sum(x**exponents))(x), [12, 2])
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(linad.grad(lambda b: np.power(-2.0, b))(np.float64(3)))


ENDS = np.array([-np.inf, -1.0, -0.0, 0.0, 4.0, np.inf, np.nan])
POWERS = {
    "power": np.power,
    "operator": lambda x, p: x**p,
    "float_power": np.float_power,
    "of one exponent in an array": lambda x, p: np.power(x, [p]),
    "of as many": lambda x, p: np.power(x, np.full(x.shape, p)),
    "of one entry": lambda x, p: np.power(x[0], p) + np.power(x[2], p),
}


@newer_numpy  # in older ones np.power takes no roots
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f", POWERS.values(), ids=POWERS)
@pytest.mark.parametrize("p", [0.5, 2, -1, 1 / 3, 0, 1.5])
def test_powers_at_the_ends_of_the_numbers(f, p):
    for x in (ENDS, ENDS.astype(np.float32)):
        expected = f(x, p)
        compiled = linad.jit(lambda x: f(x, p))
        for found in (linad.linearize(lambda x: f(x, p), x)[0], *[compiled(x) for _ in range(3)]):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            zero = expected == 0
            assert np.array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


@newer_numpy
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32"])
def test_powers_of_small_integers_have_the_dtypes_of_numpy(dtype):
    x = np.array([1, 0, 1]).astype(dtype)
    for f in (np.power, lambda x, p: x**p, lambda x, p: np.power(x[0], p), lambda x, p: x[0] ** p):
        for p in (2, 3, 0, 2.0, np.int8(2), True):
            compiled = linad.jit(lambda x, f=f, p=p: f(x, p))
            expected = f(x, p)
            for _ in range(2):
                found = compiled(x)
                assert found.dtype == expected.dtype
                assert np.array_equal(found, expected)


def test_small_integers_lose_no_digits():
    x = np.array([0.3, 0.7])
    n = np.array([3, 7], np.int8)
    for f in (np.divide, np.multiply, np.power, np.remainder):
        found = linad.grad(lambda x, f=f: np.sum(f(x, n)))(x)
        assert np.array_equal(found, linad.grad(lambda x, f=f: np.sum(f(x, n.astype(float))))(x))
    found = linad.grad(lambda b: np.sum(n**b))(x)
    assert found == pytest.approx(n.astype(float) ** x * np.log(n.astype(float)), rel=1e-15)


def test_division_by_a_python_zero():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert linad.grad(lambda x: x / 0)(np.float64(1)) == np.inf


def test_fmod_counts_periods_exactly():
    assert slopes(np.fmod, 1.0, 0.1) == (1, -9)
    assert slopes(np.remainder, 1.0, 0.1) == (1, -9)
    assert slopes(np.remainder, -1.0, 0.3) == (1, 4)


def test_divmod_and_parts():
    def f(x):
        quotient, rest = divmod(x, 0.7)
        return quotient * 10 + rest**2

    assert linad.grad(f)(np.float64(2.0)) == pytest.approx(2 * (2.0 % 0.7))
    assert linad.grad(lambda x: np.floor_divide(x, 0.7))(np.float64(2)) == 0
    mantissa, power_of_two = np.frexp(6.0)
    assert linad.grad(lambda x: np.frexp(x)[0])(np.float64(6.0)) == mantissa / 6.0
    assert linad.grad(lambda x: np.ldexp(*np.frexp(x)))(np.float64(6.0)) == 1
    assert power_of_two == 3
    assert linad.grad(lambda x: np.modf(x)[0] ** 2)(np.float64(2.25)) == 0.5


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64])
def test_parts_of_integers_are_floats_in_programs_too(dtype):
    f = linad.jit(lambda x: (np.modf((x > 0).astype(dtype))[0], 2 * x))
    x = np.array([0.5, -1.0])
    for _ in range(3):  # compiled without a warning
        (part, _), _ = linad.jvp(f, (x,), (x,))
        assert part.dtype == np.modf((x > 0).astype(dtype))[0].dtype
        assert not part.any()


def test_rounding_to_floats_is_not_seen():
    assert slopes(np.nextafter, 1.0, 2.0) == (1, 0)
    assert linad.grad(np.spacing)(np.float64(1.0)) == 0


def test_weak_scalars_keep_single_precision():
    x = np.ones(3, np.complex64)
    for f in (lambda z: -z, lambda z: z * 2.0, lambda z: z / 3, lambda z: z - 1j, lambda z: z**2):
        y, pullback = linad.vjp(f, x)
        assert y.dtype == np.complex64
        assert pullback(y)[0].dtype == np.complex64


def test_outer_takes_keywords():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    y, J = linad.linearize(lambda a: np.multiply.outer(a, b, dtype=np.float32), a)
    assert y.dtype == np.float32
    assert np.array_equal(J.pullback(np.ones((2, 3), np.float32)), [12, 12])
    assert np.array_equal(np.less.outer(a, b), linad.jit(np.less.outer)(a, b))


@pytest.mark.parametrize(
    "x", [A, A + 1j * A[::-1], A.astype("f4"), np.float64(0.7), EMPTY], ids=repr
)
def test_a_product_with_itself_has_the_derivative_of_a_square(x):
    _, product = linad.linearize(lambda x: x * x, x)
    _, square = linad.linearize(np.square, x)
    for direction in (x, 3 * x):
        np.testing.assert_array_equal(product.pushforward(direction), square.pushforward(direction))
        np.testing.assert_array_equal(product.pullback(direction), square.pullback(direction))
    linad.check_derivatives(lambda x: x * x * (x * x) + x, x)


def test_a_product_with_itself_after_a_write():
    def f(x):
        y = np.zeros_like(x)
        y[:] = x
        z = y * y
        y *= y
        return np.sum(z * y + y[0] * y[0])

    linad.check_derivatives(f, A)
