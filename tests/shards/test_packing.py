import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from linad.errors import ArgumentError
from linad.shards.packing import digest, pack


@dataclass
class Pair:
    a: Any
    b: Any


ARGS = (
    {"W": np.arange(6.0).reshape(2, 3), "b": np.float64(7.0), "k": np.arange(2)},
    2.5,
    Pair(np.ones(2, np.float32), "name"),
    [np.zeros((0, 3)), None, True],
)


def test_arguments_come_back_as_they_were():
    packed, layout = pack(ARGS, "F")
    for there in (layout, pickle.loads(pickle.dumps(layout))):
        assert there == layout
        first, number, pair, rest = there.unpack(packed)
        assert np.array_equal(first["W"], ARGS[0]["W"])
        assert first["b"] == 7.0
        assert first["k"].dtype == ARGS[0]["k"].dtype
        assert type(number) is float
        assert number == 2.5
        assert isinstance(pair, Pair)
        assert pair.b == "name"
        assert pair.a.dtype == np.float32
        assert rest[0].shape == (0, 3)
        assert rest[1:] == [None, True]


def test_one_vector_for_each_argument_and_dtype():
    packed, layout = pack(ARGS, "F")
    assert [getattr(p, "shape", p) for p in packed] == [(7,), (2,), (2,), (0,), 2.5, True]
    assert layout.vectors == (0, 0, 2, 3)


def test_one_array_is_not_copied():
    w = np.ones((2, 3))
    assert np.shares_memory(pack((w,), "F")[0][0], w)


def test_what_is_no_number_must_be_hashable():
    with pytest.raises(ArgumentError, match="argument 1 holds"):
        pack((1.0, np.array([object()])), "F")


def test_digests_tell_values_dtypes_and_shapes_apart():
    values = [np.zeros(4), np.zeros(4, np.float32), np.zeros(2), np.zeros((2, 2)), 0.0, 0, -0.0]
    assert len({digest([v]) for v in values}) == len(values)
    assert digest([np.arange(6.0)[::2]]) == digest([np.array([0.0, 2.0, 4.0])])
