"""numpy.polynomial.legendre, traced: Legendre series.

See `linad.numpy.polynomial.rebinding`.
"""

from typing import Any

from numpy.polynomial import legendre

from linad.core.frames import public_names
from linad.numpy.polynomial.classes import traced_class
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(legendre))

Legendre: Any = traced_class(legendre.Legendre, globals())


def __getattr__(name: str) -> Any:
    return getattr(legendre, name)


def __dir__() -> list[str]:
    return public_names(legendre)
