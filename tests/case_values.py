"""What a case gives when it is traced, beside what NumPy gives."""

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive


def traced(case):
    """The value of a case as tracing gives it."""
    active = [i for i, a in enumerate(case.args) if np.asarray(a).dtype.kind in "fc"]

    def f(given):
        full = list(case.args)
        for i, value in zip(active, given, strict=True):
            full[i] = value
        return case.function(*full, **case.params)

    return linad.linearize(f, [case.args[i] for i in active])[0]


def check_value(case, rtol=0.0):
    """Compare the traced value of a NumPy function with NumPy's own, dtype included."""
    if isinstance(case.function, Primitive):
        return
    expected, found = case.function(*case.args, **case.params), traced(case)
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    assert len(expected) == len(found)
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, strict=True)


def check_error(f, x):
    """Where NumPy raises, tracing raises the same kind of error."""
    with pytest.raises(Exception, match=r".") as numpys:
        f(x)
    with pytest.raises(numpys.type):
        linad.linearize(f, x)
