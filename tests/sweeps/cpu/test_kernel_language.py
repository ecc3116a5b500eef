"""The language of kernels means what Python means."""

import textwrap

import numpy as np
import pytest
from kernels_in_python import FUNCTION, Kernel

from linad.sweeps.cpu import kernel_cache as cache, kernel_language as language

STATEMENTS = {
    "ranges": """
        y = operand(p, 0)
        total = 0
        for i in range(4):
            total = total + i
        for i in range(start, stop):
            total = 3 * total + i
        for i in range(stop, start - 1, -1):
            total = 5 * total - i
        for i in range(9, -1, -4):
            total = 2 * total + i
        step = operand(p, 1)
        for i in range(start, stop, step):
            total = total - i
        for i in range(stop, start):
            total = 0
        set_i8(y, 0, total, 0)
        return total
    """,
    "branches and loops": """
        n, odd, large = stop, 0, 0
        while n != 1:
            if n % 2 == 1:
                odd += 1
                n = 3 * n + 1
            else:
                n = n // 2
            if n > 40:
                large = large + 1
                continue
            if odd > 5:
                break
        return 100 * odd + large if large > 0 else -odd
    """,
    "endless": """
        k = 0
        while True:
            if k == stop:
                return 7 * k
            k = k + 1
    """,
    "a result from inside": """
        for i in range(start, stop):
            for j in range(i):
                if i * j > 12:
                    return 10 * i + j
        return -1
    """,
    "names change places": """
        a, b = 1, 1
        for i in range(stop):
            a, b = b, a + b
        return a
    """,
    "conditions": """
        x = operand(p, 0)
        found = 0
        for i in range(-2, 3):
            # The second is computed only where the first holds: there is no entry -1.
            if i >= 0 and i < 2 and get_i8(x, i, -1) > 0 or i == -2:
                found = 2 * found + 1
            if not i or -1 <= i < 1:
                found = 3 * found
        return found
    """,
    "functions": """
        a = min(start - 7, stop)
        b = max(abs(a), 2)
        c = select(b > 3, a, b) | 16
        return 1000 * a + 10 * b + (c ^ 3) + (~c & 7) + integer_floor_divide(a, 4)
    """,
    "a variable of two types": """
        s = 1
        t = to_f4(0.1)
        for i in range(stop):
            s = s * 0.5
            t = t + to_f8(s)
        return to_i8(1e9 * t + s)
    """,
    "numbers": """
        x = operand(p, 0)
        set_f8(x, 0, 0.1 + 2, 0)
        u = to_f4(1) / to_f4(3)
        set_f8(x, 1, u * to_f8(2), 0)
        set_f8(x, 2, -np.inf, 0)
        set_f8(x, 3, np.sqrt(to_f8(2)) - np.floor(2.5), 0)
        return to_i8(to_b1(3)) + (to_i4(7) == 7.0)
    """,
    "complex numbers": """
        x = operand(p, 0)
        z = complex(1.5, -2.0)
        w = z * z - z.conjugate() * 2.0 if start > 1 else z * complex(0.5, 3.0) + 1
        set_f8(x, 0, w.real, 0)
        set_f8(x, 1, w.imag, 0)
        return z == w
    """,
}


def run(address):
    memory = np.array([5, -3, 0, 0], np.int64)
    words = np.array([memory.ctypes.data, 2], np.int64)
    return FUNCTION(int(address))(words.ctypes.data, 1, 6), memory


@pytest.mark.parametrize("name", STATEMENTS)
def test_means_what_python_means(name):
    source = "def kernel(p, start, stop):\n" + textwrap.indent(
        textwrap.dedent(STATEMENTS[name]).strip(), "    "
    )
    raised = []
    status, memory = run(cache.kernel(source + "\n"))
    expected, wanted = run(Kernel(source, raised).address)
    assert not raised
    assert status == expected
    np.testing.assert_array_equal(memory, wanted)


@pytest.mark.parametrize(
    "body, message",
    [
        ("try:\n        return 0\n    except Exception:\n        return 1", "try"),
        ("x = [1, 2]\n    return 0", r"\[1, 2\]"),
        ("return 'text'", "text"),
        ("return nothing_of_this_name(start)", "nothing_of_this_name"),
        ("if start:\n        return 1", "without a result"),
        ("return np.linspace(0.0, 1.0, start)", "no <function linspace"),
    ],
)
def test_what_is_not_in_the_language(body, message):
    source = f"def kernel(p, start, stop):\n    {body}\n"
    with pytest.raises((SyntaxError, TypeError, AttributeError), match=message):
        language.module_of(source, "k", cache.NAMESPACE, fast=False)


def test_a_branch_that_decides():
    """What stands to the right of ``and`` is not computed where it could not be."""
    text = language.module_of(
        "def kernel(p, start, stop):\n"
        "    if start < stop and get_i8(operand(p, 0), start, -1) > 0:\n"
        "        return 1\n"
        "    return 0\n",
        "k",
        cache.NAMESPACE,
        fast=False,
    )
    before, after = text.split("br i1", 1)
    assert "icmp slt" in before
    assert "icmp slt" not in after


@pytest.mark.parametrize("fast", [False, True])
def test_arithmetic_that_may_be_reordered(fast):
    text = language.module_of(
        "def kernel(p, start, stop):\n    set_f8(p, 0, get_f8(p, 0, 0) + 1.5, 0)\n    return 0\n",
        "k",
        cache.NAMESPACE,
        fast,
    )
    assert ("fadd fast" in text) is fast
