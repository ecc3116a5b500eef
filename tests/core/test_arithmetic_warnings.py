"""Warnings of arithmetic are given at the user's line, and say when a derivative gave them."""

import warnings

import numpy as np
import pytest

import linad


def log(x):
    return np.sum(np.log(x))


def root(x):
    return np.sum(np.sqrt(x))


def determinant(x):
    return np.linalg.det(x * np.eye(2))


def told_by(action, call, *args):
    """The texts and the lines of this file that a call warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter(action)
        globals().pop("__warningregistry__", None)  # each is told once
        call(*args)
    assert {w.filename for w in told} <= {__file__}, told
    return {(str(w.message), w.lineno) for w in told}


def line_of(f):
    return f.__code__.co_firstlineno + 1


ZERO = "divide by zero encountered in "
TOLD = {
    log: (0.0, {ZERO + "log", ZERO + "divide (in the derivative of log)"}),
    root: (0.0, {ZERO + "divide (in the derivative of sqrt)"}),
    determinant: (1e200, {"overflow encountered in det"}),
}
TRANSFORMS = {
    "linearized": linad.linearize,
    "pushed": lambda f, x: linad.jvp(f, (x,), (1.0,)),
    "recorded": lambda f, x: linad.jit(linad.grad(f))(x),
}


@pytest.mark.parametrize("action", ["always", "default"])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("f", TOLD)
def test_the_line_is_the_users(f, transform, action):
    x, texts = TOLD[f]
    here = {text for text, line in told_by(action, transform, f, x) if line == line_of(f)}
    assert texts <= {text.replace("scalar ", "") for text in here}


def test_errors_are_raised_for_the_functions_own_arithmetic_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="encountered in log$"):
            linad.grad(log)(0.0)
        assert linad.grad(root)(0.0) == np.inf


def test_a_filter_by_text_finds_them():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "divide by zero")
        linad.grad(log)(0.0)
    assert not told


def test_operators_outlive_the_filters_of_their_making():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, J = linad.linearize(root, np.array([0.0, 1.0]))
    text = "invalid value encountered in multiply (in a derivative)"
    for apply in (lambda: J.T @ np.zeros(1), lambda: J.pullback(0.0)):
        assert {text} == {text for text, _ in told_by("always", apply)}


def test_plain_numpy_is_left_as_it_is():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        linad.grad(root)(1.0)
        np.linalg.det(np.eye(2) * 1e200)
    assert [w.filename != __file__ for w in told] == [True]


def test_filters_stay_few():
    with warnings.catch_warnings():
        for _ in range(3):
            warnings.simplefilter("always")
            linad.grad(root)(1.0)
            count = len(warnings.filters)
        linad.grad(root)(1.0)
        assert len(warnings.filters) == count
