"""scipy.cluster.vq, traced."""

import scipy.cluster.vq

from linad.core.mirrored_names import mirrored_names
from linad.scipy.codebooks import kmeans as kmeans, kmeans2 as kmeans2, vq as vq
from linad.scipy.twinforms import twins_among

TWINS = ("whiten",)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(scipy.cluster.vq, twins_among(scipy.cluster.vq, TWINS))
