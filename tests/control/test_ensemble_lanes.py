"""Which bodies go along an axis entry by entry."""

import numpy as np
import pytest

import linad
from linad.control.ensemble_lanes import PARTIAL, EnsembleLanes, NotInLanesError, lanes_of
from linad.sweeps.cuda.target import CUDA
from linad.transforms.simplify import simplify

Y, A, T = np.ones((2, 5)), np.eye(5), np.float64(1)


def traced(f, *args):
    return simplify(linad.trace(f, *args)[1])


def test_lanes_and_what_is_whole():
    tape = traced(lambda y, t: (np.stack([y[1], t * y[0]]), t + 1), Y, T)
    (lanes,) = lanes_of(tape, 2, CUDA)[:1]
    assert (lanes.n, lanes.inputs, lanes.outputs) == (5, [1, None], [1, None])
    assert [v.shape for v in lanes.tape.inputs] == [(2, 1), ()]
    # The other axis is exchanged.
    assert len(lanes_of(tape, 2, CUDA)) == 1


def test_a_lane_computes_what_the_body_does():
    def f(y, t):
        return np.stack([y[1] * t, np.sin(y[0])]), t + 1

    lanes = lanes_of(traced(f, Y, T), 2, CUDA)[0]
    y = np.random.default_rng(0).normal(size=Y.shape)
    for k in range(5):
        mine, clock = lanes.tape.run([y[:, k : k + 1], T])
        np.testing.assert_array_equal(mine, f(y, T)[0][:, k : k + 1])
        assert clock == 2


def test_parts_of_sums():
    lanes = lanes_of(traced(lambda s, y: s + 2 * np.sum(y * y), T, Y[0]), 1, CUDA)[0]
    assert (lanes.inputs, lanes.outputs) == ([PARTIAL, 0], [PARTIAL])


MIXED = {
    "sum": lambda y: y - np.sum(y, axis=1, keepdims=True),
    "product": lambda y: y @ A,
    "roll": lambda y: np.roll(y, 1, axis=1),
    "cumsum": lambda y: np.cumsum(y, axis=1),
    "order": lambda y: y[:, ::-1],
    "extreme": lambda y: np.maximum(y, np.max(y)),
}


@pytest.mark.parametrize("name", MIXED)
def test_lanes_that_need_each_other(name):
    tape = traced(MIXED[name], Y)
    with pytest.raises(NotInLanesError):
        EnsembleLanes(tape, 5, CUDA)


def test_a_sum_that_is_used_at_once():
    assert lanes_of(traced(lambda s, y: s * s + np.sum(y), T, Y[0]), 1, CUDA) == []


def test_tables():
    table = np.arange(5.0)
    lanes = EnsembleLanes(traced(lambda y: y * table, Y), 5, CUDA)
    assert [a is not None and a.shape for a in lanes.tables] == [(5,)]
    assert lanes.inputs == [1, 0]


def test_one_lane_is_the_whole():
    tape = traced(lambda y: y @ A, Y)
    lanes = EnsembleLanes(tape, 1, CUDA)
    assert (lanes.inputs, lanes.outputs) == ([None], [None])
