"""Writes as pure functions."""

import numpy as np

from linad.core.moving_regions import add_moving, insert_moving, read_moving, write_moving
from linad.core.regions import (
    Grid,
    Part,
    Positions,
    Window,
    insert_region,
    read_region,
    view_region,
    write_region,
)
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
X = rng.standard_normal((3, 4))
Z = X + 1j * rng.standard_normal((3, 4))
REAL_LINEAR: dict[str, bool] = {}
CORNER = Window(1, (2, 2), (4, 2), ndim=2)
ENTRY = Window(5, (), (), ndim=2)
SOME = Positions(np.array([0, 11, 4]), ndim=2)
EVERY_OTHER = Grid((0, 2), ((2, 0), (0, 1)), (2, 2))
EMPTY = Window(0, (0, 2), (4, 1), ndim=2)
COMPLEX = {"complex_": True}

CASES = [
    Case(read_region, X, region=CORNER, check=COMPLEX),
    Case(read_region, X, region=ENTRY),
    Case(read_region, X, region=SOME),
    Case(read_region, X, region=EMPTY),
    Case(read_region, X, region=EVERY_OTHER, check=COMPLEX),
    Case(read_region, Z, region=Part(CORNER, "real"), check=REAL_LINEAR),
    Case(read_region, Z, region=Part(SOME, "imag"), check=REAL_LINEAR),
    Case(view_region, X, region=CORNER, check=COMPLEX),
    Case(view_region, Z, region=Part(EVERY_OTHER, "imag"), check=REAL_LINEAR),
    Case(write_region, X, rng.standard_normal((2, 2)), region=EVERY_OTHER),
    Case(write_region, Z, rng.standard_normal((2, 2)), region=Part(CORNER, "imag")),
    Case(insert_region, rng.standard_normal(3), region=Part(SOME, "imag"), shape=(3, 4)),
    Case(write_region, X, rng.standard_normal((2, 2)), region=CORNER, check=COMPLEX),
    Case(write_region, X, np.float64(0.5), region=CORNER),
    Case(write_region, X, np.float64(0.5), region=ENTRY),
    Case(write_region, X, rng.standard_normal(3), region=SOME),
    Case(write_region, X, rng.standard_normal((0, 2)), region=EMPTY),
    Case(insert_region, rng.standard_normal((2, 2)), region=CORNER, shape=(3, 4), check=COMPLEX),
    Case(insert_region, np.float64(0.5), region=ENTRY, shape=(3, 4)),
    Case(insert_region, rng.standard_normal(3), region=SOME, shape=(3, 4)),
    Case(read_moving, X, np.int64(3), region=CORNER),
    Case(read_moving, X, np.int64(-5), region=ENTRY),
    Case(read_moving, Z, np.int64(2), region=Part(CORNER, "imag")),
    Case(write_moving, X, rng.standard_normal((2, 2)), np.int64(3), region=CORNER),
    Case(write_moving, X, np.float64(0.5), np.int64(6), region=ENTRY),
    Case(add_moving, X, rng.standard_normal((2, 2)), np.int64(3), region=CORNER),
    Case(
        insert_moving,
        *(rng.standard_normal((2, 2)), np.int64(3)),
        region=CORNER,
        shape=(3, 4),
    ),
]
