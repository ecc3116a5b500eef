"""scipy.integrate.quad with traced integrands and ends, called as SciPy's own is."""

import warnings

import numpy as np
import pytest
import scipy.integrate

import linad
import linad.scipy.integrate as si
from linad.errors import ArgumentError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives


def gauss(x):
    return np.exp(-x * x)


FEW = (1e-8, 1e-8, 50, None)


QUADS = {
    "args": lambda m: m.quad(lambda x, a, b: a * gauss(x) + b, 0, 1, (2.0, 3.0)),
    "full_output": lambda m: m.quad(gauss, 0, np.inf, (), 1),
    "weight": lambda m: m.quad(gauss, 0, 1, (), 0, *FEW, "cos", 3.0),
    "weight, full": lambda m: m.quad(gauss, 0, np.inf, (), 1, *FEW, "cos", 3.0, None, 40, 30),
    "wvar": lambda m: m.quad(gauss, 0, 1, weight="alg", wvar=(0.5, 0.5)),
    "complex_func": lambda m: m.quad(lambda x: gauss(x) * 1j, 0, 1, complex_func=True),
    "points": lambda m: m.quad(gauss, 0, 1, points=[0.3]),
    "limit": lambda m: m.quad(lambda x: np.sin(200 * x) / np.sqrt(abs(x - 0.3)), 0, 1, limit=3),
    "dblquad": lambda m: m.dblquad(lambda y, x: gauss(x) * y, 0, 1, lambda x: 0, lambda x: x),
    "dblquad, tolerances": lambda m: m.dblquad(lambda y, x: y * x, 0, 1, 0, 2, (), 1e-3, 1e-3),
    "nquad": lambda m: m.nquad(lambda x, y: gauss(x) * y, [lambda y: (0, y), (0, 1)])[:1],
    "dblquad, args": lambda m: m.dblquad(lambda y, x, c: y * c, 0, 1, 0, 2, args=(3.0,)),
}


def within_a_derivative(call):
    found = []

    def f(p):
        found.append(call())
        return p * 1.0

    linad.grad(f)(1.0)
    return found[0]


@pytest.mark.parametrize("name", QUADS)
@pytest.mark.parametrize("wrap", [lambda call: call(), within_a_derivative])
def test_quad_of_plain_numbers_is_that_of_scipy(name, wrap):
    """Results, warnings, and how often the integrand is called."""

    def course(m):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = wrap(lambda: QUADS[name](m))
        some = [v.get("neval") if isinstance(v, dict) else v for v in found]
        return some, [(w.category, str(w.message)) for w in told]

    assert course(si) == course(scipy.integrate)


def test_quad_runs_once():
    calls = []

    def f(p):
        def integrand(x):
            calls.append(x)
            return np.exp(-p * x)

        return si.quad(integrand, 0.0, 1.0)[0]

    value = linad.value_and_grad(f)(1.0)
    np.testing.assert_allclose(value, (1 - np.exp(-1), 2 * np.exp(-1) - 1))
    # 21 of SciPy's; all nodes to look at at once, and all on both halves, traced; 5 compared each;
    # one array and one number recorded
    assert len(calls) == 35
    with pytest.raises(ArgumentError, match="quad: .*nonsense"):
        linad.grad(lambda p: si.quad(lambda x: x * p, 0, 1, nonsense=1)[0])(1.0)
    with pytest.raises(UnsupportedError, match="infinite range"):
        linad.grad(lambda p: si.quad(lambda x: p / x, 1, np.inf, weight="cos", wvar=2.0)[0])(1.0)
    with pytest.warns(scipy.integrate.IntegrationWarning):
        linad.grad(lambda p: si.quad(lambda x: p / x, 0, 1)[0])(1.0)


def damped(p):
    return lambda t: np.exp(-p * t) + t * t


ENDS = np.array([0.2, 2.1])
WEIGHTED = {
    "cos": (lambda m, p, e, w: m.quad(damped(p), *e, weight="cos", wvar=w), 3.3),
    "sin": (lambda m, p, e, w: m.quad(damped(p), *e, weight="sin", wvar=w), 90.0),
    "cauchy": (lambda m, p, e, w: m.quad(damped(p), *e, weight="cauchy", wvar=w), 1.3),
    "cauchy-beside": (lambda m, p, e, w: m.quad(damped(p), *e, weight="cauchy", wvar=w), 3.3),
    "complex": (
        lambda m, p, e, w: m.quad(lambda t: np.exp(1j * p * t) / (w + t), *e, complex_func=True),
        1.3,
    ),
    "complex-cos": (
        lambda m, p, e, w: m.quad(
            lambda t, q: np.exp(1j * q * t), *e, (p,), weight="cos", wvar=w, complex_func=True
        ),
        1.3,
    ),
    **{
        weight: (
            lambda m, p, e, w, weight=weight: m.quad(damped(p), *e, weight=weight, wvar=w),
            [-0.4, 0.6],
        )
        for weight in ("alg", "alg-loga", "alg-logb", "alg-log")
    },
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights(name):
    f, w = WEIGHTED[name]
    args = np.array(0.7), ENDS, np.array(w)
    found = linad.linearize(lambda *args: f(si, *args)[0], *args)[0]
    np.testing.assert_allclose(found, f(scipy.integrate, *args)[0], rtol=1e-12)
    order = 2 if name in ("cos", "cauchy", "complex") else 1
    check_derivatives(lambda *args: f(si, *args)[0], *args, order=order)
    told = within_a_derivative(lambda: f(si, *args))
    assert told == f(scipy.integrate, *args)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
def test_a_complex_integrand_says_how():
    with pytest.raises(UnsupportedError, match="complex_func=True"):
        linad.grad(lambda p: abs(si.quad(lambda t: np.exp(p * t) * (1 + 1j), 0, 1)[0]))(0.3)


IN_PROGRAMS = {
    "smooth": (lambda p: lambda x: np.exp(-p * x) * np.sin(p * x), 0, 2),
    "upwards": (lambda p: lambda x: np.exp(-p * x * x), 0, np.inf),
    "downwards": (lambda p: lambda x: np.exp(p * x), 0, -np.inf),
    "both": (lambda p: lambda x: np.exp(-p * x * x + x), -np.inf, np.inf),
    "decides": (lambda p: lambda x: p * x if x < 0.5 else np.cos(p * x), 0, 1),
    "backwards": (lambda p: lambda x: np.exp(-p * x), 3, 0),
}


@pytest.mark.usefixtures("kernels")
class TestInPrograms:
    @pytest.mark.parametrize("name", IN_PROGRAMS)
    def test_one_program_for_all_values(self, name):
        F, a, b = IN_PROGRAMS[name]
        f = linad.jit(lambda p: linad.scipy.integrate.quad(F(p), a, b)[0])
        slope = linad.jit(linad.grad(lambda p: linad.scipy.integrate.quad(F(p), a, b)[0]))
        plain = linad.grad(lambda p: linad.scipy.integrate.quad(F(p), a, b)[0])
        for p in np.linspace(1.0, 3.0, 5):
            wanted = scipy.integrate.quad(F(p), a, b, epsabs=1e-12, epsrel=1e-12)[0]
            np.testing.assert_allclose(f(p), wanted, rtol=1e-12)
            np.testing.assert_allclose(slope(p), plain(p), rtol=1e-9)
        assert [len(paths) for paths in f.variants.values()] == [1]

    def test_a_peak_that_moves_out_of_the_intervals(self):
        def integrand(p):
            return lambda x: 1 / (1e-4 + (x - p) ** 2)

        f = linad.jit(lambda p: linad.scipy.integrate.quad(integrand(p), 0, 1)[0])
        for p in np.linspace(0.1, 0.9, 5):
            wanted = (np.arctan((1 - p) / 1e-2) + np.arctan(p / 1e-2)) / 1e-2
            np.testing.assert_allclose(f(p), wanted, rtol=1e-9)

    def test_ends_that_are_arguments(self):
        f = linad.jit(lambda p: linad.scipy.integrate.quad(lambda x: np.cos(p * x), p, 2 * p)[0])
        for p in (1.0, 1.5, -1.0, 0.5):
            wanted = (np.sin(2 * p * p) - np.sin(p * p)) / p
            np.testing.assert_allclose(f(p), wanted, atol=1e-14)

    def test_integrals_within_integrals(self):
        def integrand(y, x, p):
            return np.exp(-p * x * y)

        f = linad.jit(
            lambda p: linad.scipy.integrate.dblquad(lambda y, x: integrand(y, x, p), 0, 1, 0, 2)[0]
        )
        g = linad.jit(
            lambda p: linad.scipy.integrate.nquad(integrand, [(0, 2), (0, 1)], args=(p,))[0]
        )
        for p in (1.0, 2.0):
            wanted = scipy.integrate.dblquad(integrand, 0, 1, 0, 2, args=(p,))[0]
            np.testing.assert_allclose([f(p), g(p)], wanted, rtol=1e-10)

    def test_the_error_is_of_the_call(self):
        f = linad.jit(lambda p: linad.scipy.integrate.quad(lambda x: np.sin(p * x), 0, 3))
        for p in (1.0, 5.0):
            value, error = f(p)
            assert abs(value - (1 - np.cos(3 * p)) / p) <= max(error, 1e-14)
            assert error < 1.5e-8


def stepped(t):
    return t if t < 0.7 else t * t


DEMANDING = {
    "equal limits": (lambda x: si.quad(lambda t: np.exp(-t), x[0], x[1])[0], [1.0, 1.0]),
    "break point": (lambda x: si.quad(stepped, x[0], x[1], points=[0.7])[0], [0.5, 2.0]),
    "break points in an array": (
        lambda x: si.quad(stepped, x[0], x[1], points=np.array([0.7, 1.2]))[0],
        [0.5, 2.0],
    ),
    "from high to low": (lambda x: si.quad(stepped, x[1], x[0], points=[0.7])[0], [0.5, 2.0]),
    "moving break point": (
        lambda x: si.quad(lambda t: np.where(t > x[0], t * x[1], 0), 0, 2, points=(x[0],))[0],
        [0.5, 1.5],
    ),
    "steep step": (lambda x: si.quad(lambda t: 1 / (1 + np.exp(200 * (x - t))), -3, 1)[0], 0.0),
    "kink": (lambda x: si.quad(lambda t: np.abs(t - x), -1, 2)[0], 0.3),
    "vectors, equal limits": (
        lambda x: si.quad_vec(lambda t: np.exp(-t) * np.ones(2), x[0], x[1])[0].sum() / 2,
        [1.0, 1.0],
    ),
    "vectors, break point": (
        lambda x: si.quad_vec(stepped, x[0], x[1], points=[0.7])[0],
        [0.5, 2.0],
    ),
    "vectors, steep step": (
        lambda x: si.quad_vec(lambda t: 1 / (1 + np.exp(200 * (x - t))), -3, 1)[0],
        0.0,
    ),
}
SLOPES = {
    "equal limits": [-np.exp(-1), np.exp(-1)],
    "break point": [-0.5, 4.0],
    "break points in an array": [-0.5, 4.0],
    "from high to low": [0.5, -4.0],
    "moving break point": [-0.75, 1.875],
    "steep step": -1.0,
    "kink": -0.4,
}
SLOPES |= {
    f"vectors, {name}": SLOPES[name] for name in ("equal limits", "break point", "steep step")
}


@pytest.mark.parametrize("wrap", [linad.grad, lambda f: linad.jit(linad.grad(f))])
@pytest.mark.parametrize("name", DEMANDING)
def test_derivatives_of_demanding_integrals(name, wrap):
    f, x = DEMANDING[name]
    np.testing.assert_allclose(wrap(f)(np.array(x)), SLOPES[name], rtol=1e-6)


def test_an_integrand_that_is_refused_says_so():
    def f(x):
        return si.quad(lambda t: np.array([np.sin(t * x[0])])[0], 0, x[1])[0]

    with pytest.raises(linad.errors.TracerError, match="out of the trace"):
        linad.jit(f)(np.array([1.0, 2.0]))
