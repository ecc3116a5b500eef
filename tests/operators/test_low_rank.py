"""Sums of a diagonal and a matrix of low rank: Woodbury's formula."""

import numpy as np

import linad
from linad.operators.matrices import Matrix


def test_woodbury_is_left_where_it_is_not_safe():
    """A small diagonal beside a large part of low rank loses all digits in Woodbury's formula."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((8, 2))
    op = 1e-14 * linad.eye(8) + Matrix(U) @ Matrix(U.T)
    assert op.simplified().inverse_form() is None
