"""Lists of traced numbers beside a traced array are arrays, as lists of numbers are to NumPy."""

import contextlib

import numpy as np
import pytest

import linad
from linad.core.primitive import Traced
from linad.errors import LinadError
from survey import table as survey
from survey.numpy_calls import quiet

POINT = np.random.default_rng(0).uniform(0.2, 0.8, (3, 3))


def nested(x):
    """An array as lists of lists of its entries."""
    return [nested(row) for row in x] if np.ndim(x) else x


class NothingToAskError(LookupError):
    """A call that takes no two arrays, or gives nothing that is traced."""


def with_list(function, k, asked):
    """The function with its array number ``k`` as a list; tells whether another one is traced."""

    def call(*args, **kwargs):
        places = [
            i for i, a in enumerate(args) if isinstance(a, (Traced, np.ndarray)) and np.ndim(a)
        ]
        if k >= len(places) or len(places) < 2 or np.ndim(args[places[k]]) > 2:
            raise NothingToAskError
        i = places[k]
        asked.append(
            isinstance(args[i], Traced)
            and any(isinstance(args[j], Traced) for j in places if j != i)
        )
        return function(*args[:i], nested(args[i]), *args[i + 1 :], **kwargs)

    return call


def derivative(call, function):
    def f(a):
        found = [
            y
            for y in survey.leaves(call(function, a))
            if isinstance(y, Traced) and y.dtype.kind in "fc"
        ]
        if not found:
            raise NothingToAskError
        return found

    return linad.linearize(f, POINT.copy())[1].todense()


def outcomes(entry):
    """Whether each call with a list, beside another traced array, is as that with an array."""
    for call, k in [(call, k) for call in entry.calls for k in range(3)]:
        asked = []
        try:
            with quiet():
                expected = derivative(call, entry.function)
                call(with_list(entry.function, k, asked), POINT.copy())
        except Exception:  # what traces, and what takes lists at all, are other matters
            continue
        asked.clear()
        found = None
        with contextlib.suppress(NothingToAskError, LinadError), quiet():
            found = derivative(call, with_list(entry.function, k, asked))
        if asked and asked[-1]:
            yield found is not None and np.allclose(found, expected, equal_nan=True)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_a_list_beside_a_traced_array():
    entries = [entry for part in survey.entries().values() for entry in part]
    found = {e.name: list(outcomes(e)) for e in entries if callable(e.function)}
    assert sum(map(len, found.values())) > 150
    assert not [name for name, right in found.items() if not all(right)]
