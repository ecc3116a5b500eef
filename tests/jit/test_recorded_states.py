"""Recorded in one state, run in another: what a compiled call must not mistake.

Writes before an exception, overlapping arguments, draws of other threads, NumPy's error state,
texts, identity: a call of a jitted function does what the function itself does, or says why not.
"""

import contextlib
import io
import logging
import sys
import threading
import warnings

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import linad
from linad.errors import TracerError
from linad.jit import recording

X = np.array([0.5, 0.25, 1.5, 3.0])


# Writes.


def test_what_was_written_before_an_exception_stays():
    def f(x, y):
        x[0] = 7.0
        if y[0] > 0:
            raise KeyError("no")
        x[1] = 8.0
        return x * 1.0

    jitted = linad.jit(f)
    for y in (1.0, 1.0, -1.0, -1.0, 1.0):
        found, expected = np.ones(3), np.ones(3)
        for call, x in ((jitted, found), (f, expected)):
            try:
                call(x, np.array([y]))
            except KeyError:
                assert y > 0
        np.testing.assert_array_equal(found, expected)


def test_what_was_written_before_a_routine_raises_stays():
    def f(x, a):
        x[0] = 7.0
        x[1:] = np.linalg.solve(a, x[1:])
        return np.sum(x)

    def g(x, a):
        x[0] = 7.0
        return np.linalg.svd(a)[1] @ x[:2]

    jitted = [(linad.jit(h), h) for h in (f, g)]
    for a in (np.eye(2), np.eye(2), np.zeros((2, 2)), np.full((2, 2), np.nan)):
        for call, plain in jitted:
            found, expected = np.ones(3), np.ones(3)
            raised = []
            for h, x in ((call, found), (plain, expected)):
                try:
                    h(x, a.copy())
                except np.linalg.LinAlgError as error:
                    raised.append(str(error))
            assert len(set(raised)) <= 1
            assert len(raised) in (0, 2)
            np.testing.assert_array_equal(found, expected)


def test_an_argument_whose_entries_overlap():
    def f(x):
        x[0] += 1.0
        return x * 1.0

    def windows():
        return as_strided(np.arange(6.0), (3, 3), (8, 8))

    jitted = linad.jit(f)
    for make in (windows, lambda: np.zeros((3, 3)), lambda: np.zeros((3, 3)), windows):
        found, expected = make(), make()
        np.testing.assert_array_equal(jitted(found), f(expected))
        np.testing.assert_array_equal(found, expected)
    jacobian = linad.jacobian
    for transform in (jacobian(f), linad.jit(jacobian(f)), jacobian(linad.jit(f))):
        with pytest.raises(TracerError, match="entries that share memory with each other"):
            transform(windows())
    with pytest.raises(TracerError, match="share memory"):
        linad.jvp(f, (windows(),), (np.ones((3, 3)),))


ZERO_DIMENSIONAL = {
    "where": lambda x: np.where(x[0] > 0, x[0], x[1]),
    "select": lambda x: np.select([x[0] > 0], [x[0]], x[1]),
    "choose": lambda x: np.choose(1, [x[0], x[1]]),
    "interp": lambda x: np.interp(x[0], [0.0, 1.0], x[:2]),
    "reshape": lambda x: x[:1].reshape(()),
    "squeeze": lambda x: x[2:3].squeeze(),
    "sum": lambda x: x.sum(),
}


@pytest.mark.parametrize("name", ZERO_DIMENSIONAL)
def test_writes_into_results_without_axes(name):
    def f(x):
        v = ZERO_DIMENSIONAL[name](x)
        v -= 0.7
        v *= v
        return v

    gradient = linad.grad(f)(X)
    for v in np.eye(4):
        np.testing.assert_allclose(linad.jvp(f, (X,), (v,))[1], gradient @ v, rtol=1e-13)
    hessian = linad.hessian(f)(X)
    for v in np.eye(4):
        pushed = linad.jvp(lambda x, v=v: linad.jvp(f, (x,), (v,))[1], (X,), (v,))[1]
        np.testing.assert_allclose(pushed, v @ hessian @ v, rtol=1e-13)


# Draws.


def test_other_threads_may_draw():
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            np.random.normal(size=3)  # noqa: NPY002

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(20):
                linad.jit(lambda x: np.sum(np.sin(x)) ** 2)(X)
        with pytest.warns(UserWarning, match="drew random numbers"):
            linad.jit(lambda x: x + np.random.normal())(X)  # noqa: NPY002
    finally:
        stop.set()
        thread.join()


# NumPy's error state.


def calls_of(f):
    """How often a function runs itself: as often as it is not run compiled."""
    count = []

    def counted(*args):
        count.append(1)
        return f(*args)

    return linad.jit(counted), count


STATES = [{"all": "ignore"}, {"all": "warn"}, {"divide": "ignore", "over": "warn"}]
LOUD = [{"all": "raise"}, {"invalid": "raise"}, {"divide": "call"}, {"under": "print"}]


def test_quiet_states_run_compiled():
    jitted, count = calls_of(lambda x: np.sum(np.log(x)))
    jitted(X), jitted(X)
    assert len(count) == 1
    for quiet in STATES:
        with np.errstate():
            np.seterr(**quiet)
            for _ in range(3):
                np.testing.assert_allclose(jitted(X), np.sum(np.log(X)), rtol=1e-14)
            with np.errstate(**quiet):
                assert np.isnan(jitted(X - 0.5))
    assert len(count) == 1


@pytest.mark.parametrize("loud", LOUD, ids=repr)
def test_loud_states_run_uncompiled(loud):
    jitted, count = calls_of(lambda x: np.sum(x * x))
    jitted(X), jitted(X), jitted(X)
    for k in range(3):
        with np.errstate(**loud, call=lambda *_: None):
            jitted(X)
        jitted(X)
        assert len(count) == 2 + k


@np.errstate()
def test_errors_are_raised_and_caught_as_in_numpy():
    def f(x):
        try:
            with np.errstate(divide="raise"):
                y = 1 / (x - 0.5)
        except FloatingPointError:
            y = x * 2
        return np.sum(y)

    def g(x):
        old = np.seterr(invalid="raise")
        try:
            return np.sqrt(x)
        except FloatingPointError:
            return x
        finally:
            np.seterr(**old)

    def h(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return np.log(x)
            except RuntimeWarning:
                return x

    for function in (f, g, h):
        jitted = linad.jit(function)
        gradient = linad.jit(linad.grad(lambda x, function=function: np.sum(function(x))))
        for x in (X, X, X, -X, -X, X):
            np.testing.assert_allclose(jitted(x), function(x), rtol=1e-14)
            for other in (jitted, function):
                expected = linad.grad(lambda x, other=other: np.sum(other(x)))(x)
                np.testing.assert_allclose(gradient(x), expected, rtol=1e-14)


def test_a_caller_who_wants_errors_gets_them():
    jitted = linad.jit(lambda x: np.sum(np.log(x)))
    gradient = linad.grad(jitted)
    for _ in range(3):
        jitted(X), gradient(X)
        with np.errstate(all="raise"):
            np.testing.assert_allclose(gradient(X), 1 / X)
            for call in (jitted, gradient):
                with pytest.raises(FloatingPointError, match="divide by zero"):
                    call(X * 0)


def test_a_block_that_ignores_is_compiled():
    def f(x):
        with np.errstate(all="ignore"):
            y = np.where(x > 0, np.log(x), 0.0)
        return np.sum(y)

    jitted, count = calls_of(f)
    for x in (X, -X, X * 0):
        np.testing.assert_allclose(jitted(x), f(x), rtol=1e-14)
    assert len(count) == 1


# Texts.

TEXTS = {
    "str": lambda x: 2 * x if "-" in str(x[0]) else x,
    "format": lambda x: 2 * x if "-" in f"{x[0]:.1f}" else x,
    "repr": lambda x: 2 * x if "-" in repr(x[0]) else x,
    "percent": lambda x: 2 * x if "%s" % x[0] > "0.1" else x,  # noqa: UP031
    "array2string": lambda x: 2 * x if "-" in np.array2string(x) else x,
    "array_str": lambda x: 2 * x if "-" in np.array_str(x) else x,
    "array_repr": lambda x: 2 * x if "-" in np.array_repr(x) else x,
    "key": lambda x: {"0.5": 2 * x, "-0.5": 3 * x, "-0.0": 4 * x, "0.0": 5 * x}[f"{x[0]}"],
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_decide(name):
    f = TEXTS[name]
    jitted = linad.jit(f)
    gradient = linad.jit(linad.grad(lambda x: np.sum(f(x))))
    for x in (X, X, -X, -X, X * 0, -X * 0, X, -X * 0):
        np.testing.assert_array_equal(jitted(x), f(x))
        np.testing.assert_array_equal(gradient(x), linad.grad(lambda x: np.sum(f(x)))(x))
        np.testing.assert_array_equal(linad.grad(lambda x: np.sum(jitted(x)))(x), gradient(x))


def test_texts_that_are_printed_decide_nothing(capsys):
    def f(x):
        print(f"loss {x[0]:.3f}", x, "%s" % x[0])  # noqa: UP031
        print("a" + str(x[1]), "{:.2f}".format(x[1]), file=sys.stdout)  # noqa: UP032
        print(", ".join([f"{v}" for v in x]))
        sys.stderr.write(f"{x}")
        logging.getLogger("a program").info("%s", x[0])
        logging.getLogger("a program").warning(f"{x[0]}")
        return 2 * x

    jitted = linad.jit(f)
    for k in range(4):
        jitted(k * X)
    ((*paths,),) = jitted.variants.values()
    assert len(paths) == 1
    assert "loss 0.000 [0. 0. 0. 0.]" in capsys.readouterr().out


def test_texts_that_are_printed_into_memory_decide():
    def f(x):
        with contextlib.redirect_stdout(io.StringIO()) as kept:
            print(f"{x[0]:.3e}")
        return x * float(kept.getvalue())

    jitted = linad.jit(f)
    for x in (X + 1, X + 2, X + 1):
        np.testing.assert_array_equal(jitted(x), f(x))


def test_texts_are_those_of_numpy():
    def f(x):
        return x * 1, repr(x), repr(x[0]), str(x), np.array2string(x), f"{x[1]:.1f}"

    jitted = linad.jit(f)
    for x in (X, X, -X):
        assert jitted(x)[1:] == f(x)[1:]


# Identity and memory.


def is_same(x, y):
    return 3 * x if x is y else x * y


def helped(x, y):
    return is_same(x, y) if x is not None else y


@pytest.mark.parametrize(
    "f",
    [is_same, helped, lambda x, y: 3 * x if np.shares_memory(x, y) else x * y],
    ids=["is", "is in a function", "shares_memory"],
)
def test_arguments_that_are_one_object(f):
    jitted = linad.jit(f)
    y = X.copy()
    for a, b in [(X, X), (X, X), (X, y), (X, y), (X, X), (X, X[::-1]), (X, y)]:
        np.testing.assert_array_equal(jitted(a, b), f(a, b))
        for argnums in (0, 1, (0, 1)):
            with linad.config(disconnected="ignore"):  # 3 * x has no y
                gradients = [
                    linad.grad(lambda a, b, g=g: np.sum(g(a, b)), argnums=argnums)(a, b)
                    for g in (jitted, f)
                ]
            np.testing.assert_array_equal(*gradients)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 2 * x if x.flags.writeable else x,
        lambda x: 2 * x if x.flags["OWNDATA"] else x,
        lambda x: 2 * x if x.base is None else x,
        lambda x: 2 * x if (x * 1)[1:].base is None else x,
    ],
    ids=["writeable", "owndata", "base", "base of a view"],
)
def test_flags_and_bases(f):
    frozen = X.copy()
    frozen.flags.writeable = False
    jitted = linad.jit(f)
    for x in (X, X, frozen, frozen, X[:], X, frozen, X[:]):
        np.testing.assert_array_equal(jitted(x), f(x))


# Every derivative of the jitted form of functions that write into their arguments.


def decides_then_writes(x):
    y = 2 * x if x[0] > 0 else 3 * x
    x[:] = -1.0
    return np.sum(y * y)


def sweeps_over(x):
    for k in range(1, 4):
        x[k] += 0.5 * x[k - 1] ** 2
    return np.sum(x**2)


def through_a_view(x):
    v = x[1:3]
    v *= x[0]
    return np.sum(np.sin(x) * v[0])


def by_reshape(x):
    x.reshape(2, 2)[0] = x[2:] ** 2
    return np.sum(x * np.arange(4.0))


def by_out(x):
    np.multiply(x, x, out=x)
    return x[0] * x[3] + x[1]


def by_index(x):
    x[[3, 0]] = x[[0, 3]] * np.array([2.0, 3.0])
    x[x > 1] = 0.5
    return np.sum(x**3)


def sorts(x):
    x.sort()
    return np.sum(x * np.arange(4.0)) ** 2


WRITING = [decides_then_writes, sweeps_over, through_a_view, by_reshape, by_out, by_index, sorts]
DERIVATIVES = {
    "value": lambda f: f,
    "grad": linad.grad,
    "value_and_grad": lambda f: linad.value_and_grad(f),
    "jvp": lambda f: lambda x: linad.jvp(f, (x,), (np.arange(4.0),))[1],
    "linearize": lambda f: lambda x: linad.linearize(f, x)[1] @ np.arange(4.0),
    "jacobian": linad.jacobian,
    "hessian": linad.hessian,
    "hvp": lambda f: lambda x: linad.hvp(f, (x,), (np.arange(4.0),)),
}


def states():
    """Points on either side of the decisions, as arrays of each order and kind."""
    y = np.array([-0.3, 0.8, 1.2, -2.0])
    for x in (X, X, y, -X):
        yield lambda x=x: x.copy()
        yield lambda x=x: np.repeat(x, 2)[::2]
        yield lambda x=x: x[::-1].copy()[::-1]
        yield lambda x=x: np.stack([x, x], 1)[:, 0]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "f, name",
    [
        pytest.param(f, name, marks=() if k % len(DERIVATIVES) == j else pytest.mark.full)
        for k, f in enumerate(WRITING)
        for j, name in enumerate(DERIVATIVES)
    ],
)
def test_derivatives_of_what_writes(f, name):
    """Each function with one of the derivatives; with all of them in the full run."""
    derive = DERIVATIVES[name]
    forms = [derive(linad.jit(f)), linad.jit(derive(f)), linad.jit(derive(linad.jit(f)))]
    for make in states():
        expected, left = outcome(derive(f), make())
        for form in forms:
            with linad.config(variants=32):
                found, changed = outcome(form, make())
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
            np.testing.assert_allclose(changed, left, rtol=1e-12)


def outcome(f, x):
    return np.concatenate([np.ravel(v) for v in linad.core.tree.flatten(f(x))[0]]), x


# What takes long.


def test_a_loop_that_is_compiled_step_by_step_is_named(capsys, monkeypatch):
    monkeypatch.setattr(recording, "LONG", 50)

    def f(x):
        for k in range(60):
            x = np.sin(x) if k * k % 7 % 3 else np.cos(x) * x
        return x

    with linad.config(progress=True):
        linad.jit(f)(X)
    said = capsys.readouterr().err
    assert "f is " in said
    assert "operations" in said
    assert "pick it after the loop" in said
    assert "test_recorded_states.py" in said
    with linad.config(progress=False):
        linad.jit(lambda x: f(x))(X)
    assert not capsys.readouterr().err
