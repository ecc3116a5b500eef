"""Who reads the variables of a plan: themselves, and through views without a place."""

from types import SimpleNamespace

import numpy as np

from linad.core.tape import Var
from linad.sweeps.reads import FOREVER, Reads

A, VIEW, INNER, RESULT, UNREAD = (Var(k, (2,), np.dtype(float)) for k in range(5))


def reads(placed):
    steps = [SimpleNamespace(reads=read) for read in ([A], [VIEW], [A, INNER], [INNER])]
    return Reads(steps, [RESULT, 2.0], {VIEW: A, INNER: VIEW}, placed)


def test_through_views():
    found = reads(set())
    assert found.last(A) == 3  # by the view of its view
    assert found.last(VIEW) == 3
    assert found.last(RESULT) == FOREVER
    assert found.last(UNREAD) == -1
    assert sorted(found.all(A)) == [0, 1, 2, 2, 3]
    assert found.any(A)
    assert not found.any(UNREAD)


def test_a_view_with_a_place_counts_for_itself():
    placed = set()
    found = reads(placed)
    placed.update([VIEW, INNER])
    assert found.last(A) == 2
    assert found.last(VIEW) == 1
    assert found.last(INNER) == 3
