"""Numbers and arrays, views and copies: every result is what NumPy's is, and changes what NumPy's
changes. `likeness` holds the calls, and how they are compared."""

import itertools
import random

import likeness
import numpy as np
import pytest

import linad
import linad.testing.derivative_checks

SWEEPS = {
    "functions": likeness.calls_of_functions,
    "methods": likeness.calls_of_methods,
    "indices": likeness.calls_of_indices,
}


def linearized(function, change, k, operands):
    seen = []

    def f(xs):
        seen.append(likeness.described(likeness.attempted(function, change, k, xs)))
        return [x * 1.0 for x in xs]

    linad.linearize(f, operands)
    return seen


def pushed(function, change, k, operands):
    seen = []

    def f(xs):
        seen.append(likeness.described(likeness.attempted(function, change, k, xs)))
        return [x * 1.0 for x in xs]

    linad.jvp(f, (operands,), ([np.ones_like(x) for x in operands],))
    return seen


def compiled(function, change, k, operands):
    """Three calls: what they return, and what became of their arguments."""
    program = linad.jit(lambda *xs: likeness.attempted(function, change, k, list(xs)))
    seen = []
    for _ in range(3):
        given = [x.copy("K") if isinstance(x, np.ndarray) else x for x in operands]
        results, told, changed = program(*given)
        seen.append(likeness.described((results, told, changed)))
        seen.append(likeness.described((results, told, given)))
    return seen


def check(calls, run, dtype=float):
    found = list(itertools.islice(likeness.differences(calls, run, dtype), 5))
    assert not found, "\n".join(found)


def sample(calls, n):
    """Some of the calls: a number of them, or a part."""
    calls = list(calls)
    return random.Random(3).sample(calls, n if n > 1 else int(n * len(calls)))


@pytest.mark.parametrize("name", SWEEPS)
def test_eager(name):
    check(sample(SWEEPS[name](), 0.1), linearized)


@pytest.mark.parametrize("name", SWEEPS)
def test_forward_mode(name):
    check(sample(SWEEPS[name](), 200), pushed)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", SWEEPS)
def test_compiled(name):
    check(sample(SWEEPS[name](), 20), compiled)


@pytest.mark.full
@pytest.mark.parametrize("name", SWEEPS)
def test_all_eager(name):
    check(SWEEPS[name](), linearized)


@pytest.mark.full
@pytest.mark.parametrize("name", SWEEPS)
def test_all_compiled(name):
    check(SWEEPS[name](), compiled)


@pytest.mark.full
@pytest.mark.parametrize("name", SWEEPS)
def test_all_in_forward_mode(name):
    check(SWEEPS[name](), pushed)


@pytest.mark.rest
@pytest.mark.parametrize("dtype", [np.float32, complex])
@pytest.mark.parametrize("name", ["methods", "indices"])
def test_dtypes_in_forward_mode(name, dtype):
    check(SWEEPS[name](), pushed, dtype)


@pytest.mark.rest
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", [np.float32, complex, int, bool])
@pytest.mark.parametrize("name", ["methods", "indices"])
def test_dtypes_compiled(name, dtype):
    check(sample(SWEEPS[name](), 200), compiled, dtype)


# Results of transforms.

FUNCTIONS_OF_A_NUMBER = {
    "x * x": lambda x: x * x,
    "x": lambda x: x,
    "where": lambda x: np.where(x > 0, x, -x),
    "copy": np.copy,
    "sum": lambda x: np.sum(x * np.ones(3)),
    "constant": lambda x: linad.stop_gradient(np.array(3.0)),
}


@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.array(2.0)], ids=repr)
@pytest.mark.parametrize("name", FUNCTIONS_OF_A_NUMBER)
def test_transforms_give_what_the_function_gives(name, x):
    """A tangent is a number where its value is one, and so is a cotangent."""
    f = FUNCTIONS_OF_A_NUMBER[name]
    given = x if isinstance(x, np.ndarray) else np.float64(x)
    inner, outer = type(given), type(f(given))
    for seed in (1.0, np.array(1.0)):
        assert [type(v) for v in linad.jvp(f, (x,), (seed,))] == [outer, outer]
        y, pullback = linad.vjp(f, x)
        assert [type(y), type(pullback(seed)[0])] == [outer, inner]
    total = linad.grad(lambda x: np.sum(f(x)))
    assert type(total(x)) is inner
    for g, kind in ((f, outer), (total, inner)):
        jitted = linad.jit(g)
        assert [type(jitted(x)) for _ in range(4)] == [kind] * 4


def test_gradients_of_a_list_of_numbers():
    for f in (lambda p: p[0] * p[1] + p[1], lambda p: 2 * p[0]):
        gradient = linad.grad(f)
        for g in (gradient, linad.jit(gradient), linad.jit(linad.jit(gradient))):
            for _ in range(3):
                assert [type(v) for v in g([1.0, 2.0])] == [np.float64, np.float64]


def test_a_number_and_an_array_are_two_kinds_of_argument():
    def f(s):
        s += 1.0
        return s * 1.0

    jitted = linad.jit(f)
    for _ in range(3):
        x = np.array(1.0)
        assert [jitted(1.0), jitted(np.float64(1.0)), jitted(x), x] == [2.0, 2.0, 2.0, 2.0]


def test_tangents_of_arrays_without_axes_are_written():
    def f(x):
        v = np.where(x[0] > 0, x[0], x[1])
        v -= 0.7
        w = np.copy(x[1])
        w[...] = 2 * v
        return v, w

    _, tangents = linad.jvp(f, (np.ones(2),), (np.array([1.0, 3.0]),))
    np.testing.assert_array_equal(tangents, [1.0, 2.0])


# Programs.


def eliminated(b):
    """Gaussian elimination with pivots, the right side swapped entry by entry."""
    a = np.array([[0.0, 2.0, 1.0], [1.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    b = b * 1.0
    for k in range(3):
        p = k + np.argmax(np.abs(a[k:, k]))
        a[[k, p]] = a[[p, k]]
        b[p], b[k] = b[k], b[p]
        for i in range(k + 1, 3):
            q = a[i, k] / a[k, k]
            a[i] -= q * a[k]
            b[i] -= q * b[k]
    x = np.zeros_like(b)
    for k in (2, 1, 0):
        x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return x


def sorted_by_selection(x):
    x = x.copy()
    for k in range(len(x)):
        p = k + np.argmin(x[k:])
        least = x[p]
        x[p] = x[k]
        x[k] = least
    return x


def grown(x):
    low = x[np.argmin(x)]
    high = low
    while high < 2:
        high *= 1.7
    return high - low


def gathered(x):
    total = np.array(0.0) + x[0, ...]
    kept = total
    for i in np.argsort(x):
        part = x[i]
        total += part
        part *= 3.0
    return kept, np.sum(x)


POINT = np.array([0.5, 0.25, 1.5])


@pytest.mark.parametrize("f", [eliminated, sorted_by_selection, grown, gathered])
def test_programs(f):
    expected = [np.copy(v) for v in likeness.leaves(f(POINT.copy()))]
    jitted = linad.jit(f)
    for value in (linad.linearize(f, POINT)[0], *[jitted(POINT.copy()) for _ in range(3)]):
        for a, b in zip(likeness.leaves(value), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
    linad.testing.check_derivatives(f, POINT, order=1)


LANES = """
    sum prod max min any all mean var std argmax argmin ptp median nansum nanmean nanmax
    nanprod cumsum cumprod sort argsort count_nonzero average nanmedian flip diff nancumsum
    trapezoid squeeze nanargmax percentile quantile nanpercentile repeat roll take partition split
"""
SECOND = {"percentile": 50, "nanpercentile": 50, "quantile": 0.5, "repeat": 2, "roll": 1}
SECOND |= {"take": 0, "partition": 0, "split": 1}


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", LANES.split())
@pytest.mark.parametrize("given", [np.array(2.0), np.float64(2.0), np.array(2)], ids=repr)
def test_axes_of_what_has_none(name, given):
    """Some functions of NumPy take axis 0 for no axis, others do not."""
    rest = [SECOND[name]] if name in SECOND else []
    for axis in (0, -1, 1):

        def f(x, axis=axis):
            return getattr(np, name)(x, *rest, axis=axis)

        try:
            expected = f(given)
        except (ValueError, TypeError, IndexError) as error:
            with pytest.raises(type(error)):
                linad.jit(f)(given)
        else:
            np.testing.assert_array_equal(linad.jit(f)(given), expected)


@pytest.mark.parametrize("point", [1.5, 1.5 + 0.5j, np.float32(1.5), np.complex64(1.5 + 0.5j)])
def test_numbers_of_pythons_and_numpys_are_numbers(point):
    def f(s):
        before = s
        s *= 2  # another number; an array without axes would change before as well
        return before * s, s.real

    def kinds(pair):
        return [isinstance(x, (np.generic, float, complex)) for x in pair]

    for g in (f, linad.jit(f)):
        for _ in range(3):
            (y, real), J = linad.linearize(g, point)
            assert (y, real) == f(point)
            assert kinds((y, real)) == kinds(f(point))
            # y = 2 s^2, so dy = 4 s ds
            assert J.pushforward(point)[0] == 4 * point * point
            assert isinstance(J.pullback((y, real)), np.generic)
