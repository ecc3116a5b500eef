import itertools

import numpy as np
import pytest

from linad.errors import ShardError
from linad.shards.summation import merged, total, united


def leaves(values):
    return {(0, k): np.asarray(v) for k, v in enumerate(values)}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 31, 100])
def test_the_order_of_a_sum_depends_on_nothing_but_the_number_of_terms(count):
    rng = np.random.default_rng(count)
    values = rng.standard_normal(count) * 10.0 ** rng.integers(-8, 8, count)
    terms = leaves(values)
    whole = total(merged(terms, count, "F"), count)
    assert np.isclose(whole, np.sum(values), rtol=1e-12, atol=1e-12 * np.abs(values).max())
    for _ in range(5):
        groups = rng.integers(0, 4, count)
        parts = [
            merged({node: v for node, v in terms.items() if groups[node[1]] == g}, count, "F")
            for g in range(4)
        ]
        for order in itertools.islice(itertools.permutations(parts), 0, 24, 7):
            assert total(united(order, count, "F"), count) == whole


def test_a_run_of_terms_becomes_few_sums():
    assert len(merged(dict(list(leaves(range(100)).items())[3:90]), 100, "F")) <= 12


def test_terms_of_other_shapes_are_refused():
    with pytest.raises(
        ShardError, match=r"shape \(2,\) for shards 0 to 1 and \(1,\) for shard 2"
    ) as e:
        merged(leaves([np.ones(2), np.ones(2), np.ones(1)]), 3, "F")
    assert e.value.shard == 2
