"""Templates take over arrays that a loop writes, and give them back."""

import gc
import tracemalloc

import numpy as np
import pytest
from recorded_loops import agrees
from together import together

import linad
from linad.control.repeat import Repeat
from linad.errors import TracerError

pytestmark = pytest.mark.usefixtures("by_numpy")

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


@pytest.mark.sweep(part=0.4)
@pytest.mark.parametrize("f", LOOPS)
def test_same_values_and_gradients(f):
    agrees(f, X)


def _operations(rng):
    """Operations of a random body: functions of what is there, and of the repetition's number."""
    a, b, c = rng.integers(0, 3, 3)
    s, back = float(rng.uniform(0.2, 0.6)), int(rng.integers(1, 4))

    def shift(v, k, x):
        v["y"] = s * v["y"] + 0.1 * np.sin(v["y"] * x[a]) + 0.1

    def write_row(v, k, x):
        v["u"][k + 1] = s * v["u"][k] + v["y"] * 0.1

    def write_entry(v, k, x):
        v["u"][k, a] = v["y"][b] * s + v["u"][k - 1, c] * 0.5

    def look_back(v, k, x):
        v["y"] = v["y"] + 0.05 * v["u"][max(k - back, 0)]

    def entry_in_place(v, k, x):
        v["w"][a] += 0.1 * v["y"][b] - 0.2 * v["w"][c]

    def moving_entry(v, k, x):
        v["w"][k % 3] = s * v["w"][(k + 1) % 3] + 0.01 * k

    def through_a_view(v, k, x):
        row = v["u"][k]
        row[a:] = row[: 3 - a] * s
        v["row"] = row

    def read_a_view(v, k, x):
        v["y"] = v["y"] + 0.02 * v["row"]

    def made_here(v, k, x):
        d = np.zeros_like(v["y"])
        d[a] = v["y"][b] * x[c]
        d[1:] += s
        v["y"] = 0.7 * v["y"] + 0.1 * d

    def remember(v, k, x):
        v["path"].append(v["y"][a])
        v["y"] = v["y"] + 0.01 * v["path"][max(len(v["path"]) - back, 0)]

    def forget(v, k, x):
        v["old"], v["w"] = v["w"], v["w"] * 1.0

    def derivative(v, k, x):
        v["y"] = 0.8 * v["y"] - 0.05 * linad.grad(lambda z: np.sum(z * z * x) * z[a])(v["y"])

    def decision(v, k, x):
        if v["y"][a] > -100.0:
            v["y"] = v["y"] * 0.9

    found = [shift, write_row, write_entry, look_back, entry_in_place, moving_entry]
    found += [through_a_view, read_a_view, made_here, remember, forget, derivative, decision]
    return [found[k] for k in rng.integers(0, len(found), rng.integers(3, 7))]


def _random_loop(seed):
    rng = np.random.default_rng(seed)
    body, other = _operations(rng), _operations(rng)[0]
    n = 30 + 500 // len(body)
    differs = int(rng.integers(n // 2, 2 * n))  # or in no repetition

    def f(x):
        v = {"y": x * 1.0, "w": x * 0.5, "u": np.zeros((n + 1, 3), like=x), "path": [x[0]]}
        v["u"][0] = x
        v["row"] = v["u"][1:][0]
        v["old"] = v["w"]
        for k in range(n):
            for operation in body:
                operation(v, k, x)
            if k == differs:
                other(v, k, x)
        total = np.sum(v["y"] ** 2) + np.sum(v["w"] * x) + np.sum(v["u"]) + np.sum(v["row"])
        return total + np.sum(v["old"] ** 2) + sum(v["path"][::5])

    return f


@pytest.mark.parametrize(
    "seed", [*range(6), *[pytest.param(s, marks=pytest.mark.full) for s in range(6, 120)]]
)
def test_random_loops(seed):
    f = _random_loop(seed)
    value, expected = f(X), linad.grad(f)(X)
    compiled, gradient = linad.jit(f), linad.jit(linad.grad(f))
    np.testing.assert_allclose(compiled(X), value, rtol=1e-10)
    np.testing.assert_allclose(compiled(0.5 * X), f(0.5 * X), rtol=1e-10)
    np.testing.assert_allclose(gradient(X), expected, rtol=1e-8, atol=1e-12)


def test_one_loop_of_all_repetitions():
    made = linad.jit(rows)
    made(X)
    ((variant,),) = made.variants.values()
    (loop,) = [e for e in variant.tape.equations if isinstance(e.primitive, Repeat)]
    assert loop.primitive.n > N // 3
    (whole,) = [e for e in variant.rolled.equations if isinstance(e.primitive, Repeat)]
    assert whole.primitive.n == N


@pytest.mark.rest
def test_memory_does_not_grow_with_the_repetitions():
    def recorded(n):
        def f(x):
            u = np.zeros(n + 1, like=x)
            u[0] = x[0]
            for i in range(n):
                u[i + 1] = 0.9 * u[i] + 0.1 * np.sin(u[i] * x[1])
            return np.sum(u)

        gc.collect()
        tracemalloc.start()
        made = linad.jit(f)
        made(X)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        ((variant,),) = made.variants.values()
        return found, len(variant.tape.equations)

    recorded(150)  # with what is remembered of any loop
    (short, few), (long, many) = recorded(150), recorded(350)
    assert many == few
    assert long - short < 200 * 400  # equations would take ten times as much


def test_error_in_a_step_leaves_the_arrays_as_they_are():
    seen = []

    def f(x):
        u = np.zeros(N + 1, like=x)
        try:
            for i in range(N + 1):
                u[i] = 0.5 * u[i - 1] + x[0]
                if i == N - 5:
                    raise RuntimeError("no more")
        except RuntimeError:
            seen.append(i)
        return np.sum(u * x[1])

    np.testing.assert_allclose(linad.jit(linad.grad(f))(X), linad.grad(f)(X), rtol=1e-10)
    assert seen == [N - 5] * 2
    with pytest.raises(IndexError):
        linad.jit(lambda x: [x.copy().__setitem__(i, x[0]) for i in range(200)])(X)


def test_an_argument_that_is_written_stays_one():
    def f(x):
        for i in range(N):
            x += 0.1 * np.sin(x[i % 3])
        return np.sum(x * x)

    def in_a_loop(x):
        for i in linad.loop(N):
            x[i % 3] = 0.5 * x[0]
        return np.sum(x)

    gradient = linad.jit(linad.grad(f))
    np.testing.assert_allclose(gradient(X.copy()), linad.grad(f)(X.copy()), rtol=1e-10)
    with pytest.raises(TracerError, match="an argument of the function"):
        linad.jit(linad.grad(in_a_loop))(X.copy())


def test_inner_values_are_refused_in_outer_arrays():
    def f(x):
        u = np.zeros(N, like=x)

        def inner(z):
            for i in range(N):
                z = 0.9 * z + x[1] * np.sin(z)
                u[i] = z
            return z

        return linad.grad(inner)(x[0])

    with pytest.raises(TracerError, match="inner derivative"):
        linad.jit(f)(X)


def test_threads():
    def run(k):
        x = X + 0.1 * k
        return linad.jit(linad.grad(rows))(x), linad.grad(rows)(x)

    for found, expected in together(3, run):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
