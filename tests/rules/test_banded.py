"""Banded systems."""

import numpy as np

from linad.rules.banded import solve_banded_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)


def bands(lower, upper, n):
    ab = rng.standard_normal((lower + upper + 1, n))
    ab[upper] += 4
    return ab


CASES = [
    Case(
        solve_banded_,
        bands(1, 1, 4),
        rng.standard_normal((4, 2)),
        l_and_u=(1, 1),
        check={"complex_": True},
    ),
    Case(solve_banded_, bands(2, 1, 4), rng.standard_normal((4, 1)), l_and_u=(2, 1)),
    Case(solve_banded_, bands(0, 1, 3), rng.standard_normal((3, 1)), l_and_u=(0, 1)),
    Case(solve_banded_, bands(0, 0, 2), rng.standard_normal((2, 0)), l_and_u=(0, 0)),
]
