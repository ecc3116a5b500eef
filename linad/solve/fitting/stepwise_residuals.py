"""Parameters on which residuals depend by steps alone.

The edge of a box, the number of a term, what is rounded: the derivative is zero wherever there is
one, and no fit moves such a parameter. A parameter without any effect has the same derivative, and
so has one where a model is out of reach. Going some way tells them apart: the residuals are others
there, and the derivative is still zero.
"""

from typing import Any

import numpy as np

from linad.api.derivatives import jvp
from linad.core import tree
from linad.solve.problems import quiet

FACTORS = (0.9, 1.1, 0.7, 1.5, 0.5, 2.0)
"""What a parameter is multiplied by to see whether anything changes."""


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
            _, change = jvp(fit.solve.residual, (container(x),), (container(direction),))
            return not tree.vector(change).any()
    return False
