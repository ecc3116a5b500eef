"""What is known of constants when a kernel's adjoint is written."""

import operator

import pytest

from linad.kernels.expressions import compared, num


@pytest.mark.parametrize(
    "sign, holds",
    [
        ("<", operator.lt),
        ("<=", operator.le),
        (">", operator.gt),
        (">=", operator.ge),
        ("==", operator.eq),
        ("!=", operator.ne),
    ],
)
def test_comparisons(sign, holds):
    for a in (-2, 3, 5):
        assert compared(sign, num(a), num(3)) == num(holds(a, 3))
    assert compared(sign, num(1.5), num(3)).op == sign  # floating numbers are compared later
