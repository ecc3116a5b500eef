"""What machine code looks at outside of a function is what its lines of Python look at."""

import sys
import types

import numpy as np
import pytest
from compiled_runs import calls_of_python

import linad
from linad.sweeps.cpu import made_results
from linad.sweeps.cpu.direct_calls import NO_ENTRY
from linad.sweeps.cpu.direct_looks import DirectLook

pytestmark = pytest.mark.skipif(made_results.TABLE is None, reason="calls go through Python")

X = np.arange(3.0)
FACTOR = 2.0
ENTRIES = np.array([1.0, 2.0, 3.0])
PARTS = [np.array([1.0, 2.0, 3.0]), 4.0]
PAIR = (np.array([1.0, 2.0, 3.0]), 4.0)


def helper(x, k=3.0, *, m=1.0):
    return x * k + m


class Model:
    scale = 3.0

    def __init__(self):
        self.w = np.array([1.0, 2.0, 3.0])
        self.k = 2.0

    def loss(self, x):
        return x * self.w * self.k * self.scale


def of_closure():
    k, a = 2.0, np.array([1.0, 2.0, 3.0])

    def f(x):
        return x * k + a

    def change(value):
        nonlocal k, a
        k, a = value, a + value

    return f, change


def of_variables():
    def change(value):
        global FACTOR, ENTRIES
        FACTOR, ENTRIES = value, ENTRIES + value

    return lambda x: x * FACTOR + ENTRIES, change


def of_list():
    def change(value):
        PARTS[0], PARTS[1] = PARTS[0] + value, value

    return lambda x: x * PARTS[0] + PARTS[1], change


def of_tuple():
    def change(value):
        PAIR[0][1] = value

    return lambda x: x * PAIR[0] + PAIR[1], change


def of_function():
    def change(value):
        helper.__defaults__, helper.__kwdefaults__ = (value,), {"m": value}

    return lambda x: helper(x), change


def of_code():
    def inner(x):
        return x + 1.0

    def change(value):
        inner.__code__ = {7.0: _seven, 8.0: _eight}[value].__code__

    return lambda x: inner(x), change


def _seven(x):
    return x * 7.0


def _eight(x):
    return x * 8.0


def of_object():
    model = Model()

    def change(value):
        model.w, model.k = model.w + value, value

    return model.loss, change


def of_class():
    model = Model()

    def change(value):
        Model.scale = value

    return model.loss, change


PLACES = [of_closure, of_variables, of_list, of_tuple, of_function, of_code, of_object, of_class]


@pytest.mark.whole
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_changes_are_seen(place):
    f, change = place()
    jitted = linad.jit(f)
    for value in (7.0, 8.0):
        for _ in range(4):
            np.testing.assert_array_equal(jitted(X), f(X))
        assert jitted._entry is not NO_ENTRY
        assert calls_of_python(jitted, X) == []
        change(value)
        np.testing.assert_array_equal(jitted(X), f(X))


class Base:
    pass


class More(Base):
    missing = 6.0


class Tried(Base):
    def __init__(self):
        self.k = 2.0

    def loss(self, x):
        try:
            return x * self.k * self.missing
        except AttributeError:
            return x


def of_loop(x):
    total = 0.0
    for k in range(len(x)):
        total = total + x[k] * float(k)
    return total * np.ones(3)


MORE = Tried()
ABSENT = {
    "range": (of_loop, lambda: (sys.modules[__name__], "range", lambda n: [0])),
    "attribute": (lambda x: MORE.loss(x), lambda: (MORE, "missing", 3.0)),
    "of the class": (lambda x: MORE.loss(x), lambda: (Tried, "missing", 4.0)),
    "of its base": (lambda x: MORE.loss(x), lambda: (Base, "missing", 5.0)),
    "bases": (lambda x: MORE.loss(x), lambda: (Tried, "__bases__", (More,))),
}
"""Functions, and where something is put that they look for and do not find."""


@pytest.mark.parametrize("f, put", ABSENT.values(), ids=list(ABSENT))
def test_names_that_are_missing_are_looked_for_without_python(f, put):
    jitted = linad.jit(f)
    for _ in range(4):
        np.testing.assert_array_equal(jitted(X), f(X))
    assert jitted._entry is not NO_ENTRY
    assert calls_of_python(jitted, X) == []
    owner, name, value = put()
    before = getattr(owner, name, None)
    setattr(owner, name, value)
    for _ in range(4):
        np.testing.assert_array_equal(jitted(X), f(X))
    if before is None:
        delattr(owner, name)
    else:
        setattr(owner, name, before)
    for _ in range(4):
        np.testing.assert_array_equal(jitted(X), f(X))


def test_what_goes_away_is_seen(monkeypatch):
    held = [np.ones(3), np.ones(3)]
    jitted = linad.jit(lambda x: x * held[0] + held[-1] * FACTOR)
    for _ in range(4):
        jitted(X)
    held.pop()
    np.testing.assert_array_equal(jitted(X), X + FACTOR)
    held.clear()
    with pytest.raises(IndexError):
        jitted(X)
    held.append(np.ones(3))
    for _ in range(4):
        jitted(X)
    monkeypatch.delitem(globals(), "FACTOR")
    with pytest.raises(NameError, match="FACTOR"):
        jitted(X)


def test_arrays_are_held_while_a_call_runs_and_no_longer():
    jitted = linad.jit(lambda x: x * ENTRIES + PARTS[0] * PAIR[0])
    for _ in range(4):
        jitted(X)
    assert calls_of_python(jitted, X) == []
    counted = [ENTRIES, PARTS[0], PAIR[0], PARTS, globals(), jitted._entry]
    before = [sys.getrefcount(k) for k in counted]
    for _ in range(100):
        jitted(X)
    assert [sys.getrefcount(k) for k in counted] == before


def test_arrays_of_another_kind_are_seen():
    held = [np.ones(3), np.ones(3)]
    jitted = linad.jit(lambda x: x * held[0] + held[1])
    for _ in range(4):
        jitted(X)
    for other in (np.ones((2, 3)), np.ones(3, np.float32), np.arange(6.0)[::2], 2.0, [1.0, 2.0, 3]):
        held[1] = other
        for _ in range(4):
            np.testing.assert_array_equal(jitted(X), X * held[0] + np.asarray(other))


class Disguised:
    __class__ = int


@pytest.mark.parametrize(
    "line, scope",
    [
        ("a.b is c", {"a": types.SimpleNamespace(b=1), "c": 1}),
        ("a.__class__ is c", {"a": Disguised(), "c": int}),
        ("a['b'] is c", {"a": type("Own", (dict,), {})(b=1), "c": 1}),
        ("a[0] is c", {"a": {0: 1}, "c": 1}),
        ("a.keys().isdisjoint(c)", {"a": type("Own", (dict,), {})(), "c": {"b"}}),
        ("a.__mro__ is c", {"a": type("M", (type,), {"__mro__": 1})("C", (), {}), "c": 1}),
        ("len(a) == 3", {"a": {1, 2, 3}}),
        ("tuple(a) == c", {"a": {}, "c": ()}),
        ("f(a)", {"f": len, "a": ()}),
    ],
)
def test_where_python_looks(line, scope):
    assert DirectLook([line], [], scope).words is None
