"""Arrays in kernels: entries, memory that they ask for, and why they stop."""

import numpy as np
import pytest
from kernel_on_arrays import run

import linad
from linad.sweeps.cpu import kernel_cache as cache, kernel_language
from linad.sweeps.cpu.kernel_arrays import DTYPES
from linad.sweeps.cpu.kernel_stops import DIVISION, NO_STEP, RAISED, stop_of


def test_entries():
    a, b = np.arange(6.0).reshape(2, 3), np.zeros(4)
    body = (
        "b, i = a1, -1\n"
        "b[0] = a0[1, 2]\n"
        "b[i] = a0[i, -3] * a0.shape[1] + a0.size\n"
        "for j in range(3):\n"
        "    b[1] += a0[0, j]\n"
        "b[np.uint64(2)] -= 1.5"
    )
    assert run(body, a, b) == 0
    np.testing.assert_array_equal(b, [5.0, 3.0, -1.5, 15.0])


def test_dtypes():
    names = [*(s for s in DTYPES if s not in ("b1", "f8")), "b1", "f8"]
    given = [np.ones(2, d) for d in names]
    last = len(names) - 1
    body = "\n".join([f"a{k}[0] = a{last}[1] * 2.5 - a{k}[1]" for k in range(len(names))])
    assert run(body, *given) == 0
    assert [a[0] for a in given] == [1.5 if d[0] == "f" else 1 for d in names]


def test_names_change_places():
    a, b = np.zeros(2), np.ones(2)
    body = "u, v = a0, a1\nfor k in range(3):\n    u[0] += 1.0\n    u, v = v, u"
    assert run(body, a, b) == 0
    np.testing.assert_array_equal([a[0], b[0]], [2.0, 2.0])


@pytest.mark.parametrize("turns", [0, 1, 40])
def test_memory_that_grows(turns):
    a, n = np.zeros(1), np.array([turns])
    body = (
        "s = a0\n"
        "for k in range(a1[0]):\n"
        "    if k + 1 > s.size:\n"
        "        s = grown(s, k + 1)\n"
        "    s[k] = k * k\n"
        "total = 0.0\n"
        "for k in range(a1[0]):\n"
        "    total += s[k]\n"
        "a0[0] = total"
    )
    assert run(body, a, n) == 0
    assert a[0] == sum([k * k for k in range(turns)])


def test_arrays_of_its_own():
    a = np.zeros((2, 2))
    body = (
        "z = np.zeros((a0.shape[0], 3), dtype=np.int32)\nz[1, 2] = 7\na0[0, 0] = z[1, 2] + z[0, 1]"
    )
    assert run(body, a) == 0
    assert a[0, 0] == 7


def test_a_step_that_is_not_known_before():
    for first, last, step in [(0, 7, 2), (7, 0, -3), (3, 3, 1), (0, 5, -1), (5, 0, 1), (0, -9, -9)]:
        a, total = np.array([first, last, step]), np.zeros(2, int)
        body = (
            "for k in range(a0[0], a0[1], a0[2]):\n    a1[0] += 10 * k + 1\n"
            "a1[1] = len(range(a0[0], a0[1], a0[2]))"
        )
        assert run(body, a, total) == 0
        numbers = range(first, last, step)
        assert total.tolist() == [sum([10 * k + 1 for k in numbers]), len(numbers)]


@pytest.mark.parametrize(
    "body, line, reason",
    [
        ("a0[0] = 5.0\nif a0[0] > 4.0:\n    raise ValueError('no')", 5, RAISED),
        (
            "check_divisions()\nx = np.zeros((2,), dtype=np.float64)\na0[0] = 1.0 / x[1]",
            5,
            DIVISION,
        ),
        ("n = a0[0]\nfor k in range(0, 5, int(n)):\n    a0[0] = 1.0", 4, NO_STEP),
    ],
)
def test_why_it_stopped(body, line, reason):
    assert stop_of(run(body, np.zeros(1))) == (line, reason)


def test_other_arrays_are_refused():
    @linad.kernel
    def total(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

    program = total.specialized((np.ones(3),)).call.serial.function
    for x in (np.ones((3, 1)), np.ones(6)[::2], np.ones(3, "f4")[:, None]):
        with pytest.raises(TypeError, match="other arrays"):
            program(x, np.zeros(1))
    y = np.zeros(1)
    program(np.ones(3).view(np.matrix).A1, y)
    assert y[0] == 3.0


def test_a_value_that_another_block_does_not_know():
    """Set in a loop of no turns, and read after it."""
    source = (
        "def kernel(p, start, stop):\n    for k in range(stop):\n        x = k\n    return 1 + x\n"
    )
    assert "alloca" in kernel_language.module_of(source, "k", cache.NAMESPACE, False)


def test_names_of_the_language_in_a_users_kernel():
    @linad.kernel
    def f(p, start):
        stop, word, operand, number = 0.0, p[0], start, 2
        for k in range(number):
            stop += word * operand * p[k]
        return stop

    g = linad.grad(lambda p: f(p, 3.0))(np.array([2.0, 5.0]))
    np.testing.assert_allclose(g, [3 * (2 * 2 + 5), 6.0])
