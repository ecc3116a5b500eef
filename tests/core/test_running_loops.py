"""The loops that are running are told by their first lines."""

import sys

import numpy as np

import linad
from linad.core import long_traces
from linad.core.running_loops import described, loops_in, running_loops
from linad.transforms.linearize import linearize_leaves
from linad.transforms.record import trace


def test_loops_within_each_other():
    first = sys._getframe().f_lineno
    found = []
    for _ in range(2):
        k = 0
        while k < 3:
            k += 1
            if k == 2:
                continue
            found.append(loops_in(sys._getframe()))
        for _ in range(1):
            pass
    assert found == [[first + 4, first + 2]] * 4
    assert loops_in(sys._getframe()) == []


def test_across_functions():
    here = sys._getframe().f_lineno
    told = [inner() for _ in [0] if True]
    for _ in range(1):
        told = inner()
    lines = [int(place.rpartition(":")[2]) for place in told]
    assert lines[:2] == [inner.__code__.co_firstlineno + 1, here + 2]
    assert all(place.startswith(__file__) for place in told[:2])
    assert described(told[:2]) == f"the loop at {told[0]} (within {told[1]})"
    assert described(told[:1]) == f"the loop at {told[0]}"
    assert described([]) == ""


def test_loops_around_a_derivative_are_not_its_own():
    told = []

    def f(x):
        told.append(running_loops())
        return x * x

    for _ in range(2):
        linad.grad(f)(1.0)
        linad.jit(f)(1.0)
    assert told == [[]] * 4


def test_loops_around_a_program_that_is_run(monkeypatch, capsys):
    """Its operations are of no loop: the function that was recorded is not running."""
    monkeypatch.setattr(long_traces, "BETWEEN", 3)
    monkeypatch.setattr(long_traces.Patience, "spent", lambda self: 0.0)
    monkeypatch.setattr(long_traces, "_told", set())

    def f(x):
        for _ in range(long_traces.FEW + 3):
            x = np.sin(x)
        return x

    _, tape = trace(f, 1.0)
    capsys.readouterr()
    for _ in range(2):
        linearize_leaves(tape.run, [np.float64(3.0)], tape.in_tree)
    assert capsys.readouterr().err == ""
    linad.linearize(f, 1.0)
    assert f"{__file__}:{f.__code__.co_firstlineno + 1} has been traced" in capsys.readouterr().err


def inner():
    while True:
        return_value = running_loops()
        if return_value:
            return return_value
