"""What a jitted function reads of the process, of holders and of objects of Python and NumPy:
it is seen when it changes, or warned of. One row per kind, read from outside and as an argument."""

import argparse
import array
import collections
import configparser
import contextvars
import ctypes
import datetime as dt
import decimal
import enum
import functools
import io
import json
import logging
import multiprocessing
import operator
import os
import pathlib
import queue
import random
import secrets
import sys
import threading
import time
import types
import uuid
import warnings
import weakref

import numpy as np
import pandas as pd
import pytest
import scipy.interpolate
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.spatial
import scipy.stats

import linad
from linad.core.tape import unchanged

X = np.array([0.5, 1.5, 2.0])


class Kept:
    """An object with one attribute."""

    def __init__(self, k):
        self.k = k


class Kind(enum.Enum):
    A = [2.0]  # noqa: RUF012  # it may be changed, that is the point


def _local():
    value = threading.local()
    value.k = 2.0
    return value


def _config():
    value = configparser.ConfigParser()
    value.read_string("[a]\nk=2\n")
    return value


def _queue():
    value = queue.Queue()
    value.put(2.0)
    return value


def _dispatched():
    @functools.singledispatch
    def value(x):
        return 2.0

    return value


def _sparse():
    return scipy.sparse.csr_array(2 * np.eye(3))


def _spline():
    return scipy.interpolate.CubicSpline(np.arange(3.0), [1.0, 3.0, 2.0])


OBJECT = Kept(2.0)
INNER = {"k": 2.0}
VARIABLE = contextvars.ContextVar("variable", default=2.0)

# An object; what a function makes of it; how it changes.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.1, 1.0]])

HELD = {
    "namespace": (lambda: argparse.Namespace(k=2.0), lambda a: a.k, lambda a: setattr(a, "k", 3.0)),
    "array in it": (
        lambda: argparse.Namespace(k=np.ones(3)),
        lambda a: a.k,
        lambda a: a.k.fill(3.0),
    ),
    "proxy": (
        lambda: types.MappingProxyType(INNER),
        lambda a: a["k"],
        lambda a: INNER.update(k=3.0),
    ),
    "chain": (
        lambda: collections.ChainMap({}, {"k": 2.0}),
        lambda a: a["k"],
        lambda a: a.maps[1].update(k=3.0),
    ),
    "dict": (lambda: collections.UserDict(k=2.0), lambda a: a["k"], lambda a: a.update(k=3.0)),
    "list": (lambda: collections.UserList([2.0]), lambda a: a[0], lambda a: a.insert(0, 3.0)),
    "context": (lambda: VARIABLE, lambda a: a.get(), lambda a: a.set(3.0)),
    "local": (_local, lambda a: a.k, lambda a: setattr(a, "k", 3.0)),
    "reference": (
        lambda: weakref.ref(OBJECT),
        lambda a: a().k,
        lambda a: setattr(OBJECT, "k", OBJECT.k + 1),
    ),
    "config": (_config, lambda a: a.getfloat("a", "k"), lambda a: a.set("a", "k", "3")),
    "event": (threading.Event, lambda a: 2.0 if a.is_set() else 1.0, lambda a: a.set()),
    "queue": (_queue, lambda a: a.qsize(), lambda a: a.put(1.0)),
    "shared": (
        lambda: multiprocessing.Value("d", 2.0),
        lambda a: a.value,
        lambda a: setattr(a, "value", 3.0),
    ),
    "ctypes": (lambda: ctypes.c_double(2.0), lambda a: a.value, lambda a: setattr(a, "value", 3.0)),
    "memory": (lambda: array.array("d", [2.0]), lambda a: a[0], lambda a: a.insert(0, 3.0)),
    "enum": (lambda: Kind.A, lambda a: a.value[0], lambda a: a.value.insert(0, a.value[0] + 1)),
    "module": (
        lambda: types.ModuleType("of_a_user"),
        lambda a: getattr(a, "k", 2.0),
        lambda a: setattr(a, "k", 3.0),
    ),
    "logger": (
        lambda: logging.Logger("of_a_user"),
        lambda a: a.level + 1.0,
        lambda a: a.setLevel(30),
    ),
    "poly1d": (lambda: np.poly1d([1.0, 2.0]), lambda a: a(2.0), lambda a: a.coeffs.fill(3.0)),
    "polynomial": (
        lambda: np.polynomial.Polynomial([1.0, 2.0]),
        lambda a: a(2.0),
        lambda a: a.coef.fill(3.0),
    ),
    "vectorize": (
        lambda: np.vectorize(lambda t: 2 * t),
        lambda a: a(2.0),
        lambda a: setattr(a, "pyfunc", lambda t: 3 * t),
    ),
    "spline": (_spline, lambda a: a(0.5), lambda a: a.c.__imul__(2.0)),
    "distribution": (
        lambda: scipy.stats.norm(0.0, 2.0),
        lambda a: a.pdf(0.3),
        lambda a: setattr(a, "args", (0.0, 3.0)),
    ),
    "system": (
        lambda: scipy.signal.StateSpace(np.eye(2), np.ones((2, 1)), np.ones((1, 2)), [[0.0]]),
        lambda a: a.A.sum(),
        lambda a: setattr(a, "A", 2 * a.A),
    ),
    "poles": (
        lambda: scipy.signal.ZerosPolesGain([0.5], [0.2], 2.0),
        lambda a: a.gain,
        lambda a: setattr(a, "gain", 3.0),
    ),
    "triangles": (
        lambda: scipy.spatial.Delaunay(CORNERS),
        lambda a: a.transform[0, 2].sum(),
        lambda a: a.transform.fill(3.0),
    ),
    "hull": (
        lambda: scipy.spatial.ConvexHull(CORNERS),
        lambda a: a.equations.sum(),
        lambda a: a.equations.fill(3.0),
    ),
    "constraint": (
        lambda: scipy.optimize.LinearConstraint(np.eye(2), 0, 1),
        lambda a: a.A.sum(),
        lambda a: a.A.fill(3.0),
    ),
    "scattered": (
        lambda: scipy.interpolate.LinearNDInterpolator(CORNERS, np.arange(4.0)),
        lambda a: a([[0.5, 0.5]])[0],
        lambda a: a.values.fill(3.0),
    ),
    "tensor spline": (
        lambda: scipy.interpolate.NdBSpline(([0, 0, 1, 1],), np.arange(2.0), 1),
        lambda a: a([[0.5]])[0],
        lambda a: a.c.fill(3.0),
    ),
    "sparse sum": (_sparse, lambda a: a.sum(), lambda a: a.data.fill(3.0)),
    "sparse entries": (_sparse, lambda a: a.diagonal(), lambda a: a.data.fill(3.0)),
    "sparse lists": (
        lambda: scipy.sparse.lil_array(np.eye(3)),
        lambda a: a.toarray()[0],
        lambda a: a.__setitem__((0, 1), 3.0),
    ),
    "frame": (
        lambda: pd.DataFrame({"k": [2.0, 1.0, 3.0]}),
        lambda a: a["k"].to_numpy(),
        lambda a: a.__setitem__("k", [1.0, 1.0, 4.0]),
    ),
    "environment": (
        lambda: os.environ,
        lambda a: float(a.get("LINAD_TEST", "2")),
        lambda a: a.__setitem__("LINAD_TEST", "3"),
    ),
}


@pytest.fixture
def _restored(monkeypatch):
    monkeypatch.delenv("LINAD_TEST", raising=False)
    monkeypatch.setattr(sys, "argv", ["x", "2"])
    OBJECT.k, INNER["k"] = 2.0, 2.0
    token = VARIABLE.set(2.0)
    yield
    VARIABLE.reset(token)


def follows(jitted, f, change):
    for _ in range(3):
        np.testing.assert_array_equal(jitted(), f())
    before = f()
    change()
    assert not np.array_equal(f(), before)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(), f())


@pytest.mark.usefixtures("kernels", "_restored")
@pytest.mark.parametrize("place", ["outside", "argument"])
@pytest.mark.parametrize("name", HELD)
def test_what_is_held(name, place):
    make, read, change = HELD[name]
    held = make()
    if place == "outside":
        jitted = linad.jit(lambda x: x * read(held))
        follows(lambda: jitted(X), lambda: X * read(held), lambda: change(held))
    else:
        jitted = linad.jit(lambda x, a: x * read(a))
        follows(lambda: jitted(X, held), lambda: X * read(held), lambda: change(held))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "product",
    [lambda A, x: (2 * A) @ x, lambda A, x: A[[1, 0, 2]] @ x, lambda A, x: A.T @ (A @ x)],
    ids=["multiple", "rows", "twice"],
)
def test_what_is_made_of_a_sparse_matrix(product):
    A = _sparse()
    jitted = linad.jit(lambda x: product(A, x))
    follows(lambda: jitted(X), lambda: product(A, X), lambda: A.data.__setitem__(1, 7.0))


def test_the_mask_of_a_masked_array():
    m = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    jitted = linad.jit(lambda x: x * m.filled(0.0))
    follows(lambda: jitted(X), lambda: X * m.filled(0.0), lambda: setattr(m, "mask", [1, 0, 0]))


ONES = np.ones(3)
PRODUCTS = {
    "product": lambda A, x: A @ x,
    "dot": lambda A, x: A.dot(x),
    "transposed": lambda A, x: A.T @ x,
    "from the right": lambda A, x: x @ A,
    "with plain numbers": lambda A, x: x * (A @ ONES),
    "with itself": lambda A, x: (A @ A) @ x,
    "gradient": lambda A, x: linad.grad(lambda y: np.sum((A @ y) ** 2))(x),
    "gradient of what is linear": lambda A, x: linad.grad(lambda y: np.sum(A @ y))(x) * x,
    "pushforward": lambda A, x: linad.jvp(lambda y: A @ y, (x,), (ONES,))[1] * x,
    "pullback": lambda A, x: linad.vjp(lambda y: A @ y, x)[1](ONES)[0] * x,
    "Jacobian": lambda A, x: linad.jacobian(lambda y: A @ y)(x) @ x,
}


def _other_structure(A):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
        A[2, 1] = 4.0


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("outer", ["value", "gradient of jit", "jit of gradient"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_entries_of_a_sparse_matrix_that_is_multiplied(name, outer):
    A = _sparse()

    def f(x):
        return PRODUCTS[name](A, x)

    def total(g):
        return linad.grad(lambda x: np.sum(g(x) * x))

    if outer == "value":
        plain, jitted = f, linad.jit(f)
    elif outer == "jit of gradient":
        plain, jitted = total(f), linad.jit(total(f))
    else:
        plain, jitted = total(f), total(linad.jit(f))
    follows(lambda: jitted(X), lambda: plain(X), lambda: A.data.__setitem__(1, 7.0))
    follows(lambda: jitted(X), lambda: plain(X), lambda: _other_structure(A))


def _replaced(A):
    A.data = 3.0 * A.data


def _permuted(A):
    A.indices[:] = A.indices[::-1].copy()


CHANGES = [lambda A: A.data.__setitem__(1, 7.0), _replaced, lambda A: A.data.fill(5.0), _permuted]
MULTIPLIED = {
    "variable": lambda A: lambda x: A @ x,
    "twice": lambda A: lambda x: A @ (A @ x + 1.0),
    "in a container": lambda A: lambda x, held={"A": [A]}: held["A"][0] @ x,
    "from the right": lambda A: lambda x: x @ A,
    "method": lambda A: lambda x: A.dot(x),
    "transposed": lambda A: lambda x: A.T @ np.sin(A @ x),
    "transposed, from the right": lambda A: lambda x: x @ A.T,
    "transposed twice": lambda A: lambda x: A.T.T @ x,
    "kept": lambda A: lambda x: _normal(A, x),
    "gradient": lambda A: linad.grad(lambda x: np.sum((A @ x) ** 2)),
}
COMPARED = {
    "Hessian": lambda A: lambda x: linad.hessian(lambda x: np.sum((A @ x) ** 3))(x) @ x,
    "pullback": lambda A: lambda x: linad.vjp(lambda x: A @ x**2, x)[1](x)[0],
    "pushforward": lambda A: lambda x: linad.jvp(lambda x: A @ x**2, (x,), (x,))[1],
    "of plain numbers": lambda A: lambda x: A @ x + A @ ONES,
    "entries by another name": lambda A: lambda x, d=A.data: A @ x + x * float(d[1]),
    "of decisions": lambda A: lambda x: A @ (x > 1.0) + A @ x,
    "of numbers of places": lambda A: lambda x: A @ np.argsort(x) + A @ x,
    "behind an object": lambda A: lambda x, A=A: A @ x + max([Holds(A)], key=id).A @ ONES,
    "conjugate": lambda A: lambda x: A.conj().T @ x,
    "multiple": lambda A: lambda x: (2 * A) @ x + A @ x,
}


def _normal(A, x):
    B = A.T
    return B @ (A @ x)


class Holds:
    def __init__(self, A):
        self.A = A


def compares(jitted):
    """Whether a run of the program compares entries of arrays from outside."""
    tape = jitted.variant(X).tape
    return any(e.primitive is unchanged for e in tape.equations)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", [*MULTIPLIED, *COMPARED])
def test_sparse_matrices_that_only_multiply_are_read_at_each_run(name):
    A = _sparse()
    f = (MULTIPLIED | COMPARED)[name](A)
    jitted = linad.jit(f)

    def total(g):
        return linad.grad(lambda x: np.sum(g(x) * x))

    def check():
        for _ in range(3):
            np.testing.assert_allclose(jitted(X), f(X), rtol=1e-14)
            np.testing.assert_allclose(total(jitted)(X), total(f)(X), rtol=1e-14)

    check()
    assert compares(jitted) == (name in COMPARED)
    for change in CHANGES:
        if name == "entries by another name" and change is not CHANGES[0]:
            continue
        change(A)
        check()


STRUCTURES = {
    "written into": lambda A: A.data.__imul__(2.0),
    "other data": _replaced,
    "sorted": lambda A: A.sort_indices() if hasattr(A, "sort_indices") else None,
    "reversed": lambda A: A.data.__setitem__(slice(None), A.data[::-1].copy()),
    "without zeros": lambda A: A.eliminate_zeros() if hasattr(A, "eliminate_zeros") else None,
    "added up": lambda A: A.sum_duplicates() if hasattr(A, "sum_duplicates") else None,
    "another entry": lambda A: A.format in ("csr", "csc") and _other_structure(A),
    "frozen": lambda A: A.data.setflags(write=False),
}
ASKED = {
    "value": lambda f, x: f(x),
    "tangent": lambda f, x: linad.jvp(f, (x,), (x + 1,))[1],
    "cotangent": lambda f, x: linad.vjp(f, x)[1](f(x))[0],
    "gradient": lambda f, x: linad.grad(lambda x: np.sum(f(x) ** 2))(x),
    "matrix": lambda f, x: linad.jacobian(f)(x),
    "sparse matrix": lambda f, x: linad.sparse_jacobian(f, x).toarray(),
}


def _stored(format):
    rows, columns = np.array([2, 0, 0, 1, 1, 0]), np.array([0, 2, 0, 1, 0, 2])
    A = scipy.sparse.coo_array((np.array([3.0, 1.0, -2.0, 0.0, 5.0, 0.5]), (rows, columns)))
    if format in ("csr", "csc"):
        A = getattr(scipy.sparse, f"{format}_array")(A)
        A.indices[:2], A.data[:2] = A.indices[1::-1].copy(), A.data[1::-1].copy()
        A.has_sorted_indices = A.has_canonical_format = False
    return A.asformat(format)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("side", ["left", "right", "transposed"])
def test_a_sparse_matrix_that_changes_between_calls(format, side, asked):
    A = _stored(format)
    if side == "left":
        f = lambda x: A @ np.sin(x)  # noqa: E731
    elif side == "right":
        f = lambda x: np.sin(x) @ A  # noqa: E731
    else:
        f = lambda x: A.T @ np.sin(x)  # noqa: E731
    jitted = linad.jit(f)
    for change in [lambda A: None, *STRUCTURES.values()]:
        change(A)
        for _ in range(2):
            found, expected = (ASKED[asked](g, X) for g in (jitted, f))
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.usefixtures("kernels")
def test_a_derivative_keeps_the_sparse_matrix_of_its_point():
    A = _sparse()
    for f in (lambda x: A @ np.sin(x), lambda x: (A + A.T) @ np.sin(x)):
        jitted = linad.jit(f)
        for _ in range(3):
            A.data[:] = [3.0, 4.0, 5.0]
            wanted = linad.jacobian(f)(X)
            J = linad.linearize(jitted, X)[1]
            A.data[:] = 0.0
            np.testing.assert_allclose(J @ ONES, wanted @ ONES, rtol=1e-14)
            np.testing.assert_allclose(J.T @ ONES, wanted.T @ ONES, rtol=1e-14)


def test_another_sparse_matrix_in_the_place_of_one():
    held = {"A": _sparse()}
    jitted = linad.jit(lambda x: held["A"] @ x)
    follows(lambda: jitted(X), lambda: held["A"] @ X, lambda: held.update(A=3 * _sparse()))
    follows(lambda: jitted(X), lambda: held["A"] @ X, lambda: held["A"].data.fill(9.0))


def test_static_sparse_matrices_that_only_multiply():
    A = _sparse()
    jitted = linad.jit(lambda x, A: A @ x, static_argnums=1)
    for change in CHANGES:
        follows(lambda: jitted(X, A), lambda: A @ X, lambda change=change: change(A))


def _getenv(x):
    return x * float(os.getenv("LINAD_TEST", "2"))


def _imported(x):
    import os as system
    from os import environ

    return x * float(system.environ.get("LINAD_TEST", "2")) + len(environ)


def _evaluated(x):
    return x * eval("OBJECT.k + INNER['k']")


def _counted(x):
    _counted.calls = getattr(_counted, "calls", 0) + 1
    return x * _counted.calls


class Meta(type):
    @property
    def k(cls):
        return cls.held


class Made(metaclass=Meta):
    held = 2.0


READ = {
    "getenv": (_getenv, lambda: os.environ.__setitem__("LINAD_TEST", "3")),
    "imported": (_imported, lambda: os.environ.__setitem__("LINAD_TEST", "3")),
    "argv": (lambda x: x * float(sys.argv[1]), lambda: sys.argv.__setitem__(1, "3")),
    "folder": (lambda x: x * len(str(pathlib.Path.cwd())), lambda: os.chdir("/")),
    "options": (
        lambda x: x * np.get_printoptions()["precision"],
        lambda: np.set_printoptions(precision=3),
    ),
    "errors": (
        lambda x: x * (2.0 if np.geterr()["over"] == "ignore" else 1.0),
        lambda: np.seterr(over="ignore"),
    ),
    "decimal": (
        lambda x: x * float(decimal.Decimal(1) / decimal.Decimal(3)),
        lambda: setattr(decimal.getcontext(), "prec", 3),
    ),
    "globals": (lambda x: x * globals()["OBJECT"].k, lambda: setattr(OBJECT, "k", 3.0)),
    "evaluated": (_evaluated, lambda: setattr(OBJECT, "k", 3.0)),
    "class": (lambda x: x * Made.k, lambda: setattr(Made, "held", Made.held + 1)),
    "named": (
        lambda x, g=operator.attrgetter("k"): x * g(OBJECT),
        lambda: setattr(OBJECT, "k", 3.0),
    ),
}


@pytest.mark.usefixtures("kernels", "_restored")
@pytest.mark.parametrize("name", READ)
def test_what_the_process_answers(name, monkeypatch):
    f, change = READ[name]
    monkeypatch.chdir(".")
    jitted = linad.jit(f)
    with decimal.localcontext(), np.errstate(), np.printoptions():
        follows(lambda: jitted(X), lambda: f(X), change)


def test_a_generic_function_that_gains_a_form():
    g = _dispatched()
    jitted = linad.jit(lambda x: x * g(1))
    follows(lambda: jitted(X), lambda: X * g(1), lambda: g.register(int)(lambda n: 3.0))


def test_a_counter_that_a_function_keeps_on_itself():
    jitted = linad.jit(_counted)
    assert [float(jitted(X)[0]) for _ in range(4)] == [0.5, 1.0, 1.5, 2.0]


@pytest.mark.parametrize(
    "kind", [io.StringIO, lambda text: io.BytesIO(text.encode())], ids=["text", "bytes"]
)
def test_a_file_that_is_read_on(kind):
    file = kind("1\n2\n3\n4\n")
    jitted = linad.jit(lambda x: x * float(file.readline()))
    assert [float(jitted(X)[0]) for _ in range(4)] == [0.5, 1.0, 1.5, 2.0]


def _local_clock(x):
    from time import perf_counter as now

    return x * now()


PATH = pathlib.Path(__file__)
GENERATOR = np.random.default_rng(0)
ONCE = {
    "time.time": lambda x: x * time.time(),
    "now": lambda x: x * dt.datetime.now().microsecond,
    "perf_counter": _local_clock,
    "default_rng": lambda x: x * np.random.default_rng().normal(),
    "default_rng of None": lambda x: x * np.random.default_rng(None).normal(),
    "random.Random": lambda x: x * random.Random().random(),
    "getstate": lambda x: x * random.getstate()[1][-1],
    "get_state": lambda x: x * np.random.get_state()[2],  # noqa: NPY002
    "bit_generator.state": lambda x: x * len(GENERATOR.bit_generator.state),
    "randbelow": lambda x: x * secrets.randbelow(9),
    "uuid4": lambda x: x * (uuid.uuid4().int % 9),
    "open": lambda x: x * len(open(PATH).readline()),  # noqa: SIM115, PTH123
    "read_text": lambda x: x * len(PATH.read_text()),
    "exists": lambda x: x * PATH.exists(),
    "json.load": lambda x: x * json.load(io.StringIO("2")),
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", ONCE)
def test_a_warning_says_what_is_done_once(name):
    with pytest.warns(UserWarning, match=f"uses .*{name.split()[0]}.* while it is traced"):
        linad.jit(ONCE[name])(X)


def test_no_warning_for_seeds_and_for_what_is_kept():
    kept = functools.cache(PATH.read_text)

    @functools.cache
    def loaded():
        return len(PATH.read_text())

    f = linad.jit(lambda x: x * np.random.default_rng(3).normal() * loaded() * len(kept()))
    np.testing.assert_array_equal(f(X), f(X))
