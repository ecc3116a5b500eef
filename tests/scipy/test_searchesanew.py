"""Searches that SciPy makes at each run of a compiled function: one program for all of them."""

import pickle

import numpy as np
import pytest
import scipy.optimize

import linad
import linad.numpy as lnp
import linad.scipy.optimize as so
from linad.scipy import searchesanew

T = np.linspace(0, 2, 9)


def two(p, x):
    return lnp.array([x[0] + p * np.sin(x[1]) - 1, x[1] - np.cos(x[0])])


def hill(p, x):
    return np.sum((x - p) ** 2) + 0.1 * np.sum(np.cos(x))


def wave(p, x):
    return (x - p) ** 2 + 0.1 * np.sin(x)


def misfit(p, x):
    return np.exp(-x[0] * T) + x[1] - np.exp(-p * T)


def square(x, p):
    return x**2 + p


HALF, ONES = np.array([0.5, 0.5]), np.ones(3)

SEARCHES = {
    "fsolve": lambda p: so.fsolve(lambda x: two(p, x), HALF),
    "fsolve, args": lambda p: so.fsolve(lambda x, q: x**3 - q * x - 1, 2, args=(p,)),
    "fsolve, full_output": lambda p: so.fsolve(lambda x: two(p, x), p * HALF, full_output=True)[0],
    "root": lambda p: so.root(lambda x: two(p, x), HALF).x,
    "root, lm": lambda p: so.root(lambda x: two(p, x), HALF, method="lm").fun + p,
    "root, jac": lambda p: so.root(
        lambda x: x**3 - p * x - 1, [2.0], jac=lambda x: (3 * x**2 - p).reshape(1, 1)
    ).x,
    "broyden1": lambda p: so.broyden1(lambda x: x**3 + p * x - 1, 0.6 * ONES),
    "newton": lambda p: so.newton(lambda x: x**3 - p * x - 1, 2 * ONES),
    "fixed_point": lambda p: so.fixed_point(lambda x: p * np.cos(x) / 3, HALF),
    "minimize": lambda p: so.minimize(lambda x: hill(p, x), HALF).x,
    "minimize, value": lambda p: so.minimize(lambda x: hill(p, x), p * HALF).fun,
    "minimize, jac": lambda p: so.minimize(
        lambda x: (hill(p, x), 2 * (x - p) - 0.1 * np.sin(x)), HALF, jac=True
    ).x,
    "minimize, bounds": lambda p: so.minimize(
        lambda x: hill(p, x), HALF, bounds=[(0, 5), (None, 0.75)]
    ).x,
    "minimize, Nelder-Mead": lambda p: so.minimize(
        lambda x: hill(p, x), HALF, method="Nelder-Mead", tol=1e-9
    ).x,
    "minimize_scalar": lambda p: so.minimize_scalar(lambda x: wave(p, x)).x,
    "minimize_scalar, bounded": lambda p: so.minimize_scalar(
        lambda x: wave(p, x), bounds=(-2, 3), method="bounded"
    ).fun,
    "brent": lambda p: so.brent(lambda x: wave(p, x), brack=(0, 1)),
    "fmin": lambda p: so.fmin(lambda x: hill(p, x), HALF, xtol=1e-9, disp=0),
    "fmin_l_bfgs_b": lambda p: so.fmin_l_bfgs_b(lambda x: hill(p, x), HALF, approx_grad=True)[1],
    "least_squares": lambda p: so.least_squares(lambda x: misfit(p, x), HALF).x,
    "leastsq": lambda p: so.leastsq(lambda x: misfit(p, x), HALF)[0],
    "curve_fit": lambda p: so.curve_fit(lambda t, a, b: np.exp(-a * t) + b, T, np.exp(-p * T))[0],
    "in a loop": lambda p: linad.map(
        lambda q: so.fsolve(lambda x: x**3 - p * q * x - 1, 2.0)[0], HALF
    ),
    "decides": lambda p: so.fsolve(lambda x: x - p if x < 1.5 else 2 * x - 1.5 - p, [4.0]),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", SEARCHES)
def test_one_program(name):
    def f(p):
        return np.sum(SEARCHES[name](p))

    value, slope = linad.jit(f), linad.jit(linad.grad(f))
    for p in (0.8, 1.1, 1.4):
        np.testing.assert_allclose(value(p), f(p), rtol=1e-6)
        np.testing.assert_allclose(slope(p), linad.grad(f)(p), rtol=1e-5)
    for jitted in (value, slope):
        assert [len(paths) for paths in jitted.variants.values()] == [1]


@pytest.mark.rest
def test_second_derivatives():
    f = SEARCHES["fsolve, args"]
    h = linad.jit(linad.grad(linad.grad(lambda p: f(p)[0])))
    for p in (0.8, 1.1):
        np.testing.assert_allclose(h(p), linad.grad(linad.grad(lambda p: f(p)[0]))(p), rtol=1e-9)


def test_result_is_of_this_run():
    """Its numbers are, and a search that ends in another way is another path."""

    @linad.jit
    def f(p):
        x, told, flag, message = so.fsolve(square, 1.0, (p,), full_output=True)
        return x if flag == 1 else x * np.nan, told["nfev"], message

    for p in (-2.0, -4.0, 3.0, -9.0):
        x, told, flag, message = scipy.optimize.fsolve(square, 1.0, (p,), full_output=True)
        found = f(p)
        np.testing.assert_allclose(found[0], x if flag == 1 else [np.nan])
        assert found[2] == message
        assert abs(found[1] - told["nfev"]) <= 2  # rounding has a say in it
    assert [len(paths) for paths in f.variants.values()] == [2]


def test_search_that_fails_raises():
    f = linad.jit(lambda p: so.newton(lambda x: x**2 + p, 2 * ONES).sum())
    assert f(-1.0) == f(-1.0) == pytest.approx(3)
    with pytest.raises(RuntimeError, match="[Ff]ailed to converge"):
        f(1.0)


def test_what_cannot_be_a_program_is_searched_for_at_its_recording():
    """A callback of the user's, constraints: right, and a program for each value."""
    seen = []
    search = {
        "callback": lambda p: so.minimize(lambda x: hill(p, x), HALF, callback=seen.append).x,
        "constraints": lambda p: so.minimize(
            *(lambda x: hill(p, x), HALF), constraints={"type": "eq", "fun": lambda x: x[0] - p}
        ).x,
        "counts": lambda p: so.fsolve(lambda x: x - p if len(seen) < 0 else x + p, [1.0]),
    }
    for name, f in search.items():
        g = linad.jit(f)
        for p in (0.8, 1.1, 1.4):
            np.testing.assert_allclose(g(p), f(p), rtol=1e-5, err_msg=name)
    assert seen


def test_function_that_changes_after_its_first_call_is_called_each_time():
    calls = []

    def f(x, p):
        calls.append(1)
        return x - p if len(calls) < 2 else x - 2 * p

    def search(p):
        return so.fsolve(f, 1.0, (p,))[0]

    def found(search):
        calls.clear()
        return search(1.5)

    jitted = linad.jit(search)
    assert [found(jitted) for _ in range(3)] == [found(search)] * 3


def test_start_and_bounds_are_those_of_the_call():
    """Whatever is written into them afterwards."""

    @linad.jit
    def f(p):
        start, bounds = np.array([0.5]), [[-3.0, 3.0]]
        x = so.minimize(lambda x: np.sum((x**2 - p) ** 2), start, bounds=bounds).x[0]
        start[:], bounds[0][:] = -0.5, [-3.0, -0.1]
        return x

    for p in (1.0, 1.2, 1.5):
        np.testing.assert_allclose(f(p), np.sqrt(p), rtol=1e-6)
    assert [len(paths) for paths in f.variants.values()] == [1]


@pytest.mark.rest
def test_derivative_can_be_pickled():
    f = linad.jit(lambda p: so.fsolve(two_of, HALF, args=(p,)))
    f(1.0)
    J = linad.linearize(f, 1.1)[1]
    again = pickle.loads(pickle.dumps(J))
    np.testing.assert_array_equal(again.todense(), J.todense())


def two_of(x, p):
    return two(p, x)


def test_functions_of_other_arguments_than_the_first_are_refused():
    bound = searchesanew._Bound(_body(), [])
    with pytest.raises(searchesanew.UnfitError):
        bound(np.ones(2))


def _body():
    watched = searchesanew.Watched(lambda x: 2 * x)
    recorded = searchesanew._Recorded(watched)
    assert recorded(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    return recorded.body


def by_fsolve(p):
    total = 0.0
    for t in np.linspace(0.3, 2.0, 30):
        x = so.fsolve(lambda x: two(p + t, x), np.array([0.5, t]))  # noqa: B023
        total = total + x[0] * x[1] * t
    return total


def by_minimize_scalar(p):
    total = 0.0
    for t in np.linspace(0.3, 2.0, 30):
        total = total + so.minimize_scalar(lambda x: wave(p * t, x)).x * t  # noqa: B023
    return total


@pytest.mark.rest
@pytest.mark.parametrize("f", [by_fsolve, by_minimize_scalar])
def test_searches_at_many_points_are_one_loop(f):
    gradient = linad.jit(linad.value_and_grad(f))
    for p in (0.7, 0.9, 1.3):
        value, slope = gradient(p)
        expected, exact = linad.value_and_grad(f)(p)
        np.testing.assert_allclose(value, expected, 1e-7)
        np.testing.assert_allclose(slope, exact, 1e-6)
    ((path,),) = gradient.variants.values()
    loops = [e for e in path.rolled.equations if e.primitive.name.startswith("repeat")]
    searches = [any([e.primitive.dear for e in f.primitive.body.tape.equations]) for f in loops]
    assert searches == [True, False]  # what was found is kept for the way back
    assert len(path.rolled.equations) < 400
