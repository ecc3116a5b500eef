"""Cotangents that nobody gives are absent, and not zeros: an infinite slope would make them NaN."""

import numpy as np
import pytest

import linad

B = np.random.default_rng(0).uniform(1.0, 2.0, 6)


def relaxed(p, b):
    """A step of Jacobi's method from 0, and how far it went: 0 / 0 has no slope there."""
    q = (np.roll(p, 1) + b) / 2
    return q, np.sqrt(np.sum((q - p) ** 2)) / np.sqrt(np.sum(p**2))


def by_python(b):
    p, change, k, history = np.zeros(6, like=b), 1.0, 0, []
    while change > 1e-12 and k < 15:
        p, change = relaxed(p, b)
        history.append(change)
        k += 1
    return p


def by_fori(b):
    return linad.fori_loop(0, 15, lambda _, c: relaxed(c[0], b), (np.zeros(6), 0.0))[0]


def by_while(b):
    def step(carry):
        p, change = relaxed(carry[0], b)
        return p, change, carry[2] + 1

    goes_on = lambda carry: (carry[1] > 1e-12) & (carry[2] < 15)  # noqa: E731
    return linad.while_loop(goes_on, step, (np.zeros(6), 1.0, 0))[0]


def by_scan(b):
    return linad.scan(lambda p, _: relaxed(p, b), np.zeros(6), np.arange(15.0))[0]


def by_cond(b):
    def doubled(zero):
        return 2.0 * b, np.sqrt(zero)

    return linad.cond(np.sum(b) > 0, doubled, lambda zero: (b, zero), b - b)[0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f", [by_python, by_fori, by_while, by_scan, by_cond])
def test_what_is_only_compared_has_no_cotangent(f):
    w = np.arange(6.0)
    exact = 2 * w if f is by_cond else _adjoint(w)
    jitted = linad.jit(f)
    for derivative in (
        lambda b, w: linad.vjp(f, b)[1](w)[0],
        linad.jit(lambda b, w: linad.vjp(f, b)[1](w)[0]),
        lambda b, w: linad.vjp(jitted, b)[1](w)[0],
    ):
        for _ in range(3):
            np.testing.assert_allclose(derivative(B, w), exact, rtol=1e-13)


def _adjoint(w):
    """Of p <- (shifted p + b) / 2, 15 times."""
    total = np.zeros(6)
    for _ in range(15):
        total, w = total + w / 2, np.roll(w, -1) / 2
    return total


def _inverse(v):
    return np.linalg.inv(np.eye(2) * v)[0, 0]


def result_of_scan(x):
    return linad.scan(lambda c, v: (c + v, _inverse(v)), 0.0, x)[0]


def carry_of_scan(x):
    step = lambda c, v: ((c[0] + v, c[1] + _inverse(v)), None)  # noqa: E731
    return linad.scan(step, (0.0, 0.0), x)[0][0]


def all_of_scan(x):
    linad.scan(lambda c, v: (c + _inverse(v), None), 0.0, x)
    return x[0]


def carry_of_loop(x):
    s = t = 0.0
    for k in linad.loop(len(x)):
        s, t = s + _inverse(x[k]), t + x[k]
    return t


def all_of_while(x):
    goes_on = lambda c: c[0] < len(x)  # noqa: E731
    linad.while_loop(goes_on, lambda c: (c[0] + 1, c[1] + _inverse(x[c[0]])), (0, 0.0))
    return x[0]


def limited(x):
    linad.while_loop(lambda c: c < 20 / x[3], lambda c: c + 1, 0, limit=50)
    return x[0]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "f", [result_of_scan, carry_of_scan, all_of_scan, carry_of_loop, all_of_while, limited]
)
def test_what_nobody_reads_raises_as_it_would(f):
    def tried(x):
        try:
            return f(x)
        except (np.linalg.LinAlgError, linad.errors.LoopLimitError):
            return -np.sum(x**2)

    good = np.linspace(0.5, 1.0, 8)
    bad = good.copy()
    bad[3] = 1e-300 if f is limited else 0.0
    for of in (lambda f: f, linad.grad):
        compiled, wanted = of(linad.jit(tried)), of(tried)
        for x in (good, bad, good, bad):
            np.testing.assert_allclose(compiled(x), wanted(x), rtol=1e-12)


@pytest.mark.usefixtures("kernels")
def test_a_loop_raises_as_range_does():
    def f(x):
        s = x[0]
        for k in linad.loop(len(x)):
            _inverse(x[k])
            s = np.sin(s) + x[k]
        return s

    good = np.linspace(0.5, 1.0, 20)
    bad = good.copy()
    bad[15] = 0.0
    for of in (lambda f: f, linad.grad, linad.jit, lambda f: linad.jit(linad.grad(f))):
        g = of(f)
        for _ in range(2):
            assert np.all(np.isfinite(g(good)))
            with pytest.raises(np.linalg.LinAlgError):
                g(bad)


# A `try` around a loop decides upon what its body raises.


def none_below(r):
    """The row; an error if it sums up to less than zero."""
    if np.sum(r) < 0:
        raise ZeroDivisionError
    return 2 * r


LOOPS = {
    "scan": lambda a: linad.scan(lambda c, r: (c, none_below(c * r)), 1.0, a),
    "map": lambda a: linad.map(np.linalg.cholesky, a[None]),
    "fori_loop": lambda a: linad.fori_loop(0, 3, lambda _, c: np.linalg.cholesky(c), a),
    "body": lambda a: linad.while_loop(lambda c: c[0, 0] < 9, none_below, a),
    "test": lambda a: linad.while_loop(
        lambda c: np.linalg.cholesky(c)[0, 0] < 3, lambda c: 2 * c, a
    ),
}
DEFINITE = np.array([[2.0, 0.3], [0.3, 1.0]])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_raises_when_it_is_recorded_does_not_at_other_values(name):
    def f(a):
        try:
            LOOPS[name](a)
        except (np.linalg.LinAlgError, ZeroDivisionError):
            return np.sum(a)
        return np.sum(a**2)

    for sign in (1.0, -1.0):
        jitted, slope = linad.jit(f), linad.jit(linad.grad(f))
        for x in (sign * DEFINITE, sign * DEFINITE, -sign * DEFINITE, sign * DEFINITE):
            assert jitted(x) == f(x)
            assert np.array_equal(slope(x), np.ones((2, 2)) if x[0, 0] < 0 else 2 * x)


def test_outside_of_traces_a_body_that_raises_runs_once():
    calls = []

    def step(c, _):
        calls.append(c)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        linad.scan(step, 1.0, length=3)
    assert len(calls) == 1
    assert raised.value.__context__ is None


def in_a_branch(x):
    t, s = 2 * x, x - x
    return np.sum(np.where(x > 0, linad.cond(s[0] < 1, np.sqrt, np.cbrt, t), 0))


def in_a_loop(x):
    y = linad.fori_loop(0, 3, lambda _, c: np.sqrt(c), 2 * x)
    return np.sum(np.where(np.sum(x) > 0, y, x))


def in_two_arrays(x):
    yes = lambda x: (np.sqrt(x), 3 * x)  # noqa: E731
    a, b = linad.cond(np.sum(x) < 1, yes, lambda x: (x, x), x)
    return np.sum(np.where(np.sum(x) > 0, a, 0)) + b[1]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "f, x, exact",
    [
        (in_a_branch, [0.0, -1.0], [0, 0]),
        (in_a_loop, [0.0, 0.0], [1, 1]),
        (in_a_loop, [0.5, 0.5], [0.25, 0.25]),
        (in_two_arrays, [0.5, 0.25], [0.5**0.5, 4]),
    ],
)
def test_what_a_choice_leaves_out_has_no_slope_in_branches_and_loops(f, x, exact):
    for g in (linad.grad(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
        for _ in range(2):
            np.testing.assert_allclose(g(np.array(x)), exact, rtol=1e-13)
