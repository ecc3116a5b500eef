"""Dtypes of results are SciPy's, for single precision and complex numbers too, or refused."""

import itertools

import numpy as np
import pytest
from released import OLD_SCIPY
from survey import table as survey
from survey.numpy_calls import MATRIX, quiet

ENTRIES = survey.entries()["linad.scipy"]
ROOMS = sorted({e.name.rpartition(".")[0] for e in ENTRIES})
COMPLEX_FACTORS = {"scipy.sparse.linalg.splu", "scipy.sparse.linalg.factorized"}
"""Of a real matrix SciPy's solve no complex system, as linad's do."""


def kind(leaf):
    """Whether a leaf is a number or an array, and its dtype; None for what else it is.

    Python's own numbers, which SciPy gives here and there, have no dtype that could be compared.
    """
    leaf = getattr(leaf, "concrete", leaf)
    if isinstance(leaf, (int, np.integer)):
        return "integer", None
    if type(leaf) in (float, complex):
        return "number", None
    if isinstance(leaf, np.ndarray | np.generic):
        return "array" if isinstance(leaf, np.ndarray) else "number", leaf.dtype
    return None


def agree(found, expected):
    if expected is None or found is None:
        return expected is None
    return found[0] == expected[0] and (expected[1] is None or found[1] == expected[1])


def differences(entry, call, point):
    """What linad gives where SciPy gives something else; [] where linad refuses."""
    try:
        found = survey.traced_call(call, entry.function, point).values
    except Exception:  # what traces, and for which arguments, is the table's matter
        return []
    try:
        with quiet():
            expected = survey.plain_call(call, entry.function, point)
    except Exception as error:
        if OLD_SCIPY and "unexpected keyword" in str(error):
            return []
        return [] if entry.name in COMPLEX_FACTORS else [f"{entry.name}: SciPy raises {error}"]
    pairs = itertools.zip_longest(map(kind, found), map(kind, expected))
    wrong = [(a, b) for a, b in pairs if not agree(a, b)]
    return [f"{entry.name}: {a}, in SciPy {b}" for a, b in wrong]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("room", ROOMS)
def test_dtypes_are_scipys(room):
    wrong = []
    for entry in ENTRIES:
        if entry.name.rpartition(".")[0] == room:
            for call, dtype in itertools.product(entry.calls, ("f4", "c8", "c16")):
                point = MATRIX.astype(dtype)
                point = point + (1j * MATRIX.T).astype(dtype) if dtype[0] == "c" else point
                wrong += differences(entry, call, point)
    assert not wrong, "\n".join(wrong)
