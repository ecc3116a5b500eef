"""Whether code could write into an array: read off what it says, and what it names says."""

import numpy as np
import pytest

from linad.transforms.stores import may_write

SCOPE = {"__name__": "linad.asking", "may_write": may_write}
exec("def ask(f, *args):\n    return f(*args)\n", SCOPE)
exec("def answer():\n    return may_write()\n", SCOPE)
ask, answer = SCOPE["ask"], SCOPE["answer"]  # linad calls the user's function, which calls linad


def reads(a):
    b = a + 1
    b = b[1:] * 2
    return answer()


def writes(a):
    found = answer()
    a[0] = 1.0
    return found


def adds(a):
    found = answer()
    a += 1.0
    return found


def sorts(a):
    found = answer()
    a.sort()
    return found


def gives_out(a):
    found = answer()
    np.exp(a, out=a)
    return found


def names(a):
    found = answer()
    return writes(a) and found


def holds(a):
    def inner():
        a[0] = 1.0

    return answer(), inner


@pytest.mark.parametrize("f", [writes, adds, sorts, gives_out, names])
def test_code_that_writes(f):
    assert ask(f, np.ones(3))


def test_code_that_reads():
    assert not ask(reads, np.ones(3))
    assert ask(holds, np.ones(3))[0]
