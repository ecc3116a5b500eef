"""A result that nothing connects with the arguments is refused, or warned about, not zero."""

import warnings

import numpy as np
import pytest

import linad
from linad.errors import DisconnectedWarning, OptionError, OutputError
from linad.testing.derivative_checks import check_derivatives

X = np.array([0.4, 1.7, 2.6])

TRANSFORMS = {
    "linearize": lambda f: linad.linearize(f, X)[0],
    "jvp": lambda f: linad.jvp(f, (X,), (X,)),
    "vjp": lambda f: linad.vjp(f, X)[0],
    "jacobian": lambda f: linad.jacobian(f)(X),
    "sparse_jacobian": lambda f: linad.sparse_jacobian(f, X),
    "check_derivatives": lambda f: check_derivatives(f, X),
    "jacobian of jit": lambda f: linad.jacobian(linad.jit(f))(X),
    "jvp of jit": lambda f: linad.jvp(linad.jit(f), (X,), (X,)),
    "jit of jacobian": lambda f: linad.jit(linad.jacobian(f))(X),
    "derivative": lambda f: linad.derivative(lambda s: f(s * X))(1.0),
    "inside another": lambda f: linad.jacobian(lambda s: linad.jacobian(f)(s * X))(1.0),
}
OF_SCALARS = {
    "grad": lambda f: linad.grad(f)(X),
    "value_and_grad": lambda f: linad.value_and_grad(f)(X),
    "hessian": lambda f: linad.hessian(f)(X),
    "hvp": lambda f: linad.hvp(f, (X,), (X,)),
    "hessian_operator": lambda f: linad.hessian_operator(f, X),
    "sparse_hessian": lambda f: linad.sparse_hessian(f, X),
    "grad of jit": lambda f: linad.grad(linad.jit(f))(X),
    "jit of grad": lambda f: linad.jit(linad.grad(f))(X),
    "lbfgs": lambda f: linad.solve.lbfgs(f, X),
}
ALL = {**TRANSFORMS, **OF_SCALARS}


def pairs(transforms, functions):
    """Each transform with each function; what compiles, with the first of them."""
    return [(name, f) for name in transforms for f in functions[: 1 if "jit" in name else None]]


def compared(x):
    return x[0] > 1.0


def compared_array(x):
    return x > 1.0


def counted(x):
    return np.argmax(x), np.count_nonzero(x > 1.0)


def digital(x):
    return np.where(x[0] > 1.0, 1.0, 0.0)


def stepped(x):
    return np.sum(np.floor(x)) + np.heaviside(x[0] - 1.0, 0.5)


def switched(x):
    y = np.zeros_like(x)
    y[x > 1.0] = 1.0
    return np.sum(y)


def overwritten(x):
    x[:] = 2.0
    return np.sum(x)


def told(call):
    """How many warnings of a cut there are in a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        call()
    assert all(w.category is DisconnectedWarning for w in caught)
    return len(caught)


@pytest.mark.parametrize("name, f", pairs(ALL, [compared, np.argmax]))
def test_integers_and_booleans_are_refused(name, f):
    with pytest.raises(OutputError, match=r"int64|bool"):
        ALL[name](f)


@pytest.mark.parametrize("name, f", pairs(TRANSFORMS, [counted, np.argsort, compared_array]))
def test_arrays_and_containers_of_them_are_refused(name, f):
    with pytest.raises(OutputError, match=r"int64|bool|Python int"):
        TRANSFORMS[name](f)


@pytest.mark.parametrize("name, f", pairs(ALL, [stepped, digital, switched]))
def test_a_floating_result_that_is_cut_off_warns_once(name, f):
    if name == "check_derivatives":
        return
    assert told(lambda: ALL[name](f)) == 1
    with linad.config(disconnected="raise"), pytest.raises(OutputError, match="no operation"):
        ALL[name](f)
    with linad.config(disconnected="ignore"), warnings.catch_warnings(action="error"):
        ALL[name](f)


def test_check_derivatives_tells_of_a_function_that_is_cut_off():
    with linad.config(disconnected="raise"), pytest.raises(OutputError, match="digital"):
        check_derivatives(digital, X)
    assert told(lambda: check_derivatives(digital, X)) == 1


def test_what_is_overwritten_is_cut_off():
    assert told(lambda: linad.grad(overwritten)(X)) == 1


def test_the_warning_names_the_function_and_points_at_the_call():
    with pytest.warns(DisconnectedWarning, match=r"digital.*stop_gradient") as caught:
        linad.grad(digital)(X)
    assert caught[0].filename == __file__


SILENT = {
    "the Hessian of a linear function": lambda: linad.hessian(np.sum)(X),
    "its product": lambda: linad.hvp(np.sum, (X,), (X,)),
    "its operator": lambda: linad.hessian_operator(np.sum, X),
    "its sparse form": lambda: linad.sparse_hessian(np.sum, X),
    "of a jitted one": lambda: linad.hessian(linad.jit(np.sum))(X),
    "of a jitted gradient": lambda: linad.jacobian(linad.jit(linad.grad(np.sum)))(X),
    "a pullback": lambda: linad.jacobian(lambda x: linad.vjp(np.sum, x)[1](1.0)[0])(X),
    "a tangent": lambda: linad.grad(lambda x: linad.jvp(np.sum, (x,), (X,))[1])(X),
    "a mixed derivative": lambda: linad.grad(
        lambda a: linad.derivative(lambda t: 2.0 * t + a)(0.5)
    )(1.0),
    "stop_gradient": lambda: linad.grad(lambda x: np.sum(linad.stop_gradient(x)))(X),
    "stop_gradient of a constant": lambda: linad.grad(
        lambda x: linad.stop_gradient(np.float64(3.0))
    )(X),
    "stop_gradient, jitted": lambda: linad.grad(
        linad.jit(lambda x: np.sum(linad.stop_gradient(x)))
    )(X),
    "an unused leaf": lambda: linad.grad(lambda p: np.sum(p["used"]))(
        {"used": X, "unused": X.copy()}
    ),
    "an unused argument": lambda: linad.grad(lambda x, y: np.sum(x), argnums=(0, 1))(X, X),
    "a constant beside a result": lambda: linad.jacobian(lambda x: (x * x, np.ones(2)))(X),
    "integers beside a result": lambda: linad.jacobian(lambda x: (np.sort(x), np.argsort(x)))(X),
    "aux": lambda: linad.grad(lambda x: (np.sum(x), np.argmax(x)), has_aux=True)(X),
    "floating aux": lambda: linad.grad(lambda x: (np.sum(x), np.floor(x)), has_aux=True)(X),
    "times zero": lambda: linad.grad(lambda x: 0.0 * np.sum(x))(X),
    "flat where it stands": lambda: linad.grad(lambda x: np.sum(np.clip(x, 8.0, 9.0)))(X),
    "a workspace": lambda: linad.grad(lambda x: np.sum(np.multiply(x, x, out=np.zeros_like(x))))(X),
    "outside of the domain": lambda: linad.grad(lambda x: np.inf)(X),
    "of NumPy's": lambda: linad.jacobian(lambda x: np.full(3, np.nan))(X),
    "outside, in a program": lambda: linad.jit(linad.value_and_grad(lambda x: -np.inf))(X),
    "no entries": lambda: linad.jacobian(lambda x: np.zeros(0))(X),
    "checked": lambda: check_derivatives(np.sum, X),
    "a solver of a linear equation": lambda: linad.solve.newton(lambda x: 2.0 * x - 1.0, X),
    "a solution of it": lambda: linad.grad(
        lambda a: np.sum(linad.solve.root(lambda x, a: 2.0 * x - a, X, a))
    )(X),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_zero_that_is_meant_does_not_warn(name):
    with linad.config(disconnected="raise"), warnings.catch_warnings(action="error"):
        SILENT[name]()


def test_stop_gradient_stops_in_compiled_programs():
    def f(x):
        return np.sum(linad.stop_gradient(x) * x)

    g = linad.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(linad.grad(g)(X), X)
        np.testing.assert_array_equal(linad.jvp(g, (X,), (np.ones(3),))[1], np.sum(X))
        np.testing.assert_allclose(g(X), np.sum(X * X))
    np.testing.assert_array_equal(linad.hessian(g)(X), linad.hessian(f)(X))


def test_infinities_that_are_returned_outside_of_the_domain_have_derivative_zero():
    def minus_log(x):
        return -np.sum(np.log(x)) if np.all(x > 0) else np.inf

    for f in (linad.value_and_grad(minus_log), linad.jit(linad.value_and_grad(minus_log))):
        for x in (X + 1.0, X + 1.0, -X, -X):
            value, g = f(x)
            assert type(value) is np.float64
            assert np.isinf(value) == bool(np.any(x <= 0))
            expected = np.zeros(3) if np.isinf(value) else -1.0 / x
            np.testing.assert_array_equal(g, expected)
    value, slope = linad.jvp(minus_log, (-X,), (X,))
    assert (value, slope) == (np.inf, 0.0)


def test_the_setting_is_one_of_three():
    with (
        pytest.raises(OptionError, match="'raise', 'warn' or 'ignore'"),
        linad.config(disconnected="error"),
    ):
        pass
