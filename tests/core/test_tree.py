"""Containers too deep to flatten, and callers too deep to flatten anything."""

import numpy as np
import pytest

import linad
from linad.core import tree
from linad.errors import TreeError

ENDLESS = [1.0]
ENDLESS.append(ENDLESS)


def nested(levels):
    value = np.ones(2)
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("value", [ENDLESS, {"a": ENDLESS}, nested(5000)])
def test_a_container_that_is_too_deep(value):
    with pytest.raises(TreeError, match="holds itself"):
        tree.flatten(value)


def test_a_deep_container():
    np.testing.assert_array_equal(tree.flatten(nested(500))[0], [np.ones(2)])
    slope = linad.grad(lambda x: np.sum(x[0][0][0] ** 2))(nested(3))
    np.testing.assert_array_equal(slope[0][0][0], [2.0, 2.0])


def test_recursion_of_the_caller():
    """It is a RecursionError whichever call comes last, one of linad's as well."""

    def dive(x):
        tree.flatten([[x]])
        return dive(x)

    with pytest.raises(RecursionError):
        dive(np.ones(2))
