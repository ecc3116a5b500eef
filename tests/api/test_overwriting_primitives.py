"""Primitives that overwrite an argument."""

import pickle

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import linad
from linad.errors import MissingRuleError, TracerError, WrongRuleError

rng = np.random.default_rng(0)
C, A, B = rng.standard_normal((2, 4)), rng.standard_normal((2, 3)), rng.standard_normal((3, 4))


def by_numpy(c, a, b):
    c[:] = 0.5 * c + np.sin(a @ b)


def tangent(dc, da, db, y, c, a, b):
    dc[:] = 0.5 * dc + np.cos(a @ b) * (da @ b + a @ db)


def adjoint(c_bar, a_bar, b_bar, y, c, a, b):
    t = np.cos(a @ b) * c_bar
    a_bar += t @ b.T
    b_bar += a.T @ t
    c_bar *= 0.5


@numba.njit
def entry(a, b, i, j):
    """Of ``a @ b``: loops compile ten times as fast as a product of matrices."""
    total = 0.0
    for k in range(a.shape[1]):
        total += a[i, k] * b[k, j]
    return total


def by_loops(c, a, b):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0.5 * c[i, j] + np.sin(entry(a, b, i, j))


def tangent_by_loops(dc, da, db, y, c, a, b):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            slope = np.cos(entry(a, b, i, j))
            dc[i, j] = 0.5 * dc[i, j] + slope * (entry(da, b, i, j) + entry(a, db, i, j))


def adjoint_by_loops(c_bar, a_bar, b_bar, y, c, a, b):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            t = np.cos(entry(a, b, i, j)) * c_bar[i, j]
            for k in range(a.shape[1]):
                a_bar[i, k] += t * b[k, j]
                b_bar[k, j] += t * a[i, k]
            c_bar[i, j] *= 0.5


def with_scratch(c, a, b, t):
    t[:] = a @ b
    c[:] = 0.5 * c + np.sin(t)


def loops_with_scratch(c, a, b, t):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            t[i, j] = entry(a, b, i, j)
            c[i, j] = 0.5 * c[i, j] + np.sin(t[i, j])


def made(function, tangent, adjoint, **options):
    """The same as a primitive."""
    f = linad.primitive(function, **options)
    f.tangent(tangent)
    f.adjoint(adjoint)
    return f


RULES = tangent, adjoint
COMPILED = numba.njit(tangent_by_loops), numba.njit(adjoint_by_loops)
SCRATCH = {"writes": "c", "state": lambda c, a, b: np.empty_like(c)}

FORMS = {
    "numpy": made(by_numpy, *RULES, writes=0),
    "numpy, scratch": made(with_scratch, *RULES, **SCRATCH),
    "numba": made(numba.njit(by_loops), *COMPILED, writes=0),
    "numba, scratch": made(numba.njit(loops_with_scratch), *COMPILED, **SCRATCH),
}
"""In NumPy or compiled, with scratch memory or without."""


def loss(g, c, a, b):
    c = c.copy()
    g(c, a, b)
    g(c, 2 * a, b)
    return np.sum(c**2)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_what_numpy_does(form):
    g = FORMS[form]
    found, expected = C.copy(), C.copy()
    assert g(found, A, B) is None
    by_numpy(expected, A, B)
    np.testing.assert_allclose(found, expected)

    def f(*args):
        return loss(g, *args)

    def reference(*args):
        return loss(by_numpy, *args)

    every = (0, 1, 2)
    gradients = linad.grad(reference, argnums=every)(C, A, B)
    for a, b in zip(linad.grad(f, argnums=every)(C, A, B), gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    pushed = linad.jvp(f, (C, A, B), (C, A, B))
    np.testing.assert_allclose(pushed, linad.jvp(reference, (C, A, B), (C, A, B)), rtol=1e-12)


@pytest.mark.rest
@pytest.mark.compiles
@pytest.mark.parametrize(
    "form", [pytest.param(f, marks=pytest.mark.full if f == "numba" else ()) for f in FORMS]
)
def test_compiled_programs_call_it(form):
    g = FORMS[form]
    gradient = linad.jit(linad.grad(lambda *args: loss(g, *args), argnums=(0, 1, 2)))
    expected = linad.grad(lambda *args: loss(by_numpy, *args), argnums=(0, 1, 2))(C, A, B)
    for _ in range(3):
        for a, b in zip(gradient(C, A, B), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    report = linad.explain(gradient)(C, A, B)
    assert bool(report.fallbacks) == form.startswith("numpy")
    if form.startswith("numba"):
        outs = [np.empty_like(v) for v in (C, A, B)]
        gradient.njit(C, A, B)(C, A, B, *outs)
        for a, b in zip(outs, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("form", ["numpy", "numpy, scratch"])
def test_rules_in_numpy_are_differentiated_again(form):
    g = FORMS[form]
    point, direction = (C, A, B), (A.sum() * C, A, B)

    def hvp(f):
        return linad.hvp(lambda p: loss(f, *p), (point,), (direction,))

    for a, b in zip(hvp(g), hvp(by_numpy), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


@pytest.mark.compiles
def test_compiled_rules_have_first_derivatives_only():
    with pytest.raises(MissingRuleError):
        linad.hvp(lambda p: loss(FORMS["numba"], *p), ((C, A, B),), ((C, A, B),))


@pytest.mark.parametrize("form", FORMS)
def test_many_seeds_and_repeated_sweeps(form):
    g = FORMS[form]

    def f(a):
        c = a[0, 0] * C
        g(c, a, B)
        return c

    def reference(a):
        c = a[0, 0] * C
        by_numpy(c, a, B)
        return c

    _, J = linad.linearize(f, A)
    expected = linad.jacobian(reference)(A)
    w = rng.standard_normal((5, 2, 4))
    for _ in range(2):
        np.testing.assert_allclose(linad.jacobian(f)(A), expected, rtol=1e-12)
        np.testing.assert_allclose(J.pullback(w), np.tensordot(w, expected, 2), rtol=1e-12)


@pytest.mark.rest
@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from(["write", "scale", "read"]), max_size=6), st.sampled_from([*FORMS]))
def test_between_other_writes(steps, form):
    def f(g, c, a):
        c, total = c.copy(), 0.0
        for step in steps:
            if step == "write":
                g(c, a, B)
            elif step == "scale":
                c[0] *= a[0, 1]
            else:
                total = total + np.sum(c**2)
        return total + np.sum(c)

    every = {"argnums": (0, 1)}
    found = linad.grad(lambda c, a: f(FORMS[form], c, a), **every)(C, A)
    expected = linad.grad(lambda c, a: f(by_numpy, c, a), **every)(C, A)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-12)


def test_scratch_is_made_once_for_each_shape():
    shapes = []

    def scratch(c, s):
        shapes.append(c.shape)
        return np.empty_like(c), np.empty(3)

    @linad.primitive(writes="c", state=scratch)
    def scale(c, s, t, u):
        assert t.shape == c.shape
        assert u.shape == (3,)
        c *= s

    for _ in range(5):
        scale(np.ones(4), 2.0)
    scale(np.ones(5), 2.0)
    assert shapes == [(4,), (5,)]


def test_a_caller_inside_a_call_gets_scratch_of_its_own():
    depths = []

    @linad.primitive(writes="c", state=np.empty_like)
    def nested(c, t):
        t[:] = len(depths)
        depths.append(0)
        if len(depths) < 3:
            nested(c.copy())
        c[:] = t

    c = np.zeros(2)
    nested(c)
    assert c.tolist() == [0, 0]


def test_an_exception_in_compiled_code_is_the_functions_own():
    @linad.primitive(writes="c")
    @numba.njit
    def root(c, a):
        if a[0] < 0:
            raise ValueError("negative")
        for i in range(a.size):
            c[i] = np.sqrt(a[i])

    @linad.jit
    def f(a):
        c = np.zeros_like(a)
        root(c, a)
        return c

    for _ in range(3):
        np.testing.assert_allclose(f(np.array([4.0, 9.0])), [2, 3])
    with pytest.raises(ValueError, match="negative"):
        f(np.array([-1.0, 1.0]))
    np.testing.assert_allclose(f(np.array([4.0, 9.0])), [2, 3])


@linad.primitive(writes="c")
@numba.njit
def doubled(c, a):
    for i in np.ndindex(a.shape):
        c[i] = 2 * a[i]


@doubled.tangent
@numba.njit
def doubled_tangent(dc, da, y, c, a):
    for i in np.ndindex(a.shape):
        dc[i] = 2 * da[i]


@doubled.adjoint
@numba.njit
def doubled_adjoint(c_bar, a_bar, y, c, a):
    for i in np.ndindex(a.shape):
        a_bar[i] += 2 * c_bar[i]
        c_bar[i] = 0


@pytest.mark.rest
def test_a_compiled_operator_is_pickled():
    @linad.jit
    def f(a):
        c = np.zeros_like(a)
        doubled(c, a)
        return np.sin(c)

    f(A)
    _, J = linad.linearize(f, A)
    again = pickle.loads(pickle.dumps(J))
    np.testing.assert_allclose(again.T @ np.ones(6), J.T @ np.ones(6))


# What it refuses.


def test_rules_that_are_not_adjoint():
    @linad.primitive(writes="c")
    def f(c, a):
        c[:] = 3 * a

    f.tangent(lambda dc, da, y, c, a: dc.__setitem__(slice(None), 3 * da))
    f.adjoint(lambda c_bar, a_bar, y, c, a: a_bar.__setitem__(slice(None), 2 * c_bar))

    def g(a):
        c = np.zeros_like(a)
        f(c, a)
        return c

    with pytest.raises(WrongRuleError, match="f: tangent and adjoint are not adjoint"):
        linad.linearize(g, np.ones(3))


def test_a_missing_rule():
    @linad.primitive(writes="c")
    def f(c, a):
        c[:] = 3 * a

    def g(a):
        c = np.zeros_like(a)
        f(c, a)
        return np.sum(c)

    with pytest.raises(MissingRuleError, match=r"no adjoint rule; register one with @f.adjoint"):
        linad.grad(g)(np.ones(3))
    with pytest.raises(MissingRuleError, match="no tangent rule"):
        linad.jvp(g, (np.ones(3),), (np.ones(3),))


def test_a_plain_array_does_not_take_traced_values():
    with pytest.raises(TracerError, match="np.zeros_like"):
        linad.grad(lambda a: doubled(np.zeros(3), a))(np.ones(3))


def test_what_is_overwritten_must_be_an_array_and_an_argument():
    with pytest.raises(TypeError, match="must be an array, got a float"):
        doubled(1.0, np.ones(2))
    with pytest.raises(TypeError, match=r"one of the arguments \['c', 'a'\] of f, .* got 'd'"):

        @linad.primitive(writes="d")
        def f(c, a):
            pass
