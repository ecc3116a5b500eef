"""Attributes that a jitted function writes before it reads them, and others that it writes."""

import copy
import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

import linad
from linad.errors import LeakedTracerError
from linad.scipy import optimize

X = np.array([1.0, 2.0, 3.0])


class State:
    def __init__(self):
        self.gamma, self.k, self.n = 1.0, 2.0, 0

    def __getstate__(self):
        return dict(vars(self))


def local(self, x):
    self.gamma = np.exp(-x)
    return self.gamma * x * self.k


def in_a_callback(self, x):
    def f(t):
        self.gamma = (x * 2, 1.0, None)
        return t - self.gamma[0][1]

    return optimize.brentq(f, -100, 100) * self.gamma[0]


def by_name(self, x):
    setattr(self, "gam" + "ma", x * 2)
    return vars(self)["gamma"] + getattr(self, "gam" + "ma")


def in_a_list(self, x):
    self.gamma = []
    for k in range(3):
        self.gamma.append(x[k] * k)
    return self.gamma[1] * x


def arguments_and_constants(self, x):
    self.gamma = {"x": x, "k": 3 if x[0] > 0 else 4, "part": x[1:] * 1.0}
    self.k = 5.0 if x[0] > 0 else 6.0
    self.never_read = x + 1
    return self.gamma["x"] * self.gamma["k"] * self.k


def on_one_path_only(self, x):
    if x[0] > 0:
        self.gamma = np.exp(-x)
        return self.gamma * x
    return x * 7


def same(x, y):
    if isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(same, x, y))
    if isinstance(y, dict):
        return x.keys() == y.keys() and all(same(x[k], y[k]) for k in y)
    if isinstance(y, str):
        return x == y
    return x is y is None or (type(x) is type(y) and np.allclose(x, y, rtol=1e-13))


def recordings(jitted):
    return sum(map(len, jitted.variants.values()))


CALLS = [X, X + 1, X + 2, -X, X + 3, -X - 1, X]
WRITES_FIRST = [local, in_a_callback, by_name, in_a_list, arguments_and_constants, on_one_path_only]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("f", WRITES_FIRST)
@pytest.mark.usefixtures("kernels")
def test_the_program_leaves_what_python_leaves(f, given):
    state, expected = State(), State()
    jitted = linad.jit(f if given else f.__get__(state))
    for k, x in enumerate(CALLS):
        y = jitted(state, x) if given else jitted(x)
        assert_allclose(y, f(expected, x), rtol=1e-12)
        if k > 1:
            assert all(same(vars(state)[n], v) for n, v in vars(expected).items() if n in KNOWN)
    assert recordings(jitted) <= 5
    assert not {"__getattribute__", "__setattr__"} & vars(State).keys()
    if f is arguments_and_constants:
        assert state.gamma["x"] is CALLS[-1]


KNOWN = {"gamma", "k", "n"}


def copied(self, x):
    before = copy.copy(self)
    self.gamma = 2.0 if x[0] > 0 else 3.0
    return before.gamma * x


def read_past_the_class(self, x):
    before = object.__getattribute__(self, "gamma")
    self.gamma = 2.0 if x[0] > 0 else 3.0
    return before * x


def read_by_its_dictionary(self, x):
    before = vars(self)["gamma"]
    self.gamma = 2.0 if x[0] > 0 else 3.0
    return before * x


def read_on_another_path(self, x):
    y = self.gamma * x if x[1] > 2.5 else x
    self.gamma = 2.0 if x[0] > 0 else 3.0
    return y


def written_into_another(self, x):
    State().gamma = x
    y = self.gamma * x
    self.gamma = 2.0 if x[0] > 0 else 3.0
    return y


def counted(self, x):
    self.n = self.n + 1
    return x * self.n


READS_FIRST = [
    *(copied, read_past_the_class, read_by_its_dictionary, read_on_another_path),
    *(written_into_another, counted),
]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("f", READS_FIRST)
@pytest.mark.usefixtures("kernels")
def test_what_is_read_first_counts(f, given):
    state, expected = State(), State()
    jitted = linad.jit(f if given else f.__get__(state))
    for x in [*CALLS, *CALLS[::-1]]:
        y = jitted(state, x) if given else jitted(x)
        assert_allclose(y, f(expected, x), rtol=1e-12)
        assert vars(state) == vars(expected)


@pytest.mark.usefixtures("kernels")
def test_derivatives_and_programs_for_others():
    state, expected = State(), State()
    jitted = linad.jit(lambda x: np.sum(local(state, x)))
    plain = linad.grad(lambda x: np.sum(local(expected, x)))
    for x in CALLS:
        jitted(x)
        assert_allclose(linad.grad(jitted)(x), plain(x), rtol=1e-12)
    assert_allclose(jitted(X), np.sum(local(expected, X)), rtol=1e-12)
    assert_allclose(state.gamma, expected.gamma, rtol=1e-14)
    inside = linad.jit(linad.grad(lambda x: np.sum(local(state, x))))
    for x in CALLS:
        assert_allclose(inside(x), plain(x), rtol=1e-12)
        assert x is X or same(state.gamma, np.exp(-x))
    assert recordings(inside) == 2
    assert_allclose(jitted.njit(X)(X + 1), np.sum(local(State(), X + 1)), rtol=1e-12)


@pytest.mark.usefixtures("kernels")
def test_equal_objects_are_written_each_by_itself():
    class Equal(State):
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    jitted, states = linad.jit(local), [Equal(), Equal()]
    for k, x in enumerate([*CALLS, *CALLS]):
        jitted(states[k % 2], x)
        if k > 5:
            assert_allclose(states[k % 2].gamma, np.exp(-x), rtol=1e-12)


@pytest.mark.usefixtures("kernels")
def test_a_class_is_as_it_was_after_errors_and_in_threads():
    states = [State() for _ in range(4)]

    def failing(self, x):
        self.gamma = x * 2
        if x.shape == (3,):
            raise ValueError("three")
        return self.gamma

    jitted = linad.jit(failing)
    for n in (2, 2, 3, 4, 2):
        try:
            jitted(states[0], np.ones(n))
        except ValueError:
            assert n == 3
        assert not {"__getattribute__", "__setattr__"} & vars(State).keys()

    def run(state):
        method = linad.jit(local.__get__(state))
        return [method(x) for x in CALLS]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(run, states):
            assert_allclose(found, [local(State(), x) for x in CALLS], rtol=1e-12)
    assert not {"__getattribute__", "__setattr__"} & vars(State).keys()


@pytest.mark.parametrize("way", ["result", "two", "part", "of_argument", "list"])
def test_memory_that_others_hold_is_written_by_python(way):
    class Model:
        def __init__(self):
            self.now = self.before = np.zeros(2)

        def result(self, x):
            self.now = x * 2
            return self.now

        def two(self, x):
            self.now = x * 2
            self.before = self.now
            return self.before * x

        def part(self, x):
            y = x * 2
            self.now = y[:1]
            return y

        def of_argument(self, x):
            self.now = x[1:]
            return x * 2

        def list(self, x):
            self.now = self.before = [x * 2]
            return x * 1

    f, plain = linad.jit(getattr(Model(), way)), getattr(Model(), way)
    for k in range(5):
        x = np.array([1.0, 2.0]) + k
        np.testing.assert_array_equal(f(x), plain(x))
    assert all(path.stored is None for paths in f.variants.values() for path in paths)


class New:
    """An object that has nothing in the beginning."""


class Slots:
    __slots__ = ("gamma",)

    def __init__(self):
        self.gamma = None


class Hooked:
    def __getattr__(self, name):
        raise AttributeError(name)


def read_there(self, x):
    self.gamma = np.exp(-x)
    return np.sum(self.gamma * x)


def only_left_there(self, x):
    self.gamma, self.status, self.grid = x * 2, "up" if x[0] > 0 else "down", (3, None)
    return np.sum(x)


def one_array_twice(self, x):
    self.gamma = np.exp(-x)
    self.k = self.gamma
    return np.sum(self.k * x)


def before_an_error(self, x):
    self.gamma = x * 2
    if x[1] > 4:
        raise ValueError("large")
    return np.sum(self.gamma)


def an_object(self, x):
    self.gamma = New()
    self.gamma.value, self.gamma.again = x * 2, [self.gamma]
    return np.sum(self.gamma.value)


LEAVE = [read_there, only_left_there, one_array_twice, before_an_error, an_object]
LEFT = [*((f, New) for f in LEAVE), (read_there, Slots), (read_there, Hooked)]


def run(f, *args):
    try:
        return f(*args)
    except ValueError as error:
        return str(error)


def left(state):
    """What stands in an object now, and that it is plain."""
    names = [n for n in ("gamma", "k", "status", "grid") if hasattr(state, n)]
    values = {n: getattr(state, n) for n in names}
    if type(values["gamma"]) is New:
        values["gamma"] = values["gamma"].value
    assert type(values["gamma"]) is np.ndarray
    return values


@pytest.mark.parametrize("within", [None, "argument", "list", "attribute", "method"])
@pytest.mark.parametrize("f, kind", LEFT)
@pytest.mark.usefixtures("kernels")
def test_each_call_leaves_plain_arrays_also_the_first_and_in_objects_within_arguments(
    f, kind, within
):
    states, expected = [kind(), kind()], [kind(), kind()]
    jitted = {
        None: linad.jit(lambda state, x: f(states[0], x)),
        "argument": linad.jit(f),
        "list": linad.jit(lambda state, x: f(state[0], x)),
        "attribute": linad.jit(lambda state, x: f(state.inner, x)),
        "method": linad.jit(lambda method, x: method(x)),
    }[within]
    for k, x in enumerate([X, X + 1, X + 2, -X, X + 3, -X - 1, X[:2], X]):
        state = states[k % 2 if within else 0]
        given = {None: 0, "argument": state, "list": [state], "attribute": New()}.get(within)
        if within == "attribute":
            given.inner = state
        if within == "method":
            given = functools.partial(f, state) if kind is Slots else f.__get__(state)
        assert same(run(jitted, given, x), run(f, expected[k % 2 if within else 0], x))
        found, wanted = left(state), left(expected[k % 2 if within else 0])
        assert found.keys() == wanted.keys()
        for n, value in wanted.items():
            assert same(found[n], value)


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.usefixtures("kernels")
def test_what_the_body_of_a_scan_leaves_is_none_of_its_example(shape):
    state = State()

    def step(carry, x):
        state.gamma = carry * x
        return carry + state.gamma, x

    f = linad.jit(lambda x: linad.scan(step, np.ones(shape), x)[0])
    for k in range(4):
        assert_allclose(f(X + k), np.broadcast_to(np.prod(1 + X + k), shape))
        with pytest.raises(LeakedTracerError):
            state.gamma + 1


class Fixed(State):
    @property
    def fixed(self):
        return 1.0


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("line", ["return x * self.none", "self.fixed = x"])
def test_errors_about_attributes_are_python_s(line, given):
    scope = {}
    exec(f"def f(self, x):\n    self.gamma = x * 2\n    {line}\n", scope)
    state = Fixed()
    jitted = linad.jit(scope["f"]) if given else linad.jit(lambda _, x: scope["f"](state, x))
    for _ in range(3):
        with pytest.raises(AttributeError, match="none|fixed"):
            jitted(state, X)
        assert_allclose(state.gamma, 2 * X)
