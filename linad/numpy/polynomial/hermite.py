"""numpy.polynomial.hermite, traced: Hermite series, as physicists have them.

See `linad.numpy.polynomial.rebinding`.
"""

from typing import Any

from numpy.polynomial import hermite

from linad.core.mirrored_names import mirrored_names
from linad.numpy.polynomial.classes import traced_class
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(hermite))

Hermite: Any = traced_class(hermite.Hermite, globals())


__getattr__, __dir__ = mirrored_names(hermite)
