"""A refusal that the function swallows is an error: it went another way than with plain values."""

import copy
import io
import itertools
import logging
import math
import pickle
import threading

import numpy as np
import pytest
import scipy.integrate
import scipy.ndimage
import scipy.optimize
from swallowing import attempt

import linad
from linad.arrays.traces import running_trace
from linad.errors import RefusalError, SwallowedError, TracerError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives

X = np.array([0.4, 1.7, 2.6])


def into_plain(x):
    y = np.zeros(3)
    y[0] = x[0]
    return y[0]


def added_into_plain(x):
    y = np.zeros(3)
    y += x
    return y[0]


REFUSED = {
    "float": lambda x: float(x[0]),
    "math": lambda x: math.sin(x[0]),
    "int": lambda x: int(x[0]),
    "complex": lambda x: complex(x[0]),
    "item": lambda x: x.item(0),
    "tolist": lambda x: x.tolist()[0],
    "array": lambda x: np.asarray(x)[0],
    "list": lambda x: np.array([x[0], 1.0])[0],
    "into plain": into_plain,
    "added into plain": added_into_plain,
    "method of plain": lambda x: np.ones(3).dot(x),
    "out": lambda x: np.sin(x, out=np.zeros(3))[0],
    "copyto": lambda x: np.copyto(np.zeros(3), x),
    "full": lambda x: np.full(2, x[0])[0],
    "untraced ufunc": lambda x: np.frompyfunc(lambda s: s, 1, 1)(x)[0],
    "untraced function": lambda x: np.savetxt(io.StringIO(), x),
    "bytes as numbers": lambda x: x.view(np.int64)[0],
    "masked": lambda x: np.ma.array(np.ones(3)) * x,
}
SWALLOWED = {
    "TypeError": lambda quick, other: attempt(quick, other, TypeError),
    "ValueError": lambda quick, other: attempt(quick, other, (ValueError, TypeError)),
    "Exception": lambda quick, other: attempt(quick, other, Exception),
    "BaseException": lambda quick, other: attempt(quick, other, BaseException),
}
DERIVATIVES = {
    "grad": lambda f: linad.grad(f)(X),
    "value_and_grad": lambda f: linad.value_and_grad(f)(X),
    "jvp": lambda f: linad.jvp(f, (X,), (X,)),
    "vjp": lambda f: linad.vjp(f, X),
    "linearize": lambda f: linad.linearize(f, X),
    "jacobian": lambda f: linad.jacobian(f)(X),
    "hessian": lambda f: linad.hessian(f)(X),
    "hvp": lambda f: linad.hvp(f, (X,), (X,)),
    "derivative": lambda f: linad.derivative(lambda s: f(s * X))(1.0),
    "sparse_jacobian": lambda f: linad.sparse_jacobian(f, X),
    "trace": lambda f: linad.trace(f, X),
    "jit": lambda f: linad.jit(f)(X),
    "grad of jit": lambda f: linad.grad(linad.jit(f))(X),
    "jit of grad": lambda f: linad.jit(linad.grad(f))(X),
    "check_derivatives": lambda f: check_derivatives(f, X),
    "lbfgs": lambda f: linad.solve.lbfgs(f, X),
    "inside another": lambda f: linad.grad(lambda s: s * linad.grad(f)(X)[0])(1.0),
}


def raised(run, f):
    """What a transform of a function raises."""
    try:
        run(f)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("transform", DERIVATIVES)
def test_every_refusal_is_raised_swallowed_or_not(transform):
    """Each kind of refusal by each way of swallowing it."""
    run = DERIVATIVES[transform]
    for (kind, quick), (caught, swallow) in itertools.product(REFUSED.items(), SWALLOWED.items()):

        def f(x, quick=quick, swallow=swallow):
            swallow(lambda: quick(x), lambda: None)
            return np.sum(x * x)

        # NumPy makes a ValueError of some, and that is not caught by all.
        hidden = caught == "TypeError" and kind == "into plain"
        found = raised(run, f)
        assert isinstance(found, TracerError if hidden else SwallowedError), (kind, caught, found)

    for kind, quick in REFUSED.items():

        def bare(x, quick=quick):
            quick(x)
            return np.sum(x * x)

        found = raised(run, bare)
        assert isinstance(found, RefusalError), (kind, found)
        assert not isinstance(found, SwallowedError), kind


def test_the_error_names_the_line_and_the_remedy():
    def f(x):
        try:
            s = float(x[0])  # this line
        except TypeError:
            s = 2.0
        return s * np.sum(x)

    with pytest.raises(SwallowedError) as caught:
        linad.grad(f)(X)
    first = f.__code__.co_firstlineno
    assert f"{__file__}, line {first + 2}, in f" in str(caught.value)
    assert "NumPy functions" in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_numpys_own_error_is_no_way_out():
    def f(x):
        y = np.zeros(2)
        try:
            y[0] = x[0]
        except ValueError:
            y[0] = 1.0
        return np.sum(y * x[:2])

    with pytest.raises(SwallowedError):
        linad.grad(f)(X)


def test_marks_tell_what_was_refused_and_where():
    found = []

    def f(x):
        attempt(lambda: float(x[0]), lambda: None)
        found.extend(running_trace().marks)
        return np.sum(x)

    with pytest.raises(SwallowedError):
        linad.grad(f)(X)
    [mark] = found
    assert mark.kind == "float"
    assert mark.place.file == __file__
    assert mark.place.function == "<lambda>"
    assert isinstance(mark.error, TracerError)


def several(x):
    return attempt(lambda: float(x) * x[0], lambda: np.sum(x))


def not_a_number(x):
    return attempt(lambda: int(np.nan * x[0]), lambda: np.sum(x))


def no_single_item(x):
    return attempt(lambda: x.item(), lambda: np.sum(x))


def probes(x):
    for name in ("data", "ctypes", "nothing", "__float__", "__array__", "tobytes"):
        hasattr(x, name)
        getattr(x, name, None)
    for quick in (
        lambda: memoryview(x),
        lambda: bytes(x),
        lambda: x.tobytes(),
        lambda: pickle.dumps(x),
        lambda: x.dump(io.BytesIO()),
        lambda: np.from_dlpack(x),
        lambda: hash(x[0]),
        lambda: x[0].missing,
        lambda: x["a"],
        lambda: x[9],
        lambda: x @ np.ones(7),
        lambda: x.reshape(2, 2),
        lambda: len(x[0]),
        lambda: iter(x[0]),
    ):
        attempt(quick, lambda: None)
    np.isscalar(x[0]), np.iterable(x[0]), np.shape(x), np.ndim(x), np.size(x)
    return np.sum(copy.copy(x) * copy.deepcopy(x))


def texts(x):
    return np.sum(x) * len(f"{x[0]:.3f} {x!s:.5} {x!r:.5}")


def an_inner_derivative_that_fails(x):
    # It fails around plain values, too.
    return attempt(lambda: linad.grad(lambda t: float(t) * t)(x[0]), lambda: x[0]) * x[1]


def stopped(x):
    return attempt(lambda: float(linad.stop_gradient(x[0])), lambda: None) * np.sum(x)


def integers(x):
    return x[int(np.argmax(x))] * float(np.argmax(x)) * [1, 2, 3][np.argmin(x)]


@pytest.mark.parametrize(
    "f",
    [
        several,
        not_a_number,
        no_single_item,
        probes,
        texts,
        an_inner_derivative_that_fails,
        integers,
        stopped,
    ],
)
def test_what_plain_numpy_refuses_and_mere_probes_go_through(f):
    expected = f(X) if f is not probes else X @ X
    y, gradient = linad.value_and_grad(f)(X)
    np.testing.assert_allclose(y, expected)
    np.testing.assert_allclose(linad.jvp(f, (X,), (X,))[1], gradient @ X)
    if f is not stopped:  # a program cannot hold what leaves it
        np.testing.assert_allclose(linad.jit(f)(X), expected)


def test_a_refusal_that_is_raised_leaves_nothing_behind():
    def f(x, y):
        attempt(lambda: linad.grad(lambda t: float(t) * t)(2.0), lambda: None)
        return np.sum(x * y)

    for _ in range(2):
        with pytest.raises(TracerError):
            linad.grad(lambda x: float(x[0]) * x[1])(X)
        np.testing.assert_array_equal(linad.grad(f)(X, 2 * X), 2 * X)


def test_another_exception_of_the_function_comes_through():
    def f(x):
        attempt(lambda: float(x[0]), lambda: None)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        linad.grad(f)(X)


def test_an_error_that_a_refusal_has_led_to_tells_of_it():
    def f(x):
        found = attempt(lambda: float(x[0]), lambda: None)
        return [1.0][0 if found else 1] * np.sum(x)

    with pytest.raises(IndexError) as caught:
        linad.grad(f)(X)
    [note] = caught.value.__notes__
    assert f"{__file__}, line" in note


def test_values_of_an_outer_derivative_mark_the_outer_one():
    def f(x):
        inner = linad.grad(lambda t: t * attempt(lambda: float(x[0]), lambda: 1.0))
        return inner(2.0) * x[1]

    with pytest.raises(SwallowedError):
        linad.grad(f)(X)


def test_a_value_of_an_outer_trace_that_is_written_into_a_plain_array_is_told():
    """NumPy's error and linad's are each the reason of the other then."""

    def f(x, a):
        y = np.zeros(3)
        y[0] = a
        return np.sum(y * x)

    inner = linad.grad(f)
    for outer in (linad.jit(inner), linad.grad(lambda x, a: np.sum(inner(x, a)), argnums=1)):
        with pytest.raises(TracerError, match="writing it into a plain NumPy array"):
            outer(np.ones(3), 2.0)


def test_threads_mark_the_trace_of_the_value():
    def f(x):
        def work():
            attempt(lambda: float(x[0]), lambda: None)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return np.sum(x)

    with pytest.raises(SwallowedError):
        linad.grad(f)(X)


def test_log_messages_show_numbers(caplog):
    def f(x):
        logging.getLogger("solver").warning("residual %.2f at %s, %d", x[0], x, np.argmax(x))
        return np.sum(x * x)

    np.testing.assert_allclose(linad.grad(f)(X), 2 * X)
    assert "residual 0.40 at [0.4 1.7 2.6], 2" in caplog.text


def test_an_error_that_scipy_puts_in_the_place_of_a_refusal():
    """Its compiled code may go on after an error in a callback, and find fault with the numbers."""
    text = """
def brentq(f):
    try:
        float(f(0.0))
    except TypeError:
        pass
    raise ValueError("f(a) and f(b) must have different signs")
"""
    scope = {"__name__": "scipy.optimize._pretended"}
    exec(text, scope)
    with pytest.raises(TracerError, match="would take a traced value"):
        linad.grad(lambda x: scope["brentq"](lambda t: t - x[0]))(X)
    with pytest.raises(ValueError, match="of my own"):
        linad.grad(lambda x: attempt(lambda: float(x[0]), lambda: raises("of my own")))(X)


def raises(words):
    raise ValueError(words)


def failing_later(error):
    """A callback whose first result is traced, and which fails as one does that is called again
    while the refusal of that is pending in the interpreter."""
    calls = itertools.count()

    def f(a, t):
        if next(calls):
            raise error
        return a * np.sum(t)

    return f


CALLERS = {
    "brentq": lambda f: scipy.optimize.brentq(f, 0, 5),
    "brenth": lambda f: scipy.optimize.brenth(f, 0, 5),
    "ridder": lambda f: scipy.optimize.ridder(f, 0, 5),
    "bisect": lambda f: scipy.optimize.bisect(f, 0, 5),
    "fsolve": lambda f: scipy.optimize.fsolve(f, 1.0)[0],
    "leastsq": lambda f: scipy.optimize.leastsq(f, 1.0)[0][0],
    "quad": lambda f: scipy.integrate.quad(f, 0, 1)[0],
    "dblquad": lambda f: scipy.integrate.dblquad(lambda t, s: f(t), 0, 1, 0, 1)[0],
    "odeint": lambda f: scipy.integrate.odeint(lambda y, t: f(y), 1.0, [0.0, 1.0])[1, 0],
    "generic_filter": lambda f: scipy.ndimage.generic_filter(X, f, 2)[0],
    "geometric_transform": lambda f: scipy.ndimage.geometric_transform(X, lambda c: (f(c),))[0],
}
"""Compiled code of SciPy's that calls back; some of it again after a result was refused."""


@pytest.mark.parametrize("name", CALLERS)
@pytest.mark.parametrize("error", [AttributeError("hasobject"), UnsupportedError("to compiled")])
def test_a_callback_that_fails_while_a_refusal_is_pending(name, error):
    f = failing_later(error)
    with pytest.raises(TracerError, match=f"{name}.* would take a traced value"):
        linad.grad(lambda a: CALLERS[name](lambda t: f(a, t)))(0.1)


def test_masked_arrays_are_refused_with_what_to_do():
    mask = np.array([True, False, False])
    for masked in (
        lambda x: np.ma.masked_array(x, mask=mask).sum(),
        lambda x: np.ma.array(x, mask=mask).mean(),
        lambda x: np.ma.masked_where(mask, x),
        lambda x: np.ma.masked_invalid(x),
    ):
        with pytest.raises(
            TracerError, match=r"masked arrays are traced in adopted code.*x\[~mask\]"
        ):
            linad.linearize(masked, np.array([1.0, 2.0, 3.0]))
    m = np.ma.masked_array(np.ones(3), mask)
    for masked in (lambda x: m * x, lambda x: (m - x) ** 2):
        with pytest.raises(TracerError, match=r"of a masked array would .*np.where\(m.mask"):
            linad.linearize(masked, np.array([1.0, 2.0, 3.0]))
