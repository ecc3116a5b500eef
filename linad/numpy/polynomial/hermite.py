"""numpy.polynomial.hermite, traced: Hermite series, as physicists have them.

See `linad.numpy.polynomial.rebinding`.
"""

from typing import Any

from numpy.polynomial import hermite

from linad.core.frames import public_names
from linad.numpy.polynomial.classes import traced_class
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(hermite))

Hermite: Any = traced_class(hermite.Hermite, globals())


def __getattr__(name: str) -> Any:
    return getattr(hermite, name)


def __dir__() -> list[str]:
    return public_names(hermite)
