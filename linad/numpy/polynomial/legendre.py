"""numpy.polynomial.legendre, traced: Legendre series.

See `linad.numpy.polynomial.rebinding`.
"""

from typing import Any

from numpy.polynomial import legendre

from linad.core.mirrored_names import mirrored_names
from linad.numpy.polynomial.classes import traced_class
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(legendre))

Legendre: Any = traced_class(legendre.Legendre, globals())


__getattr__, __dir__ = mirrored_names(legendre)
