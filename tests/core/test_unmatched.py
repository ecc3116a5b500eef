"""Labels without a partner are told of: at once where none has one."""

import warnings

import numpy as np
import pandas as pd
import pytest

import linad
from linad.core.during import during
from linad.core.unmatched import UNMATCHED, note

A, B, C = (pd.RangeIndex(k, k + 3) for k in (0, 2, 7))


def test_only_where_no_label_has_a_partner():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        note(A, A)
        note(A, A[::-1])
        note(A, B)
    with pytest.warns(UserWarning, match="all labels are in one of two Series alone, as 0"):
        note(A, C)


def test_who_looks_for_them_is_told_of_all():
    with during(UNMATCHED, found := []):
        for other in (A, B, C):
            note(A, other)
    assert [words.split(",")[1] for words in found] == [
        " and 4 labels are in one of two Series alone",
        " and all labels are in one of two Series alone",
    ]


@pytest.mark.parametrize("kind", [pd.Series, pd.DataFrame])
def test_a_sum_of_nothing_is_not_silent(kind):
    def f(a):
        return (a * kind(np.ones(3), index=A) - kind(np.ones(3), index=C)).to_numpy().sum()

    with pytest.warns(UserWarning, match="matches rows by their labels"):
        assert np.isnan(linad.linearize(f, 2.0)[0])
