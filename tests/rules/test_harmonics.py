"""Legendre functions on the sphere: the rule against differences, by the sweep over all rules."""

import numpy as np

from linad.rules.harmonics import sph_legendre_p
from linad.testing.rule_checks import Case

THETA = np.array([0.3, 1.2, 2.9])

CASES = [
    Case(sph_legendre_p, 3, 1, THETA),
    Case(sph_legendre_p, np.array([[0], [2], [4]]), np.array([[0], [-2], [3]]), THETA),
    Case(sph_legendre_p, np.array([[2], [3]]), np.array([[1], [-3]]), np.array([-2.0, 4.1, 8.0])),
]
