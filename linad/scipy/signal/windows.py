"""scipy.signal.windows, traced in the parameters of the windows."""

import scipy.signal.windows

from linad.core.mirrored_names import mirrored_names
from linad.scipy.twinforms import twins_among

TWINS = (
    *("chebwin", "dpss", "exponential", "gaussian", "general_cosine", "general_gaussian"),
    *("general_hamming", "get_window", "kaiser", "kaiser_bessel_derived", "taylor", "tukey"),
)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(
    scipy.signal.windows, twins_among(scipy.signal.windows, TWINS)
)
