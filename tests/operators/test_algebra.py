"""Sums, products, multiples and powers of operators against those of dense matrices."""

import operator

import numpy as np
import operator_zoo as zoo
import pytest
from hypothesis import given, settings, strategies as st

import linad
from linad.errors import OperandError, OptionError, ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.structured import Diagonal, Identity
from linad.operators.wrappers import Scaled

pytestmark = pytest.mark.whole

F4, F8 = zoo.REAL
C8, C16 = zoo.COMPLEX
NAMES = sorted(zoo.square(F8, np.random.default_rng(0)))


@st.composite
def leaves(draw, dtypes):
    """A structured operator on (2, 3) arrays, its matrix, and a bound for that one's norm."""
    dtype = draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 5)))
    op = zoo.square(dtype, rng)[draw(st.sampled_from(NAMES))]
    A = zoo.by_columns(op)
    return op, A, 1 + np.linalg.norm(A)


def extended(children):
    """One more operation on top of operators with their matrices and bounds.

    Rounding is relative to the bounds: the terms of a difference may cancel.
    """

    def both(function, bound):
        def apply(*found):
            ops, matrices, bounds = zip(*found, strict=True)
            return function(*ops), function(*matrices), bound(*bounds)

        return apply

    def power(p, k):
        return p[0] ** k, np.linalg.matrix_power(p[1], k), p[2] ** max(k, 1)

    def scaled(p, c):
        return c * p[0], weak(c) * p[1], (1 + abs(c)) * p[2]

    def divided(p, c):
        return p[0] / c, p[1] * (1 / weak(c)), (1 + abs(1 / c)) * p[2]

    scalars = st.sampled_from([2, -0.5, 1j, 2 - 1j, np.float32(0.25), np.float64(3), np.int8(-1)])
    return st.one_of(
        st.builds(both(operator.add, operator.add), children, children),
        st.builds(both(operator.sub, operator.add), children, children),
        st.builds(both(operator.matmul, operator.mul), children, children),
        st.builds(both(operator.neg, operator.pos), children),
        st.builds(both(lambda a: a.T, operator.pos), children),
        st.builds(lambda p: (p[0].H, p[1].conj().T, p[2]), children),
        st.builds(power, children, st.integers(0, 3)),
        st.builds(scaled, children, scalars),
        st.builds(divided, children, scalars),
    )


def weak(number):
    """The same number as a Python one, which does not widen an array's dtype."""
    return number.item() if isinstance(number, np.generic) else number


PRECISIONS = {"single": [F4, C8], "double": [F8, C16], "mixed": [F4, F8, C8, C16]}
EACH = ["mixed", *[pytest.param(p, marks=pytest.mark.full) for p in ("single", "double")]]


def expressions(precision):
    return st.recursive(leaves(PRECISIONS[precision]), extended, max_leaves=5)


def rounding(precision):
    """Relative error of a few operations in the least precise dtype."""
    return 100 * np.finfo(np.float64 if precision == "double" else np.float32).eps


@pytest.mark.parametrize("precision", EACH)
@settings(deadline=None, max_examples=60)
@given(st.data(), st.booleans())
def test_expressions(precision, data, complex_vector):
    """Any expression is its matrix: in shape, dtype and entries, by every route."""
    op, A, bound = data.draw(expressions(precision))
    assert isinstance(op, JacobianOperator)
    assert op.shape == A.shape
    assert op.dtype == A.dtype
    rng = np.random.default_rng(0)
    v = zoo.numbers(rng, (6,), C8 if complex_vector else F4)
    V = zoo.numbers(rng, (6, 2), C16 if complex_vector else F8)
    # Vectors are cast to the operator's precision at the side where they enter.
    complex_ = [np.complex64] if complex_vector or A.dtype.kind == "c" else []
    forward = np.result_type(op.out_dtype, *complex_)
    reverse = np.result_type(op.in_dtype, *complex_)
    close = {"rtol": 0, "atol": rounding(precision) * bound}
    for found, expected, dtype in [
        (op @ v, A @ v, forward),
        (op @ V, A @ V, forward),
        (op.rmatvec(v), A.conj().T @ v, reverse),
        (op.rmatmat(V), A.conj().T @ V, reverse),
        (op.T @ v, A.T @ v, reverse),
        (v @ op, v @ A, reverse),
        (op.todense(), A, A.dtype),
        (op.H.todense(), A.conj().T, A.dtype),
    ]:
        assert found.shape == expected.shape
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, **close)


@pytest.mark.parametrize("precision", EACH)
@settings(deadline=None, max_examples=30)
@given(st.data(), st.integers(0, 3))
def test_maps_are_adjoint(precision, data, n_seeds):
    """<w, A v> = Re <A^H w, v> for pushforward and pullback, with leading seed axes."""
    op, _, bound = data.draw(expressions(precision))
    rng = np.random.default_rng(0)
    v = zoo.numbers(rng, (n_seeds, *op.in_shape), op.in_dtype)
    w = zoo.numbers(rng, (n_seeds, *op.out_shape), op.out_dtype)
    y, x = op.pushforward(v), op.pullback(w)
    assert (y.shape, x.shape) == (w.shape, v.shape)
    assert (y.dtype, x.dtype) == (w.dtype, v.dtype)
    error = abs(np.vdot(w, y).real - np.vdot(x, v).real)
    assert error <= rounding(precision) * bound * np.linalg.norm(w) * np.linalg.norm(v)


class TestDtypes:
    """float32 stays float32: numbers are numbers, not float64 arrays."""

    @pytest.fixture(params=[F4, C8], ids=str)
    def J(self, request):
        d = np.arange(1.0, 4.0).astype(request.param)
        return Diagonal(d, (3,), request.param)

    @pytest.mark.parametrize(
        "made",
        [
            pytest.param(lambda J: 0.5 * J, id="half"),
            pytest.param(lambda J: np.float64(0.5) * J, id="numpy_half"),
            pytest.param(lambda J: np.array(0.5) * J, id="zero_dimensional"),
            pytest.param(lambda J: J * 2, id="twice"),
            pytest.param(lambda J: J / 3, id="third"),
            pytest.param(lambda J: J / np.float64(3), id="numpy_third"),
            pytest.param(lambda J: -J, id="negative"),
            pytest.param(lambda J: J + J, id="sum"),
            pytest.param(lambda J: J - J, id="difference"),
            pytest.param(lambda J: J @ J, id="product"),
            pytest.param(lambda J: J**3, id="power"),
            pytest.param(lambda J: J**0, id="power_zero"),
            pytest.param(lambda J: J.T @ J + 0.1 * linad.eye(3, J.dtype), id="damped"),
            pytest.param(lambda J: J.H @ J + 0.1 * linad.eye(3, np.float32), id="damped_real"),
        ],
    )
    def test_closure(self, J, made):
        op = made(J)
        v = np.ones(3, J.dtype)
        assert op.dtype == J.dtype
        for found in (op @ v, op.T @ v, op.H @ v, op.todense(), op @ v[:, None]):
            assert found.dtype == J.dtype

    @pytest.mark.parametrize(
        "left, right", [(F4, F8), (F8, F4), (F4, C8), (C8, F4), (F8, C8), (C8, C16), (F4, C16)]
    )
    def test_mixed(self, left, right):
        rng = np.random.default_rng(0)
        a, b = zoo.numbers(rng, (3,), left), zoo.numbers(rng, (3,), right)
        A, B = Diagonal(a, (3,), left), Diagonal(b, (3,), right)
        v = zoo.numbers(rng, (3,), C16)
        for op, d in ((A @ B, a * b), (A + B, a + b), (A - B, a - b)):
            assert op.dtype == np.result_type(left, right)
            np.testing.assert_allclose(op @ v, d * v, rtol=1e-6)
            np.testing.assert_allclose(op.H @ v, d.conj() * v, rtol=1e-6)
            np.testing.assert_allclose(op.todense(), np.diag(d), rtol=1e-6)

    def test_complex_number_on_a_real_operator(self):
        op = 2j * Diagonal(np.arange(3.0), (3,), F8)
        assert op.dtype == C16
        assert op.in_dtype == F8
        np.testing.assert_array_equal(op @ np.ones(3), 2j * np.arange(3))
        np.testing.assert_array_equal(op.rmatvec(np.ones(3)), -2j * np.arange(3))
        np.testing.assert_array_equal(op.T @ np.ones(3), 2j * np.arange(3))
        np.testing.assert_array_equal(op.pullback(np.full(3, 1j)), 2 * np.arange(3))


class TestRewrites:
    D = Diagonal(np.arange(3.0), (3,), F8)
    A = Matrix(np.arange(9.0).reshape(3, 3))
    eye = Identity((3,), F8)

    def test_products_are_flat(self):
        op = (self.A @ self.A) @ (self.A @ self.A)
        assert type(op) is Chain
        assert len(op.factors) == 4

    def test_sums_are_flat(self):
        op = (self.A + self.A) + (self.A - self.A)
        assert type(op) is Sum
        assert len(op.terms) == 4

    def test_identity_vanishes(self):
        assert self.D @ self.eye is self.D
        assert self.eye @ self.D is self.D

    def test_numbers_gather(self):
        op = -(3.0 * (2 * self.A))
        assert type(op) is Scaled
        assert op.alpha == -6.0
        assert op.op is self.A
        assert 1.0 * self.A is self.A
        negative = -self.A
        assert -negative is self.A

    def test_long_products_and_sums_are_flat(self):
        d = np.array([0.0, 1.0, -1.0])
        D = Diagonal(d, (3,), F8)
        product = total = D
        for _ in range(2000):
            product = self.eye.T @ product @ D
            total = total + D - self.eye
        np.testing.assert_allclose(product.T @ np.ones(3), d**2001)
        np.testing.assert_allclose(total.T @ np.ones(3), 2001 * d - 2000)
        np.testing.assert_allclose((D**5001).T @ np.ones(3), d**5001)


def test_powers_beyond_all_sense_are_refused():
    J = linad.linearize(lambda x: np.sin(x) + x[::-1], np.ones(2))[1]
    for power in (10**30, 2**62):
        with pytest.raises(OptionError, match=r"more than \d+ operators"):
            J**power


class TestShapes:
    def test_shaped_and_flat_operators_meet(self):
        """Operators on (2, 3) and on 6 entries compose and add: the sizes decide."""
        rng = np.random.default_rng(0)
        shaped = Kronecker(rng.standard_normal((2, 2)), None, (2, 3), (2, 3), F8)
        flat = Matrix(rng.standard_normal((6, 6)))
        A, B = shaped.todense(), flat.todense()
        for op, M in [
            (shaped @ flat, A @ B),
            (flat @ shaped, B @ A),
            (shaped + flat, A + B),
            (flat - shaped, B - A),
        ]:
            np.testing.assert_allclose(op.todense(), M)
            np.testing.assert_allclose(op.T.todense(), M.T)
        assert (shaped + flat).in_shape == (2, 3)
        assert (flat @ shaped).in_shape == (2, 3)

    def test_containers_meet_flat_vectors(self):
        point = {"a": np.arange(2.0), "b": np.arange(3.0)}
        J = linad.linearize(lambda d: (np.sin(d["b"]), d["a"] ** 2), point)[1]
        A = J.todense()
        v = np.arange(5.0)
        np.testing.assert_allclose((J.T @ J) @ v, A.T @ A @ v)
        np.testing.assert_allclose((J + 2 * linad.eye(5)) @ v, A @ v + 2 * v)
        np.testing.assert_allclose((0.5 * J) @ v, 0.5 * (A @ v))

    @pytest.mark.parametrize(
        "call, words",
        [
            (lambda a, b: a @ b, r"cannot compose Diagonal \(3 x 3, float64\) with .* \(4 x 2"),
            (lambda a, b: b @ a, r"cannot compose .* 2 columns, 3 rows"),
            (lambda a, b: a + b, r"cannot add Diagonal \(3 x 3, float64\) and .* \(4 x 2"),
            (lambda a, b: b - a, r"cannot add Matrix \(4 x 2, float64\) and .* \(3 x 3, float64\)"),
            (lambda a, b: b**2, r"\(4 x 2, float64\) \*\* 2: expected a square operator"),
            (lambda a, b: a**-1, r"\(3 x 3, float64\) \*\* -1: expected .* p >= 0"),
        ],
    )
    def test_mismatches(self, call, words):
        a = Diagonal(np.ones(3), (3,), F8)
        b = Matrix(np.ones((4, 2)))
        with pytest.raises(ShapeError, match=words):
            call(a, b)


def test_entries_are_asked_of_a_matrix():
    J = linad.eye(3)
    with pytest.raises(OperandError, match=r"3 x 3, float64\) holds no entries.*J\.todense\(\)"):
        J[0, 1]
    with pytest.raises(TypeError, match="not iterable"):
        list(J)
    assert np.asarray(J)[0, 0] == 1


def test_traced_numbers():
    """A number that is itself traced: the multiple differentiates in it."""
    d = np.arange(1.0, 4.0)
    op = Diagonal(d, (3,), F8)

    def f(lam):
        damped = op.T @ op + lam * linad.eye(3)
        return damped @ np.ones(3) + (lam * op).T @ np.ones(3)

    np.testing.assert_allclose(f(2.0), d**2 + 2 + 2 * d)
    np.testing.assert_allclose(linad.derivative(f)(2.0), 1 + d)
    single = Diagonal(d.astype(F4), (3,), F4)
    y, slope = linad.jvp(lambda lam: (lam * single) @ np.ones(3, F4), (2.0,), (1.0,))
    assert y.dtype == slope.dtype == F4
