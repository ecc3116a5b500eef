"""Values and regions as the text of a module."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from linad.core.regions import Positions, Window
from linad.errors import ExportError
from linad.export.module import Module


@pytest.mark.parametrize(
    "value",
    [
        3,
        -2.5,
        1e300,
        np.inf,
        True,
        None,
        ...,
        "text",
        -0.0 + 1j,
        complex(np.nan, -np.inf),
        np.float32(0.1),
        np.array(7),
        np.array([[1.5, np.nan], [-np.inf, 0.0]]),
        np.arange(100).reshape(4, 25),
        np.array([], np.float32).reshape(0, 3),
        np.broadcast_to(np.array(2.0), (3, 4)),
        np.array([True, False]),
        np.array([1 + 2j, -0.0 - 1j]),
        (1, (2, "x")),
        [1, {"a": np.array([1])}],
        slice(None, 5, -1),
        np.dtype("float32"),
    ],
    ids=repr,
)
def test_values_come_back(value):
    module = Module()
    expression = module.text(value)
    scope = {}
    exec(module.head(), scope)
    found = eval(expression, scope)
    if isinstance(value, (np.ndarray, np.generic)):
        assert np.asarray(found).dtype == value.dtype
        assert np.shape(found) == value.shape
        assert np.array_equal(found, value, equal_nan=value.dtype.kind in "fc")
    elif isinstance(value, complex):
        assert repr(found) == repr(value)
    else:
        assert repr(np.dtype(found) if isinstance(value, np.dtype) else found) == repr(value)


def test_values_without_a_form():
    with pytest.raises(ExportError, match="has no text form"):
        Module().text(object())
    with pytest.raises(ExportError, match="dtype"):
        Module().text(np.array(["a"]))


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple),
    st.data(),
)
def test_slices_of_windows(shape, data):
    """Whatever slice made a region, its text reads the same entries."""
    x = np.arange(np.prod(shape)).reshape(shape)
    index = []
    for n in shape:
        if data.draw(st.booleans()):
            index.append(data.draw(st.integers(0, n - 1)))
        else:
            step = data.draw(st.sampled_from([-2, -1, 1, 2]))
            index.append(slice(None, None, step))
    view = x[tuple(index)]
    if not view.ndim:
        return
    offset = (view.__array_interface__["data"][0] - x.__array_interface__["data"][0]) // x.itemsize
    window = Window(offset, view.shape, tuple(s // x.itemsize for s in view.strides), x.ndim)
    module = Module()
    text = module.region(window, shape)
    scope = {"x": x}
    exec(module.head(), scope)
    assert np.array_equal(eval(f"x{text}", scope), view)


def test_regions_that_are_no_slices():
    x = np.arange(12).reshape(3, 4)
    numbers = np.array([[0, 7], [11, 3]])
    module = Module()
    text = module.region(Positions(numbers, 2), x.shape)
    scope = {"x": x}
    exec(module.head(), scope)
    exec("\n".join(module.constants), scope)
    assert np.array_equal(eval(f"x{text}", scope), numbers)
