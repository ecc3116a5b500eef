"""Choosing between values: rules against differences, ties, NaN, and NumPy's results."""

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive
from linad.errors import TracerError, UnsupportedError
from linad.testing.rule_checks import Case
from linad.transforms.record import trace

A = np.array([[1.2, -0.7, 2.4], [0.3, -1.8, 0.9]])
B = np.array([0.8, -1.1, 1.7])
S = np.float64(0.55)
EMPTY = np.zeros((0, 3))
MASK = np.array([[True, False, True], [False, False, True]])


def case(name, *args, **check):
    return Case(Primitive.registry[name], *args, check=check)


def pick(x, **keywords):
    """np.piecewise with functions, a number and a default."""
    return np.piecewise(x, [x < -1, x > 1], [np.exp, lambda x: x * x, 0.5], **keywords)


CASES = [
    *[
        case(name, a, b)
        for name in ("maximum", "minimum", "fmax", "fmin")
        for a, b in [(A, B), (A[:, :1], B), (A, 0.5), (S, B), (EMPTY, B)]
    ],
    case("clip", A, np.array([-1.0, -0.5, 0.0]), np.array([1.0, 0.7, 1.5])),
    case("clip", A, -0.5, S),
    case("clip", S, A, 3.0),
    Case(np.clip, A, -1.0, 1.0),
    Case(lambda x, b: np.clip(x, None, b), A, B),
    Case(np.clip, A, max=1.0),
    Case(np.clip, A, min=-1.0),
    Case(lambda x, b: np.clip(x, b, a_max=None), A, B),
    case("fabs", A),
    case("heaviside", A, 0.5, wrt=(0, 1)),
    case("heaviside", A, B),
    case("copysign", A, B),
    case("copysign", A, -1.0, wrt=(0,)),
    case("where", MASK, A, B, complex_=True),
    case("where", MASK[:, :1], S, B),
    case("where", np.bool_(True), A, S),
    case("where", MASK[:0], EMPTY, B),
    Case(np.where, MASK, A, 0.0),
    Case(np.where, np.array([[1], [0]]), B, A),
    Case(lambda x: np.where([True, False, True], x, [1, 2, 3]), A, check={"float32": False}),
    Case(lambda x: np.where([[1], [0]], x, 0), A),
    Case(lambda x: np.select([[True, False, False], x[0] > 1], [x, 2 * x]), A),
    Case(lambda x: np.piecewise(x, [[True, False, True]], [np.sin]), B),
    Case(lambda x: np.where(x > 0, x**2, -1), A),
    Case(lambda x, y: np.select([x > 1, y > 0, x < -1], [x, y**2, x * y]), A, B),
    Case(lambda x: np.select([x > 1, x < -1], [x**2, 3.0], default=x), A),
    Case(pick, A),
    Case(lambda x: np.piecewise(x, x > 0, [lambda t, k: k * t, lambda t, k: t], 3.0), S),
    Case(lambda x: np.choose(np.array([[0], [1]]), [x, 2 * x[0]]), A),
    Case(lambda x: np.choose(np.array([0, 1, 5]), x, mode="clip"), A),
    Case(lambda x: np.choose(np.array([0, 1, 5]), (x[0], 1.0), mode="wrap"), A),
    Case(np.nan_to_num, A, check={"complex_": True}),
]


def slopes(f, *points):
    """The derivative of f in each of its arguments, at scalar points."""
    return linad.grad(f, argnums=tuple(range(len(points))))(*[np.float64(p) for p in points])


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_a_tie_is_shared(f):
    assert slopes(f, 1.0, 1.0) == (0.5, 0.5)
    y, J = linad.linearize(f, np.ones(2, np.float32), np.ones(2, np.float32))
    assert J.pullback(y)[0].dtype == np.float32


def test_nan_arguments():
    assert slopes(np.fmax, np.nan, 1.0) == (0, 1)
    assert slopes(np.fmin, 1.0, np.nan) == (1, 0)
    assert slopes(np.maximum, np.nan, 1.0) == (0, 0)


def test_clip_casts_as_it_is_told():
    x = np.float32([0.5, 2.0])
    found = linad.grad(lambda x: np.sum(np.clip(x, 0.0, 1.0, casting="no")))(x)
    np.testing.assert_array_equal(found, [1.0, 0.0])
    with pytest.raises(TypeError, match="clip: cannot cast float32 to float64 by the rule 'no'"):
        linad.grad(lambda x: np.sum(np.clip(x, np.zeros(2), 1.0, casting="no")))(x)


def test_clip_on_and_across_its_bounds():
    assert slopes(np.clip, 1.0, 0.0, 1.0) == (1, 0, 0)
    assert slopes(np.clip, 2.0, 0.0, 1.0) == (0, 0, 1)
    assert slopes(np.clip, -2.0, 0.0, 1.0) == (0, 1, 0)
    assert slopes(np.clip, 0.5, 1.0, 0.0) == (0, 0, 1)  # NumPy gives the upper bound then


def test_clip_of_a_plain_array_with_traced_bounds():
    x = np.array([-1.0, 0.5, 3.0])
    assert linad.grad(lambda b: np.sum(x.clip(0.0, b)))(np.float64(2)) == 1
    assert linad.grad(lambda b: np.sum(np.clip(x, b, None)))(np.float64(0)) == 1


def test_clip_refuses_what_numpy_refuses():
    x = np.ones(2)
    with pytest.raises(ValueError, match="not both"):
        linad.linearize(lambda x: np.clip(x, 0, max=1), x)
    with pytest.raises(TracerError, match="clip: out="):
        linad.linearize(lambda x: np.clip(x, 0, 1, out=np.zeros(2)), x)
    with pytest.raises(UnsupportedError, match="'order'"):
        linad.linearize(lambda x: np.clip(x, 0, 1, order="F"), x)


def test_kinks_at_zero():
    assert slopes(np.absolute, 0.0) == (0,)
    assert slopes(np.fabs, 0.0) == (0,)
    assert slopes(np.copysign, 0.0, -1.0) == (0, 0)
    assert slopes(np.copysign, 2.0, -1.0) == (-1, 0)
    assert slopes(np.sign, 0.0) == (0,)
    assert slopes(np.heaviside, 0.0, 0.3) == (0, 1)
    assert slopes(np.heaviside, 1.0, 0.3) == (0, 0)


def test_where_stops_nan():
    x = np.array([0.0, 4.0])

    def f(x):
        return np.sum(np.where(x > 0, x, x * np.nan))

    y, J = linad.linearize(lambda x: np.where(x > 0, x, 0.0), x)
    assert np.array_equal(J.pullback(np.array([np.nan, 1.0])), [0, 1])
    assert np.array_equal(y, x)
    assert np.isnan(f(x))


@pytest.mark.parametrize(
    "condition",
    [None, {}, "", "a", np.array(None), np.array(["", "a", "b"]), [[1.5], [0]]],
    ids=repr,
)
def test_where_of_what_numpy_finds_true(condition):
    x = np.array([5.0, 6.0, 7.0])

    def f(x):
        return np.where(condition, 2 * x, x) * 3

    for value, slope in (linad.jvp(f, (x,), (x,)), (linad.jit(f)(x), f(x))):
        assert np.array_equal(value, f(x))
        assert np.array_equal(slope, f(x))


def test_where_with_one_argument():
    x = np.array([[1.0, 0.0], [0.0, 2.0]])
    _, (rows, columns) = linad.jvp(lambda x: (x * x, np.where(x)), (x,), (x,))[0]
    assert np.array_equal(rows, [0, 1])
    assert np.array_equal(columns, [0, 1])
    with pytest.raises(ValueError, match="either both or neither"):
        linad.linearize(lambda x: np.where(x > 0, x), x)


def values_agree(f, *args):
    y, _ = linad.linearize(f, *args)
    expected = f(*args)
    assert np.asarray(y).dtype == expected.dtype
    assert np.array_equal(y, expected, equal_nan=True)


def test_values_are_those_of_numpy():
    x = np.array([[np.nan, 1.0, np.inf], [-np.inf, -2.0, 0.0]])
    for f in (
        np.nan_to_num,
        lambda x: np.nan_to_num(x, nan=7.0, posinf=8.0, neginf=-9.0),
        lambda x: np.select([x > 1, x < -1], [x, 2 * x]),
        lambda x: np.clip(x, -1, 1),
        lambda x: np.fmax(x, 0.5),
        pick,
        lambda x: np.piecewise(x, [x < 0], [-1, 1]),
        lambda x: np.piecewise(x, [x < 0, x > -5], [1, 2]),
        lambda x: np.piecewise(x, [x > 100], [np.exp]),
    ):
        values_agree(f, x)
        values_agree(f, x.astype(np.float32))
    values_agree(pick, np.float64(0.2))
    z = np.array([complex(np.nan, 1.0), complex(np.inf, -np.inf), 1 + 2j])
    values_agree(lambda z: np.nan_to_num(z, nan=0.5, posinf=3.0), z)


def test_piecewise_takes_keywords():
    def f(x):
        return np.piecewise(x, [x > 0], [lambda t, scale: scale * t, 0.0], scale=3.0)

    assert np.array_equal(linad.jvp(f, (A,), (A,))[1], np.where(A > 0, 3 * A, 0))


def test_errors_are_those_of_numpy():
    x = np.ones(3)
    for f, error, words in (
        (lambda x: np.select([x > 1], [x, x]), ValueError, "same length"),
        (lambda x: np.select([], []), ValueError, "empty condition list|select"),
        (lambda x: np.select([np.ones(3)], [x]), TypeError, "should be boolean"),
        (lambda x: np.piecewise(x, [x > 1], [1, 2, 3]), ValueError, "functions are expected"),
        (lambda x: np.choose(np.array([0, 2]), [x[0], x[1]]), ValueError, "invalid entry"),
        (lambda x: np.choose(x, [x, x]), TypeError, "integers|safely|safe"),
    ):
        with pytest.raises(error, match=words):
            linad.linearize(f, x)


@pytest.mark.parametrize(
    "f",
    [
        pick,
        lambda x: np.select([x > 1, x < -1], [x, x**2], 0.5),
        lambda x: np.choose(np.argmax(x, axis=1)[:, None], [x, 2 * x[0], x]),
        lambda x: np.where(x > 0, x, 0.0),
        np.nan_to_num,
    ],
    ids=["piecewise", "select", "choose", "where", "nan_to_num"],
)
def test_recorded_programs_run_again(f):
    y, tape = trace(f, A)
    assert np.array_equal(y, f(A))
    assert np.array_equal(tape(A), y)


@pytest.mark.parametrize(
    "low, high", [(None, 2), (1, None), (None, np.uint16(2)), (np.int64(1), None), (None, 2.5)]
)
def test_integers_are_clipped_to_integers(low, high):
    for a in (np.arange(-2, 3, dtype=np.int8), np.arange(5, dtype=np.uint16), np.array(3)):
        expected = np.clip(a, low, high)
        found = linad.jit(lambda a: np.clip(a, low, high))(a)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_conditions_of_piecewise_have_the_shape_of_x():
    """A condition for rows was taken for one of columns."""
    with pytest.raises(ValueError, match="condition 0"):
        linad.linearize(
            lambda x: np.piecewise(x, [np.array([True, False])], [7.0]), np.ones((2, 2))
        )


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "chosen",
    [
        lambda x: np.maximum(x, 0.0),
        lambda x: np.fmax(0.0, x),
        lambda x: -np.minimum(-x, 0.0),
        lambda x: np.clip(x, 0.0, None),
        lambda x: np.where(x < 0, 0.0, x),
    ],
    ids=["maximum", "fmax", "minimum", "clip", "where"],
)
def test_what_is_not_chosen_gets_nothing_of_an_infinite_slope(chosen, compiled):
    def f(x):
        return np.sum(np.sqrt(chosen(x)))

    gradient = linad.grad(f)
    gradient = linad.jit(gradient) if compiled else gradient
    for _ in range(3):
        with np.errstate(all="ignore"):
            found = gradient(np.array([-2.0, 1.0, 4.0]))
        np.testing.assert_allclose(found, [0.0, 0.5, 0.25])
