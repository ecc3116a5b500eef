"""A function that takes long in Python: said once, with what would help."""

import functools

import numpy as np
import pytest

import linad
from linad.solve import waiting
from linad.solve.waiting import Waiting


def slow(x):
    return x


@pytest.fixture
def clock(monkeypatch):
    """Each look at the clock is two seconds later."""
    now = iter(range(0, 10**6, 2))
    monkeypatch.setattr(waiting.time, "perf_counter", lambda: float(next(now)))


@pytest.mark.parametrize(
    "given, words",
    [(slow, 1), (functools.partial(slow, 1), 1), (linad.jit(slow), 0), (linad.grad, 0)],
)
def test_what_is_said(given, words, clock, capsys):
    with linad.config(progress=True):
        run = Waiting("newton", "slow", given, lambda x: x + 1)
        assert [run(k) for k in range(9)] == list(range(1, 10))
        with run, pytest.raises(KeyError), run:
            raise KeyError
        assert run.seconds == 20.0  # a block within another does not count twice
    said = capsys.readouterr().err
    assert said.count("newton: slow has run for 2 s in Python; newton(linad.jit(slow)") == words


def test_nothing_is_said(clock, capsys):
    with linad.config(progress=False):
        run = Waiting("newton", "slow", slow, np.sin)
        for _ in range(9):
            run(0.0)
    assert capsys.readouterr().err == ""


def test_it_is_said_again_but_seldom(clock, capsys):
    with linad.config(progress=True):
        run = Waiting("newton", "slow", slow, np.sin)
        for _ in range(120):  # two seconds each
            run(0.0)
    told = [
        int(line.split("run for ")[1].split()[0]) for line in capsys.readouterr().err.splitlines()
    ]
    assert told == [2, 20, 200]
