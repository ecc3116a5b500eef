"""How arrays lie in memory: copies of which NumPy makes the same views."""

import itertools

import numpy as np
import pytest

from linad.core.memory_layouts import copied, copy_in_layout, laid, laid_like, layout_of

BASE = np.arange(6 * 5 * 4.0).reshape(6, 5, 4)
ARRAYS = {
    "C": BASE,
    "F": BASE.T,
    "permuted": BASE.transpose(1, 0, 2),
    "gaps": BASE[::2, 1:4],
    "turned": BASE[::-1, :, ::-1],
    "turned with gaps": BASE[4::-2, :, 1:3],
    "one run": BASE[:, :, 0],
    "broadcast": np.broadcast_to(BASE[:, :1], BASE.shape),
    "number": np.array(2.0),
    "empty": BASE[:0],
    "unit": BASE[:, 2:3],
}


def is_view(a, shape):
    """Whether a reshape is a view."""
    return np.shares_memory(a.reshape(shape), a)


@pytest.mark.parametrize("name", ARRAYS)
def test_copies_reshape_alike(name):
    a = ARRAYS[name]
    again = copied(a)
    np.testing.assert_array_equal(again, a)
    assert again.flags.writeable
    assert not np.shares_memory(again, a)
    if name == "broadcast":
        return  # a copy has each entry for itself
    assert layout_of(again) == layout_of(a)
    shapes = [(-1,)] if a.size else []
    shapes += [(a.shape[0], -1), (-1, a.shape[-1])] if a.ndim > 1 and a.size else []
    for shape in shapes:
        assert is_view(again, shape) == is_view(a, shape)


@pytest.mark.parametrize("name", ARRAYS)
def test_results_lie_alike(name):
    a = ARRAYS[name]
    again = copy_in_layout(a)
    np.testing.assert_array_equal(again, a)
    assert (np.exp(again * 0)).strides == (np.exp(a * 0)).strides
    again = laid_like(np.ascontiguousarray(a), layout_of(a))
    np.testing.assert_array_equal(again, a)


def test_arrays_of_given_strides():
    for steps in itertools.permutations((1, 2, -6)):
        a, memory, first = laid((2, 3, 2), steps, np.float32)
        assert a.strides == tuple([4 * s for s in steps])
        a[0, 0, 0] = 7.0
        assert memory[first] == 7.0
        assert a.base is memory or np.shares_memory(a, memory)
