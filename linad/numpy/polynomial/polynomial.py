"""numpy.polynomial.polynomial, traced: power series.

See `linad.numpy.polynomial.rebinding`.
"""

from typing import Any

from numpy.polynomial import polynomial

from linad.core.mirrored_names import mirrored_names
from linad.numpy.polynomial.classes import traced_class
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(polynomial))

Polynomial: Any = traced_class(polynomial.Polynomial, globals())


__getattr__, __dir__ = mirrored_names(polynomial)
