"""scipy.constants with conversions of traced values."""

import scipy.constants

from linad.core.mirrored_names import mirrored_names
from linad.scipy.twinforms import twins_among

TWINS = ("convert_temperature", "lambda2nu", "nu2lambda")
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


__getattr__, __dir__ = mirrored_names(scipy.constants, twins_among(scipy.constants, TWINS))
