"""Reads of entries, together with what stands around them; see also tests/operators."""

import numpy as np
import pytest

import linad
from linad.core.indices import Index
from linad.operators.structured import Diagonal, Identity, Zero
from linad.rules.indexing import Selection

F8 = np.dtype(float)
X = np.arange(1.0, 13.0).reshape(3, 4)


@pytest.mark.parametrize(
    "f, kind",
    [
        (lambda x: x[[2, 0, 2]][1:], None),
        (lambda x: np.broadcast_to(x, (5, 3, 4))[2], Identity),
        (lambda x: np.broadcast_to(x[0], (5, 4))[:, 1], None),
        (lambda x: x.T.ravel()[[0, 3, 5]], None),
        (lambda x: x.T[::-1].T[:, ::-1], Identity),
        (lambda x: np.roll(x.ravel(), 2)[2:5], None),
        (lambda x: np.stack([x, x * x])[1], Diagonal),
        (lambda x: np.concatenate([x, np.ones((2, 4))])[3:], Zero),
        (lambda x: np.concatenate([x, x])[2:4], None),
        (lambda x: np.where(x > 3, x, 0)[1], None),
        (lambda x: np.sort(x, axis=0)[::-1], None),
    ],
    ids=range(11),
)
def test_reads(f, kind):
    J = linad.linearize(f, X)[1]
    op = J.simplified()
    assert kind is None or type(op) is kind
    np.testing.assert_allclose(op.todense(), J.todense())
    np.testing.assert_allclose(op.T.todense(), J.T.todense())


def test_how_often_entries_are_read():
    S = Selection(Index((np.array([0, 2, 2]),)), (3,), (4,), F8)
    op = (S.T @ S).simplified()
    assert type(op) is Diagonal
    np.testing.assert_array_equal(op.diagonal(), [1, 0, 2, 0])
    assert type((S @ S.T).simplified()) is not Identity


def test_permutations():
    turned = Selection(Index((slice(None, None, -1),)), (4,), (4,), F8)
    assert turned.is_permutation()
    assert turned.structure == ("permutation", "unitary")
    np.testing.assert_array_equal(turned.inverse().todense(), np.eye(4)[::-1])
    twice = Selection(Index((np.array([0, 0, 1, 2]),)), (4,), (4,), F8)
    assert not twice.is_permutation()
    with pytest.raises(linad.errors.SingularError):
        twice.inverse()
