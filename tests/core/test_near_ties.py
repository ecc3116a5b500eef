"""Margins of decisions, and whether they are those of a search."""

import numpy as np
import pytest

from linad.core.near_ties import WINDOW, NearTies, are_of_a_search, are_of_a_zoom

RNG = np.random.default_rng(7)


def bisected(root, steps):
    low, high, margins = 0.0, 1.0, []
    for _ in range(steps):
        middle = 0.5 * (low + high)
        margins.append(middle - root)
        low, high = (low, middle) if middle > root else (middle, high)
    return np.array(margins)


def test_margins_of_bisections():
    found = [are_of_a_search(bisected(root, 24)) for root in RNG.uniform(0, 1, 200)]
    assert np.mean(found) > 0.97  # the others stay on one side for long
    assert all(are_of_a_search(bisected(root, 50)) for root in RNG.uniform(0, 1, 200))


@pytest.mark.parametrize("others", [1, 2, 3])
def test_among_other_decisions(others):
    margins = RNG.standard_normal((40, others + 1))
    margins[:, 0] = 3.0 * bisected(0.613, 40)
    assert are_of_a_search(margins.ravel())


def test_numbers_in_no_order():
    for draw in (RNG.standard_normal, RNG.standard_cauchy):
        assert np.mean([are_of_a_search(draw(WINDOW)) for _ in range(500)]) < 0.02


@pytest.mark.parametrize("others", [0, 1, 2])
def test_roots_at_simple_parts_of_an_interval(others):
    margins = RNG.standard_normal((40, others + 1))
    for root in (0.0, 0.25, 0.5, 0.75, 1.0):
        margins[:, 0] = np.sin(bisected(root, 40))
        assert are_of_a_search(margins.ravel())


@pytest.mark.parametrize(
    "margins",
    [
        0.6 ** np.arange(60.0),  # down to a tolerance, from one side
        np.append(0.1 ** np.arange(20.0), -1e-21),  # and then below it
        np.zeros(50),
        np.full(50, np.nan),
        np.full(50, np.inf),
        np.arange(-25.0, 25.0),
        np.zeros(0),
    ],
)
def test_margins_of_no_search(margins):
    assert not are_of_a_search(margins)


@pytest.mark.parametrize("size", [2, 101])
def test_a_search_that_counts(size):
    x = RNG.uniform(0, 1, size)
    for order in (1, -1):
        ties, low, high = NearTies(), 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            ties.note((x, np.float64(middle))[::order])
            low, high = (low, middle) if np.sum(x < middle) > size // 2 else (middle, high)
        assert ties.look()


def test_spreads_of_grids_ever_finer():
    others = RNG.uniform(0.5, 2.0, 12)
    finer = 3.0 * 0.02 ** np.arange(12.0)
    assert are_of_a_zoom(finer[:4])
    assert are_of_a_zoom(np.stack([others, finer], axis=1).ravel())
    for spreads in (others, finer[:2], 0.9 ** np.arange(200.0), np.zeros(9), finer[::-1]):
        assert not are_of_a_zoom(spreads)


def test_a_search_is_remembered():
    ties = NearTies()
    for margin in [*bisected(0.613, 40), *np.ones(3 * WINDOW)]:
        ties.note((np.float64(margin), 0.0))
    assert ties.look()
    assert len(ties.margins) <= WINDOW


def test_what_has_no_margin():
    ties = NearTies()
    for operands in [
        (np.zeros(0), 1.0),
        (np.ones(3) * 1j, 1.0),
        (np.array(["a"]), np.array(["b"])),
        (10**400, 1.5),
    ]:
        ties.note(operands)
    ties.note((np.array([True, False]), np.array([True, True])))
    ties.note((np.array([-2.0]),))
    assert list(ties.margins) == [-1.0, -2.0]
    ties.note((np.array([np.nan, np.inf, 1.0]), np.inf))
    assert len(ties.margins) == 3  # without warnings
