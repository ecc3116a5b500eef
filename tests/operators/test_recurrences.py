"""Running sums and recurrences, and the differences that undo them."""

import numpy as np
import operator_zoo as zoo
import pytest

from linad.operators.recurrences import BackwardDifference, CumulativeSum

S = (3, 4)


F8 = np.dtype(float)


def test_sums_of_differences_are_differences_undone():
    op = CumulativeSum(0, (5,), F8).inverse()
    assert type(op) is BackwardDifference
    np.testing.assert_array_equal(op @ np.array([1.0, 3, 6, 10, 15]), [1, 2, 3, 4, 5])


@pytest.mark.parametrize("dtype", zoo.REAL + zoo.COMPLEX, ids=str)
@pytest.mark.parametrize("backward", [False, True])
def test_backward_difference(backward, dtype):
    rng = np.random.default_rng(0)
    a = zoo.numbers(rng, S, dtype)
    op = BackwardDifference(-1, S, dtype, a, backward)
    v, w = (zoo.numbers(rng, (2, *S), dtype) for _ in range(2))
    np.testing.assert_allclose(np.vdot(w, op.pushforward(v)), np.vdot(op.pullback(w), v), rtol=1e-4)
