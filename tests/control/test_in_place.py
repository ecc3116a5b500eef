"""Carries that are computed where they lie: random bodies of whole arrays, and Python's loops."""

import numpy as np
import pytest
from loops_in_python import python_loop, python_while

import linad

N = 70  # too many entries for registers

STATEMENTS = [
    "a = a + {c} * b",
    "a, b = b, {c} * (a + b)",
    "a, b = b, a",
    "a = b - {c} * np.sin(np.sum(b * a)) * a",
    "s = np.sin(s) + np.sum(a * b) * 0.01",
    "t = a * {c}; a = b + t; b = t - a",
    "b[1:-1] = 0.3 * (a[2:] - b[:-2])",
    "a[1:] = a[:-1] * {c}",
    "a = a[::-1] * {c} + x",
    "a = np.sin(a) + b",
    "b = np.where(a.real > 0, b, {c} * a)",
    "m = m * {c} + a[:3, None] * b[:5]",
    "a = a + np.sin(np.sum(m, 0)[1]) * x",
    "m[1] = m[0] - a[:5]; a = a * np.cos(m[2, 2])",
    "m = m[:, ::-1]",
    "a = (a.reshape(7, 10) * {c}).reshape(70) + b",
    "a = a.reshape(7, 10).T.ravel() * {c}",
    "kept = b; b = b * {c}; a = a + kept",
    "b = x * s",
    "a = loops[0](0, 2, lambda _, u: u * {c} - 0.1 * b, a)",
    "a, b = loops[0](0, 2, lambda _, u: (u[1], u[0] - {c} * u[1]), (a, b))",
    "a = loops[0](0, 2, lambda j, u: linad.numpy.roll(u, 1) * {c}, a)",
    "a[i] = a[i + 1] * np.cos(s)",
    "a[i] += s; b = b - {c} * a",
    "s = s + a[i] * 0.1; a = a * 0.5",
    "a = linad.cond(s.real > 0, lambda u: u * {c}, lambda u: u + b, a)",
]


def random_program(rng):
    """``f(loops, x)``: what becomes of some arrays in a loop."""
    chosen = rng.choice(STATEMENTS, rng.integers(1, 6))
    lines = [line.replace("{c}", f"{rng.uniform(-0.9, 0.9):.3f}") for line in chosen]
    code = compile("\n".join(lines), "body", "exec")
    form, same = rng.choice(["for", "while", "nested"]), rng.random() < 0.3

    def f(loops, x):
        for_loop, while_loop = loops

        def body(i, carry):
            a, b, m, s = carry
            if for_loop is python_loop:  # a write into one of them is none into the others
                a, b, m = a * 1.0, b * 1.0, m * 1.0
            scope = {"a": a, "b": b, "m": m, "s": s, "i": i, "x": x, "np": np, "linad": linad}
            scope["loops"] = loops
            exec(code, scope)
            return tuple([scope[name] for name in "abms"])

        init = x, x if same else np.cos(x), np.outer(x[:3], x[:5]), x[0] * 0.1
        if form == "nested":
            carry = for_loop(0, 2, lambda _, c: for_loop(0, 3, body, c), init)
        elif form == "while":
            _, *carry = while_loop(
                lambda c: c[0] < 4, lambda c: (c[0] + 1, *body(c[0], c[1:])), (0, *init)
            )
        else:
            carry = for_loop(0, 4, body, init)
        a, b, m, s = carry
        return (np.sum(a * a) + np.sum(np.cos(b)) + np.sum(m * m) + s).real, *carry

    return f


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    "seed",
    [pytest.param(k, marks=pytest.mark.rest if k < 4 else pytest.mark.full) for k in range(120)],
)
def test_against_python(seed):
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    dtype = [np.float64, np.complex128, np.float64, np.float32][seed % 4]
    x, v = rng.standard_normal((2, N)) * 0.5
    if dtype is np.complex128:
        x, v = x * (1 + 0.5j), v * (1 - 1j)
    x, v = x.astype(dtype), v.astype(dtype)
    close = {"rtol": 2e-3, "atol": 2e-3} if dtype is np.float32 else {"rtol": 1e-9, "atol": 1e-9}

    def f(x):
        return program((linad.fori_loop, linad.while_loop), x)

    def wanted(x):
        return program((python_loop, python_while), x)

    def agree(got, expected):
        for g, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(g, e, **close)

    values = wanted(x)
    for g in (f, wanted):  # as it is written, and rolled
        compiled = linad.jit(g)
        compiled(x / 2)
        agree(compiled(x), values)
        agree(compiled(x), values)
    tangent = linad.jit(lambda x, v: linad.jvp(f, (x,), (v,))[1])
    tangent(x / 2, v)
    agree(tangent(x, v), linad.jvp(wanted, (x,), (v,))[1])
    gradient = linad.jit(linad.grad(lambda x: f(x)[0]))
    gradient(x / 2)
    agree([gradient(x)], [linad.grad(lambda x: wanted(x)[0])(x)])
    second = linad.jit(lambda x: linad.hvp(lambda x: f(x)[0], (x,), (v,)))
    second(x / 2)
    agree([second(x)], [linad.hvp(lambda x: wanted(x)[0], (x,), (v,))])


def body_of(f, *args):
    """The program of the loop in a function."""
    program = linad.jit(f).variant(*args).compiled.program
    program.give_back(program.borrow())
    made = program.lowering.instructions
    return next(i.inner.lowering for i in made if hasattr(i, "inner")), made


X = np.linspace(0, 1, 1000)
ROWS = np.ones((4, 1000))


def test_what_replaces_a_carry_entry_by_entry_has_no_other_memory():
    """Modified Gram-Schmidt: the vector stays where the caller's was copied to."""

    def orthogonal(w, v):
        h = np.sum(v * w)
        return w - h * v, h

    body, made = body_of(lambda x: linad.scan(orthogonal, x, ROWS), X)
    assert body.owned == (0,)
    assert [i.label for i in body.instructions] == ["multiply sum", "multiply subtract"]
    assert [i.label for i in made if "copy" in i.label or "carry" in i.label] == ["carry"]


def test_a_first_value_that_nobody_else_reads_is_not_copied():
    _, made = body_of(lambda x: linad.fori_loop(0, 4, lambda _, u: u * 0.5, x + 1), X)
    assert not any("copy" in i.label or "carry" in i.label for i in made)


@pytest.mark.parametrize(
    "step, stays",
    [
        (lambda a, b: (b, a), ()),
        (lambda a, b: (b, a + b), ()),
        (lambda a, b: (a + b, b), (0, 1)),
        (lambda a, b: (a[::-1] + b, b * 2), (1,)),
        (lambda a, b: (np.sin(a), b), (1,)),
        (lambda a, b: (a + b, a - b), (0, 1)),
        (lambda a, b: (a * 2, np.sum(a) * b), (0, 1)),
    ],
)
def test_which_carries_stay(step, stays):
    def f(x):
        return linad.fori_loop(0, 4, lambda _, ab: step(*ab), (x, x + 1))

    body, _ = body_of(f, X)
    assert body.owned == stays
    a, b = X, X + 1
    for _ in range(4):
        a, b = step(a, b)
    for got, expected in zip(linad.jit(f)(X), (a, b), strict=True):
        np.testing.assert_allclose(got, expected)


STEPS, LENGTH = 1000, 50


def added_in_a_scan(p):
    def on(c, x):
        c[0] += p[0] * x
        return c, None

    return np.sum(linad.scan(on, np.ones(LENGTH) * p[1], np.linspace(0, 1, STEPS))[0] ** 2)


def added_in_turn(p):
    def on(i, c):
        c[i % LENGTH] += p[0] * np.sin(i * p[2])
        return c

    return np.sum(linad.fori_loop(0, STEPS, on, np.ones(LENGTH) * p[1]) ** 2)


def added_in_python(p):
    y = np.ones(LENGTH) * p[1]
    for i in range(STEPS):
        y[i % LENGTH] += p[0] * np.sin(i * p[2])
    return np.sum(y**2)


@pytest.mark.parametrize("f", [added_in_a_scan, added_in_turn, added_in_python])
def test_what_is_added_to_is_not_kept(f):
    """The adjoint of a sum is the cotangent itself: at most what is added is kept, step by step."""
    explained = linad.explain(linad.grad(f))(np.array([0.3, 0.2, 0.1]))
    assert explained.arena_bytes < 8 * (4 * STEPS + 8 * LENGTH)
