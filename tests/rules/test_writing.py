"""Writes as pure functions."""

import numpy as np

from linad.buffers import Positions, Window, insert_region, read_region, write_region
from linad.testing import Case

rng = np.random.default_rng(0)
X = rng.standard_normal((3, 4))
CORNER = Window(1, (2, 2), (4, 2), ndim=2)
ENTRY = Window(5, (), (), ndim=2)
SOME = Positions(np.array([0, 11, 4]), ndim=2)
EMPTY = Window(0, (0, 2), (4, 1), ndim=2)
COMPLEX = {"complex_": True}

CASES = [
    Case(read_region, X, region=CORNER, check=COMPLEX),
    Case(read_region, X, region=ENTRY),
    Case(read_region, X, region=SOME),
    Case(read_region, X, region=EMPTY),
    Case(write_region, X, rng.standard_normal((2, 2)), region=CORNER, check=COMPLEX),
    Case(write_region, X, np.float64(0.5), region=CORNER),
    Case(write_region, X, np.float64(0.5), region=ENTRY),
    Case(write_region, X, rng.standard_normal(3), region=SOME),
    Case(write_region, X, rng.standard_normal((0, 2)), region=EMPTY),
    Case(insert_region, rng.standard_normal((2, 2)), region=CORNER, shape=(3, 4), check=COMPLEX),
    Case(insert_region, np.float64(0.5), region=ENTRY, shape=(3, 4)),
    Case(insert_region, rng.standard_normal(3), region=SOME, shape=(3, 4)),
]
