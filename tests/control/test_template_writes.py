"""Loops of Python's that write into arrays are recorded by templates too."""

import numpy as np
import pytest

import linad
from linad.control import control_primitive
from linad.control.repeat import Repeat
from linad.jit import specializations

X = np.array([0.7, 0.3, 0.5])
ROWS = np.random.default_rng(0).standard_normal((200, 3))
N = 100
M = 170


def step(y, x):
    return np.sin(y * x[0]) * 0.3 + y * 0.5 + x[2]


def entries(x):
    u = np.zeros(N + 1, like=x)
    u[0] = x[0]
    for i in range(N):
        u[i + 1] = 0.9 * u[i] + 0.1 * np.sin(u[i] * x[1])
    return np.sum(u * u)


def rows(x):
    u = np.zeros((N + 1, 3), like=x)
    u[0] = x
    for i in range(N):
        u[i + 1] = step(u[i], x)
    return np.sum(u[-1] * u[3])


def results_only(x):
    y, out = x, np.zeros((N, 2), like=x)
    for i in range(N):
        y = step(y, x)
        out[i, 0] = y[0]
        out[i, 1] = y[1] * y[2]
    return np.sum(out[::7] ** 2)


def derivatives_entry_by_entry(x):
    y = x
    for _ in range(N):
        d = np.zeros_like(y)
        d[0] = y[1] * x[0]
        d[1] = -y[0]
        d[2] = 0.1 * d[0] * y[2]
        y = y + 0.01 * d
    return np.sum(y * y)


def two_arrays(x):
    q, v = np.zeros(N + 1, like=x), np.zeros(N + 1, like=x)
    q[0], v[0] = x[0], x[1]
    for i in range(N):
        a = -x[2] * q[i]
        q[i + 1] = q[i] + 0.1 * v[i] + 0.005 * a
        v[i + 1] = v[i] + 0.05 * (a - x[2] * q[i + 1])
    return np.sum(q * v)


def sweeps(x):
    u = np.linspace(0.0, 1.0, 14) * x[0]
    b = np.linspace(1.0, 2.0, 14)
    for _ in range(20):
        for i in range(1, 13):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + 0.01 * x[1] * b[i])
    return np.sum(u * u)


def slices(x):
    u = np.zeros(N + 3, like=x)
    for i in range(N):
        u[i : i + 3] += 0.1 * step(u[i : i + 3], x)
    return np.sum(u * u)


def whole_array(x):
    u = x * 1.0
    for _ in range(N):
        u[:] = step(u, x)
        u[1] *= 0.9
    return np.sum(u * u)


def through_a_view(x):
    a = np.outer(ROWS[:N, 0], x)
    for i in range(N):
        row = a[i]
        row[:] = row * 0.5 + x
        row[0] += x[1]
    return np.sum(a * a)


def view_from_before(x):
    u = np.zeros(N + 1, like=x)
    u[0] = x[0]
    part = u[2:]
    for i in range(N):
        u[i + 1] = 0.9 * u[i] + 0.1 * np.sin(u[i] * x[1]) + 0.01 * np.sum(part[:3])
    part[0] = 2.0 * x[2]
    return np.sum(part * part) + np.sum(u)


def view_of_the_last_one(x):
    u = np.zeros((N + 1, 3), like=x)
    u[0] = x
    for i in range(N):
        row, last = u[i], u[i + 1]
        u[i + 1] = step(row, x)
    u[N] = u[N] * 2.0
    u[N - 1, 0] = 5.0
    return np.sum(last * last) + np.sum(row * x)


def row_to_row(x):
    u = np.zeros((M + 1, 3), like=x)
    u[0] = x
    for i in range(M):
        u[i + 1] = u[i]
        u[i + 1, i % 3] = 0.9 * u[i, 0] + x[1]
    return np.sum(u * u)


def numbers_written(x):
    u, y = np.zeros(N + 1, like=x), x
    for i in range(N):
        u[i] = 0.1 * i
        u[i + 1] = 1.0
        y = step(y, x) + 0.1 * u[i] * y
    return np.sum(u * y[0]) + np.sum(y)


def snapshots(x):
    u, kept = x * 1.0, []
    for i in range(M):
        u[i % 3] = 0.5 * u[i % 3] + x[0] * u[(i + 1) % 3]
        if i % 50 == 49:
            kept.append(u.copy())
        kept = kept[-2:]
    return np.sum(u) + np.sum(kept[0] * kept[-1])


def history(x):
    u, kept = x * 1.0, []
    for i in range(N):
        u[1] = 0.5 * u[1] + x[0] * u[0]
        u[0] = 0.9 * u[0] + 0.01 * i
        kept.append(u.copy())
    return sum(np.sum(k * k) for k in kept[::9])


def parts_of_complex_numbers(x):
    z = x * (1.0 + 0.5j)
    for i in range(M):
        z.real[i % 2] = 0.9 * z.imag[i % 2] + x[0]
        z = z * (0.9 + 0.1j)
    return np.sum(np.abs(z) ** 2)


def positions(x):
    u = np.zeros(2 * M, like=x)
    for i in range(M):
        u[[i, 2 * M - 1 - i]] = x[:2] * u[[i - 1, i - 2]] + x[1:]
    return np.sum(u * u)


def masked(x):
    u = x * 1.0
    mask = np.array([True, False, True])
    for _ in range(N):
        u[mask] = 0.5 * u[mask] + x[1]
        u[~mask] += 0.01 * x[1]
    return np.sum(u * u)


def written_before(x):
    w, y = x * 1.0, x
    w[0] = 2.0 * x[1]
    for _ in range(N):
        y = step(y, x) + 0.1 * w * w[0]
    w[1] = y[0]
    return np.sum(y * w)


def other_array_late(x):
    a, b = np.zeros(M + 1, like=x), np.zeros(M + 1, like=x)
    for i in range(M):
        (a if i < 150 else b)[i + 1] = 0.9 * a[i] + x[0] + b[i] * x[1]
    return np.sum(a * x[0] + b)


def other_region_late(x):
    u = np.zeros(M + 2, like=x)
    for i in range(M):
        y = 0.9 * u[i] + x[0] * x[1]
        if i < 150:
            u[i + 1] = y
        else:
            u[i + 1 : i + 2] = y
    return np.sum(u * u)


def other_value_late(x):
    u = np.zeros(M + 1, like=x)
    for i in range(M):
        y = 0.9 * u[i] + x[0] * x[1]
        u[i + 1] = y if i != 150 else u[0] + 1.0
    return np.sum(u * u)


def no_write_late(x):
    u = np.zeros(M + 1, like=x)
    for i in range(M):
        y = 0.9 * u[i] + x[0] * x[1]
        if i != 150:
            u[i + 1] = y
    return np.sum(u * u)


def bound_anew(x):
    u, old = x * 1.0, []
    for i in range(M):
        u[1] = 0.5 * u[1] + x[0] * u[0]
        if i == 150:
            old.append(u)
            u = u * 1.0
    return np.sum(u) * np.sum(old[0])


def swapped(x):
    a, b = x * 1.0, x * 2.0
    for i in range(M):
        a[i % 3] = 0.5 * b[(i + 1) % 3] + x[0]
        a, b = b, a
    return np.sum(a) * np.sum(b)


def left_in_the_middle(x):
    u = np.zeros(M + 1, like=x)
    for i in range(M):
        y = 0.9 * u[i] + x[0]
        u[i + 1] = y
        if i == 150:
            break
        u[i] = 0.5 * y
    return np.sum(u * u)


def caught(x):
    u, failures = np.zeros(M + 1, like=x), 0.0
    for i in range(M + 5):
        try:
            u[i + 1] = 0.9 * u[i] + x[0]
        except IndexError:
            failures += 1.0
    return np.sum(u) * failures


def broadcast_values(x):
    a = np.zeros((M, 3), like=x)
    for i in range(M):
        a[i] = x[i % 3] + (a[i - 1, 1] if i else x[0]) * 0.5
        a[i, :2] = ROWS[i % 200, 0]
    return np.sum(a * a)


LOOPS = [
    entries,
    rows,
    results_only,
    derivatives_entry_by_entry,
    two_arrays,
    sweeps,
    slices,
    whole_array,
    through_a_view,
    view_from_before,
    view_of_the_last_one,
    row_to_row,
    numbers_written,
    snapshots,
    history,
    parts_of_complex_numbers,
    positions,
    masked,
    written_before,
    other_array_late,
    other_region_late,
    other_value_late,
    no_write_late,
    bound_anew,
    swapped,
    left_in_the_middle,
    caught,
    broadcast_values,
]


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch):
    """Programs run by NumPy: what is recorded counts here, not what is compiled."""
    monkeypatch.setattr(specializations, "compiler_is_off", lambda: True)
    monkeypatch.setattr(control_primitive, "compiler_is_off", lambda: True)


@pytest.mark.parametrize("f", LOOPS)
def test_same_values_and_gradients(f):
    compiled, gradient = linad.jit(f), linad.jit(linad.grad(f))
    value, expected = f(X), linad.grad(f)(X)
    for _ in range(2):  # recorded, and run
        np.testing.assert_allclose(compiled(X), value, rtol=1e-10)
        np.testing.assert_allclose(gradient(X), expected, rtol=1e-8, atol=1e-13)
