"""Seeds for the arrays of a function: checked, split and joined."""

import numpy as np
import pytest

from linad.core import tree
from linad.errors import DTypeError, ShapeError
from linad.transforms.spaces import (
    Slot,
    check_seeds,
    common_dtype,
    flat_shape,
    joined,
    seeds_of,
    split,
)

VALUE = {"x": np.ones((2, 3)), "y": (np.ones(4, np.float32), np.ones(2, complex))}
LEAVES, STRUCTURE = tree.flatten(VALUE)
SLOTS = [Slot(leaf) for leaf in LEAVES]


def like(lead=()):
    rng = np.random.default_rng(0)
    leaves = [rng.standard_normal(lead + a.shape).astype(a.dtype) for a in LEAVES]
    return leaves, tree.unflatten(STRUCTURE, leaves)


@pytest.mark.parametrize("lead", [(), (5,), (2, 3)])
def test_there_and_back(lead):
    leaves, container = like(lead)
    checked, seeds = check_seeds(container, STRUCTURE, SLOTS, "the tangent")
    assert seeds == lead == seeds_of([None, *leaves[1:]], SLOTS)
    rows = joined(checked, seeds, common_dtype(SLOTS))
    assert rows.shape == lead + flat_shape(SLOTS, STRUCTURE)
    for found, expected in zip(split(rows, SLOTS), leaves, strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_slots():
    assert repr(SLOTS[0]) == "float64[2, 3]"
    assert Slot(np.ones(2, int)).dtype == float  # whose derivative is zero
    assert Slot(np.float64(1.0)).kind(np.zeros(())).__class__ is np.float64
    assert Slot(np.zeros(())).kind(np.float64(1.0)).__class__ is np.ndarray
    assert SLOTS[1].zeros((2,)).dtype == np.float32
    assert SLOTS[1].seed([1, 2, 3, 4], "v")[0].dtype == np.float32
    assert common_dtype([]) == np.float64
    assert joined([], (3,), float).shape == (3, 0)


def test_what_does_not_fit():
    with pytest.raises(ShapeError, match=r"v: expected shape \(4,\) .* got \(3,\)"):
        SLOTS[1].seed(np.ones(3), "v")
    with pytest.raises(DTypeError, match="v: expected dtype float32, got complex128"):
        SLOTS[1].seed(np.ones(4) + 0j, "v")
    with pytest.raises(DTypeError, match="got bool"):
        SLOTS[1].seed(np.ones(4, bool), "v")
    leaves, _ = like()
    uneven = tree.unflatten(STRUCTURE, [leaves[0], *[np.stack([a, a]) for a in leaves[1:]]])
    with pytest.raises(ShapeError, match="must have the same leading seed axes"):
        check_seeds(uneven, STRUCTURE, SLOTS, "v")
