"""Operations that draw random numbers for themselves: watches look before, and start anew after."""

import pytest

from linad.core.during import during
from linad.core.own_draws import WATCHES, draws_for_itself


class Watch:
    def __init__(self, calls):
        self.calls = calls

    def look(self):
        self.calls.append("look")

    def start(self):
        self.calls.append("start")


def test_watches_do_not_see_what_an_operation_draws():
    calls = []
    f = draws_for_itself(lambda: calls.append("draw"))
    with during(WATCHES, (Watch(calls),)):
        f()
    f()
    assert calls == ["look", "draw", "start", "draw"]


def test_an_operation_that_fails():
    calls = []
    with during(WATCHES, (Watch(calls),)), pytest.raises(ZeroDivisionError):
        draws_for_itself(lambda: 1 / 0)()
    assert calls == ["look", "start"]
