"""Functions that decide on values, compiled: at other values they are right as well.

A program is recorded at one point. Where a rule finds places, signs or sizes from values there,
the program has to find them again at each run, or to check that they are the same.
"""

import warnings

import numpy as np
import pytest

import linad
import linad.numpy as lnp
import linad.scipy.interpolate as interpolate
import linad.solve
from linad.arrays.conversions import to_int
from linad.core import tree
from linad.scipy import linalg, ndimage, stats

pytestmark = pytest.mark.usefixtures("kernels")
TICKS = np.linspace(0, 5, 6)


def normal(*shape):
    return lambda rng: rng.standard_normal(shape)


def within(*shape):
    return lambda rng: rng.uniform(0, 5, shape)


def integers(high, *shape):
    return lambda rng: rng.integers(0, high, shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


REAL = {
    "bins": (lambda x, w: np.histogram(x, 4, weights=w), normal(9), normal(9)),
    "edges": (lambda x, e: np.histogram(x, np.sort(e), density=True), normal(9), normal(4)),
    "automatic bins": (lambda x: np.histogram(x, "auto"), normal(9)),
    "two axes": (lambda x, y: np.histogram2d(x, y, 3), normal(9), normal(9)),
    "all in one place": (lambda x: np.histogram(np.round(x / 9), 3), normal(2)),
    "quantiles": (lambda x, q: np.quantile(x, sigmoid(q)), normal(7), normal(2)),
    "steps": (
        lambda x, q: np.quantile(x, sigmoid(q), method="averaged_inverted_cdf"),
        normal(7),
        normal(2),
    ),
    "median": (lambda x: (np.median(x), np.nanquantile(x, 0.4)), normal(7)),
    "common": (lambda x, y: np.intersect1d(np.round(x), np.round(y)), normal(5), normal(5)),
    "from conjugate zeros": (
        lambda z: np.poly(np.stack([z[0] + 1j * z[1], z[0] - 1j * np.round(z[1])])),
        normal(2),
    ),
    "interp": (lambda q, x, y: np.interp(q, np.sort(x), y), within(4), within(4), normal(4)),
    "cubic spline": (lambda q, y: interpolate.CubicSpline(TICKS, y)(q), within(4), normal(6)),
    "monotone": (lambda q, y: interpolate.PchipInterpolator(TICKS, y)(q), within(4), normal(6)),
    "table": (lambda q, y: interpolate.interp1d(TICKS, y)(q), within(4), normal(6)),
    "ticks": (
        lambda x, y: interpolate.interp1d(x, y, bounds_error=False, fill_value=7.0)(2.5),
        within(6),
        normal(6),
    ),
    "grid": (
        lambda q, y: interpolate.RegularGridInterpolator((TICKS, TICKS), y)(q),
        within(4, 2),
        normal(6, 6),
    ),
    "image": (
        lambda q, y: ndimage.map_coordinates(y, 1.5 * q, order=1, mode="mirror"),
        within(2, 4),
        normal(6, 6),
    ),
    "constant outside": (
        lambda q, y: ndimage.map_coordinates(y, 1.5 * q, order=1, cval=9.0),
        within(2, 4),
        normal(6, 6),
    ),
    "shifted": (lambda s, y: ndimage.shift(y, 3 * s, order=1), normal(2), normal(6, 6)),
    "support": (
        lambda x, a: (stats.gamma.pdf(x, 2.0, loc=a), stats.uniform.pdf(x, a)),
        normal(9),
        normal(),
    ),
    "finite": (lambda a: linalg.solve(a, a[0]), normal(3, 3)),
    "entry by entry": (lambda x: lnp.vectorize(lambda a: a if a > 0 else -2 * a)(x), normal(4)),
    "pieces": (
        lambda x: np.piecewise(x, [x < -0.5, x > 0.5], [lambda t: -t, lambda t: t * t, 0.0]),
        normal(6),
    ),
}


def floats(value):
    leaves = [v for v in tree.flatten(value)[0] if hasattr(v, "dtype")]
    return [v for v in leaves if v.dtype.kind in "fc"]


def assert_same(found, expected):
    found, structure = tree.flatten(found)
    expected, same = tree.flatten(expected)
    assert structure == same
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.filterwarnings("ignore:linad.jit")  # more paths than are kept is right, and slow
@pytest.mark.parametrize("name", REAL)
def test_at_other_values(name):
    f, *makers = REAL[name]
    rng = np.random.default_rng(0)
    points = [[make(rng) for make in makers] for _ in range(4)]
    every = tuple(range(len(makers)))

    def loss(*x):
        return sum(
            [
                np.sum(np.real(v) * np.cos(np.arange(v.size) + 1.0).reshape(v.shape))
                for v in floats(f(*x))
            ],
            0 * np.sum(x[0]),
        )

    value, gradient, through = linad.jit(f), linad.jit(linad.grad(loss, every)), linad.jit(loss)
    for point in points:
        expected = linad.grad(loss, every)(*point)
        for _ in range(2):
            assert_same(value(*point), f(*point))
            assert_same(gradient(*point), expected)
        assert_same(linad.grad(through, every)(*point), expected)


INTEGERS = {
    "counts": (lambda x, i: (np.bincount(i), np.bincount(i, x[: i.size], 9)), integers(7, 5)),
    "at a place": (lambda x, i: np.insert(x, i, 0.5), integers(7, 2)),
    "without": (lambda x, i: np.delete(x, i), integers(7, 2)),
    "repeated": (lambda x, i: np.repeat(x[:5], i), integers(4, 5)),
    "a shape": (lambda x, i: x[:6].reshape(i), lambda rng: rng.permutation([2, 3])),
    "a range": (lambda x, i: sum([x[k] for k in range(i[0], 7)]), integers(5, 1)),
    "a number": (lambda x, i: x * float(i[0]) + i.item(0) + sum(i.tolist()), integers(9, 2)),
    "a text": (lambda x, i: {f"k{i[0]}": x}, integers(5, 1)),
    "a key": (lambda x, i: {int(i[0]): x}, integers(5, 1)),
    "written": (lambda x, i: np.put_along_axis(x, i, 0.5, 0) or x * 1, integers(7, 2)),
}


@pytest.mark.filterwarnings("ignore:linad.jit")
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_among_the_arguments(name):
    f, make = INTEGERS[name]
    rng = np.random.default_rng(0)
    jitted = linad.jit(f)
    for _ in range(5):
        x, i = rng.standard_normal(8), make(rng)
        expected = f(x.copy(), i)
        for _ in range(2):
            assert_same(jitted(x.copy(), i), expected)


def test_bincount_of_what_it_does_not_take():
    jitted = linad.jit(np.bincount)
    with pytest.raises(ValueError, match="no negative elements"):
        jitted(np.array([0, -1]))
    with pytest.raises(linad.errors.DTypeError, match="traced array of float64"):
        jitted(np.ones(2))


def test_texts_among_the_results():
    jitted = linad.jit(lambda x: (x, f"{x:.2f}"))
    for x in (1.0, 1.0, 2.0, 2.0, 1.0):
        assert jitted(x) == (x, f"{x:.2f}")


def test_texts_for_people_decide_nothing(capsys):
    jitted = linad.jit(lambda x: (print(f"{x}"), x * 2)[1])
    for x in (1.0, 2.0, 3.0):
        assert jitted(x) == 2 * x
    assert capsys.readouterr().out == "1.0\n"


def test_values_that_are_no_numbers():
    """NaN is the same as NaN where a value is checked."""
    jitted = linad.jit(lambda x: np.intersect1d(x, x[::-1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(12):
            np.testing.assert_array_equal(jitted(np.array([2.0, np.nan, 1.0]))[:2], [1, 2])
    ((*paths,),) = jitted.variants.values()
    assert len(paths) == 1


def test_functions_of_shapes_only_have_zero_derivatives():
    jitted = linad.jit(lambda x: np.arange(x.size))
    for _ in range(2):
        found = linad.jacobian(lambda x: (x * 2.0, jitted(x)))(np.ones(3))[1]
        np.testing.assert_array_equal(found, np.zeros((3, 3)))


def test_second_derivatives_of_systems():
    """A residual that is a matrix to solve with stays one when the sweep is differentiated."""
    a = np.random.default_rng(0).standard_normal((3, 3)) + 4 * np.eye(3)

    def f(a):
        return np.sum(np.linalg.inv(a) ** 2) + np.linalg.slogdet(a)[1] * np.sum(
            np.linalg.solve(a, a[0])
        )

    expected = linad.hvp(f, (a,), (a,))
    np.testing.assert_allclose(linad.hvp(linad.jit(f), (a,), (a,)), expected, rtol=1e-10)
    gradient = linad.grad(linad.jit(f))
    np.testing.assert_allclose(linad.jvp(gradient, (a,), (a,))[1], expected, rtol=1e-10)


LAYOUTS = {
    "contiguous": lambda x: x,
    "fortran": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "upside down": lambda x: x[::-1].copy()[::-1],
}


def written_through_ravel(x):
    flat = x.ravel()
    flat[0] = 9.0
    return np.sum(x)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.ravel("K"),
        lambda x: x.ravel("A") * 2,
        lambda x: x.reshape(-1, order="A"),
        lambda x: np.copy(x, order="K").ravel("K"),
        written_through_ravel,
        lambda x: x * 2 if x.flags.c_contiguous else x * 3,
        lambda x: x * x.strides[0],
    ],
    ids=["ravel K", "ravel A", "reshape A", "copy K", "written", "flags", "strides"],
)
def test_how_arguments_lie_in_memory(f):
    jitted, x = linad.jit(f), np.arange(6.0).reshape(2, 3)
    through = linad.grad(lambda x: np.sum(jitted(x * 1.0) ** 2))
    for name in [*LAYOUTS, *LAYOUTS, "fortran", "contiguous"]:
        given, plain = LAYOUTS[name](x.copy()), LAYOUTS[name](x.copy())
        np.testing.assert_array_equal(jitted(given), f(plain))
        np.testing.assert_array_equal(given, plain)
        expected = linad.grad(lambda x: np.sum(f(x * 1.0) ** 2))(LAYOUTS[name](x.copy()))
        np.testing.assert_allclose(through(LAYOUTS[name](x.copy())), expected)


@pytest.mark.parametrize("solve", ["root", "least_squares"])
def test_solvers_keep_nothing_of_the_last_point(solve):
    solver = getattr(linad.solve, solve)

    def f(a):
        return np.sum(solver(lambda x, a: x**2 - a, np.ones(2), a) * a)

    value, gradient = linad.jit(f), linad.jit(linad.grad(f))
    for a in ([2.0, 3.0], [5.0, 1.5], [0.3, 9.0]):
        for _ in range(2):
            np.testing.assert_allclose(value(np.array(a)), np.sum(np.power(a, 1.5)), rtol=1e-6)
            np.testing.assert_allclose(gradient(np.array(a)), 1.5 * np.sqrt(a), rtol=1e-6)
        through = linad.grad(lambda a: value(a))(np.array(a))
        np.testing.assert_allclose(through, 1.5 * np.sqrt(a), rtol=1e-6)


def test_an_operation_of_the_users_may_keep_its_arguments():
    """Whatever it keeps does not change with the memory of the program."""
    kept = []

    @linad.primitive
    def remembered(x):
        kept.append(x)
        return x * 2

    remembered.pullback(lambda x: (remembered(x), lambda w: 2 * w))
    jitted = linad.jit(lambda x: remembered(np.sin(x)) + remembered(x))
    for k in range(3):
        jitted(np.full(3, float(k)))
    found = sorted([x[0] for x in kept])
    np.testing.assert_allclose(found, sorted([v for k in range(3) for v in (k, np.sin(k))]))


@pytest.mark.parametrize("question", [bool, int])
@pytest.mark.parametrize("shape", [(3,), (1,), (0,), (1, 1)])
def test_questions_of_arrays_have_numpys_answers(question, shape):
    """`if x > 0:` of several entries is the first mistake one makes: the words are NumPy's."""
    x = np.ones(shape, int)

    def answer(f):
        try:
            return f(x)
        except (TypeError, ValueError) as error:
            return type(error), str(error)

    f = linad.jit(lambda x: question(x))
    assert answer(f) == answer(question)
    assert answer(f) == answer(question)


SIGNS_OF_ZEROS = {
    "x + 0.0": lambda x: np.arctan2(x + 0.0, -1.0),
    "x - 0.0": lambda x: np.arctan2(x - 0.0, -1.0),
    "x - -0.0": lambda x: np.arctan2(x - (-0.0), -1.0),
    "0 + x": lambda x: np.arctan2(0 + x, -1.0),
    "round": lambda x: 1 / (np.round(x) + 0),
    "complex": lambda x: np.log(x * (-1 + 0j) + 0.0).imag,
    "spacing": np.spacing,
}


@pytest.mark.parametrize("f", SIGNS_OF_ZEROS.values(), ids=SIGNS_OF_ZEROS)
def test_the_sign_of_a_zero(f):
    jitted = linad.jit(f)
    for x in (np.array([-0.0, 0.0]), np.array([0.0, -0.0])):
        with np.errstate(divide="ignore"):
            for _ in range(3):
                np.testing.assert_array_equal(jitted(x), f(x))


REFUSED = {
    "choose": (lambda i: np.choose(i, [i, i]), [1, 0], [5, 0]),
    "ravel_multi_index": (lambda i: np.ravel_multi_index((i, i), (3, 3)), [1, 0], [5, 0]),
    "unravel_index": (lambda i: np.unravel_index(i, (3, 3)), [1, 0], [50, 0]),
    "digitize": (lambda b: np.digitize(1.0, b), [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]),
    "nanargmin": (np.nanargmin, [1.0, 2.0], [np.nan, np.nan]),
    "nanargmax": (np.nanargmax, [1.0, 2.0], [np.nan, np.nan]),
}


@pytest.mark.parametrize("f, right, wrong", REFUSED.values(), ids=REFUSED)
def test_what_nobody_reads_raises_as_in_numpy(f, right, wrong):
    def unread(x):
        f(x)
        return x * 1.0

    jitted = linad.jit(unread)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(np.array(right)), right)
        with pytest.raises(ValueError, match="choice|coordinates|out of bounds|monoton|NaN"):
            jitted(np.array(wrong))


def test_bincount_keeps_no_places_of_its_caller():
    x, i = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 1, 2])
    given = i.copy()
    jitted = linad.jit(np.bincount)
    for _ in range(3):
        y, J = linad.linearize(lambda x: jitted(given, x), x)
        np.testing.assert_array_equal(y, np.bincount(i, x))
        given[:] = 0
        np.testing.assert_array_equal(J @ x, np.bincount(i, x))
        np.testing.assert_array_equal(J.T @ y, y[i])
        np.testing.assert_array_equal(jitted(given, x), [10.0])
        given[:] = i
        np.testing.assert_array_equal(jitted(given, x), np.bincount(i, x))


def test_int_decides_by_the_integer_it_makes():
    def powers(x):
        return x ** int(linad.stop_gradient(x) + 1.0)

    def adopted_powers(x):
        return x ** to_int(x + 1.0)

    for f in (powers, adopted_powers):
        jitted = linad.jit(linad.value_and_grad(f))
        for x in (2.25, 2.5, 2.75, 3.5, -2.5):
            np.testing.assert_allclose(jitted(x), linad.value_and_grad(f)(x), rtol=1e-15)
        kinds = list(jitted.variants.values())
        assert [len(paths) for paths in kinds] == [3]
