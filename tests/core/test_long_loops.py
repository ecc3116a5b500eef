"""What loops say that run for long, and how often they may go round."""

import contextlib
import threading
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


def test_allowances_of_other_threads_are_not_that_of_the_main_one():
    """A block of a thread, begun in one of the main thread's, may end after it."""
    begun, over = threading.Event(), threading.Event()

    def work():
        with long_loops.allowing(long_loops.Allowance(7)):
            begun.set()
            over.wait(10)

    worker = threading.Thread(target=work)
    with long_loops.allowing(long_loops.Allowance(5000)):
        worker.start()
        begun.wait(10)
        assert long_loops.MOST[0] == long_loops.NOTED
        with contextlib.suppress(LoopLimitError), long_loops.allowing(long_loops.Allowance(3)):
            assert long_loops.MOST[0] == 3
            long_loops.count(2000)
        assert long_loops.MOST[0] == long_loops.NOTED
    over.set()
    worker.join()
    assert long_loops.MOST[0] == long_loops.NO_LIMIT
