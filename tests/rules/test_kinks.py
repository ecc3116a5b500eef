"""Second derivatives at a kink inside of a smooth whole: right, NaN or an error, never a number."""

import numpy as np
import pytest
import scipy.special as sp
from kernels_in_python import kernels_in_python

import linad
from linad.core.primitive import Primitive
from linad.errors import DegenerateError
from linad.testing.rule_checks import Case

A = np.array([[1.2, -0.7, 2.4], [0.3, -1.8, 0.9]])


def case(name, *args, **check):
    return Case(Primitive.registry[name], *args, check=check)


CASES = [case("side", A), case("tip", A), case("root", np.abs(A)), case("cube_of_tip", np.abs(A))]

I2, I3, I4 = (np.eye(n) for n in (2, 3, 4))
SPREAD = I3 - 1 / 3  # x - mean(x)


def norm(*args, **keywords):
    return lambda x: np.linalg.norm(x, *args, **keywords)


def modulus(x):
    return np.abs(x[0] + 1j * x[1])


def product(h):
    """h² as a product: no form of it is a power."""
    return lambda x: np.sum(h(x) * h(x))


def proportional(h):
    """2 h², where no factor is the other."""
    return lambda x: np.sum(h(x) * h(2 * x))


def squared(h):
    return lambda x: np.sum(h(x) ** 2)


def square(h):
    return lambda x: np.sum(np.square(h(x)))


# Each: a function with a kink, a point at its tip, and the Hessian of its square.
TIPS = {
    "abs": (np.abs, np.zeros(3), 2 * I3),
    "fabs": (np.fabs, np.zeros(3), 2 * I3),
    "abs, one entry": (np.abs, np.array([0.0, 1.0, -2.0]), 2 * I3),
    "copysign": (lambda x: np.copysign(x, 1.0), np.zeros(2), 2 * I2),
    "modulus": (modulus, np.zeros(2), 2 * I2),
    "hypot": (lambda x: np.hypot(x[0], x[1]), np.zeros(2), 2 * I2),
    "norm": (norm(), np.zeros(3), 2 * I3),
    "rows": (lambda x: norm(axis=1)(x.reshape(2, 2)), np.array([0.0, 0, 1, 2]), 2 * I4),
    "Frobenius": (lambda x: norm("fro")(x.reshape(2, 2)), np.zeros(4), 2 * I4),
    "vector_norm": (np.linalg.vector_norm, np.zeros(3), 2 * I3),
    "matrix_norm": (lambda x: np.linalg.matrix_norm(x.reshape(2, 2)), np.zeros(4), 2 * I4),
    "complex norm": (lambda x: norm()(x[:2] + 1j * x[2:]), np.zeros(4), 2 * I4),
    "one entry, order 1": (norm(1), np.zeros(1), 2 * np.eye(1)),
    "one entry, order inf": (norm(np.inf), np.zeros(1), 2 * np.eye(1)),
    "one entry, order 3": (norm(3), np.zeros(1), 2 * np.eye(1)),
    "one entry, order 1.5": (norm(1.5), np.zeros(1), 2 * np.eye(1)),
    "one entry, nuclear": (lambda x: norm("nuc")(x.reshape(1, 1)), np.zeros(1), 2 * np.eye(1)),
    "std": (np.std, np.full(3, 1.5), 2 / 3 * SPREAD),
    "std, ddof": (lambda x: np.std(x, ddof=1), np.full(3, 1.5), SPREAD),
    "std, where": (lambda x: np.std(x, where=np.ones(3, bool)), np.full(3, 1.5), 2 / 3 * SPREAD),
    "nanstd": (np.nanstd, np.full(3, 1.5), 2 / 3 * SPREAD),
    "sqrt": (lambda x: np.sqrt(np.sum(x * x)), np.zeros(3), 2 * I3),
    "scaled Bessel": (lambda x: sp.i0e(x) - 1, np.zeros(1), 2 * np.eye(1)),
    "singular values": (
        lambda x: np.linalg.svdvals(x.reshape(2, 2)),
        np.eye(2).ravel(),
        2 * I4,
    ),
}
FORMS = {"**": (squared, 1), "square": (square, 1), "*": (product, 1), "2h": (proportional, 2)}


def seconds(f, x):
    """The Hessian, each way there is."""
    basis = np.eye(x.size)
    gradient = linad.grad(f)

    def slope(a):
        return lambda x: linad.jvp(f, (x,), (a,))[1]

    yield "forward over reverse", lambda: linad.jvp(gradient, (x,), (basis[0],))[1][None]
    yield "reverse over reverse", lambda: linad.linearize(gradient, x)[1].pullback(basis[0])[None]
    yield "reverse over forward", lambda: linad.grad(slope(basis[0]))(x)[None]
    yield "forward over forward", lambda: linad.jvp(slope(basis[0]), (x,), (basis[0],))[1]
    yield "hessian", lambda: linad.hessian(f)(x)


def is_honest(found, expected):
    """Whether every entry is right or NaN."""
    found = np.asarray(found)
    if found.ndim == 0:
        expected = expected[0, 0]
    expected = np.broadcast_to(expected if found.ndim == 0 else expected[: len(found)], found.shape)
    return np.allclose(found[~np.isnan(found)], expected[~np.isnan(found)], atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TIPS)
def test_tip(name, form):
    h, x, expected = TIPS[name]
    squares, factor = FORMS[form]
    if name == "scaled Bessel" and form == "2h":
        factor = 2
    with np.errstate(all="ignore"):
        for how, second in seconds(squares(h), x):
            try:
                found = second()
            except DegenerateError:
                continue
            assert is_honest(found, factor * expected), (how, found)


FULL = [pytest.param(name, marks=pytest.mark.full) for name in ("abs", "hypot", "std", "modulus")]


@pytest.mark.parametrize("name", ["norm", *FULL])
def test_compiled(name):
    h, x, expected = TIPS[name]
    hessian = linad.jit(linad.hessian(squared(h)))
    with np.errstate(all="ignore"):
        for _ in range(3):
            assert is_honest(hessian(x), expected)
        y = x + np.arange(1.0, 1 + x.size)
        np.testing.assert_allclose(hessian(y), linad.hessian(squared(h))(y), atol=1e-12)


ROOTS = {
    "abs": (np.abs, 1),
    "sqrt of a square": (lambda x: np.sqrt(x * x), 1),
    "norm": (lambda x: np.linalg.norm(np.stack([x, 2 * x]), axis=0), 5),
    "hypot": (lambda x: np.hypot(x, 2 * x), 5),
}
SQUARES = {
    "r ** 2": lambda r: r**2,
    "r ** 2.0": lambda r: r**2.0,
    "r * r": lambda r: r * r,
    "np.power": lambda r: np.power(r, 2),
    "np.square": np.square,
    "np.multiply": lambda r: np.multiply(r, r),
    "r ** 4": lambda r: r**4,
}


@pytest.mark.parametrize("form", SQUARES)
@pytest.mark.parametrize("name", ROOTS)
def test_even_powers_of_roots_are_smooth(name, form):
    root, size = ROOTS[name]
    x = np.array([0.0, 1.5, -2.0])

    def f(x):
        return np.sum(SQUARES[form](root(x)))

    expected = 12 * size**2 * x**2 if form == "r ** 4" else np.full(3, 2 * size)
    with kernels_in_python(), np.errstate(all="ignore"):
        for second in (linad.hessian(f), linad.jit(linad.hessian(f)), linad.hessian(linad.jit(f))):
            second(x + 1)
            np.testing.assert_allclose(second(x), np.diag(expected), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", [*ROOTS, "std"])
def test_even_powers_of_multiples_of_roots_are_smooth(name):
    """Whatever the sign of the factor, and where it is traced; the cube of one says NaN."""
    root, _ = ROOTS.get(name, (lambda x: np.std(np.stack([x, -x]), axis=0), 1))
    forms = {
        "2 * r": lambda r, c: 2 * r,
        "r * -2.0": lambda r, c: r * -2.0,
        "r / c": lambda r, c: r / c,
        "c * r": lambda r, c: c * r,
        "np.multiply": lambda r, c: np.multiply(2.0, r) / np.float64(3.0),
    }
    x = np.array([0.0, 1.5, -2.0, 0.7])
    with kernels_in_python(), np.errstate(all="ignore"):
        for form, times in forms.items():

            def f(x, p=2, times=times):
                return np.sum(times(root(x[:3]), x[3]) ** p)

            def smooth(x, times=times):
                return np.sum(root(x[:3]) ** 2 * times(1.0, x[3]) ** 2)

            expected = linad.hessian(smooth)(x)
            for second in (linad.hessian(f), linad.jit(linad.hessian(f))):
                second(x + 1)
                np.testing.assert_allclose(second(x), expected, atol=1e-13, err_msg=form)
                np.testing.assert_allclose(f(x), smooth(x))
            cubed = linad.hessian(lambda x, f=f: f(x, 3))
            assert is_honest(cubed(x)[:1, :1], np.zeros((1, 1)))


def test_multiples_whose_squares_would_overflow():
    f = linad.jit(lambda x: np.sum((1e170 * np.abs(x)) ** 2))
    y, slope = linad.value_and_grad(f)(np.array([1e-170]))
    np.testing.assert_allclose([y, slope[0]], [1.0, 2e170], rtol=1e-12)


@pytest.mark.parametrize("apart", [False, True])
def test_the_square_of_a_root(apart):
    """sqrt(x)² is x where there is a root, and has the slope of that side at 0."""

    def f(x):
        return np.sqrt(x) * np.sqrt(x) if apart else np.sqrt(x) ** 2

    x = np.array([0.0, 2.0, -1.0, np.inf])
    with kernels_in_python(), np.errstate(all="ignore"):
        for g in (f, linad.jit(f)):
            y, J = linad.linearize(g, x)
            np.testing.assert_allclose(y, f(x), rtol=1e-15)
            np.testing.assert_array_equal(J.pushforward(np.ones(4))[[0, 1, 3]], 1)
            assert linad.hessian(lambda x, g=g: np.sum(g(x)))(np.zeros(2)).tolist() == [[0, 0]] * 2


POWERS = [3, 5, 4.5]


@pytest.mark.parametrize("name", [*ROOTS, "std"])
def test_powers_of_roots_beyond_the_second(name):
    """Second derivatives of |x|^p are p (p - 1) |x|^(p - 2), 0 at 0; a cube by sqrt may be NaN."""
    root, size = ROOTS.get(name, (lambda x: np.std(np.stack([x, -x]), axis=0), 1))
    x = np.array([0.0, 1.5, -2.0])

    def f(x):
        r = root(x)
        return np.stack([np.sum(np.power(r, p) + r**p) for p in POWERS])

    for p, k in zip(POWERS, range(len(POWERS)), strict=True):
        second = np.diag(2 * p * (p - 1) * size ** (p / 2) * np.abs(x) ** (p - 2))
        first = 2 * p * size ** (p / 2) * np.abs(x) ** (p - 1) * np.sign(x)

        def g(x, k=k):
            return f(x)[k]

        with kernels_in_python(), np.errstate(all="ignore"):
            np.testing.assert_allclose(linad.grad(g)(x), first, rtol=1e-12, atol=1e-14)
            for h in (linad.hessian(g), linad.jit(linad.hessian(g)), linad.hessian(linad.jit(g))):
                h(x + 1)
                found = h(x)
                if name == "sqrt of a square" and p == 3:
                    assert is_honest(found, second)
                else:
                    np.testing.assert_allclose(found, second, rtol=1e-12, atol=1e-14)


def test_the_third_power_of_a_root_of_no_square():
    """sqrt(x)³ has the slope 0 at 0, and no second derivative there."""

    def f(x):
        return np.sum(np.sqrt(x) ** 3)

    x = np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(linad.grad(f)(x), [0, 3])
        np.testing.assert_array_equal(np.diag(linad.hessian(f)(x)), [np.inf, 0.375])


def test_roots_that_differ_have_no_square():
    def f(x):
        size = np.abs(x)
        size[0] = 3.0
        return size * np.abs(x) + np.abs(2 * x) * np.abs(x) + np.sqrt(x * x) * np.hypot(x, x)

    x = np.array([1.0, -2.0])
    root = np.sqrt(2)
    for g in (f, linad.jit(f)):
        np.testing.assert_allclose(g(x), [3 + 2 + root, 4 + 8 + 4 * root])
        slope = linad.jvp(g, (x,), (np.ones(2),))[1]
        np.testing.assert_allclose(slope, [3 + 4 + 2 * root, -4 - 8 - 4 * root])


def test_entries_of_roots():
    x = np.array([0.0, 1.5, -2.0, 0.0])
    functions = {
        "one": lambda x: np.abs(x)[0] ** 2 + np.sqrt(x * x)[3] ** 2,
        "apart": lambda x: np.abs(x)[:2][0] * np.abs(x)[0] + np.abs(x)[3] * np.abs(x)[3],
        "by a list": lambda x: np.sum((r := np.abs(x))[[0, 3]] ** 2) + 0 * r[1],
    }
    with np.errstate(all="ignore"):
        for name, f in functions.items():
            for second in (linad.hessian(f), linad.jit(linad.hessian(f))):
                found = second(x)
                if name != "apart":
                    np.testing.assert_array_equal(found, np.diag([2.0, 0, 0, 2]), err_msg=name)
                assert is_honest(found, np.diag([2.0, 0, 0, 2])), name


def test_entries_of_a_root_that_is_written_into():
    def f(x):
        r = np.abs(x)
        part = r[:2]
        r[0] = 3 * x[1]
        return np.sum(part**2)

    x = np.array([0.0, -2.0])
    for g in (linad.hessian(f), linad.jit(linad.hessian(f)), linad.hessian(linad.jit(f))):
        assert is_honest(g(x), np.diag([0.0, 20.0])), g(x)
    np.testing.assert_allclose(linad.grad(f)(x), [0, -40])
    np.testing.assert_allclose(linad.jit(linad.grad(f))(x), [0, -40])


def test_where_a_norm_is_smooth():
    """Some entries are 0, the norm is not: |x|_4^4 = Σ x^4."""
    x = np.array([0.0, 1.0, 2.0])
    for how, second in seconds(lambda x: np.linalg.norm(x, 4) ** 4, x):
        found = np.asarray(second())
        assert np.all(np.isfinite(found)), how
        assert is_honest(found, np.diag(12 * x * x)), how


def test_softmax_at_ties():
    """The largest of equal entries has the derivatives of their mean: right where it drops out."""

    def f(x):
        m = np.max(x)
        return np.log(np.sum(np.exp(x - m))) + m

    np.testing.assert_allclose(linad.hessian(f)(np.zeros(3)), I3 / 3 - 1 / 9, atol=1e-12)
