"""Pictures of patterns: a square for each entry, or for each group of them."""

import re

import numpy as np

import linad
from linad.linalg.sparsity.picture import CELLS, html, svg
from linad.operators.relations import Relation


def squares(text):
    return {(int(y), int(x)) for x, y in re.findall(r'<rect x="(\d+)" y="(\d+)"', text)}


def test_each_entry_is_a_square():
    pattern = Relation.of_pairs(np.array([0, 2, 2]), np.array([1, 0, 3]), (3, 4))
    assert squares(svg(pattern)) == {(0, 1), (2, 0), (2, 3)}
    assert squares(svg(Relation.of_pairs(np.zeros(0, int), np.zeros(0, int), (0, 0)))) == set()


def test_large_patterns_are_shown_in_cells():
    n = 10 * CELLS
    text = svg(Relation.of_pairs(np.arange(n), np.arange(n), (n, n)))
    assert squares(text) == {(k, k) for k in range(CELLS)}


def test_captions():
    J = linad.linearize(np.diff, np.arange(4.0))[1]
    assert html(J).endswith("<br>6 entries, 50 %</div>")
    n = 3000
    large = linad.linearize(lambda x: np.cumsum(np.sin(np.cumsum(x))), np.ones(n))[1]
    assert html(large).startswith("<code>")
    assert "svg" not in html(large)
