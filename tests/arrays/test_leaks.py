"""Where a traced value was kept: attributes and global names, through containers."""

import types

import numpy as np
import pytest

import linad
from linad.arrays.leaks import kept_in


class Model:
    pass


def trace_of(keep):
    def f(x):
        y = x * 2.0
        keep(y)
        traces.append(y._trace)
        return y

    traces = []
    linad.grad(f)(np.float64(1.0))
    return traces[0]


def test_attributes():
    model = Model()
    trace = trace_of(lambda y: setattr(model, "last", y))
    assert kept_in(trace) == "the attribute last of a Model"
    trace = trace_of(lambda y: setattr(model, "values", {"loss": [None, y]}))
    assert kept_in(trace) == "the attribute values['loss'][1] of a Model"


def test_global_names():
    module = types.ModuleType("theirs")
    module.KEPT = []
    trace = trace_of(module.KEPT.append)
    assert kept_in(trace) == "the global name KEPT[0]"
    module.KEPT.clear()
    assert kept_in(trace) == ""


def test_a_value_that_leaks_is_told():
    model = Model()

    def f(x):
        model.last = x
        return x

    linad.grad(f)(np.float64(1.0))
    with pytest.raises(linad.errors.LinadError, match="the attribute last of a Model"):
        model.last + 1.0
