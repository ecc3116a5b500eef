"""Parameters on which residuals depend by steps alone.

The edge of a box, the number of a term, what is rounded: the derivative is zero wherever there is
one, and no fit moves such a parameter. A parameter without any effect has the same derivative, and
so has one where a model is out of reach. Going some way tells them apart: the residuals are others
there, and the derivative is still zero. They are others too, by less than its tolerance, where an
integrator that takes other steps is all that the parameter acts on.
"""

from typing import Any

import numpy as np

from linad.api.derivatives import jvp
from linad.core import tree
from linad.core.tolerances import watched_tolerances
from linad.solve.problems import quiet

FACTORS = (0.9, 1.1, 0.7, 1.5, 0.5, 2.0)
"""What a parameter is multiplied by to see whether anything changes."""

ACCURATE = 10.0
"""Tolerances, relative to the residuals' change with all parameters, that are no step."""


def depends_by_steps(fit: Any, i: int) -> bool:
    """Whether residuals change with a parameter whose derivatives are zero, and stay zero."""
    lower, upper = (side[i] for side in fit.bounds)
    here = fit.vector
    direction = np.zeros_like(here)
    direction[i] = 1.0
    container = fit.parameters.container
    for factor in FACTORS:
        x = here.copy()
        x[i] = np.clip(factor * here[i] if here[i] else factor - 1.0, lower, upper)
        with quiet():
            found = tree.vector(fit.solve.residual(container(x)))
            if not np.isfinite(found).all() or np.array_equal(found, tree.vector(fit.residuals)):
                continue
            with watched_tolerances() as met:
                _, change = jvp(fit.solve.residual, (container(x),), (container(direction),))
            if tree.vector(change).any():
                return False
            tolerance = max((told.value or 0.0 for told in met), default=0.0)
            if tolerance:
                _, whole = jvp(fit.solve.residual, (container(x),), (container(x),))
                moved = np.abs(found - tree.vector(fit.residuals)).max()
                if moved <= ACCURATE * tolerance * np.abs(tree.vector(whole)).max():
                    continue
            return True
    return False
