"""Sums of products over labelled axes, against their matrices."""

import numpy as np
import pytest
from operator_checks import array, check, complex_array

from linad.operators.contraction import Contraction


@pytest.mark.parametrize("make", [array, complex_array])
def test_contraction(make):
    b, c = make(3, 4), make(2, 5)
    dtype = b.dtype
    check(Contraction("ij", [("jk", b)], "ik", (2, 4), (2, 3), dtype), np.kron(np.eye(2), b.T))
    # Two fixed operands.
    both = Contraction("ij", [("jk", b), ("il", c)], "lk", (5, 4), (2, 3), dtype)
    check(both, np.kron(c.T, b.T))
    # A summed label that no other operand has, and a transposition without operands.
    check(Contraction("ij", [], "i", (2,), (2, 3), dtype), np.kron(np.eye(2), np.ones(3)))
    order = np.arange(6).reshape(2, 3).T.ravel()
    check(Contraction("ij", [], "ji", (3, 2), (2, 3), dtype), np.eye(6)[order])
    summed = Contraction("ij", [("k", b[0])], "k", (4,), (2, 3), dtype)
    check(summed, np.outer(b[0], np.ones(6)))
    # Entry by entry.
    d = make(2, 3)
    check(Contraction("ij", [("ij", d)], "ij", (2, 3), (2, 3), dtype), np.diag(d.ravel()))
