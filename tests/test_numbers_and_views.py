"""Numbers and arrays, views and copies: every result is what NumPy's is, and changes what NumPy's
changes. `likeness` holds the calls, and how they are compared."""

import itertools
import random

import likeness
import numpy as np
import pytest

import linad

SWEEPS = {
    "functions": likeness.calls_of_functions,
    "methods": likeness.calls_of_methods,
    "indices": likeness.calls_of_indices,
}


def linearized(function, change, k, operands):
    seen = []

    def f(xs):
        seen.append(likeness.described(likeness.attempted(function, change, k, xs)))
        return [x * 1.0 for x in xs]

    linad.linearize(f, operands)
    return seen


def pushed(function, change, k, operands):
    seen = []

    def f(xs):
        seen.append(likeness.described(likeness.attempted(function, change, k, xs)))
        return [x * 1.0 for x in xs]

    linad.jvp(f, (operands,), ([np.ones_like(x) for x in operands],))
    return seen


def compiled(function, change, k, operands):
    """Three calls: what they return, and what became of their arguments."""
    program = linad.jit(lambda *xs: likeness.attempted(function, change, k, list(xs)))
    seen = []
    for _ in range(3):
        given = [x.copy("K") if isinstance(x, np.ndarray) else x for x in operands]
        results, told, changed = program(*given)
        seen.append(likeness.described((results, told, changed)))
        seen.append(likeness.described((results, told, given)))
    return seen


def check(calls, run):
    found = list(itertools.islice(likeness.differences(calls, run), 5))
    assert not found, "\n".join(found)


def sample(calls, n):
    calls = list(calls)
    return random.Random(3).sample(calls, n)


@pytest.mark.parametrize("name", SWEEPS)
def test_eager(name):
    check(SWEEPS[name](), linearized)


@pytest.mark.parametrize("name", SWEEPS)
def test_forward_mode(name):
    check(sample(SWEEPS[name](), 300), pushed)


@pytest.mark.parametrize("name", SWEEPS)
def test_compiled(name):
    check(sample(SWEEPS[name](), 25), compiled)


@pytest.mark.full
@pytest.mark.parametrize("name", SWEEPS)
def test_all_compiled(name):
    check(SWEEPS[name](), compiled)


@pytest.mark.full
@pytest.mark.parametrize("name", SWEEPS)
def test_all_in_forward_mode(name):
    check(SWEEPS[name](), pushed)
