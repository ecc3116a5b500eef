"""What is known of constants when a kernel's adjoint is written; functions without a slope."""

import math
import operator

import numpy as np
import pytest

import linad
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


ROUNDINGS = (math.floor, math.ceil, math.trunc, np.floor, np.ceil, np.trunc, np.rint)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("rounding", ROUNDINGS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_roundings(rounding):
    """A factor in the slope; math's are integers, by which Python's // and % stay exact."""

    def f(x):
        total = 0.0
        for k in range(len(x)):
            total += x[k] * rounding(x[k]) + x[k] * (rounding(2 * x[k]) // 2)
        return total

    x = np.array([1.5, -0.75, 2.25])
    slopes = [rounding(v) + rounding(2 * v) // 2 for v in x]
    value, slope = linad.value_and_grad(linad.kernel(f))(x)
    assert value == f(x)
    np.testing.assert_array_equal(slope, slopes)
