"""Methods that stand for those of traces for a while, one over the other."""

import pytest

from linad.control.replaced_methods import Hooks


class Own:
    def apply(self):
        return "own"


def test_what_stood_there_comes_back():
    trace = Own()
    outer = Hooks([trace], {"apply": lambda: "outer"})
    outer.set()
    inner = Hooks([trace], {"apply": lambda: "inner", "other": lambda: 1})
    inner.set()
    assert trace.apply() == "inner"
    with pytest.raises(KeyError), inner.away():
        raise KeyError
    assert trace.apply() == "inner"
    with inner.away():
        assert trace.apply() == "outer"
        assert not hasattr(trace, "other")
    inner.remove()
    inner.remove()
    assert trace.apply() == "outer"
    with inner.away():
        pass
    assert trace.apply() == "outer"  # it was not on, and stays off
    outer.remove()
    assert trace.apply() == "own"
    assert vars(trace) == {}
