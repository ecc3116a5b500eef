"""Random bodies that read and write arrays at moving places, against Python's own loop."""

import numpy as np
import pytest
from loops_in_python import python_loop, python_while

import linad

pytestmark = pytest.mark.usefixtures("kernels")


def write_entry(i, x, carry, a, b, c):
    u, s, m = carry
    u[i + a] = np.sin(u[i + b]) * c + x[i]
    return u, s, m


def read_entries(i, x, carry, a, b, c):
    u, s, m = carry
    return u, s * 0.5 + u[i + a] * x[i + b], m


def write_window(i, x, carry, a, b, c):
    u, s, m = carry
    u[i - 1 : i + 2] = u[i - 1 : i + 2] * 0.5 + c * x[i + a]
    return u, s, m


def add_to_entry(i, x, carry, a, b, c):
    u, s, m = carry
    u[i + a] += c * s
    return u, s, m


def write_row(i, x, carry, a, b, c):
    u, s, m = carry
    m[i + a] = np.tanh(m[i + b] * c + u[i])
    return u, s, m


def read_column(i, x, carry, a, b, c):
    u, s, m = carry
    return u, s + np.sum(m[i - 1 : i + 2, 1] * u[i - 1 : i + 2]) * 0.1, m


def write_through_view(i, x, carry, a, b, c):
    u, s, m = carry
    row = m[i + a]
    row[0] = s * 0.1
    row[1:] *= c * 0.3
    return u, s + row[1] * 0.1, m


def write_fixed_entry(i, x, carry, a, b, c):
    u, s, m = carry
    u[2] = u[i + a] * 0.5
    return u, s + u[0] + m[i, 0] * 0.1, m


def make_anew(i, x, carry, a, b, c):
    u, s, m = carry
    u = u * 0.9 + 0.1 * m[:, 1]
    m[i, 2] = u[i + b]
    return u, s, m


STEPS = [
    *(write_entry, read_entries, write_window, add_to_entry, write_row),
    *(read_column, write_through_view, write_fixed_entry, make_anew),
]


def random_program(rng, n):
    """``f(loops, x)`` with a body of some random steps."""
    chosen = [
        (STEPS[rng.integers(len(STEPS))], *rng.integers(-1, 2, 2).tolist(), rng.standard_normal())
        for _ in range(rng.integers(1, 5))
    ]
    form = rng.choice(["for", "nested", "while"])

    def f(loops, x):
        for_loop, while_loop = loops

        def body(i, carry):
            for step, a, b, c in chosen:
                carry = step(i, x, carry, a, b, float(c))
            return carry

        init = x * 1.0, x[0] * 0.1, np.stack([x, x * x, np.cos(x)], 1)
        if form == "nested":
            u, s, m = for_loop(0, 2, lambda _, carry: for_loop(1, n - 1, body, carry), init)
        elif form == "while":
            carry = while_loop(
                lambda c: c[0] < n - 1, lambda c: (c[0] + 1, *body(c[0], c[1:])), (1, *init)
            )
            _, u, s, m = carry
        else:
            u, s, m = for_loop(1, n - 1, body, init)
        return np.sum(u * u) * 0.5 + s + np.sum(np.cos(m))

    return f


@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=[] if k < 3 else pytest.mark.full) for k in range(60)]
)
def test_against_python(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    program = random_program(rng, n)
    x, v = rng.standard_normal((2, n)) * 0.5

    def f(x):
        return program((linad.fori_loop, linad.while_loop), x)

    def wanted(x):
        return program((python_loop, python_while), x)

    close = {"rtol": 1e-9, "atol": 1e-10}
    gradient = linad.grad(wanted)(x)
    np.testing.assert_allclose(linad.grad(f)(x), gradient, **close)
    np.testing.assert_allclose(linad.jvp(f, (x,), (v,))[1], gradient @ v, **close)
    for g in (f, wanted):
        compiled = linad.jit(linad.grad(g))
        compiled(x / 2)
        np.testing.assert_allclose(compiled(x), gradient, **close)
    second = linad.hvp(wanted, (x,), (v,))
    np.testing.assert_allclose(linad.hvp(f, (x,), (v,)), second, **close)
