"""Complex parts: rules against differences, linear over the reals."""

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive
from linad.errors import NotHolomorphicError
from linad.testing.rule_checks import Case

Z = np.array([[1.2 + 0.4j, -0.7 - 0.8j], [0.3 - 1.1j, -1.8 + 0.2j]])
X = np.array([1.2, -0.7, 2.4])
S = np.complex128(0.4 - 0.9j)


def case(name, *args, **check):
    return Case(Primitive.registry[name], *args, check=check)


CASES = [
    *[case(name, z) for name in ("conjugate", "real", "imag", "absolute") for z in (Z, S, Z[:0])],
    *[case(name, X) for name in ("conjugate", "real", "absolute")],
    *[Case(f, Z) for f in (np.real, np.imag, np.angle, np.abs, np.sign, np.conj)],
    Case(np.angle, Z, deg=True),
    Case(np.angle, X),
    Case(lambda x: x.real + x.imag, X),
    Case(lambda z: z.real * z.imag + abs(z), Z),
    Case(lambda z: z.conj() * z, Z),
    Case(np.real_if_close, Z),
    Case(lambda x: np.real_if_close(x + 1e-20j), X),
    Case(lambda x: x + 1j * x**2, X),
]


def test_gradient_of_a_real_function_of_a_complex_argument():
    # f = |z|^2 = x^2 + y^2: f_x + i f_y = 2 z.
    assert linad.grad(lambda z: np.abs(z) ** 2)(S) == pytest.approx(2 * S)
    assert linad.grad(np.abs)(S) == pytest.approx(S / abs(S))


def test_slopes_at_zero():
    zero = np.complex128(0)
    assert linad.grad(np.abs)(zero) == 0
    assert linad.jvp(np.sign, (zero,), (S,))[0] == 0


def test_parts_are_not_holomorphic():
    _, J = linad.linearize(np.conj, Z)
    with pytest.raises(NotHolomorphicError):
        J.todense()


def test_single_precision_parts():
    z = Z.astype(np.complex64)
    for f in (np.real, np.imag, np.abs):
        y, pullback = linad.vjp(f, z)
        assert y.dtype == np.float32
        assert pullback(y)[0].dtype == np.complex64


def test_real_if_close_keeps_what_is_not_close():
    y, _ = linad.linearize(lambda x: np.real_if_close(x + 1e-3j), X)
    assert np.array_equal(y, X + 1e-3j)
    y, _ = linad.linearize(lambda x: np.real_if_close(x + 1e-3j, tol=0.1), X)
    assert np.array_equal(y, X)


@pytest.mark.parametrize("size", [np.abs, abs], ids=["np.abs", "abs"])
def test_the_square_of_an_absolute_value_is_smooth(size):
    x = np.array([0.0, 1.5, -2.0])
    for factor, expected in ((1.0, 2.0), (1.0 + 2.0j, 10.0)):

        def f(x, factor=factor):
            return np.sum(size(factor * x) ** 2)

        for second in (linad.hessian(f), linad.jit(linad.hessian(f)), linad.hessian(linad.jit(f))):
            np.testing.assert_allclose(second(x), expected * np.eye(3), rtol=1e-14)
    cubes = linad.hessian(lambda x: np.sum(size(x) ** 3))(x)
    np.testing.assert_allclose(cubes, np.diag(6 * np.abs(x)), rtol=1e-14)


def test_an_absolute_value_that_is_written_into():
    def f(x):
        size = np.abs(x)
        size[1] = 3.0 * x[0]
        return np.sum(size**2)

    np.testing.assert_array_equal(linad.jit(linad.grad(f))(np.array([1.0, -2.0])), [20.0, 0.0])
