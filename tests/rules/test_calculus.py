"""Differences, gradients on a grid, the trapezoidal rule, interpolation."""

import functools

import numpy as np
import pytest

import linad
from linad.rules.calculus import diff_, interp_, interp_heights_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(1)
SCALAR = np.array(0.7)
VECTOR = rng.standard_normal(5)
MATRIX = rng.standard_normal((3, 4))
CUBE = rng.standard_normal((3, 2, 3))
GRID = np.array([0.0, 0.4, 1.1, 1.5])
KNOTS = np.array([-1.0, 0.2, 0.9, 2.0])
HEIGHTS = rng.standard_normal(4)
POINTS = np.array([[-1.5, -0.4, 0.5], [1.3, 1.9, 2.4]])
COMPLEX = {"complex_": True}
DOUBLE = {"float32": False}  # NumPy computes these in double precision

CASES = [
    Case(diff_, MATRIX, axis=1, check=COMPLEX),
    Case(diff_, MATRIX[:1], axis=0),
    Case(diff_, MATRIX[:0], axis=0),
    Case(np.diff, VECTOR),
    Case(np.diff, MATRIX, n=2, axis=0),
    Case(np.diff, MATRIX, n=5),
    Case(np.diff, MATRIX, n=0),
    Case(np.diff, MATRIX, axis=-2, prepend=0.0, append=MATRIX[:1], check=DOUBLE),
    Case(lambda a, b: np.diff(a, prepend=b), VECTOR, SCALAR),
    Case(np.ediff1d, MATRIX),
    Case(np.ediff1d, VECTOR, to_end=VECTOR[:2], to_begin=1.0, check=DOUBLE),
    Case(np.gradient, VECTOR, check=COMPLEX),
    Case(np.gradient, VECTOR[:2]),
    Case(np.gradient, VECTOR, 0.3, edge_order=2),
    Case(np.gradient, MATRIX),
    Case(np.gradient, MATRIX, 0.5, axis=-1),
    Case(np.gradient, CUBE, axis=(2, 0), edge_order=2),
    Case(np.gradient, VECTOR[:4], GRID, edge_order=1),
    Case(np.gradient, MATRIX, GRID, axis=1, edge_order=2),
    Case(np.gradient, MATRIX, np.array(0.3), GRID),
    Case(np.trapezoid, VECTOR, check=COMPLEX),
    Case(np.trapezoid, MATRIX, axis=0, dx=0.2),
    Case(np.trapezoid, MATRIX, GRID),
    Case(np.trapezoid, MATRIX, MATRIX**3, axis=0),
    Case(np.interp, POINTS, KNOTS, HEIGHTS, check=DOUBLE),
    Case(interp_, POINTS, xp=KNOTS, fp=HEIGHTS, left=None, right=2.0, check=DOUBLE),
    Case(interp_heights_, HEIGHTS, x=POINTS, xp=KNOTS, left=None, right=2.0, check=DOUBLE),
    Case(np.interp, SCALAR, KNOTS, HEIGHTS, left=0.0, right=1.0, check=DOUBLE),
    Case(np.interp, POINTS, KNOTS, HEIGHTS, period=3.7, check=DOUBLE),
    Case(np.interp, POINTS, KNOTS[:1], HEIGHTS[:1], check=DOUBLE),
    Case(np.interp, SCALAR, KNOTS, HEIGHTS + 1j * HEIGHTS**2, check=DOUBLE),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{k}-{c!r}" for k, c in enumerate(CASES)])
def test_values_are_numpys(case):
    plain = case.function(*case.args, **case.params)
    y = linad.linearize(lambda *a: case.function(*a, **case.params), *case.args)[0]
    for part, expected in zip(*[v if type(v) is tuple else (v,) for v in (y, plain)], strict=True):
        np.testing.assert_allclose(part, expected, rtol=1e-13, atol=1e-15)
        assert np.shape(part) == np.shape(expected)


def test_order_of_axes_is_kept():
    y = linad.linearize(lambda x: np.gradient(x, 1.0, 2.0, axis=(1, 0)), MATRIX)[0]
    for part, expected in zip(y, np.gradient(MATRIX, 1.0, 2.0, axis=(1, 0)), strict=True):
        np.testing.assert_allclose(part, expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.ediff1d(x, to_begin=[1.0], to_end=np.ones(2)),
        lambda x: np.gradient(x, np.arange(len(x)) ** 1.5),
        lambda x: np.gradient(x, np.float64(0.5), edge_order=2),
    ],
    ids=["ediff1d", "coordinates", "spacing"],
)
def test_result_is_of_the_arrays_dtype(f):
    x = VECTOR.astype(np.float32)
    y = linad.linearize(f, x)[0]
    np.testing.assert_allclose(y, f(x), rtol=1e-5, strict=True)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_is_exact_for_lines_and_parabolas(edge_order):
    found = linad.jacobian(lambda x: np.gradient(x, GRID, edge_order=edge_order))(GRID)
    np.testing.assert_allclose(found @ GRID, np.ones(4))
    if edge_order == 2:
        np.testing.assert_allclose(found @ GRID**2, 2 * GRID, atol=1e-14)


def test_interpolation_at_knots():
    f = linad.grad(lambda x: np.interp(x, KNOTS, HEIGHTS))
    slopes = np.diff(HEIGHTS) / np.diff(KNOTS)
    found = [f(x) for x in KNOTS]
    np.testing.assert_allclose(found, [slopes[0], slopes[1], slopes[2], slopes[2]])
    assert f(-5.0) == f(5.0) == 0.0
    y = linad.linearize(lambda x: np.interp(x, KNOTS, HEIGHTS), KNOTS)[0]
    np.testing.assert_array_equal(y, HEIGHTS)


def test_interpolation_between_plain_knots_is_as_between_traced_ones():
    """In both modes, to second order, outside and at knots, and in a compiled program."""
    knots = np.array([0.0, 1.0, 1.0, 2.0, 4.0, 4.0])
    heights = np.array([0.0, 1.0, 3.0, 5.0, 2.0, 7.0])
    x = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0])

    def periodic(x, *table):
        return np.interp(x, *table, period=3.0)

    for f in (np.interp, periodic):
        found = linad.jvp(lambda x, f=f: f(x, knots, heights), (x,), (np.ones(9),))
        wanted = linad.jvp(lambda x, t, f=f: f(x, t, heights), (x, knots), (np.ones(9), 0 * knots))
        np.testing.assert_allclose(found, wanted, rtol=1e-14)

    def among(x, table):
        return np.sum(np.interp(np.sin(x) + x, table, heights, right=9.0) * x)

    for derivative in (linad.grad, lambda f: linad.grad(lambda x: np.sum(linad.grad(f)(x) ** 2))):
        found = derivative(lambda x: among(x, knots))
        wanted = derivative(lambda x: among(x, knots + 0 * x[0]))(x)
        np.testing.assert_allclose(found(x), wanted, rtol=1e-13)
        compiled = linad.jit(found)
        for _ in range(3):
            np.testing.assert_allclose(compiled(x), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "keywords", [{}, {"left": 1.0}, {"left": 0, "right": 2.0}, {"period": 3.0}], ids=str
)
def test_heights_between_plain_knots_are_as_between_traced_ones(keywords):
    knots = np.array([0.0, 1.0, 1.0, 2.0, 4.0, 4.0])
    heights = np.array([0.0, 1.0, 3.0, 5.0, 2.0, 7.0])
    x = np.array([[-1.0, 0.0, 0.5, 1.0, 1.5], [2.0, 3.0, 4.0, 5.0, np.inf]])
    x = np.where(np.isinf(x), 3.5, x) if keywords == {"period": 3.0} else x

    def f(heights, knots=knots):
        return np.interp(x, knots, heights, **keywords)

    y, J = linad.linearize(f, heights)
    wanted, both = linad.linearize(f, heights, knots)
    np.testing.assert_array_equal(y, wanted)
    at = heights[::-1]
    pushed = both.pushforward((at, 0 * knots))
    np.testing.assert_allclose(J.pushforward(at)[x < 9], pushed[x < 9], rtol=1e-14)
    curved = linad.hessian(lambda h: np.sum(f(h) ** 3))(heights)
    wanted = J.todense().T @ np.diag(6 * y.ravel()) @ J.todense()
    np.testing.assert_allclose(curved, wanted, rtol=1e-12)


def test_knots_that_are_overwritten_later():
    for given in (0, 2):
        table = [POINTS.copy(), KNOTS.copy(), HEIGHTS.copy()]
        others = table[:given] + table[given + 1 :]

        def f(a, given=given, others=others):
            return np.interp(*others[:given], a, *others[given:])

        _, J = linad.linearize(f, table[given])
        before = J.todense()
        for a in others:
            a[:] = 0.0
        np.testing.assert_array_equal(J.todense(), before)


def test_interpolation_over_coincident_knots():
    knots, heights = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0, 5.0])
    x = np.array([0.5, 1.0, 1.5])
    y, J = linad.linearize(lambda x: np.interp(x, knots, heights), x)
    np.testing.assert_allclose(y, np.interp(x, knots, heights))
    np.testing.assert_allclose(J.pushforward(np.ones(3)), [1.0, 2.0, 2.0])


def test_interpolation_between_infinite_ends_is_numpys(kernels):
    ends = [-np.inf, -1.0, 0.0, 0.5, 1.0, 1.0, 2.0, np.inf]
    heights = [-np.inf, np.inf, np.nan, 1.0, 1.0, -3.0]
    x = np.array([*ends, np.nan, 0.25, -0.5])
    with np.errstate(all="ignore"):
        for k in range(80):
            n = 1 + k % 4
            xp, fp = np.sort(rng.choice(ends, n)), rng.choice(heights, n)
            expected = np.interp(x, xp, fp)
            np.testing.assert_array_equal(linad.linearize(np.interp, x, xp, fp)[0], expected)
            np.testing.assert_array_equal(linad.jit(np.interp)(x, xp, fp), expected)
            y = linad.linearize(functools.partial(np.interp, x[k % len(x)], xp), fp)[0]
            np.testing.assert_array_equal(y, expected[k % len(x)])
        y, slope = linad.value_and_grad(lambda x: np.interp(x, [-np.inf, 1.0], [0.0, 10.0]))(0.5)
    assert (y, slope) == (10.0, 0.0)


def test_whole_numbers_over_traced_spacings():
    for f in (np.arange(5), np.arange(20, dtype=np.uint8).reshape(5, 4)):
        for h in (1.5, np.array([0.0, 1.0, 2.5, 3.0, 7.0])):
            y, J = linad.linearize(functools.partial(np.gradient, f, axis=0), h)
            np.testing.assert_allclose(y, np.gradient(f, h, axis=0))
            assert np.any(J.todense())


def test_interpolation_of_nan():
    y = linad.linearize(lambda x: np.interp(x, KNOTS, HEIGHTS), np.array([np.nan, 0.0]))[0]
    assert np.isnan(y[0])
    assert np.isfinite(y[1])


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda x: np.diff(x, n=-1), ValueError, "non-negative"),
        (lambda x: np.diff(x[0]), ValueError, "one dimensional"),
        (lambda x: np.ediff1d(x, to_end=1j), TypeError, "to_end of dtype complex128"),
        (lambda x: np.gradient(x[:1]), ValueError, "too small"),
        (lambda x: np.gradient(x, edge_order=3), ValueError, "edge_order"),
        (lambda x: np.gradient(x, 1.0, 2.0), TypeError, "number of arguments"),
        (lambda x: np.gradient(x, GRID), ValueError, "match the length"),
        (lambda x: np.interp(x, KNOTS, HEIGHTS[:3]), ValueError, "same length"),
        (lambda x: np.interp(x, [], []), ValueError, "empty"),
        (lambda x: np.interp(x, KNOTS, HEIGHTS, left=x), TypeError, "left must be a number"),
        (lambda x: np.interp(x, KNOTS, HEIGHTS, right=[1.0]), TypeError, "right must be a number"),
        (lambda x: np.interp(x, KNOTS, HEIGHTS, period=0), ValueError, "non-zero"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        linad.linearize(call, VECTOR)


@pytest.mark.parametrize("keywords", [{}, {"left": -1.0, "right": np.inf}, {"period": 7.0}])
def test_a_number_is_interpolated_by_one_program(keywords):
    knots, heights = np.array([0.0, 5.0, 5.0, 10.0, 20.0]), np.array([1.0, 2.0, 4.0, -2.0, 3.0])

    def f(x):
        return np.interp(x, knots, heights, **keywords)

    compiled, slope = linad.jit(f), linad.jit(linad.grad(f))
    for x in (0.5, 0.5, 3.0, 5.0, 7.5, 10.0, 19.0, 20.0, 21.0, -1.0, np.nan):
        np.testing.assert_array_equal(compiled(x), f(x))
        np.testing.assert_array_equal(slope(x), linad.grad(f)(x))
    assert not linad.explain(compiled)(0.5).guards


@pytest.mark.parametrize("x", [np.zeros(0), np.ones(1)])
def test_interp_without_knots_is_what_numpy_says(x):
    none = np.zeros(0)
    try:
        expected = np.interp(x, none, none)
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)):
            linad.linearize(lambda k: np.interp(x, k, k), none)
    else:  # since NumPy 2.5, of no points
        np.testing.assert_array_equal(
            linad.linearize(lambda k: np.interp(x, k, k), none)[0], expected
        )
