"""numpy.polynomial.laguerre, traced: Laguerre series.

See `linad.numpy.polynomial.rebinding`.
"""

from typing import Any

from numpy.polynomial import laguerre

from linad.core.mirrored_names import mirrored_names
from linad.numpy.polynomial.classes import traced_class
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(laguerre))

Laguerre: Any = traced_class(laguerre.Laguerre, globals())


__getattr__, __dir__ = mirrored_names(laguerre)
