"""Forms that take SciPy's arguments by their names."""

import importlib

import numpy as np
import pytest

import linad
import linad.numpy
import linad.scipy
from linad.errors import ArgumentError, UnsupportedError
from linad.scipy import fft, linalg, stats
from linad.scipy.mirror import arguments_of, bound_form


def theirs(a, b=2.0, *, overwrite_a=False, side="left"):
    """What SciPy would have."""
    return a * b


@bound_form(theirs)
def scaled(a, b):
    return 10.0 * a * b


@bound_form(theirs)
def passed_on(a, **given):
    return a * given.get("b", 3.0) + len(given)


def traced(f):
    return linad.linearize(f, np.array([1.0, 2.0]))[0]


def test_plain_arguments_are_answered_by_scipy():
    assert scaled(1.0) == 2.0
    assert scaled.__name__ == "theirs"
    assert scaled.__doc__ == theirs.__doc__


def test_a_parameter_without_a_default_has_scipys():
    np.testing.assert_array_equal(traced(scaled), [20.0, 40.0])
    np.testing.assert_array_equal(traced(lambda x: scaled(x, 3.0)), [30.0, 60.0])
    np.testing.assert_array_equal(traced(lambda x: scaled(b=3.0, a=x)), [30.0, 60.0])


def test_an_argument_that_is_not_named_must_change_nothing():
    np.testing.assert_array_equal(traced(lambda x: scaled(x, overwrite_a=True)), [20.0, 40.0])
    np.testing.assert_array_equal(traced(lambda x: scaled(x, side="left")), [20.0, 40.0])
    with pytest.raises(UnsupportedError, match="theirs: side='right' is not traced by linad"):
        traced(lambda x: scaled(x, side="right"))
    for side in (np.ones(2), [1.0, 2.0]):
        with pytest.raises(UnsupportedError, match=r"side=.* is not traced"):
            traced(lambda x, side=side: scaled(x, side=side))
    with pytest.raises(UnsupportedError, match=r"side=.* is not traced"):
        traced(lambda x: scaled(1.0, side=x))


def test_what_is_passed_on_is_what_was_given():
    np.testing.assert_array_equal(traced(passed_on), [3.0, 6.0])
    np.testing.assert_array_equal(traced(lambda x: passed_on(x, 2.0)), [3.0, 5.0])


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: scaled(x, unknown=1), "unexpected keyword argument 'unknown'"),
        (lambda x: scaled(b=x), "missing a required argument: 'a'"),
        (lambda x: scaled(x, 1.0, 2.0), "too many positional arguments"),
    ],
)
def test_a_call_that_scipy_does_not_take(call, message):
    with pytest.raises(ArgumentError, match=f"theirs: .*{message}"):
        traced(call)


def test_arguments_have_the_names_that_a_signature_gives_them():
    def first(a, b=1, *, c=2):
        pass

    def behind(a=0, /, b=1, **more):
        pass

    assert arguments_of(first)(5) == {"a": 5}
    assert arguments_of(first)(5, 6, c=7) == {"a": 5, "b": 6, "c": 7}
    assert arguments_of(first)(b=6, a=5) == {"a": 5, "b": 6}
    assert arguments_of(behind)(5) == {"a": 5}
    assert arguments_of(behind)(b=6, d=8) == {"b": 6, "d": 8}
    for args, named in (((), {}), ((5,), {"a": 5}), ((5, 6, 7), {}), ((5,), {"d": 1})):
        with pytest.raises(ArgumentError, match="first: "):
            arguments_of(first)(*args, **named)


def _symmetric(x):
    return [[x[0] + 2.0, x[1]], [x[1], 3.0]]


LISTS = {
    "det": (linalg.det, lambda x: [_symmetric(x)]),
    "cholesky": (linalg.cholesky, lambda x: [_symmetric(x)]),
    "expm": (linalg.expm, lambda x: [_symmetric(x)]),
    "solve": (linalg.solve, lambda x: [_symmetric(x), [x[1], 1.0]]),
    "fft": (lambda a: np.abs(fft.fft(a)), lambda x: [[x[0], 0.0, x[1]]]),
    "normal": (
        lambda m, c: stats.multivariate_normal(m, c, allow_singular=True).logpdf([0.4, 0.5]),
        lambda x: [[x[0], 0.0], _symmetric(x)],
    ),
}


@pytest.mark.parametrize("function, lists", LISTS.values(), ids=LISTS)
def test_lists_of_numbers_are_arrays(function, lists):
    def of_lists(x):
        return np.sum(function(*lists(x)))

    def of_arrays(x):
        return np.sum(function(*map(linad.numpy.array, lists(x))))

    x = np.array([0.3, 0.7])
    want = linad.grad(of_arrays)(x)
    assert np.all(np.isfinite(want))
    assert np.any(want)
    np.testing.assert_allclose(linad.grad(of_lists)(x), want, rtol=1e-12)


@pytest.mark.parametrize("path", linad.scipy.INNER_ROOMS)
def test_modules_inside_are_linads_whoever_has_imported_them(path):
    room, _, name = path.rpartition(".")
    outer = importlib.import_module(f"linad.scipy.{room}")
    assert outer.__getattr__(name).__name__ == f"linad.scipy.{path}"
