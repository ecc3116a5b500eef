"""When operations of two repetitions are the same: to the bit, whatever the size."""

import numpy as np
import pytest

from linad.control.equal_operations import exact_key, may_begin, same_params
from linad.core.regions import Window
from linad.core.tape import Var

LARGE = np.arange(100.0)
CARRIED = Var(0, (2,), np.dtype(np.float32))
NUMBER = Var(1, (), np.dtype(np.float32))


@pytest.mark.parametrize(
    "a, carried, may",
    [
        (Var(2, (2,), np.dtype(np.float32)), CARRIED, True),
        (Var(2, (2,), np.dtype(float)), CARRIED, False),
        (np.zeros(2, np.float32), CARRIED, True),
        (np.zeros(2), CARRIED, False),
        (np.zeros((1, 2), np.float32), CARRIED, False),
        (1.5, NUMBER, True),
        (2, NUMBER, True),
        (1j, NUMBER, False),
        (np.float64(1.5), NUMBER, False),
    ],
)
def test_what_may_be_carried_first(a, carried, may):
    assert may_begin(a, carried) == may


@pytest.mark.parametrize(
    "a, b, same",
    [
        (LARGE, LARGE.copy(), True),
        (LARGE, np.where(LARGE == 50, -1, LARGE), False),
        (np.array([0.0]), np.array([-0.0]), False),
        ((1, (LARGE,)), (1, (LARGE.copy(),)), True),
        ((1, 2), (1, 2, 3), False),
        ({"x": LARGE}, {"x": LARGE.copy()}, True),
        ({"x": 1}, {"y": 1}, False),
        (1, 1.0, False),
        (slice(1, None), slice(1, None), True),
        (Window(0, (2,), (1,), 1), Window(0, (2,), (1,), 1), True),
        (Window(0, (2,), (1,), 1), Window(1, (2,), (1,), 1), False),
    ],
)
def test_parameters(a, b, same):
    assert same_params({"p": a}, {"p": b}) == same


def test_exact_keys():
    assert exact_key(LARGE) == exact_key(LARGE.copy())
    assert exact_key(LARGE) != exact_key(LARGE.astype(np.float32))
    assert exact_key(np.nan) == exact_key(float("nan"))
