"""numpy.polynomial.polyutils, traced. See `linad.numpy.polynomial.rebinding`."""

from numpy.polynomial import polyutils

from linad.core.mirrored_names import mirrored_names
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(polyutils))


__getattr__, __dir__ = mirrored_names(polyutils)
