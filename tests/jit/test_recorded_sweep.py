"""The registry swept: what a derivative or a program keeps of the arrays that it was given.

A function is called with plain arrays of its own beside the traced ones, and they are overwritten
as soon as it has returned: its derivative must not notice. And each case of the rules is recorded
in one state and run in others.
"""

import functools
import itertools

import numpy as np
import pytest
import scipy.sparse
from rule_cases import TOPICS
from survey import table as coverage
from survey.numpy_calls import MATRIX, quiet

import linad
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import is_inexact
from linad.errors import InternalError, LinadError


class Lent:
    """A function that is given copies of the plain arrays among its arguments, spoiled when it
    has returned."""

    def __init__(self, function, spoil, copies=None):
        self.function, self.spoil = function, spoil
        self.copies = [] if copies is None else copies

    def __getattr__(self, name):
        return Lent(getattr(self.function, name), self.spoil, self.copies)

    def __call__(self, *args, **kwargs):
        args = [self.copy(a) for a in args]
        if not isinstance(self.function, Primitive):  # whose parameters are linad's own
            kwargs = {name: self.copy(a) for name, a in kwargs.items()}
        y = self.function(*args, **kwargs)
        made = any(isinstance(v, Traced) for v in linad.core.tree.flatten(y)[0])
        for copy in self.copies if self.spoil and made else ():
            copy[...] = spoiled(copy)
        return y

    def copy(self, x):
        if type(x) in (list, tuple):
            found = type(x)(self.copy(v) for v in x)
            if type(x) is list and found and all(type(v) is int for v in x):
                return self.copy(np.array(x))  # an index may be a list, or an array
            return found
        if scipy.sparse.issparse(x) and hasattr(x, "data"):
            x = x.copy()
            self.copies.append(x.data)
            return x
        if type(x) is not np.ndarray or x.dtype.hasobject or not x.size:
            return x
        self.copies.append(x.copy())
        return self.copies[-1]


def spoiled(a):
    """Other entries that the array can have: of integers the same ones, in another order."""
    if a.dtype.kind in "biu":
        return ~a if a.dtype.kind == "b" else np.roll(a, 1)
    return a.reshape(-1)[::-1].reshape(a.shape) * 0.5 - 7


def jacobian_of(call, function, point, spoil):
    """The results and the Jacobian, of a call whose plain arrays are spoiled, or are not."""
    lent = Lent(function, spoil)

    def f(x):
        y = call(lent, x)
        leaves = [v for v in linad.core.tree.flatten(y)[0] if isinstance(v, Traced)]
        return [v * 1.0 for v in leaves if v.dtype.kind in "fc"]

    with quiet():
        y, J = linad.linearize(f, point)
        return y, [np.asarray(t) for t in J.pushforward(direction(point))], lent.copies


def direction(x):
    return np.sin(np.arange(x.size) + 1.0).reshape(x.shape).astype(x.dtype)


def check_spoiled(call, function, point):
    try:
        y, expected, copies = jacobian_of(call, function, point, False)
    except Exception:  # not traced, or not at this point: no derivative to be wrong
        return False
    if not copies or not expected:
        return False
    _, found, _ = jacobian_of(call, function, point, True)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    return True


@pytest.mark.rest
def test_derivatives_keep_nothing_of_plain_arguments():
    checked, wrong = 0, []
    for entry in itertools.chain(*coverage.entries().values()):
        for call in entry.calls:
            try:
                checked += check_spoiled(call, entry.function, MATRIX)
            except AssertionError:
                wrong.append(entry.name)
    assert not wrong
    assert checked > 200


def test_derivatives_of_cases_keep_nothing_of_plain_arguments():
    checked, wrong = 0, []
    for topic, cases in TOPICS.items():
        for case in cases:
            for i, x in enumerate(case.args):
                if not (isinstance(x, np.ndarray) and x.dtype.kind in "fc"):
                    continue

                def call(f, x, case=case, i=i):
                    return f(*case.args[:i], x, *case.args[i + 1 :], **case.params)

                try:
                    checked += check_spoiled(call, case.function, x)
                except AssertionError:
                    wrong.append(f"{topic}: {case!r}")
    assert not wrong
    assert checked > 100


# Recorded at one point in C order, run at others, in other orders, under other error states.

ORDERS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2] if a.ndim else a,
    "reversed": lambda a: a[::-1].copy()[::-1] if a.ndim else a,
}
CASES = [(topic, k, case) for topic, cases in TOPICS.items() for k, case in enumerate(cases)]
SAMPLE = set(np.random.default_rng(10).choice(len(CASES), 24, replace=False).tolist())


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=f"{topic}-{k}-{case!r}", marks=() if n in SAMPLE else pytest.mark.full
        )
        for n, (topic, k, case) in enumerate(CASES)
    ],
)
@pytest.mark.compiles
def test_cases_run_in_other_states(case):
    def f(*args):
        return case.function(*args, **case.params)

    def moved(order):
        return [
            ORDERS[order](np.asarray(a * a.dtype.type(1.03125))) if is_data(a) else a
            for a in case.args
        ]

    jitted = linad.jit(f)
    with quiet(), linad.config(variants=32):
        for args in (case.args, case.args, *[moved(order) for order in ORDERS]):
            compare(jitted, f, args)
        for state in ("ignore", "warn", "raise"):
            with np.errstate(all=state):
                compare(jitted, f, moved("F"))


def is_data(a):
    return isinstance(a, np.ndarray) and a.dtype.kind in "fc"


def compare(jitted, f, args):
    expected, found = outcome(f, args), outcome(jitted, args)
    if isinstance(expected, type):
        assert issubclass(found, expected)  # of linad's as of Python's
        return
    assert not isinstance(found, type), found
    for a, b in zip(found, expected, strict=True):
        scale = np.max(np.abs(b), initial=0.0, where=np.isfinite(b)) if b.dtype.kind in "fc" else 0
        tolerance = 1e3 * np.finfo(b.dtype).eps if b.dtype.kind in "fc" else 0
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)
        assert a.dtype == b.dtype


def outcome(f, args):
    """The leaves of a result, or the type of the error."""
    try:
        y = f(*[a.copy("K") if isinstance(a, np.ndarray) and a.flags.forc else a for a in args])
    except (ValueError, IndexError, ArithmeticError, LinadError) as error:
        return type(error)
    return [np.asarray(v) for v in linad.core.tree.flatten(y)[0]]


# Statics that change: what a case computes with beside one traced argument is read from a closure,
# overwritten in place, and replaced.


def arrays_in(x):
    if isinstance(x, np.ndarray):
        return [x]
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    return [a for part in parts for a in arrays_in(part)]


def own(x):
    """The same with arrays of its own."""
    if isinstance(x, np.ndarray) and x.flags.forc and not x.dtype.hasobject:
        return np.array(x)
    return [own(part) for part in x] if type(x) is list else x


UNDEFINED = {"interp", "polydiv"}
"""What NumPy computes no certain number of: where points, spoiled, go down, or a remainder is what
rounding leaves of 0."""


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=f"{topic}-{k}-{case!r}", marks=() if n in SAMPLE else pytest.mark.full
        )
        for n, (topic, k, case) in enumerate(CASES)
        if not isinstance(case.function, Primitive)
        and getattr(case.function, "__name__", "") not in UNDEFINED
    ],
)
@pytest.mark.compiles
def test_cases_read_what_stands_in_closures_now(case):
    for i, x in enumerate(case.args):
        if not is_data(x):
            continue
        args, params = own(list(case.args)), {key: own(v) for key, v in case.params.items()}

        def f(x, i=i, args=args, params=params):
            return case.function(*args[:i], x, *args[i + 1 :], **params)

        jitted, held = linad.jit(f), arrays_in([args[:i], args[i + 1 :], params])
        with quiet(), linad.config(variants=32):
            for change in (None, "spoil", "replace"):
                for a in held if change == "spoil" else ():
                    if a.flags.writeable and a.size:
                        a[...] = spoiled(a)
                if change == "replace":
                    args[:] = [a * 0.75 if is_data(a) and k != i else a for k, a in enumerate(args)]
                    params |= {key: np.array(a) for key, a in params.items() if is_data(a)}
                for _ in range(2):
                    compare(jitted, f, [x])


# The calls of the survey: functions that are composed of others have no case among the rules.

POINTS = [
    MATRIX,
    MATRIX,
    np.asfortranarray(MATRIX * 1.03125),
    np.repeat(MATRIX * 0.96875, 2, axis=-1)[:, ::2],
    MATRIX[::-1],
    np.ascontiguousarray(MATRIX.T).T * 0.9,
    MATRIX[:, ::-1].copy(),
    MATRIX[[1, 2, 0]],
]
"""The first two in C order; then other orders in memory, and entries that decide otherwise."""

PARTS = 92
"""In so many the calls are checked. They are made when they are wanted: that takes two seconds."""


@functools.cache
def calls_of_the_survey():
    return [
        (f"{title}: {entry.name} {k}", call, entry.function)
        for title, entries in coverage.entries().items()
        for entry in entries
        for k, call in enumerate(entry.calls)
    ]


PYTHONS = (int, float, complex)


def answers(f, point):
    """The leaves of a result that are numbers or arrays, with their types; or the error."""
    try:
        y = f(point.copy("K") if point.flags.forc else point)
    except Exception as error:
        return error
    leaves = [v for v in coverage.leaves(y) if isinstance(v, (np.ndarray, np.generic, *PYTHONS))]
    return [v for v in leaves if np.asarray(v).dtype.kind in "biufc"]


def unlike(found, expected):
    """What differs, in words, or None; linad may refuse what NumPy does."""
    if isinstance(found, LinadError) and not isinstance(found, InternalError):
        return None
    if isinstance(found, Exception) or isinstance(expected, Exception):
        both = isinstance(found, Exception) and isinstance(expected, Exception)
        return None if both else f"{found!r} for {expected!r}"
    for a, b in zip(found, expected, strict=True):
        if not isinstance(b, (np.ndarray, np.generic)):
            a, b = np.asarray(a), np.asarray(b, np.asarray(a).dtype)
        if (type(a), a.shape, a.dtype) != (type(b), b.shape, b.dtype):
            return f"{type(a)} {a.dtype}{a.shape} for {type(b)} {b.dtype}{b.shape}"
        size = 1 + np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
        near = 1e-4 if b.dtype.char in "efF" else 1e-7
        if not np.allclose(a, b, rtol=near, atol=near * size, equal_nan=True):
            return f"{a!r} for {b!r}"
    return None


@pytest.mark.usefixtures("kernels")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.rest
@pytest.mark.sweep(part=0.05)
@pytest.mark.parametrize("part", range(PARTS))
def test_calls_run_in_other_states(part):
    wrong = []
    for name, call, function in calls_of_the_survey()[part::PARTS]:

        def f(a, call=call, function=function):
            return call(function, a)

        jitted = linad.jit(f)
        with quiet(), linad.config(variants=32):
            for k, point in enumerate(POINTS):
                expected = answers(f, point)
                if unlike(answers(f, point), expected) or isinstance(expected, LinadError):
                    break  # random numbers; or what is not traced, either
                told = unlike(answers(jitted, point), expected)
                if told:
                    wrong.append(f"{name}, point {k}: {told}")
                    break
    assert not wrong, "\n".join(wrong)


def pulled(f, x):
    """What a seed of random numbers becomes, by the derivative of a call."""
    y, pullback = linad.vjp(f, x)
    seeds = [np.random.default_rng(k).standard_normal(np.shape(v)) for k, v in enumerate(y)]
    return pullback(seeds)


@pytest.mark.usefixtures("kernels")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.rest
@pytest.mark.sweep(part=0.05)
@pytest.mark.parametrize("part", range(PARTS))
def test_derivatives_of_recorded_calls(part):
    """What a rule takes as fixed is fixed in the derivative of a recorded program as well."""
    wrong = []
    for name, call, function in calls_of_the_survey()[part::PARTS]:

        def f(a, call=call, function=function):
            return [v for v in coverage.leaves(call(function, a)) if is_inexact(np.result_type(v))]

        with quiet(), linad.config(disconnected="ignore"):
            try:
                expected = pulled(f, MATRIX.copy())
            except Exception:  # whether it has a derivative is asked elsewhere
                continue
            try:
                found = pulled(linad.jit(f), MATRIX.copy())
            except LinadError:
                continue
            told = unlike(found, expected)
            if told:
                wrong.append(f"{name}: {told}")
    assert not wrong, "\n".join(wrong)


A, B = np.array([[1.0, 0.2], [0.3, 2.0], [0.5, 0.5]]), np.array([1.0, 2.0, 1.0])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "function, call",
    [
        ("scipy.optimize.nnls", lambda f, x: f(A * x[0], B * x[1])[0]),
        ("scipy.optimize.lsq_linear", lambda f, x: f(A * x[0], B * x[1], (0, 9)).x),
        ("scipy.optimize.linprog", lambda f, x: f(-x, A[:2], B[:2] * x[0]).x),
        ("scipy.special.spherical_jn", lambda f, x: f(2, 5 * x)),
        ("scipy.special.zeta", lambda f, x: f(9 * x, x[0])),
        ("scipy.stats.norm.ppf", lambda f, x: f(x[0])),
        ("scipy.stats.gamma.isf", lambda f, x: f(x, 3 * x[1], scale=x[0])),
        ("scipy.stats.genpareto.logpdf", lambda f, x: f(x, 0.3 * x[0])),
    ],
)
def test_what_scipy_finds_is_fixed(function, call):
    form = functools.reduce(getattr, function.split(".")[1:], linad.scipy)

    def f(x):
        return np.sum(call(form, x) * x)

    h = linad.jit(linad.hessian(f))
    for x in (np.array([0.5, 0.6]), np.array([0.4, 0.3])):
        expected = linad.grad(f)(x)
        for gradient in (linad.jit(linad.grad(f)), linad.grad(linad.jit(f))):
            np.testing.assert_allclose(gradient(x), expected, rtol=1e-9)
        np.testing.assert_allclose(h(x), linad.hessian(f)(x), rtol=1e-7, atol=1e-9)
