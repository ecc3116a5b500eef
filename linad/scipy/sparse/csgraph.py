"""scipy.sparse.csgraph, traced: the Laplacian of weights, dense or sparse."""

import scipy.sparse.csgraph

from linad.core.mirrored_names import mirrored_names
from linad.scipy.twinforms import twins_among

TWINS = ("laplacian",)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(
    scipy.sparse.csgraph, twins_among(scipy.sparse.csgraph, TWINS)
)
