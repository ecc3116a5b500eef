"""What a jitted function reads from outside its arguments, and what changes between calls."""

import array
import ctypes
import functools
import importlib
import itertools
import mmap
import sys
import threading
import types
from collections import deque

import numpy as np
import pytest

import linad

X = np.array([0.5, 1.5, 2.0])

TRANSFORMS = {
    "jit": lambda f: (linad.jit(f), f),
    "jit(grad)": lambda f: (linad.jit(linad.grad(f)), linad.grad(f)),
}
MORE = {
    "grad(jit)": lambda f: (linad.grad(linad.jit(f)), linad.grad(f)),
    "jit(value_and_grad)": lambda f: (
        linad.jit(linad.value_and_grad(f)),
        linad.value_and_grad(f),
    ),
    "linearize(jit)": lambda f: (linearized(linad.jit(f)), linearized(f)),
    "hvp(jit)": lambda f: (multiplied(linad.jit(f)), multiplied(f)),
    "jit(hvp)": lambda f: (linad.jit(multiplied(f)), multiplied(f)),
}


def linearized(f):
    return lambda x: linad.linearize(f, x)[1] @ np.ones(3)


def multiplied(f):
    return lambda x: linad.hvp(f, (x,), (np.ones(3),))


def module(text, **values):
    """A function ``f`` of a module with that text."""
    made = types.ModuleType("of_a_user")
    made.__dict__.update(np=np, linad=linad, functools=functools, **values)
    exec(text, made.__dict__)
    return made


def global_array():
    m = module("def f(x): return np.sum(np.sin(x * data))", data=np.ones(3))
    yield m.f
    for change in (
        lambda: m.data.__setitem__(slice(None), 2.0),
        lambda: setattr(m, "data", np.zeros(3)),
        lambda: setattr(m, "data", np.arange(3.0).reshape(1, 3)[:, ::-1]),
        lambda: setattr(m, "data", np.float32([1, 2, 3])),
        lambda: setattr(m, "data", np.arange(6.0).reshape(2, 3)),
    ):
        yield change()


def prepared_array():
    m = module("def f(x):\n    A = data * 2\n    return np.sum(A * x**2)", data=np.ones(3))
    yield m.f
    yield m.data.__setitem__(1, 3.0)
    yield setattr(m, "data", np.arange(3.0))
    yield setattr(m, "data", np.array([0.0, -0.0, np.nan]))


def decided_array():
    m = module(
        "def f(x):\n    return np.sum(x * data) if data[0] > 0 else np.sum(x**3)", data=np.ones(3)
    )
    yield m.f
    yield m.data.__setitem__(0, -1.0)
    yield m.data.__setitem__(0, 4.0)


def closure():
    k, weights = 2.0, np.ones(3)

    def f(x):
        return np.sum(np.exp(x * k) * weights)

    yield f
    k = 3.0
    yield
    weights[0] = 7.0
    yield
    weights, k = np.full(3, 5.0), 0.5
    yield


def helper():
    m = module(
        "k = 2.0\ndef helper(x): return inner(x) * k\ndef inner(x): return x**2\n"
        "def f(x): return np.sum(helper(x))"
    )
    yield m.f
    yield setattr(m, "k", 5.0)
    yield exec("def inner(x): return x**3", m.__dict__)
    yield exec("def helper(x): return np.sin(x)", m.__dict__)


def reloaded_in_place():
    m = module("def helper(x): return x**2\ndef f(x): return np.sum(helper(x))")
    yield m.f
    other = module("def helper(x): return x**3")
    yield setattr(m.helper, "__code__", other.helper.__code__)


class Model:
    scale = 2.0

    def __init__(self):
        self.W, self.options, self.parts = np.eye(3), {"power": 2}, [1.0]

    def loss(self, x):
        return np.sum((self.W @ x) ** self.options["power"]) * self.scale + self.rest(x)

    def rest(self, x):
        return sum(self.parts) * np.sum(x)

    def __call__(self, x):
        return self.loss(x)


def _model(form):
    class Mine(Model):
        pass

    m = Mine()
    yield form(m)
    m.W[0, 1] = 3.0
    yield
    m.W = np.arange(9.0).reshape(3, 3)
    yield
    m.options["power"] = 3
    yield
    m.parts.append(4.0)
    yield
    Mine.scale = 7.0
    yield
    m.scale = -1.0
    yield
    Mine.rest = lambda self, x: np.sum(x**2)
    yield


def method():
    return _model(lambda m: m.loss)


def callable_object():
    return _model(lambda m: m)


def partial():
    return _model(lambda m: functools.partial(lambda m, x: m.loss(x), m))


def global_object():
    return _model(lambda m: module("def f(x): return m.loss(x)", m=m).f)


def defaults():
    weights = np.ones(3)

    def f(x, w=weights, *, v=weights):
        return np.sum(x**2 * w + x * v)

    yield f
    weights[:] = 4.0
    yield
    f.__kwdefaults__["v"] = np.zeros(3)
    yield


def decorated():
    factor = [2.0]

    def doubled(f):
        @functools.wraps(f)
        def wrapper(*args):
            return factor[0] * f(*args)

        return wrapper

    yield doubled(lambda x: np.sum(x**2))
    factor[0] = 5.0
    yield


def jitted_inside():
    m = module("k = 1.0\n@linad.jit\ndef g(x): return x**2 * k\ndef f(x): return np.sum(g(x))")
    yield m.f
    yield setattr(m, "k", 3.0)
    yield exec("@linad.jit\ndef g(x): return np.sin(x)", m.__dict__)


def of_a_module():
    params = module("k = 2.0")
    m = module("def f(x): return np.sum(x**2) * params.k", params=params)
    yield m.f
    yield setattr(params, "k", 5.0)


def containers():
    table = {"w": [np.ones(3), 2.0], "names": ("a", "b"), "set": {1, 2}}

    def f(x):
        return np.sum(x**2 * table["w"][0]) * table["w"][1] * len(table["set"]) + len(table)

    yield f
    table["w"][0][1] = 8.0
    yield
    table["w"][1] = 3.0
    yield
    table["set"].add(5)
    yield
    table["more"] = 1
    yield


def comprehension():
    m = module("def f(x): return sum([np.sum(x * w) ** 2 for w in ws])", ws=[np.ones(3)])
    yield m.f
    yield m.ws.append(np.arange(3.0))
    yield m.ws[0].__setitem__(0, 9.0)


def recursion():
    m = module("def f(x, n=2): return np.sum(x**2) * k if n == 0 else f(x, n - 1) * k", k=2.0)
    yield m.f
    yield setattr(m, "k", 3.0)


def methods_written_in_c():
    table, row, data = {"k": 2.0}, [1.0, 2.0], np.ones(3)
    value, item, total = table.get, row.__getitem__, data.sum
    yield lambda x: np.sum(x**2) * value("k") * item(0) * total()
    table["k"] = 3.0
    yield
    row[0] = 5.0
    yield
    data[0] = 7.0
    yield


def views_of_a_dictionary():
    table = {"k": 2.0}
    values, keys = table.values(), table.keys()
    yield lambda x: np.sum(x**2) * sum(values) * len(keys)
    table["k"] = 3.0
    yield
    table["more"] = 4.0
    yield


def called_by_a_ufunc():
    factor = [2.0]
    times = np.frompyfunc(lambda a: a * factor[0], 1, 1)
    yield lambda x: np.sum(x**2) * float(times(3.0))
    factor[0] = 5.0
    yield


def a_number_with_attributes():
    class Weight(float):
        pass

    w = Weight(2.0)
    w.scale = 1.0
    yield lambda x: np.sum(x**2) * w * w.scale
    w.scale = 5.0
    yield


KINDS = [
    *(methods_written_in_c, views_of_a_dictionary, called_by_a_ufunc, a_number_with_attributes),
    *(global_array, prepared_array, decided_array, closure, helper, reloaded_in_place, method),
    *(callable_object, partial, global_object, defaults, decorated, jitted_inside, of_a_module),
    *(containers, comprehension, recursion),
]


def _check(kind, transform, calls):
    states = kind()
    compiled, plain = transform(next(states))
    state = 0
    while True:
        for call in range(calls):
            found, expected = compiled(X), plain(X)
            for a, b in zip(_parts(found), _parts(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=f"state {state} call {call}")
        try:
            next(states)
        except StopIteration:
            return
        state += 1


def _parts(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_changes_between_calls_are_seen(kind, transform):
    _check(kind, TRANSFORMS[transform], 2)


@pytest.mark.full
@pytest.mark.parametrize("calls", [1, 3])
@pytest.mark.parametrize("transform", [*TRANSFORMS, *MORE])
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_changes_after_one_call_or_three(kind, transform, calls):
    _check(kind, (TRANSFORMS | MORE)[transform], calls)


@pytest.mark.usefixtures("kernels")
class TestOperands:
    """An array that only meets traced values is read at each call: nothing runs again."""

    TEXTS = (
        "return np.sum((A @ x - b) ** 2)",
        "for _ in range(2): x = np.tanh(A @ x + b)\n    return np.sum(x)",
        "return np.sum(times(x, b))",
        "y = b\n    return np.dot(x, b) + np.sum(x / y)",
        "return linad.grad(lambda_)(x) @ b",
        # Every function of two arrays that is known, and every one of a single array.
        (
            "y = np.arctan2(np.add(x, b), b) + np.hypot(np.subtract(x, b), b)\n"
            "    y = np.logaddexp(np.maximum(y, b), np.minimum(np.multiply(x, b), b))\n"
            "    y = np.divide(np.matmul(A, y), b)\n"
            "    return np.dot(y, b) + np.vdot(y, b) + np.inner(y, b) + np.sum(np.outer(y, b))"
        ),
        (
            "y = np.mean(x) * b + np.prod(x) * b + np.sum(x) * b + np.trace(np.outer(x, x)) * b\n"
            "    y = y + abs(x) * b + np.clip(x, 0.0, 1.0) * b + np.transpose(x) * b\n"
            "    return np.sum(y + np.where(x > 1, x, -x) * b)"
        ),
    )
    MADE = (
        "return np.sum(2 * b * x)",
        "return np.sum(x * b) if b[0] > 0 else np.sum(x)",
        "return np.sum([1.0, 2.0, 3.0] * b * x)",
        "return sum(np.sum(x * b[i]) for i in range(3))",
        "return np.sum(x * (b if len(A) else x))",
        "return np.sum(times(b, b) * x)",
        "c = b\n    c = c + 1\n    return np.sum(c * x)",
        "return np.sum(x * np.asarray(list(map(abs, b))))",
        "return np.sum(x * getattr(np, 'abs')(b))",
        "f = lambda y: y * b\n    return np.sum(f(np.ones(3)) * x)",
    )

    @staticmethod
    def _made(text):
        return module(
            "runs = []\ndef times(x, y): return x * y\ndef lambda_(x): return np.sum(x**2 * b)\n"
            f"def f(x):\n    runs.append(1)\n    {text}",
            A=np.eye(3) / 2,
            b=np.ones(3),
        )

    @pytest.mark.parametrize("text", [*TEXTS, *MADE])
    def test_right_and_how_often_it_is_run(self, text):
        m = self._made(text)
        jitted = linad.jit(m.f)
        runs = 0
        for k in range(4):
            for _ in range(2):
                before = len(m.runs)
                found = jitted(X)
                runs += len(m.runs) - before
                np.testing.assert_allclose(found, m.f(X), rtol=1e-12)
            m.A[0, 1] += 1
            m.b[k % 3] = -k - 1
            m.b = m.b * 1.5
        assert runs == 1 if text in self.TEXTS else runs > 1

    def test_more_states_than_paths_are_kept(self):
        m = self._made("return np.sum(2 * b * x)")
        jitted = linad.jit(m.f)
        for k in range(12):
            m.b[0] = k
            assert jitted(X) == m.f(X)
        assert sum(map(len, jitted.variants.values())) <= 8

    def test_an_argument_that_is_written_into_is_the_array_outside(self):
        m = module("def f(x):\n    x[0] = 5.0\n    return np.sum(x * b)", b=np.ones(3))
        jitted = linad.jit(m.f)
        assert [jitted(np.ones(3)) for _ in range(2)] == [7, 7]
        assert jitted(m.b) == 27.0
        assert m.b[0] == 5


class TestNotes:
    """What a function only counts or notes down is not read."""

    def test_they_keep_nothing_from_being_compiled(self):
        m = module(
            "n, seen, count = 0, [], {'f': 0}\n"
            "def f(x):\n"
            "    global n\n    n += 1\n    seen.append(x.shape)\n    count['f'] += 1\n"
            "    return x * 2"
        )
        jitted = linad.jit(m.f)
        for _ in range(4):
            jitted(X)
        assert (m.n, len(m.seen), m.count) == (1, 1, {"f": 1})

    def test_a_counter_that_is_used_is_read(self):
        m = module("n = 0\ndef f(x):\n    global n\n    n += 1\n    return x * n")
        jitted = linad.jit(m.f)
        assert [jitted(2.0) for _ in range(4)] == [2, 4, 6, 8]


class TestBound:
    def test_njit_keeps_what_it_saw(self):
        m = module("def f(x): return np.sum(x * b) + np.sum(2 * b)", b=np.ones(3))
        g = linad.jit(m.f).njit(X)
        before = m.f(X)
        m.b[:] = 9.0
        assert g(X) == before
        assert linad.jit(m.f).njit(X)(X) == m.f(X)


def test_loops_of_lambdas_and_threads():
    functions = [linad.jit(lambda x, k=k: x * k) for k in range(3)]
    for _ in range(3):
        assert [f(2.0) for f in functions] == [0, 2, 4]
    m = module("def f(x): return np.sum(x * b)", b=np.ones(3))
    jitted = linad.jit(m.f)
    wrong = []

    def work():
        for _ in range(200):
            if jitted(X) not in (4.0, 8.0):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for k in range(100):
        m.b = np.full(3, 1.0 + k % 2)
    for t in threads:
        t.join()
    assert not wrong


def test_names_that_are_deleted_or_missing():
    m = module("def f(x): return x * later if x.ndim else x", later=2.0)
    jitted = linad.jit(m.f)
    assert [jitted(X)[0] for _ in range(3)] == [1, 1, 1]
    del m.later
    with pytest.raises(NameError):
        jitted(X)
    m.later = 4.0
    assert [jitted(X)[0] for _ in range(3)] == [2, 2, 2]


def test_a_function_that_reads_nothing_is_not_looked_at_again():
    jitted = linad.jit(linad.grad(lambda x: np.sum(np.sin(x))))
    jitted(X)
    assert jitted.outside.nothing


def test_frozen_arrays_are_known_by_themselves():
    m = module("def f(x): return x * (b + 0)", b=np.ones(3))
    m.b.flags.writeable = False
    jitted = linad.jit(m.f)
    assert [jitted(X)[0] for _ in range(3)] == [0.5] * 3
    m.b = np.full(3, 2.0)
    m.b.flags.writeable = False
    assert [jitted(X)[0] for _ in range(3)] == [1.0] * 3


def toggled_entry():
    state = {"on": False}

    def f(x):
        state["on"] = not state["on"]
        return x * 2 if state["on"] else x * 3

    return f, lambda k: (X,), lambda: state["on"]


def toggled_argument():
    class State:
        on = False

    state = State()

    def f(x, state):
        state.on = not state.on
        return x * 2 if state.on else x * 3

    return f, lambda k: (X, state), lambda: state.on


def written_through_another_name():
    w = np.zeros(3)
    v = w[::-1]

    def f(x):
        y = x * v
        np.add(w, 1, out=w)
        return y

    return f, lambda k: (X,), lambda: w.copy()


def workspace_left_dirty():
    w = np.zeros(3)

    def f(x):
        w[:] = 0
        w[0] = 3.0
        y = x * w
        w[1] = 5.0
        return y * w

    return f, lambda k: (X, w.fill(k % 2))[:1], lambda: w.copy()


def filled_once():
    kept = {}

    def f(x):
        if "A" not in kept:
            kept["A"] = np.arange(3.0)
        return x * kept["A"]

    return f, lambda k: (X,), lambda: len(kept)


def iterator():
    numbers = itertools.count(1.0)
    return lambda x: x * next(numbers), lambda k: (X,), lambda: None


def generator():
    numbers = (float(k) for k in range(100))
    return lambda x: x * next(numbers), lambda k: (X,), lambda: None


def entry_of_a_dict_argument():
    d = {}

    def f(d):
        d["x"] = d["x"] * 2
        d["y"] = d["x"] + 1
        return d["y"]

    return f, lambda k: (d, d.clear(), d.update(x=X))[:1], lambda: sorted(d)


def list_argument():
    a = []

    def f(a):
        a.append(a[0] * 2)
        return a[-1]

    return f, lambda k: (a, a.clear(), a.append(X))[:1], lambda: len(a)


def owner_of_memory(make, write):
    def case():
        memory = make()

        def f(x):
            return x * np.frombuffer(memory)

        return f, lambda k: (X, write(memory, k))[:1], lambda: bytes(memoryview(memory))

    return case


def put_bytes(memory, k):
    memory[:8] = np.float64(k).tobytes()


def put_number(memory, k):
    memory[0] = float(k)


def owner_written_meanwhile():
    memory = (ctypes.c_double * 3)(1.0, 2.0, 3.0)
    w = np.ctypeslib.as_array(memory)

    def f(x):
        y = x * w
        memory[0] += 1
        return y

    return f, lambda k: (X,), lambda: list(memory)


EFFECTS = {
    "toggled entry": toggled_entry,
    "toggled argument": toggled_argument,
    "written through another name": written_through_another_name,
    "workspace left dirty": workspace_left_dirty,
    "filled once": filled_once,
    "iterator": iterator,
    "generator": generator,
    "entry of a dict argument": entry_of_a_dict_argument,
    "list argument": list_argument,
    "bytearray": owner_of_memory(lambda: bytearray(24), put_bytes),
    "memoryview": owner_of_memory(lambda: memoryview(bytearray(24)), put_bytes),
    "mmap": owner_of_memory(lambda: mmap.mmap(-1, 24), put_bytes),
    "array": owner_of_memory(lambda: array.array("d", [1.0, 2.0, 3.0]), put_number),
    "ctypes": owner_of_memory(lambda: (ctypes.c_double * 3)(), put_number),
    "owner written meanwhile": owner_written_meanwhile,
}


def pushed(g):
    def directional(*args):
        return linad.jvp(g, args, tuple([np.ones_like(a) for a in args]))[1]

    return directional


@pytest.mark.parametrize("name", EFFECTS)
def test_a_function_that_changes_what_it_reads(name):
    """Calls leave behind what plain calls do, and give what they give; so do derivatives."""
    make = EFFECTS[name]

    def course(transform):
        f, args, state = make()
        g = transform(f)
        return [(g(*args(k)), state()) for k in range(4)]

    np.testing.assert_equal(course(linad.jit), course(lambda f: f))
    if all(isinstance(a, np.ndarray) for a in make()[1](0)):
        found = course(lambda f: pushed(linad.jit(f)))
        np.testing.assert_equal(found, course(pushed))


def test_what_is_computed_once_and_kept_is_compiled():
    f, _, _ = filled_once()
    jitted = linad.jit(f)
    for _ in range(3):
        jitted(X)
    assert not jitted.variant(X).interpreted


def test_an_array_that_meets_zeros_of_numpys():
    held = {"b": np.array([1.0, 2.0, 3.0])}
    for f in (lambda x: x.imag + held["b"], lambda x: np.imag(x) + held["b"]):
        compiled = linad.jit(f)
        for value in (1.0, 1.0, -2.0, -2.0, 5.0):
            held["b"][0] = value
            np.testing.assert_array_equal(compiled(X), f(X))


class Base:
    k = 2.0

    def loss(self, x):
        return x * self.k

    def scaled(self, x):
        return x * 10.0


class Middle(Base):
    def loss(self, x):
        return super().loss(x) + 1.0

    def scaled(self, x):
        return x


class Derived(Middle):
    def loss(self, x):
        return super().loss(x) + super(Middle, self).scaled(x)


def test_what_stands_behind_super_counts(monkeypatch):
    model = Derived()
    jitted = linad.jit(model.loss)

    def check():
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), model.loss(X))

    check()
    monkeypatch.setattr(Base, "k", 3.0)
    check()
    monkeypatch.setattr(Base, "loss", lambda self, x: x * 100.0)
    check()
    monkeypatch.setattr(Base, "scaled", lambda self, x: x * 7.0)
    check()
    monkeypatch.setattr(Middle, "loss", lambda self, x: x - 1.0)
    check()


def test_defaults_that_are_given_anew():
    def inner(x, k=2.0, *, m=1.0):
        return x * k + m

    jitted = linad.jit(lambda x: inner(x))
    for defaults, named in [((2.0,), {"m": 1.0}), ((3.0,), {"m": 1.0}), ((3.0,), {"m": 4.0})]:
        inner.__defaults__, inner.__kwdefaults__ = defaults, named
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), inner(X))


class Slow:
    k = 2.0


class Quick:
    k = 3.0


ENTRIES = {"k": 2.0}


class Table:
    def __class_getitem__(cls, name):
        return ENTRIES[name]


def test_an_object_that_becomes_one_of_another_class():
    state = Slow()
    jitted = linad.jit(lambda x: x * state.k)
    for kind in (Slow, Quick, Slow):
        state.__class__ = kind
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), X * kind.k)


def test_an_object_whose_class_does_not_name_its_module():
    """As Cython's functions, whose class has a descriptor by that name."""

    class Scaled:
        __module__ = property(lambda self: "of the object")
        factor = 2.0

        def __call__(self, x):
            return self.factor * x

    scaled = Scaled()
    jitted = linad.jit(lambda x: scaled(x))
    assert jitted(3.0) == jitted(3.0) == 6.0
    scaled.factor = 5.0
    assert jitted(3.0) == 15.0


def test_a_class_that_is_indexed_and_one_that_gains_attributes(monkeypatch):
    state = Slow()

    def f(x):
        names = [n for n in dir(state) if not n.startswith("_")]
        return x * Table["k"] + sum(getattr(state, n) for n in names)

    jitted = linad.jit(f)
    for change in (
        lambda: None,
        lambda: monkeypatch.setitem(ENTRIES, "k", 5.0),
        lambda: monkeypatch.setattr(Slow, "added", 4.0, raising=False),
    ):
        change()
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), f(X))


class Attributes(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


def test_a_dictionary_that_answers_any_name():
    """`getattr(x, "dtype", None)` of it raises KeyError."""
    settings = Attributes(k=2.0)
    outside = linad.jit(lambda x: x * settings.k)
    argument = linad.jit(lambda x, s: x * s.k)
    for k in (2.0, 3.0):
        settings.k = k
        for _ in range(3):
            np.testing.assert_array_equal(outside(X), X * k)
            np.testing.assert_array_equal(argument(X, settings), X * k)


@pytest.mark.parametrize("static", [(), 1])
def test_functions_among_the_arguments(static):
    """Jitted ones, those in containers, and those whose code is replaced, as a reload does."""
    k = [2.0]
    compiled = linad.jit(lambda x: x * k[0])

    def plain(x):
        return x + k[0]

    def other(x):
        return x - k[0]

    functions = [compiled, {"plain": plain}]
    jitted = linad.jit(lambda x, f: f[0](x) + f[1]["plain"](x), static_argnums=static)
    code = plain.__code__
    for factor, now in ((2.0, code), (5.0, code), (5.0, other.__code__)):
        k[0], plain.__code__ = factor, now
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X, functions), X * factor + plain(X))


@pytest.mark.parametrize("kind", [dict, list, tuple, set, frozenset, deque])
def test_functions_in_static_containers(kind):
    """Alone in one: nothing else makes the arguments be looked into."""
    k = [2.0]

    def scaled(x):
        return x * k[0]

    def f(x, held):
        (g,) = held.values() if kind is dict else held
        return g(x)

    held = {"g": scaled} if kind is dict else kind([scaled])
    jitted = linad.jit(f, static_argnums=1)
    for k[0] in (2.0, 5.0):
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X, held), X * k[0])


def test_a_function_whose_code_is_replaced():
    k = 2.0

    def f(x):
        return x * k

    def other(x):
        return x * k + 1.0

    jitted, slope = linad.jit(f), linad.jit(linad.grad(lambda x: np.sum(f(x) ** 2)))
    for code in (f.__code__, other.__code__):
        f.__code__ = code
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), f(X))
            np.testing.assert_array_equal(slope(X), 2 * k * f(X))


def test_a_subclass_of_ndarray_beside_what_is_differentiated():
    class Units(np.ndarray):
        pass

    jitted = linad.jit(lambda x, a: x * 2.0)
    for _ in range(3):
        found = linad.grad(lambda x, a: np.sum(jitted(x, a)))(X, np.ones(3).view(Units))
        np.testing.assert_array_equal(found, 2.0)


def test_one_array_that_stands_for_two_when_a_path_is_recorded():
    held = {"a": np.ones(3), "b": 2 * np.ones(3)}

    def f(x):
        if x[0] > 0:
            return np.sum(x) + x
        return x * held["a"] - held["b"] * x

    jitted = linad.jit(f)
    jitted(X)
    held["b"] = held["a"]
    for _ in range(3):
        np.testing.assert_array_equal(jitted(-X), f(-X))
    held["a"], held["b"] = np.full(3, 4.0), np.full(3, 5.0)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(-X), f(-X))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1"])
@pytest.mark.parametrize("n", [1023, 1024, 1025, 3001])
def test_each_entry_of_an_array_is_compared(n, dtype):
    data = np.zeros(n, dtype)
    jitted = linad.jit(lambda x: x * float(data.sum()))
    for k in (0, n // 2, n - 1):
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), X * float(data.sum()))
        data[k] += 1
    np.testing.assert_array_equal(jitted(X), X * float(data.sum()))


@pytest.mark.parametrize("maxsize", [None, 4])
@pytest.mark.parametrize("called_before", [False, True])
def test_a_cache_that_is_cleared(maxsize, called_before):
    state = {"rate": 1.0}
    table = functools.lru_cache(maxsize)(lambda: np.float64(state["rate"]))
    jitted = linad.jit(lambda x: x * table())
    for rate in (2.0, 3.0, 4.0):
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), X * table())
        state["rate"] = rate
        np.testing.assert_array_equal(jitted(X), X * table())  # it keeps what it was
        table.cache_clear()
        if called_before:
            table()
        np.testing.assert_array_equal(jitted(X), X * rate)


def test_a_cache_of_one_result_records_no_program_anew():
    table = functools.lru_cache(1)(lambda k: 2.0 * k)
    traced = []

    def f(x):
        traced.append(1)
        return x * table(1)

    jitted = linad.jit(f)
    for k in range(6):
        np.testing.assert_array_equal(jitted(X), X * 2)
        table(k + 2)
    assert len(traced) == 1


def test_a_module_in_the_place_of_another(monkeypatch):
    def f(x):
        import made_of_nothing

        return x * made_of_nothing.k

    jitted = linad.jit(f)
    for k in (2.0, 3.0):
        made = types.ModuleType("made_of_nothing")
        made.k = k
        monkeypatch.setitem(sys.modules, "made_of_nothing", made)
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), X * k)


def test_a_class_with_other_bases():
    class Two:
        def rate(self):
            return 2.0

    class Three(Two):
        def rate(self):
            return 3.0

    class Above(Two):
        pass

    class Rated(Above):
        pass

    held = Rated()
    jitted = linad.jit(lambda x: x * held.rate())
    for bases in ((Two,), (Three,), (Two,)):
        Above.__bases__ = bases
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), X * held.rate())


def test_a_frozen_array_that_is_thawed():
    base = np.arange(6.0)
    for data in (np.arange(3.0), base[::2]):
        data.setflags(write=False)
        base.setflags(write=False)
        jitted = linad.jit(lambda x, data=data: x * data + np.sum(data) * x)
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), X * data + np.sum(data) * X)
        base.setflags(write=True)
        if data.base is None:
            data.setflags(write=True)
        (base if data.base is base else data)[...] = 7.0
        for _ in range(3):
            np.testing.assert_array_equal(jitted(X), X * data + np.sum(data) * X)


IMPORTS = {
    "import {package}.inner.conf as conf": "conf.FACTOR",
    "import {package}.inner.conf": "{package}.inner.conf.FACTOR",
    "from {package}.inner import conf": "conf.FACTOR",
    "from {package}.inner.conf import FACTOR": "FACTOR",
    "from .inner import conf": "conf.FACTOR",
    "from .inner.conf import FACTOR": "FACTOR",
    "from . import inner": "inner.conf.FACTOR",
    "conf = __import__('{package}.inner.conf').inner.conf": "conf.FACTOR",
    "package = __import__('{package}.inner.conf')": "package.inner.conf.FACTOR",
    "conf = importlib.import_module('{package}.inner.conf')": "conf.FACTOR",
    "pass": "importlib.import_module('{package}.inner.conf').FACTOR",
}


@pytest.mark.whole
@pytest.mark.parametrize("place", ["", "site-packages"])
@pytest.mark.parametrize("statement", IMPORTS)
def test_what_a_function_imports_itself(statement, place, tmp_path, monkeypatch):
    """The user's modules, and those of installed packages; in a function inside, as well."""
    package = f"imported{list(IMPORTS).index(statement)}{bool(place):d}"
    root = tmp_path / place
    (root / package / "inner").mkdir(parents=True)
    (root / package / "__init__.py").touch()
    (root / package / "inner" / "__init__.py").touch()
    (root / package / "inner" / "conf.py").write_text("FACTOR = 2.0\n")
    line, value = statement.format(package=package), IMPORTS[statement].format(package=package)
    monkeypatch.syspath_prepend(root)
    conf = importlib.import_module(f"{package}.inner.conf")
    scope = {"__name__": f"{package}.users", "__package__": package, "importlib": importlib}
    source = f"def f(x):\n    {line}\n    return x * {value}\n"
    source += f"def g(x):\n    {line}\n    return (lambda y: y * {value})(x)\n"
    exec(source, scope)
    for f in (scope["f"], scope["g"]):
        conf.FACTOR = 2.0
        jitted = linad.jit(f)
        assert [jitted(1.5) for _ in range(3)] == [3.0, 3.0, 3.0]
        conf.FACTOR = 5.0
        assert [jitted(1.5) for _ in range(3)] == [7.5, 7.5, 7.5]


def test_a_package_too_large_to_be_compared_counts_as_installed(tmp_path, monkeypatch):
    (tmp_path / "large_lab").mkdir()
    numbers = "".join([f"N{k} = {k}.0\n" for k in range(300)])
    (tmp_path / "large_lab" / "__init__.py").write_text(
        f"{numbers}import sys\nSCALE = 2.0\n"
        "def scaled(x, name='SCALE'):\n    return x * getattr(sys.modules[__name__], name)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys.modules["linad.jit.outside"], "MOST", 200)
    walked = sys.modules["linad.jit.state_walk"]
    monkeypatch.setattr(walked, "TAKEN_AS_INSTALLED", set())
    lab = importlib.import_module("large_lab")
    scope = {"__name__": "small", "lab": lab, "scaled": lab.scaled, "OFFSET": 1.0}
    exec("def f(x):\n    return scaled(x) + OFFSET + lab.N7\n", scope)
    jitted = linad.jit(scope["f"])
    with pytest.warns(UserWarning, match="package large_lab reaches more than .* values"):
        assert jitted(1.5) == 11.0
    scope["OFFSET"] = 2.0
    assert [jitted(1.5) for _ in range(3)] == [12.0, 12.0, 12.0]
    lab.N7 = 0.0  # which the user's own code names
    assert [jitted(1.5) for _ in range(3)] == [5.0, 5.0, 5.0]
    walked.is_users_module.cache_clear()


def test_what_a_function_imports_for_the_first_time(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "imported_later.py").write_text("FACTOR = 2.0\n")

    def f(x):
        import imported_later as settings

        return x * settings.FACTOR

    jitted = linad.jit(f)
    assert [jitted(1.5) for _ in range(3)] == [3.0, 3.0, 3.0]
    importlib.import_module("imported_later").FACTOR = 5.0
    assert [jitted(1.5) for _ in range(3)] == [7.5, 7.5, 7.5]


def test_what_a_function_imports_by_a_name_that_it_computes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "imported_by_name.py").write_text("FACTOR = 2.0\n")
    by = importlib.import_module
    for name in ("imported_by_name", 1):
        functions = [
            lambda x, name=name: x * importlib.import_module(f"imported_by_{'name'}").FACTOR,
            lambda x, name=name: x * __import__(f"{name}"[:0] + "imported_by_name").FACTOR,
            lambda x, name=name: x * by(*["imported_by_name"]).FACTOR,
        ]
        for f in functions:
            by("imported_by_name").FACTOR = 2.0
            jitted = linad.jit(f)
            assert [jitted(1.5) for _ in range(3)] == [3.0, 3.0, 3.0]
            by("imported_by_name").FACTOR = 5.0
            assert [jitted(1.5) for _ in range(3)] == [7.5, 7.5, 7.5]


def test_flags_of_an_array():
    """A program of the other state is not run for an array that was frozen, or thawed."""
    data = np.ones(3)

    def f(x):
        return x * data if data.flags.writeable else x - data

    def g(x):
        return x * data if getattr(data, "flags")["WRITEABLE"] else x - data  # noqa: B009

    for h in (f, g):
        jitted = linad.jit(h)
        for writeable in (True, False, True, False):
            data.flags.writeable = writeable
            for _ in range(3):
                np.testing.assert_array_equal(jitted(X), h(X))


def test_a_table_of_texts_and_numbers_is_looked_at_by_its_entries():
    """NumPy makes another array of it each time."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"who": ["a", "b", "a"], "k": [1.0, 2.0, 4.0]})

    def f(x):
        return x * table["k"].to_numpy()[table["who"].to_numpy() == "a"].sum()

    jitted = linad.jit(f)
    for x in (1.0, 2.0, 3.0):
        assert jitted(x) == f(x)
    assert len(jitted.variants) == 1
    table.loc[0, "k"] = 9.0
    assert jitted(2.0) == f(2.0) == 26.0
    table.loc[1, "who"] = "a"
    assert jitted(2.0) == f(2.0) == 30.0


def test_what_a_table_has_beside_its_entries():
    pd = pytest.importorskip("pandas")

    class Recording(pd.DataFrame):
        _metadata = ["rate"]  # noqa: RUF012

    table, kept = pd.DataFrame({"a": [1.0, 2.0]}), Recording({"a": [1.0, 2.0]})
    table.attrs["k"], kept.rate = [2.0], 3.0

    def f(x):
        doubles = 1.0 if table.flags.allows_duplicate_labels else 2.0
        named = 2.0 if table.index.name or table.columns.name else 1.0
        return x * table.attrs["k"][0] * doubles * kept.rate * ("a" in kept.columns) * named

    jitted = linad.jit(f)
    for change in (
        lambda: None,
        lambda: None,
        lambda: table.attrs["k"].__setitem__(0, 5.0),
        lambda: setattr(table, "attrs", {"k": [7.0]}),
        lambda: setattr(table.flags, "allows_duplicate_labels", False),
        lambda: setattr(table.index, "name", "row"),
        lambda: setattr(table.index, "name", None),
        lambda: setattr(table.columns, "name", "what"),
        lambda: setattr(kept, "rate", 11.0),
        lambda: setattr(kept, "columns", ["b"]),
    ):
        change()
        assert [jitted(1.0), jitted(2.0)] == [f(1.0), f(2.0)]


class Link:
    def __init__(self, value, following):
        self.value, self.following = value, following


def test_what_stands_deeper_than_python_calls_functions():
    """A linked list, and a list in a list; with what changes at their ends."""
    chain, nested = Link(1.0, None), [1.0]
    last, innermost = chain, nested
    for k in range(1500):
        chain, nested = Link(float(k), chain), [2.0, nested]

    def f(x):
        link, part, found = chain, nested, 0.0 * x
        while link is not None:
            found, link = found + link.value * x, link.following
        while len(part) == 2:
            part = part[1]
        return found * part[0]

    jitted = linad.jit(f)
    for _ in range(3):
        assert jitted(2.0) == f(2.0)
    last.value = 9.0
    assert jitted(2.0) == f(2.0)
    innermost[0] = 7.0
    assert jitted(2.0) == f(2.0)
