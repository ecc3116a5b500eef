"""A module that stands in for another has its names, and its own in their place."""

import importlib
import types

import numpy as np
import pytest

import linad.numpy
import linad.scipy
from linad.core.mirrored_names import mirrored_names, public_names

theirs = types.ModuleType("theirs")
theirs.a, theirs.b, theirs._c = 1, 2, 3


def test_a_form_stands_for_a_name():
    get, names = mirrored_names(theirs, {"b": 20}.get, more=("d",))
    assert (get("a"), get("b"), get("_c")) == (1, 20, 3)
    assert names() == ["a", "b", "d"]
    with pytest.raises(AttributeError, match="'theirs' has no attribute 'e'"):
        get("e")


def test_a_room_is_imported_when_it_is_asked_for():
    get, _ = mirrored_names(theirs, package="linad.scipy.spatial", rooms=("distance",))
    assert get("distance") is importlib.import_module("linad.scipy.spatial.distance")


def test_names_that_are_shown():
    assert public_names(theirs) == ["a", "b"]


@pytest.mark.parametrize("room", ["numpy", *linad.scipy.ROOMS, *linad.scipy.INNER_ROOMS])
def test_mirrors_have_all_names(room):
    original = np if room == "numpy" else importlib.import_module(f"scipy.{room}")
    mirror = importlib.import_module("linad.numpy" if room == "numpy" else f"linad.scipy.{room}")
    assert set(public_names(original)) <= set(dir(mirror))
    for name in original.__all__:
        assert hasattr(mirror, name)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = mirror.nothing_of_the_kind
