"""Refusals are noted on the trace that runs, and taken back where linad itself tried."""

import numpy as np
import pytest

import linad
from linad.core.marks import Attempt, mark, outside_of_traces, running, running_traces
from linad.errors import LinadError


def refused():
    try:
        mark(ValueError("no"), "float")
    except ValueError:
        raise AssertionError from None


def test_outside_of_traces_nothing_is_noted():
    refused()
    assert list(running_traces()) == []


def test_marks_are_those_of_the_innermost_trace():
    def outer(x):
        def inner(y):
            found.append(list(running_traces()))
            attempt = Attempt()
            refused()
            (noted,) = running.get().marks
            assert noted.kind == "float"
            assert noted.place.function == "refused"
            assert noted.place.file == __file__
            attempt.forget()
            assert running.get().marks == []
            with outside_of_traces():
                assert list(running_traces()) == []
                refused()
            return y * y

        return linad.grad(inner)(x)

    found = []
    assert linad.grad(outer)(3.0) == 2.0
    (traces,) = found
    assert len(traces) == 2
    assert traces[0] is not traces[1]


def test_a_mark_that_stays_is_an_error():
    def swallows(x):
        refused()
        return x

    with pytest.raises(LinadError):
        linad.grad(swallows)(np.float64(1.0))


def test_an_attempt_ends_at_the_errors_that_it_names():
    def f(x):
        with Attempt(KeyError, ValueError):
            refused()
            raise KeyError
        assert running.get().marks == []
        with pytest.raises(IndexError), Attempt(KeyError):
            raise IndexError
        with Attempt(KeyError):
            pass
        return x * x

    assert linad.grad(f)(3.0) == 6.0
