"""numpy.polynomial.chebyshev, traced: Chebyshev series.

See `linad.numpy.polynomial.rebinding`.
"""

from typing import Any

from numpy.polynomial import chebyshev

from linad.core.mirrored_names import mirrored_names
from linad.numpy.polynomial.classes import traced_class
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(chebyshev))

Chebyshev: Any = traced_class(chebyshev.Chebyshev, globals())


__getattr__, __dir__ = mirrored_names(chebyshev)
