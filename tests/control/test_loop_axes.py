"""Loops in each other, found in the numbers that their repetitions name entries with."""

import itertools

import numpy as np
import pytest

from linad.control.loop_axes import axes_of, steps_along


def counter(lengths, steps, first=0):
    places = itertools.product(*map(range, lengths))
    return np.array([first + sum(i * s for i, s in zip(p, steps, strict=True)) for p in places])


@pytest.mark.parametrize(
    "lengths, steps",
    [
        ((3, 4), (10, 1)),
        ((3, 4), (1, 3)),
        ((2, 3, 5), (100, 10, 1)),
        ((4, 2), (0, 1)),
        ((6,), (2,)),
    ],
)
def test_loops_in_each_other(lengths, steps):
    numbers = counter(lengths, steps, first=7)
    assert axes_of([numbers], len(numbers)) == lengths
    assert steps_along(numbers.reshape(lengths)) == steps


def test_several_counters_together():
    inner, outer = np.tile(np.arange(4), 6), np.repeat(np.arange(6), 4)
    assert axes_of([inner, outer], 24) == (6, 4)
    assert axes_of([np.tile(np.arange(8), 3), np.tile(np.arange(4), 6)], 24) == (3, 2, 4)
    assert axes_of([np.tile(np.arange(6), 4), np.tile(np.arange(4), 6)], 24) == (24,)  # neither


@pytest.mark.parametrize("numbers", [[0, 1, 3, 4, 6, 8], [0, 1, 2, 0, 1], [1, 1, 2, 3]])
def test_no_loops(numbers):
    assert axes_of([np.array(numbers)], len(numbers)) == (len(numbers),)
    assert steps_along(np.array(numbers)) is None
    assert axes_of([np.linspace(0, 1, 6)], 6) == (6,)
