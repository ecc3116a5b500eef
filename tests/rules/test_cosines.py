"""Cosine and sine transforms."""

import numpy as np

from linad.rules.cosines import cosines_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)

CASES = [
    Case(cosines_, rng.standard_normal((3, 2)), kind=kind, type=type_, axis=-2)
    for kind in ("dct", "dst")
    for type_ in (1, 2, 3, 4)
]
CASES.append(
    Case(cosines_, rng.standard_normal(5), kind="dct", type=1, axis=-1, check={"complex_": True})
)
