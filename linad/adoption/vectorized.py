"""Objects of `numpy.vectorize` in adopted modules: for traced values linad's own class calls.

One keeps its identity; its class is exchanged while a trace runs, and the function in it where that
is one with a form, as in ``np.vectorize(math.erf)``.
"""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from linad.adoption.exchanges import Exchange
from linad.adoption.form_table import form_of, has_form
from linad.numpy import vectorize


def is_vectorized(value: Any) -> bool:
    """Whether a value is such an object, not one of a class derived from it."""
    return type(value) in (np.vectorize, vectorize)


def exchange(value: Any) -> Iterator[Exchange]:
    """What is exchanged of one."""
    yield Exchange(functools.partial(setattr, value, "__class__"), np.vectorize, vectorize)
    if has_form(value.pyfunc):
        put = functools.partial(setattr, value, "pyfunc")
        yield Exchange(put, value.pyfunc, form_of(value.pyfunc))
