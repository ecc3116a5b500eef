"""What a handler of a signal raises reaches the caller, whatever linad tries in two ways."""

import signal

import numpy as np
import pytest

import linad
from linad.core.interrupts import is_interrupt

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
