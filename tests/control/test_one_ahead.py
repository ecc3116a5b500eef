"""What needs no carries is computed one repetition ahead: the same numbers, to the bit."""

import numpy as np
import pytest

import linad
from linad.control import lowering_loops, one_ahead

pytestmark = pytest.mark.usefixtures("kernels")

X = np.array([0.55, 0.028, 0.8, 0.024, 3.0, 4.0])


def rates(y, x):
    return np.stack([y[0] * (x[0] - x[1] * y[1]), y[1] * (x[3] * y[0] - x[2])])


def step(y, x):
    k1 = rates(y, x)
    k2 = rates(y + 0.005 * k1, x)
    k3 = rates(y + 0.005 * k2, x)
    return y + 0.01 * (k1 + 2.0 * k2 + k3)


def repeated(n):
    def f(x):
        y = x[4:]
        for _ in range(n):
            y = step(y, x)
        return np.sum(y * y)

    return f


def from_the_end(n):
    """The way back of this one goes forward."""
    times = np.linspace(0.0, 1.0, n)

    def f(x):
        def one(y, t):
            y = step(y, x) * (1.0 + 0.001 * t)
            return y, y[0] * t

        y, path = linad.scan(one, x[4:], times, reverse=True)
        return np.sum(y) + np.sum(path * path)

    return f


def until(n):
    def f(x):
        y, _ = linad.while_loop(
            lambda c: c[1] < n, lambda c: (step(c[0], x), c[1] + 1), (x[4:], 0), limit=1000
        )
        return np.sum(y * y)

    return f


def results(f):
    jitted = linad.jit(linad.value_and_grad(f))
    for _ in range(3):
        found = jitted(X)
    return np.array([found[0], *found[1]])


CASES = [
    *[repeated(n) for n in (3, 60, 200)],
    *[from_the_end(n) for n in (1, 2, 50)],
    *[until(n) for n in (0, 1, 200)],
]


@pytest.mark.whole
@pytest.mark.parametrize("k", range(len(CASES)))
def test_the_same_numbers(k, monkeypatch):
    taken = []

    def noted(*given):
        found = one_ahead.one_ahead(*given)
        taken.append(found is not None)
        return found

    monkeypatch.setattr(lowering_loops, "one_ahead", noted)
    found = results(CASES[k])
    assert any(taken) or k == 0  # of which Python's three steps are no loop
    monkeypatch.setattr(lowering_loops, "one_ahead", lambda *given: None)
    np.testing.assert_array_equal(results(CASES[k]), found)
    value, gradient = linad.value_and_grad(CASES[k])(X)
    np.testing.assert_allclose(found, [value, *gradient], rtol=1e-10, atol=1e-12)


class Lines:
    """Statements of a body with a carry, a row and a constant."""

    def __init__(self, lines):
        self.lines = lines
        self.inputs = [np.array([name], object) for name in ("a0_0", "a1_0", "a2_0")]


AHEAD = ["t0 = a1_0 * a2_0", *[f"t{k} = t{k - 1} + a1_0" for k in range(1, 8)]]
BEFORE = "t40 = a0_0 + a2_0"
BEHIND = [
    "t8 = a0_0 * t7",
    *[f"t{k} = t{k - 1} - a0_0" for k in range(9, 39)],
    "t39 = t38 * t0",
]


def test_statements_are_taken_apart():
    mixed = [*AHEAD[:4], BEFORE, *AHEAD[4:], *BEHIND]
    after = ["a0_0, = t39,", "set_f8(q3, k, a1_0, 0)"]
    found = one_ahead.one_ahead(Lines(mixed), 1, 1, after)
    assert found.ahead == AHEAD
    assert found.names == {name: f"h{name}" for name in ("a1_0", "t0", "t7")}
    assert found.passed == ["ha1_0 = a1_0", "ht0 = t0", "ht7 = t7"]
    assert found.behind == [BEFORE, "t8 = a0_0 * ht7", *BEHIND[1:-1], "t39 = t38 * ht0"]
    assert found.renamed("set_f8(q3, k, a1_0, 0)") == "set_f8(q3, k, ha1_0, 0)"


@pytest.mark.parametrize(
    "lines",
    [
        AHEAD,
        BEHIND,
        [*AHEAD[:-1], "t7 = a1_0", *BEHIND[:10]],
        [*AHEAD, *BEHIND, "if t39 != t39:", "    return 1"],
        [*AHEAD, *BEHIND, *[f"u{k} = a1_0 * t{k % 8}" for k in range(30)]]
        + [f"v{k} = a0_0 * u{k}" for k in range(30)],
    ],
)
def test_where_it_does_not_pay(lines):
    assert one_ahead.one_ahead(Lines(lines), 1, 1, []) is None


def test_arrays_in_memory_stay_as_they_are():
    held = Lines([*AHEAD, *BEHIND])
    held.inputs[0] = None
    assert one_ahead.one_ahead(held, 1, 1, []) is None
