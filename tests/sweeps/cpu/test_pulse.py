"""Compiled loops hear signals: what a handler raises ends them, and what it does not goes on."""

import ctypes
import os
import signal
import threading
import time

import numba
import numpy as np
import pytest

import linad
from linad.core import long_loops
from linad.sweeps.cpu import pulse
from linad.sweeps.cpu.made_results import address_of_c

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms here")

SOON = 0.05


@pytest.fixture
def every_pulse():
    """All pulses call Python: the clock is one of microseconds."""
    words = pulse._words()
    at = pulse.TIME // 8
    second = words[at]
    words[at] = address_of_c(ctypes.CDLL(None).clock)
    yield
    words[at] = second


def warm(call):
    """What a call gives whose program has been compiled."""
    for _ in range(4):
        found = call()
    return found


class Late(Exception):
    pass


@pytest.fixture
def alarm():
    """Sets an alarm, and what is then to be done."""
    rung = []

    def ring(number, frame):
        rung.append(number)
        todo[-1]()

    def late():
        raise Late

    todo = [late]
    before = signal.signal(signal.SIGALRM, ring)

    def set_alarm(seconds, do=late):
        todo.append(do)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        return rung

    yield set_alarm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


M = np.full((30, 30), 0.01)


def goes_on(carry):
    return carry[1] > 0


def while_in_registers(x, on):
    return linad.while_loop(goes_on, lambda c: (np.sin(c[0]), c[1] + 1.0), (x, on))[0]


def while_of_steps(x, on):
    return linad.while_loop(goes_on, lambda c: (M @ c[0], c[1] + 1.0), (x * np.ones(30), on))[0]


def nested(x, on):
    """Of a loop that ends soon, in one that does not."""

    def body(c):
        inner = linad.while_loop(lambda d: d[1] < 3, lambda d: (np.sin(d[0]), d[1] + 1), (c[0], 0))
        return inner[0], c[1] + 1.0

    return linad.while_loop(goes_on, body, (x, on))[0]


def forward(x, on):
    return linad.jvp(lambda x: while_in_registers(x, on), (x,), (1.0,))[1]


@pytest.mark.usefixtures("every_pulse")
@pytest.mark.parametrize("around", [lambda f: f, linad.jit])
@pytest.mark.parametrize("f", [while_in_registers, while_of_steps, nested, forward])
def test_what_a_handler_raises_ends_a_loop(f, around, alarm):
    f = around(f)
    before = warm(lambda: f(0.3, -1.0))
    alarm(SOON)
    started = time.perf_counter()
    with pytest.raises(Late):
        f(0.3, 1.0)
    assert time.perf_counter() - started < 5
    assert np.array_equal(f(0.3, -1.0), before)


@pytest.mark.usefixtures("every_pulse")
@pytest.mark.parametrize("step", [np.sin, lambda c: M @ c])
def test_scans(step, alarm):
    x = 0.3 * np.ones(30) if step is not np.sin else 0.3
    alarm(0.3)
    with pytest.raises(Late):
        linad.scan(lambda c, _: (step(c), None), x, length=2_000_000_000)


def counted(n):
    return linad.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1.0, np.sin(c[1])), (0.0, 1.0))


@pytest.mark.usefixtures("every_pulse")
def test_a_handler_that_raises_nothing_changes_nothing(alarm):
    f = linad.jit(counted)
    expected = warm(lambda: f(2000.0))
    seen = []
    # The handler calls what has been interrupted.
    rung = alarm(SOON, lambda: seen.append(f(2000.0)))
    started = time.perf_counter()
    while not rung and time.perf_counter() - started < 10:
        last = f(3e7)
    assert rung
    assert last[0] == 3e7
    assert seen == [expected] == [f(2000.0)]


def test_ctrl_c(alarm):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    warm(lambda: while_in_registers(0.3, -1.0))  # what a finalizer raises while it compiles is lost
    alarm(SOON, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            while_in_registers(0.3, 1.0)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("every_pulse")
def test_beside_threads(alarm):
    with linad.config(threads=2):
        f, x = linad.jit(lambda x, on: (while_of_steps(x[0], on), np.sin(x))), np.ones(4_000_000)
        before = warm(lambda: f(x, -1.0))
        alarm(SOON)
        with pytest.raises(Late):
            f(x, 1.0)
        assert np.array_equal(f(x, -1.0)[0], before[0])


@pytest.mark.usefixtures("every_pulse")
def test_in_a_function_of_numba(alarm):
    f = linad.jit(lambda n: counted(n)[1]).njit(np.float64(3.0))

    @numba.njit
    def outer(n):
        return f(n)

    assert outer(3.0) == f(3.0)
    alarm(SOON)
    with pytest.raises(Late):
        outer(np.inf)
    assert outer(3.0) == f(3.0)


@pytest.mark.usefixtures("every_pulse")
@pytest.mark.parametrize("workers", [1, 2])
def test_loops_of_other_threads_say_that_they_run(workers, monkeypatch, capsys):
    """Signals do not come to them; nor may threads look that share a loop."""
    monkeypatch.setattr(long_loops, "FIRST", 0.02)
    monkeypatch.setattr(long_loops, "STEADY", 1e6)  # of looks that are microseconds apart
    f, x = linad.jit(lambda x, n: (counted(n)[1], np.sin(x))), np.ones(500_000)
    found = []

    def run():
        with linad.config(progress=True, threads=workers):
            warm(lambda: f(x, 3.0))
            found.append(f(x, 1e7))

    thread = threading.Thread(target=run, name="fitting")
    thread.start()
    thread.join()
    assert found[0][0] == counted(1e7)[1]
    said = capsys.readouterr().err
    assert "a compiled loop has been running" in said
    assert "in thread fitting, which Ctrl-C does not stop" in said
    assert "Ctrl-C stops it" not in said
