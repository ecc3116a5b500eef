"""What loops say that run for long, and how often they may go round."""

from types import SimpleNamespace

import pytest

import linad
from linad.core import long_loops
from linad.errors import LoopLimitError


def looks(monkeypatch, seconds, repetitions):
    """A loop, or several, that look up at these times."""
    running = long_loops._Running()
    for now, count in zip(seconds, repetitions, strict=True):
        monkeypatch.setattr(long_loops, "time", SimpleNamespace(perf_counter=lambda at=now: at))
        running.look(count)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_loop_says_that_it_runs_for_long(sign, monkeypatch, capsys):
    with linad.config(progress=True):
        looks(monkeypatch, range(100, 140), [sign * 1000 * k for k in range(1, 41)])
    (line,) = capsys.readouterr().err.splitlines()
    assert "a compiled loop has been running for 5 s" in line
    assert "times; Ctrl-C stops it" in line
    assert "test_long_loops.py" in line


def test_many_short_loops_say_nothing(monkeypatch, capsys):
    with linad.config(progress=True):
        looks(monkeypatch, range(100, 140), [1000 * (7 * k % 11) for k in range(40)])
        looks(monkeypatch, range(100, 200, 10), [1000 * k for k in range(10)])
    assert not capsys.readouterr().err


def test_an_allowance():
    long_loops.count(10**9)
    few = long_loops.Allowance(5000)
    with long_loops.allowing(few):
        long_loops.count(4000)
        with pytest.raises(LoopLimitError, match="5001 times"):
            long_loops.count(5001)
    assert few.most == 5001
    assert long_loops.MOST[0] == long_loops.NO_LIMIT
