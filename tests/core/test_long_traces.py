"""A loop that takes long in a trace is named, once."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import linad
from linad.core import long_traces, patience
from linad.solve.waiting import Waiting
from linad.transforms.linearize import LinearTrace


def slow(x):
    for _ in range(long_traces.FEW):
        x = np.sqrt(x * x)
    return np.sum(x)


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(patience, "SECONDS", 0.0)
    monkeypatch.setattr(long_traces, "_told", set())


@pytest.mark.parametrize(
    "transform", [linad.grad, linad.value_and_grad, lambda f: lambda x: linad.jvp(f, (x,), (x,))]
)
def test_the_loop_is_named_once(impatient, capfd, transform):
    with linad.config(progress=True):
        transform(slow)(np.ones(2))
        transform(slow)(np.ones(2))
    told = capfd.readouterr().err.splitlines()
    line = slow.__code__.co_firstlineno + 1
    assert len(told) == 1
    assert told[0].startswith(f"linad: the loop at {__file__}:{line}")
    assert " has been traced for " in told[0]


def test_nothing_is_said(impatient, capfd):
    with linad.config(progress=False):
        linad.grad(slow)(np.ones(2))
    with linad.config(progress=True):
        linad.grad(lambda x: np.sum(x * x))(np.ones(2))
    assert capfd.readouterr().err == ""


def test_numbers_go_on():
    numbers = itertools.chain(*long_traces.NUMBERS)
    assert [next(numbers) for _ in range(long_traces.FEW + 2)][-3:] == [
        *(long_traces.FEW - 1, long_traces.FEW, long_traces.FEW + 1),
    ]


@pytest.mark.parametrize("nested", [False, True])
def test_the_garbage_collector_waits_for_the_end_of_a_long_trace(nested):
    seen = []

    def long(x):
        for k in range(long_traces.FEW + 10):
            x = x * 1.0
            seen.append((k, gc.isenabled()))
        if x < 0:
            raise KeyError
        return x

    f = (lambda x: linad.grad(long)(x) * x) if nested else long
    assert linad.grad(f)(2.0) == 1.0
    assert gc.isenabled()
    assert seen[0] == (0, True)
    assert seen[-1] == (long_traces.FEW + 9, False)
    with pytest.raises(KeyError):
        linad.grad(f)(-2.0)
    assert gc.isenabled()


def test_a_long_tape_goes_with_its_operator(monkeypatch):
    traces, enter = [], LinearTrace.__enter__
    monkeypatch.setattr(
        LinearTrace, "__enter__", lambda self: traces.append(weakref.ref(self)) or enter(self)
    )
    J = linad.linearize(slow, np.ones(2))[1]
    tape = weakref.ref(J)
    gc.disable()
    try:
        del J
        assert tape() is None
        assert traces[0]() is None
    finally:
        gc.enable()


def test_no_loop_is_named_that_a_solver_has_seen_end(monkeypatch, capfd):
    """The second run is slower than one has patience for, as the first was not."""
    monkeypatch.setattr(long_traces, "_told", set())
    with linad.config(progress=True):
        run = Waiting("newton", "slow", slow, linad.grad(slow))
        run(np.ones(2))
        monkeypatch.setattr(patience, "SECONDS", 0.0)
        run(np.ones(2))
        assert capfd.readouterr().err == ""
        linad.grad(slow)(np.ones(2))  # in no solver
    assert " has been traced for " in capfd.readouterr().err
