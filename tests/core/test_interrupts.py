"""What a handler of a signal raises reaches the caller, whatever linad tries in two ways."""

import signal
from contextvars import copy_context

import numpy as np
import pytest

import linad
from linad.arrays.traces import running_trace
from linad.core.interrupts import is_interrupt, uninterrupted

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no alarms here")


class Late(Exception):
    pass


@pytest.fixture
def alarm():
    def ring(number, frame):
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def ctrl_c():
    """Python's own handler: a shell that starts this in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def endless(x):
    while x > 0:  # for ever
        x = np.sin(x) * 0.5 + x * 0.5 + 0.1
    return x


@pytest.mark.full  # Python itself loses an alarm that rings within a finalizer
@pytest.mark.parametrize("transform", [linad.jit, lambda f: linad.jit(linad.grad(f))])
def test_an_alarm_ends_an_endless_loop(transform, alarm):
    for k in range(4):
        alarm(0.05 + 0.07 * k)
        with pytest.raises(Late):
            transform(endless)(1.0)


def test_what_is_of_a_handler(alarm):
    def waits():
        while True:
            pass

    alarm(1e-3)
    with pytest.raises(Late) as late:
        waits()
    assert is_interrupt(late.value)
    with pytest.raises(ZeroDivisionError) as own:
        divmod(1, 0)
    assert not is_interrupt(own.value)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_waits_for_the_end_of_a_change():
    done = []

    def change():
        with uninterrupted():
            with uninterrupted():
                signal.raise_signal(signal.SIGINT)
                done.append(1)
            done.append(2)

    with pytest.raises(KeyboardInterrupt):
        change()
    assert done == [1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def solved(x):
    c, _ = linad.scan(lambda c, r: (np.tanh(c * x[1] + r), c), x[0], np.arange(3.0))
    return c * linad.solve.root(lambda t: t**3 + t - x, np.ones(2)).sum()


def at_once(x):
    with linad.adopt(solved):
        return linad.jit(linad.grad(solved))(x)


@pytest.mark.full
@pytest.mark.usefixtures("ctrl_c")
def test_nothing_is_left_of_what_ctrl_c_ended():
    """An interrupt as a block ends, before the first line of its end, is the one that Python
    gives no way to hold back: it comes once in thousands."""
    x, rng = np.array([0.4, 0.9]), np.random.default_rng(0)
    expected, left = at_once(x), 0

    def run():
        nonlocal left
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 2e-2))
                at_once(x)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                left += running_trace() is not None
            np.testing.assert_allclose(at_once(x), expected)

    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        copy_context().run(run)  # np.errstate of NumPy's own may end late
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert left <= 1
