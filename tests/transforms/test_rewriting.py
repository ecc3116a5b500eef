"""What rewrites look at: numbers in arrays, keys of values and parameters."""

import numpy as np
import pytest

import linad
from linad.core.tape import Var
from linad.transforms.rewriting import number_of, params_key, standing_for, value_key

V, W, U = (Var(k, (2,), np.dtype(float)) for k in range(3))


@pytest.mark.parametrize(
    "a, number",
    [
        (2, 2),
        (np.full((2, 3), 1.5), 1.5),
        (np.broadcast_to(np.float32(2), (5,)), 2.0),
        (np.array([0.0, -0.0]), None),
        (np.array([-0.0, -0.0]), -0.0),
        (np.array([1.0, 2.0, 1.0]), None),
        (np.array([np.nan, np.nan]), None),
        (np.zeros(0), None),
        (np.array(["a"]), None),
        (V, None),
    ],
)
def test_numbers(a, number):
    found = number_of(a)
    if number is None:
        assert found is None
    else:
        assert found == number
        assert np.signbit(found) == np.signbit(number)


def test_what_stands_in_the_end():
    assert standing_for(V, {V: W, W: U}) is U
    assert standing_for(V, {V: 2.0}) == 2.0
    assert standing_for(3.0, {V: W}) == 3.0


def test_keys():
    small, large = np.arange(3.0), np.arange(100.0)
    assert value_key(small) == value_key(small.copy())
    assert value_key(large) != value_key(large.copy())  # not looked at
    assert value_key(0.0) != value_key(-0.0)
    assert value_key(1) != value_key(1.0)
    assert value_key(V) is V
    a, b = ({"index": (slice(1, None), small.copy()), "axes": (0,)} for _ in range(2))
    assert hash(params_key(a)) == hash(params_key(b))
    assert params_key(a) == params_key(b)
    with pytest.raises(TypeError):
        hash(params_key({"p": []}))


def test_keys_tell_zeros_of_two_signs_apart():
    assert params_key({"fill": 0.0}) != params_key({"fill": -0.0})
    assert params_key({"fill": (1j, np.nan)}) == params_key({"fill": (1j, np.nan)})
    x = np.ones(1)
    jitted = linad.jit(lambda x: [np.pad(x, 1, constant_values=zero) for zero in (0.0, -0.0)])
    for _ in range(3):
        assert [np.signbit(y[0]) for y in jitted(x)] == [False, True]
