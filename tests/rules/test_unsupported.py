"""What has no traced form says what to do instead."""

import io

import numpy as np
import pytest
from numpy.lib import recfunctions
from numpy.testing.overrides import get_overridable_numpy_array_functions

import linad
from linad.errors import UnsupportedError

X = np.array([1.0, 2.0])


CALLS = [
    (lambda x: np.save(io.BytesIO(), x), r"numpy.save .*stop_gradient"),
    (lambda x: np.savez(io.BytesIO(), x), r"numpy.savez .*stop_gradient"),
    (lambda x: np.savez_compressed(io.BytesIO(), a=x), "stop_gradient"),
    (lambda x: np.savetxt(io.StringIO(), x), "stop_gradient"),
    (lambda x: np.busday_count(x, "2026-01-01"), "dates have no derivative"),
    (lambda x: np.busday_offset("2026-01-01", x), "dates have no derivative"),
    (np.is_busday, "dates have no derivative"),
    (np.datetime_as_string, "dates have no derivative"),
    (np.strings.isalpha, "isalpha .*text has no derivative"),
    (lambda x: np.char.equal(x, x), "text has no derivative"),
    (recfunctions.structured_to_unstructured, "dict of arrays"),
]
if np.strings.upper in get_overridable_numpy_array_functions():  # since NumPy 2.3
    CALLS.append((np.strings.upper, "upper .*text has no derivative"))


@pytest.mark.parametrize("call, words", CALLS, ids=map(str, range(len(CALLS))))
def test_remedies(call, words):
    with pytest.raises(UnsupportedError, match=words):
        linad.linearize(call, X)


def test_the_remedy_for_files_works():
    file = io.BytesIO()

    def f(x):
        np.save(file, linad.stop_gradient(2 * x))
        return np.sum(x)

    linad.grad(f)(X)
    file.seek(0)
    assert np.array_equal(np.load(file), 2 * X)
