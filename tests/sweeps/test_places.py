"""Arrays inside a buffer: whether two of them have a byte in common."""

import numpy as np
import pytest

from linad.sweeps.places import Buffer, Place

SIDE = 8
BUFFER = Buffer("arena", SIDE * SIDE * 8)


def place(index, dtype=np.float64, shape=(SIDE, SIDE)):
    """What an index takes of a square matrix."""
    memory = np.empty(shape, dtype)
    part = memory[index]
    offset = part.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    return Place(BUFFER, offset, part.shape, part.strides, part.dtype)


def bytes_of(p):
    starts = p.offset + np.add.outer(
        sum(np.ix_(*[s * np.arange(n) for n, s in zip(p.shape, p.strides, strict=True)])),
        np.arange(p.dtype.itemsize),
    )
    return set(starts.ravel().tolist())


FIRST, LAST, INNER = slice(None, 1), slice(-1, None), slice(1, -1)


@pytest.mark.parametrize(
    "one, other",
    [
        ((INNER, FIRST), (INNER, LAST)),
        ((INNER, INNER), (INNER, LAST)),
        ((INNER, INNER), (FIRST, INNER)),
        ((slice(None), slice(0, 3)), (slice(None), slice(3, 8))),
        ((slice(0, 8, 2),), (slice(1, 8, 2),)),
        ((3, slice(0, 4)), (3, slice(4, 8))),
    ],
)
def test_apart(one, other):
    a, b = place(one), place(other)
    assert not a.overlaps(b)
    assert not b.overlaps(a)
    assert a.overlaps(place((slice(None),)))
    assert a.overlaps(a)


def test_other_buffers():
    other = Place(Buffer("arena", 64), 0, (8,), (8,), np.dtype(float))
    assert not place((0,)).overlaps(other)


def test_random_windows():
    """No common byte is overlooked, and of windows with steps of one none is made up."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(1500):
        places, plain = [], True
        for _ in range(2):
            dtype, shape = [
                (np.float64, (SIDE, SIDE)),
                (np.float64, (2, 4, SIDE)),
                (np.float32, (SIDE, 2 * SIDE)),
            ][rng.choice(3, p=[0.6, 0.2, 0.2])]
            index = []
            for n in shape:
                start = int(rng.integers(n))
                step = int(rng.choice([1, 1, 1, 2, -1], p=[0.3, 0.3, 0.3, 0.07, 0.03]))
                stop = None if step < 0 else int(rng.integers(start + 1, n + 1))
                index.append(slice(start, stop, step))
                plain = plain and step == 1
            plain = plain and shape == (SIDE, SIDE)
            places.append(place(tuple(index), dtype, shape))
        a, b = places
        common = bool(bytes_of(a) & bytes_of(b))
        assert not common or (a.overlaps(b) and b.overlaps(a))
        if plain:
            found += not common
            assert a.overlaps(b) == common
    assert found > 100
