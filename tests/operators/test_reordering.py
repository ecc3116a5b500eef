"""Broadcasts, reshapes and permutations, against their matrices."""

import numpy as np
from operator_checks import F8, check

from linad.operators.reordering import Broadcast, Permutation, Reshape, broadcast


def test_broadcast():
    check(Broadcast((2, 3), (3,), F8), np.kron(np.ones((2, 1)), np.eye(3)))
    check(Broadcast((2, 3), (2, 1), F8), np.kron(np.eye(2), np.ones((3, 1))))
    check(Broadcast((2, 3), (2,), F8, (1,)), np.kron(np.eye(2), np.ones((3, 1))))
    check(Broadcast((2, 3), (), F8).H, np.ones((1, 6)))
    check(broadcast((2,), (2,), F8), np.eye(2))


def test_reshape_and_permutation():
    check(Reshape((6,), (2, 3), F8), np.eye(6))
    order = np.arange(12).reshape(2, 3, 2).transpose(2, 0, 1).ravel()
    check(Permutation((2, 0, 1), (2, 3, 2), F8), np.eye(12)[order])
