"""A traced value passes for the array or the number that it is, where a function asks for that."""

import collections.abc
import functools
import math
import numbers
import sys
import types

import numpy as np
import pytest
import scipy.sparse

import linad
from linad.arrays.tracer import Tracer

X = np.array([0.4, 1.7, 2.6])


@functools.singledispatch
def dispatched(x):
    return "something"


@dispatched.register(np.ndarray)
def _(x):
    return "array"


@dispatched.register(float)
def _(x):
    return "number"


def matched(x):
    match x:
        case float():
            return "number"
        case np.ndarray():
            return "array"
        case _:
            return "something"


TESTS = {
    "isinstance of ndarray": lambda v: isinstance(v, np.ndarray),
    "isinstance of a tuple of types": lambda v: isinstance(v, (int, float)),
    "of generic": lambda v: isinstance(v, np.generic),
    "of floating": lambda v: isinstance(v, np.floating),
    "of complexfloating": lambda v: isinstance(v, np.complexfloating),
    "of a union": lambda v: isinstance(v, float | np.ndarray),
    "of Number": lambda v: isinstance(v, numbers.Number),
    "of Real": lambda v: isinstance(v, numbers.Real),
    "of Integral": lambda v: isinstance(v, numbers.Integral),
    "of list": lambda v: isinstance(v, (list, tuple)),
    "of Sequence": lambda v: isinstance(v, collections.abc.Sequence),
    "isscalar": np.isscalar,
    "iterable": np.iterable,
    "hasattr of __len__": lambda v: hasattr(v, "__len__"),
    "hasattr of __array__": lambda v: hasattr(v, "__array__"),
    "ndim": np.ndim,
    "__class__": lambda v: v.__class__,
    "singledispatch": dispatched,
    "match": matched,
    "iscomplexobj": np.iscomplexobj,
    "isrealobj": np.isrealobj,
}
VALUES = {
    "array": lambda x: x * 1.0,
    "matrix": lambda x: np.outer(x, x),
    "number": lambda x: x[0],
    "sum": np.sum,
    "0-d array": lambda x: x[0, ...],
    "view": lambda x: x[1:],
    "complex array": lambda x: x * 1j,
    "complex number": lambda x: x[0] * 1j,
    "single": lambda x: x.astype(np.float32),
    "a number of single precision": lambda x: x.astype(np.float32)[0],
}
RUNS = {
    "linearize": lambda f: linad.linearize(f, X),
    "jvp": lambda f: linad.jvp(f, (X,), (X,)),
    "nested": lambda f: linad.linearize(linad.grad(f), X),
    "trace": lambda f: linad.trace(f, X),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", TESTS)
def test_answers_are_those_of_the_plain_value(name, run):
    for make in VALUES.values():
        answers = []

        def f(x, make=make, answers=answers):
            answers.append(TESTS[name](make(x)))
            return np.sum(x * x)

        f(X)
        RUNS[run](f)
        assert answers == [answers[0]] * len(answers)


@pytest.mark.parametrize(
    "f",
    [lambda x: x if x > 0 else -x, lambda x: max(x, 2 * x), lambda x: x if x else -x],
    ids=["if", "max", "truth"],
)
@pytest.mark.parametrize("transform", [linad.jacobian, linad.jit], ids=["jacobian", "jit"])
def test_a_decision_on_an_array_is_told_what_chooses(f, transform):
    with pytest.raises(ValueError, match="^The truth value") as raised:
        transform(f)(np.ones(3))
    (note,) = raised.value.__notes__
    assert "np.where(condition, first, second) chooses for each entry" in note


def test_integers_of_a_recorded_program_too():
    def f(x):
        k = np.argmax(x)
        return x[k] if isinstance(k, np.integer) and not isinstance(k, (int, float)) else x[0]

    j = linad.jit(f)
    assert [j(X) for _ in range(3)] == [X[2]] * 3


def test_functions_that_branch_on_the_type_take_the_branch_of_plain_values():
    def f(x):
        total = 0.0
        for v in (x, x[0], x[1:]):
            if isinstance(v, np.ndarray):
                total = total + np.sum(v * v)
            elif np.isscalar(v) and isinstance(v, float):
                total = total + 5.0 * v
            else:
                total = total + 100.0
        return total

    y, gradient = linad.value_and_grad(f)(X)
    assert y == f(X)
    np.testing.assert_allclose(gradient, [2 * X[0] + 5.0, 4 * X[1], 4 * X[2]])


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("to_whole", [round, math.floor, math.ceil, math.trunc])
def test_what_python_rounds_a_number_to_is_an_int(to_whole, run):
    answers = []

    def f(x):
        k = to_whole(x[1])
        answers.append((isinstance(k, int), isinstance(k, float), np.isscalar(k), f"{k} {k:3d}"))
        answers.append((isinstance(k * 1.0, int), isinstance(round(x[1], 1), int), f"{k * 0.5}"))
        return np.sum(x) * k

    f(X)
    RUNS[run](f)
    assert answers == answers[:2] * (len(answers) // 2)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "u8"])
def test_rounded_integers_are_integers(dtype):
    x = np.array([3, np.iinfo(dtype).max], dtype)
    jitted = linad.jit(lambda x: (round(x[1]), round(x[0]) * 100))
    for _ in range(2):
        largest, product = jitted(x)
        assert largest.dtype.kind in "iu"
        assert largest == round(x[1])
        assert product == round(x[0]) * 100


WEAK = {
    "array": lambda x, v, k: v * k,
    "from the left": lambda x, v, k: k - v,
    "plain array": lambda x, v, k: (v, k * np.ones(2, np.float32), np.ones(2, np.float32) / k),
    "number": lambda x, v, k: (v[0] * k, k * v[0], k * np.float32(2.5), np.float32(2.5) ** k),
    "complex": lambda x, v, k: k * (v * np.complex64(1j)),
    "another int": lambda x, v, k: (k * 1) * 1.5 + k * x,
    "double": lambda x, v, k: (k * x, x[0] + k),
    "ufunc": lambda x, v, k: (np.multiply(v, k), np.hypot(k, v), *np.divmod(v, k)),
    "remainder": lambda x, v, k: (v % k, v // k, v**k),
    "comparison": lambda x, v, k: v * (v < k) + v * (k >= v),
}


@pytest.mark.parametrize("to_whole", [round, math.ceil])
@pytest.mark.parametrize("f", WEAK.values(), ids=WEAK)
def test_whole_numbers_leave_single_precision_as_it_is(f, to_whole):
    def g(x, v):
        y = f(x, v, to_whole(x[1]))
        return y if isinstance(y, tuple) else (y,)

    x, v = np.array([1.3, 2.7]), np.array([0.1, 7.3], np.float32)
    expected, compiled = g(x, v), linad.jit(g)
    for found in (linad.linearize(g, x, v)[0], compiled(x, v), compiled(x, v)):
        for y, e in zip(found, expected, strict=True):
            assert y.dtype == e.dtype
            np.testing.assert_allclose(y, e, rtol=1e-6)


@pytest.mark.parametrize("to_whole", [round, math.floor, math.ceil, math.trunc])
@pytest.mark.parametrize(
    "bad, error", [(np.nan, ValueError), (np.inf, OverflowError), (-np.inf, OverflowError)]
)
def test_what_is_not_finite_has_no_whole_number(to_whole, bad, error):
    def f(x):
        return x * to_whole(x[1])

    x = np.array([2.0, bad])
    jitted = linad.jit(f)
    for form in (f, linad.jit(f), lambda x: linad.linearize(f, x)):
        with pytest.raises(error, match="cannot convert float"):
            form(x)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(X), f(X))
    with pytest.raises(error, match="cannot convert float"):
        jitted(x)


def test_a_program_that_shows_what_is_rounded_holds_for_that_number():
    def f(x):
        return x * len(f"{round(x[0])}") + (round(x[0]) if isinstance(round(x[0]), int) else 100.0)

    jitted = linad.jit(f)
    for first in (0.4, 9.8, 10.3, 123.4, 0.2):
        x = np.array([first, 1.0])
        for _ in range(2):
            np.testing.assert_array_equal(jitted(x), f(x))


def module(name, source):
    made = types.ModuleType(name)
    made.__dict__["np"] = np
    exec(source, made.__dict__)
    return made


ASKS = "def asks(v):\n    return isinstance(v, np.ndarray), np.isscalar(v[0])"


def test_packages_are_told_as_well_but_for_those_that_know_other_arrays():
    told = module("somebody.somewhere", ASKS)
    aware = [module(name, ASKS) for name in ("xarray.core.thing", "pandas.core", "scipy.sparse")]
    found = []

    def f(x):
        found.append(told.asks(x))
        found.extend(m.asks(x) for m in aware)
        return np.sum(x)

    linad.grad(f)(X)
    assert found == [(True, True)] + [(False, False)] * 3


def test_what_asks_already_goes_on_as_before():
    A = scipy.sparse.csr_array(np.diag(X))
    np.testing.assert_allclose(linad.jacobian(lambda x: A @ x)(X), A.toarray())
    np.testing.assert_allclose(linad.jacobian(lambda x: x @ A)(X), A.toarray())
    c = [1.0, 2.0, 3.0]
    p = linad.jacobian(lambda x: np.polynomial.polynomial.polyval(x, c))
    np.testing.assert_allclose(p(X), np.diag(2.0 + 6.0 * X))


def test_linad_knows_its_own():
    seen = []

    def f(x):
        seen.append((isinstance(x, Tracer), type(x) is Tracer))
        return np.sum(x)

    linad.grad(f)(X)
    assert seen == [(True, True)]


def test_len_of_a_number_is_refused_as_by_numpy():
    def f(x):
        try:
            return x[0] * len(x[0])
        except TypeError:
            return np.sum(x) * len(x)

    np.testing.assert_array_equal(linad.grad(f)(X), 3.0)
    with pytest.raises(TypeError, match=r"object of type 'numpy.float64' has no len\(\)"):
        linad.grad(lambda x: x[0] * len(x[0]))(X)


def test_the_module_of_this_test_is_nobody_special():
    assert sys.modules[__name__].__name__.partition(".")[0] not in ("linad", "numpy")


CREATIONS = {
    "zeros ones empty": (3,),
    "full": (3, 2.0),
    "eye identity tri": (3,),
    "arange": (3.0,),
    "array asarray asanyarray ascontiguousarray asfortranarray require": ([0.5, 1.5],),
    "fromiter": ([0.5, 1.5], float),
    "fromfunction": (lambda k: k + 0.5, (3,)),
    "frombuffer": (X.tobytes(),),
    "loadtxt genfromtxt": (["0.5 1.5"],),
}


@pytest.mark.parametrize("name", " ".join(CREATIONS).split())
def test_arrays_made_like_a_traced_value_are_traced(name):
    (args,) = [args for names, args in CREATIONS.items() if name in names.split()]
    found = []
    linad.grad(lambda x: found.append(getattr(np, name)(*args, like=x)) or np.sum(x))(X)
    assert type(found[0]) is Tracer
    assert found[0].shape == getattr(np, name)(*args).shape
