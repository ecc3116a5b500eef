"""What a jitted function reads that is not there: that it is there later is a change, too."""

import builtins
import collections
import contextlib
import itertools
import threading
import types

import numpy as np
import pytest

import linad

TRANSFORMS = {
    "jit": lambda f: (linad.jit(f), f),
    "jit(grad)": lambda f: (linad.jit(linad.grad(f)), linad.grad(f)),
    "grad(jit)": lambda f: (linad.grad(linad.jit(f)), linad.grad(f)),
}

OBJECT = """
class Base: {base}
class Model(Base):
    {more}
    def f(self, x):
        {body}
model = Model()
def f(x): return np.sum(model.f(x))
"""
TRY = """
        try: return x * self.w
        except AttributeError: return x"""
SUPPRESSED = """
        with contextlib.suppress(AttributeError): return x * self.w
        return x"""
MATCHED = """
        match self:
            case Base(w=w): return x * w
            case _: return x"""
THROUGH_PROPERTY = """
        try: return x * self.p
        except AttributeError: return x"""
SETTABLE = "p = property(lambda self: 2 * self.w)"
HOOK = "def __getattr__(self, name): return 4.0"
HIDDEN = """
    def __getattribute__(self, name):
        try: return object.__getattribute__(self, name)
        except AttributeError: return 4.0"""
PARTS = """
    def parts(self, x):
        yield x
        try: yield x * self.w
        except AttributeError: pass"""


DEFAULT = f"{SETTABLE}; __getattr__ = lambda self, name: 3.0"
SLOT = "__slots__ = ('w',)"


def of_class(body, more="pass", base="pass"):
    return OBJECT.format(body=body, more=more, base=base)


ATTRIBUTES = {
    "try": of_class(TRY),
    "suppress": of_class(SUPPRESSED),
    "match": of_class(MATCHED),
    "hasattr": of_class("return x * self.w if hasattr(self, 'w') else x"),
    "getattr": of_class("return x * getattr(self, 'w', 3.0)"),
    "__getattr__": of_class("return x * self.w", HOOK),
    "__getattribute__": of_class("return x * self.w", HIDDEN),
    "property": of_class(THROUGH_PROPERTY, SETTABLE),
    "property and __getattr__": of_class("return x * self.p", DEFAULT),
    "generator": of_class("return sum(self.parts(x))", PARTS),
}
"""Programs of ``model.w``, which the object, its class or the base of that may have."""

IN_TRY = """
def f(x):
    try: return np.sum(x * {w})
    except (AttributeError, KeyError, NameError, ImportError): return np.sum(x)
"""
SUM = "def f(x): return np.sum(x * {w})"
GET = "d.get('w', 3.0)"
OTHERS = {
    "slots": ("model", of_class(TRY, SLOT, "__slots__ = ()")),
    "slots and __getattr__": ("model", of_class(TRY, f"{SLOT}\n    {HOOK}", "__slots__ = ()")),
    "class": ("K", "class K: pass" + IN_TRY.format(w="K.w")),
    "metaclass": ("M", "class M(type): pass\nclass K(metaclass=M): pass" + IN_TRY.format(w="K.w")),
    "__getattr__ of a metaclass": (
        "K",
        "class M(type): __getattr__ = lambda c, n: 3.0\nclass K(metaclass=M): pass\n"
        + SUM.format(w="K.w"),
    ),
    "nested": ("a.b", "class A: pass\na = A(); a.b = A()" + IN_TRY.format(w="a.b.w")),
    "function": ("g", "def g(): pass\ngs = [g]" + IN_TRY.format(w="gs[0].w")),
    "its own": ("f", IN_TRY.format(w="f.w")),
    "namespace": ("n", "n = types.SimpleNamespace()" + IN_TRY.format(w="n.w")),
    "local": ("n", "n = threading.local()" + IN_TRY.format(w="n.w")),
    "module": ("c", "c = types.ModuleType('config')" + IN_TRY.format(w="c.w")),
    "module in a module": (
        "c.d",
        "c = types.ModuleType('c'); c.d = types.ModuleType('c.d')" + IN_TRY.format(w="c.d.w"),
    ),
    "package": ("scipy.linalg", "import scipy.linalg" + IN_TRY.format(w="scipy.linalg.w")),
    "__getattr__ of a module": (
        "c",
        "c = types.ModuleType('c'); c.__getattr__ = lambda n: 3.0\n" + SUM.format(w="c.w"),
    ),
    "global": ("globals()", IN_TRY.format(w="w")),
    "globals()": ("globals()", SUM.format(w="globals().get('w', 3.0)")),
    "dict": ("d", "d = {}" + IN_TRY.format(w="d['w']")),
    "dict.get": ("d", "d = {}\n" + SUM.format(w=GET)),
    "in": ("d", "d = {}\n" + SUM.format(w="(d['w'] if 'w' in d else 1.0)")),
    "__missing__": (
        "d",
        "class D(dict): __missing__ = lambda s, k: 3.0\nd = D()\n" + SUM.format(w="d['w']"),
    ),
    "defaultdict": ("d", "d = collections.defaultdict(float)\n" + SUM.format(w=GET)),
    "ChainMap": ("d.maps[1]", "d = collections.ChainMap({}, {})\n" + SUM.format(w=GET)),
    "UserDict": ("d", "d = collections.UserDict()" + IN_TRY.format(w="d['w']")),
}
"""Programs, and where ``w`` may be set."""

ORDERS = {
    "missing first": [None, 2.0, 2.0, None, 3.0, None],
    "there first": [2.0, None, None, 3.0, None, 4.0],
    "long missing": [None, None, None, 2.0, 2.0, 2.0, None],
}


def programs():
    for name, text in ATTRIBUTES.items():
        for place in ("model", "Model", "Base"):
            yield pytest.param(place, text, id=f"{name} of {place}")
    for name, (place, text) in OTHERS.items():
        yield pytest.param(place, text, id=name)


@pytest.mark.parametrize("place, text", list(programs()))
def test_what_is_missing_may_be_there_later(place, text):
    for transform, order in itertools.product(TRANSFORMS.values(), ORDERS.values()):
        scope = {"np": np, "contextlib": contextlib, "collections": collections, "types": types}
        scope |= {"threading": threading, "__name__": "of_a_user"}
        exec(text, scope)
        owner = eval(place, scope)
        by_item = isinstance(owner, (dict, collections.UserDict))
        jitted, f = transform(scope["f"])
        there = False
        for k, w in enumerate([*order, None]):
            if w is not None:
                owner.__setitem__("w", w) if by_item else setattr(owner, "w", w)
            elif there:
                owner.__delitem__("w") if by_item else delattr(owner, "w")
            there = w is not None
            x = np.array([0.5, 1.5]) + k
            np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)


def test_a_variable_of_a_function_around_it_that_is_not_set_yet():
    def around():
        def f(x):
            try:
                return np.sum(x * w)
            except NameError:
                return np.sum(x)

        def put(value):
            nonlocal w
            w = value

        def take():
            nonlocal w
            w = None
            del w

        if not callable(f):
            w = 1.0
        return f, put, take

    for transform in TRANSFORMS.values():
        f, put, take = around()
        jitted, f = transform(f)
        for w in (None, 2.0, None, 3.0):
            take() if w is None else put(w)
            np.testing.assert_allclose(jitted(np.ones(2)), f(np.ones(2)))


def test_what_users_put_among_pythons_functions_counts(monkeypatch):
    @linad.jit
    def f(x):
        try:
            return x * a_name_of_users
        except NameError:
            return x

    for scale in (1, 2, 2, 3, 1, 4):
        if scale > 1:
            monkeypatch.setattr(builtins, "a_name_of_users", float(scale), raising=False)
        else:
            monkeypatch.undo()
        for x in (np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])):
            np.testing.assert_array_equal(f(x), x * scale)


def test_a_variable_that_hides_a_function_of_pythons():
    scope = {"np": np, "__name__": "of_a_user"}
    exec("def f(x): return np.sum(x) * len((1, 2, 3))", scope)
    for transform in TRANSFORMS.values():
        jitted, f = transform(scope["f"])
        np.testing.assert_allclose(jitted(np.ones(2)), f(np.ones(2)))
        scope["len"] = lambda x: 7.0
        np.testing.assert_allclose(jitted(np.ones(2)), f(np.ones(2)))
        del scope["len"]
        np.testing.assert_allclose(jitted(np.ones(2)), f(np.ones(2)))


DELETED = """
        try: del self.w
        except AttributeError: return 2 * x
        return x"""
BEHIND = """
        y = x * {}('w')
        self.w = float(len(x))
        return y"""


@pytest.mark.parametrize(
    "body",
    [
        DELETED,
        BEHIND.format("super().__getattribute__"),
        BEHIND.format("vars(self).get"),
    ],
)
def test_an_attribute_that_is_deleted_or_read_past_the_watch_is_read(body):
    scopes = [{"np": np, "__name__": "of_a_user"} for _ in range(2)]
    for scope in scopes:
        exec(of_class(body), scope)
    (jitted, f), models = [s["f"] for s in scopes], [s["model"] for s in scopes]
    jitted = linad.jit(jitted)
    for k in range(8):
        for model in models:
            if k % 2 or not k:
                model.w = float(k)
        x = np.array([0.5, 1.5]) + k
        np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)
        assert vars(models[0]) == vars(models[1])
