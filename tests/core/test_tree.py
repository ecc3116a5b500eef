"""Containers too deep to flatten, and callers too deep to flatten anything."""

from collections import OrderedDict

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


def test_leaves_of_dicts_are_told_by_their_keys():
    """Those of a plain one stand in the order of its keys sorted, of another in its own."""
    plain = {"b": 1.0, "a": [2.0, {"d": 3.0, "c": 4.0}]}
    kept = OrderedDict(b=1.0, a=[2.0, OrderedDict(d=3.0, c=4.0)])
    for one in (plain, kept):
        for other in (plain, kept):
            structure = tree.flatten(one)[1]
            assert tree.flatten_like(other, structure, "it") == tree.flatten(one)[0]
    for other in (OrderedDict(b=1.0), OrderedDict(b=1.0, a=2.0), OrderedDict(b=[], a=[2.0, {}])):
        with pytest.raises(TreeError, match="it: the container is"):
            tree.flatten_like(other, tree.flatten(kept)[1], "it")
    with pytest.raises(TreeError, match="must match a single array"):
        tree.flatten_like(plain, tree.LEAF, "it")
    assert tree.has_sorted_keys({"a": 0, "b": [1, 2]})
    assert not tree.has_sorted_keys(plain)


def test_a_tangent_by_its_keys():
    _, J = linad.linearize(lambda p: p["b"] * p["a"], OrderedDict(b=3.0, a=5.0))
    np.testing.assert_array_equal(J.todense(), [[5.0, 3.0]])
    assert J.pushforward({"a": 1.0, "b": 0.0}) == 3.0
