"""Lists of traced numbers as arguments of NumPy's functions, in linad.numpy and in adopted code."""

import copy
import pickle

import numpy as np
import pytest

import linad
import linad.numpy as lnp
import linad.numpy.fft
import linad.numpy.linalg
from linad.adoption.forms import picked
from linad.numpy.list_arguments import LISTS_OF_ARRAYS, OTHER_LISTS, TakingLists, takes_arrays
from linad.testing.derivative_checks import check_derivatives

ROOMS = {"": (lnp, np), "linalg.": (lnp.linalg, np.linalg), "fft.": (lnp.fft, np.fft)}
NAMES = [
    f"{room}{name}"
    for room, (_, theirs) in ROOMS.items()
    for name in sorted(dir(theirs))
    if not name.startswith("_") and takes_arrays(getattr(theirs, name))
]

OWN = (
    "arange array asanyarray asarray ascontiguousarray asfortranarray asmatrix bmat copy empty "
    "empty_like eye fromiter full full_like identity ones ones_like require zeros zeros_like"
)
"""Functions that make arrays: they have forms and tests of their own."""

ARGUMENTS = {
    "numbers": lambda a, b: ([a, b, a * b],),
    "rows": lambda a, b: ([[a, b], [b, a + 3.0]],),
    "vectors": lambda a, b: ([np.array([1.0, 2.0]) * a, np.array([3.0, 2.5]) * b],),
    "two": lambda a, b: ([a, b], (b, a)),
    "three": lambda a, b: (1.2 * a, [a, 1.0], [b, 3.0]),
}
POINT = 0.3, 0.7


def functions(name):
    room, _, last = name.rpartition(".")
    ours, theirs = ROOMS[f"{room}." if room else ""]
    return getattr(ours, last), getattr(theirs, last)


def accepted(function, arguments):
    """The value for plain lists, None where NumPy refuses them or it has no derivative."""
    try:
        with np.errstate(all="ignore"):
            value = function(*arguments(*POINT))
    except (TypeError, ValueError, IndexError, AttributeError, np.linalg.LinAlgError):
        return None
    if not isinstance(value, (np.ndarray, np.floating, np.complexfloating)):
        return None
    return value if value.dtype.kind in "fc" and np.all(np.isfinite(value)) else None


REFUSED = {
    "angle": {"two"},  # a flag, and others that are no arrays
    "bincount": {"two"},  # integers
    "intersect1d": {"three"},
    "linalg.norm": {"two"},
    "nan_to_num": {"two", "three"},
    "repeat": {"two"},
    "roll": {"two"},
    "setdiff1d": {"three"},
    "setxor1d": {"three"},
    "take": {"two", "three"},
}


def as_arrays(arguments):
    return [lnp.array(v) if isinstance(v, (list, tuple)) else v for v in arguments]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*no operation")
@pytest.mark.parametrize("name", [n for n in NAMES if n not in OWN.split()])
def test_lists_stand_for_arrays(name):
    ours, theirs = functions(name)
    for kind, arguments in ARGUMENTS.items():
        value = accepted(theirs, arguments)
        if value is not None and kind not in REFUSED.get(name, ()):
            check(arguments, value, theirs, (ours, picked(theirs)))


def check(arguments, value, theirs, forms):
    _, expected = linad.vjp(lambda a, b: theirs(*as_arrays(arguments(a, b))), *POINT)
    seed = np.cos(np.arange(value.size)).reshape(value.shape).astype(value.dtype)
    pulls = [linad.vjp(lambda a, b, f=form: f(*arguments(a, b)), *POINT) for form in forms]
    for y, pull in pulls:
        np.testing.assert_allclose(y, value, rtol=1e-12)
        np.testing.assert_array_equal(pull(seed), expected(seed))


def test_keywords_may_be_lists():
    def f(x):
        means = lnp.average([2.0, x[1], 1.0], weights=[x[0], 1.0, x[2]])
        return means + lnp.interp(0.4, xp=[0.0, x[0]], fp=[x[1], x[2]])

    x = np.array([0.7, 1.3, 0.2])
    check_derivatives(f, x)
    assert linad.value_and_grad(f)(x)[0] == pytest.approx(f(x), rel=1e-14)


def test_methods_of_ufuncs_take_lists():
    def f(x):
        return lnp.multiply.reduce([x[0], x[1]]) + lnp.add.outer([x[0], 1.0], x).sum()

    check_derivatives(f, np.array([0.7, 1.3]))
    assert lnp.add.nin == 2
    counts = np.zeros(3)
    lnp.add.at(counts, [0, 0, 2], 1.0)
    np.testing.assert_array_equal(counts, [2.0, 0.0, 1.0])


def test_plain_lists_are_numpys():
    assert type(lnp.hypot([3.0], [4.0])) is np.ndarray
    assert lnp.linalg.norm([3, 4]) == 5.0
    assert lnp.sin.__doc__ == np.sin.__doc__
    assert repr(lnp.sin) == repr(np.sin)
    assert {"norm", "solve"} <= set(dir(lnp.linalg))
    assert lnp.linalg.LinAlgError is np.linalg.LinAlgError


def test_forms_are_copied_and_pickled():
    for form in (lnp.sin, lnp.linalg.norm):
        assert isinstance(form, TakingLists)
        again = pickle.loads(pickle.dumps(form))
        assert again([3.0, 4.0]) == pytest.approx(form([3.0, 4.0]))
        assert copy.deepcopy(form)(0.5) == form(0.5)


def test_other_lists_are_functions_of_numpy():
    names = OTHER_LISTS | LISTS_OF_ARRAYS
    assert all(any(hasattr(room, name) for _, room in ROOMS.values()) for name in names)


OF_LISTS = {
    "select": lambda f, a, b: f([[True, False, False], a > 0.0], [[a, b, a], [a, b, 1.0]], b),
    "choose": lambda f, a, b: f([0, 1, 0], [[a, b, a * b], (1.0, a, 3.0)]),
    "linalg.multi_dot": lambda f, a, b: f([[a, b], [[a, 1.0], (2.0, b)], np.array([1.0, 2.0])]),
    "apply_along_axis": lambda f, a, b: f(lambda row: row[::-1] * row, 1, [[a, 1.0], [2.0, b]]),
    "lexsort": lambda f, a, b: lnp.array([a, b, a * b])[f([[a, b, a], (b, a, b)])],
}


@pytest.mark.parametrize("name", OF_LISTS)
def test_lists_of_lists(name):
    ours, theirs = functions(name)
    for form in (ours, picked(theirs)):
        y, J = linad.linearize(lambda p, f=form: lnp.array(OF_LISTS[name](f, *p)), np.array(POINT))
        expected = np.array(OF_LISTS[name](theirs, *POINT), float)
        np.testing.assert_allclose(y, expected, rtol=1e-14)
        check_derivatives(lambda p, f=form: lnp.array(OF_LISTS[name](f, *p)), np.array(POINT))
        assert J.shape == (expected.size, 2)


def test_kernels_know_them():
    @linad.kernel
    def f(x):
        total = 0.0
        for i in range(len(x)):
            total += lnp.sin(x[i])
        return total * lnp.linalg.norm(x)

    x = np.array([0.7, 1.3, 0.2])
    assert f(x) == pytest.approx(np.sin(x).sum() * np.linalg.norm(x))
    check_derivatives(f, x, order=1)
