"""Weights that are not finite, and entries that nobody reads: every operator that names some."""

import numpy as np
import pytest
from linalg.sparsity.test_operator_patterns import DENSE_IN_LANES, STRUCTURAL
from operator_zoo import every_class, everything

from linad.operators.facts import Facts
from linad.operators.unread_weights import UnreadWeights, have_infinite_weights, reweighted

EXAMPLES = {
    **STRUCTURAL,
    **DENSE_IN_LANES,
    **everything(np.dtype(float), np.random.default_rng(0)),
    **{f"{k} ": v for k, v in everything(np.dtype(complex), np.random.default_rng(0)).items()},
}
WEIGHTED = {name: op for name, op in EXAMPLES.items() if op.weighted_by}


def test_every_class_that_names_weights_has_an_example():
    named = {kind for kind in every_class() if vars(kind).get("weighted_by")} - {Facts}
    assert named == {type(op) for op in WEIGHTED.values()}


def changed(op, k, value):
    """The operator with a number in the place of the k-th of its first weights, and ones."""
    seen = []

    def change(w):
        seen.append(w)
        w = np.ones_like(w) if value is None or value == 0 else np.array(w)
        if len(seen) == 1 and value is not None:
            w.flat[k % w.size] = value
        return w

    return reweighted(op, change)


@pytest.mark.parametrize("name", WEIGHTED)
def test_zeros_that_nobody_reads_stay(name):
    """Where the rows that hold NaN are left out, what is left is what the finite rows give."""
    op, rng = WEIGHTED[name], np.random.default_rng(1)
    for k in (0, 1, 7):
        broken = changed(op, k, np.nan)
        assert have_infinite_weights(broken)
        hole = abs(changed(op, k, None).todense() - changed(op, k, 0).todense()) > 0.5
        read = ~hole.any(axis=1).reshape(op.out_shape)
        cotangent = np.where(read, rng.standard_normal(op.out_shape), 0).astype(op.out_dtype)
        found = UnreadWeights(broken, read).pullback(cotangent)
        np.testing.assert_allclose(found, op.pullback(cotangent), rtol=1e-5, atol=1e-6)
        with np.errstate(all="ignore"):
            spoilt = UnreadWeights(broken, np.ones(op.out_shape, bool)).pullback(cotangent)
        np.testing.assert_array_equal(np.isnan(spoilt), hole.any(axis=0).reshape(op.in_shape))


@pytest.mark.parametrize("name", EXAMPLES)
def test_entries_that_a_mask_reads(name):
    """Those of the rows of the pattern that the mask names, of the operator and its adjoint."""
    rng = np.random.default_rng(2)
    for op in [op for op in (EXAMPLES[name], EXAMPLES[name].H) if op.clinear]:
        pattern = abs(op.todense()) > 0
        for part in (0.0, 0.3, 1.0):
            mask = rng.random(op.out_shape) < part
            found = op.entries_read(mask)
            reached = pattern[mask.ravel()].any(axis=0).reshape(op.in_shape)
            assert found.shape == op.in_shape
            assert not (reached & ~found).any()
            if not mask.any():
                assert not found.any()
            if name in STRUCTURAL:
                np.testing.assert_array_equal(found, reached)
