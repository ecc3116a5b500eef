"""numpy.polynomial.hermite_e, traced: Hermite series, as probabilists have them.

See `linad.numpy.polynomial.rebinding`.
"""

from typing import Any

from numpy.polynomial import hermite_e

from linad.core.mirrored_names import mirrored_names
from linad.numpy.polynomial.classes import traced_class
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(hermite_e))

HermiteE: Any = traced_class(hermite_e.HermiteE, globals())


__getattr__, __dir__ = mirrored_names(hermite_e)
