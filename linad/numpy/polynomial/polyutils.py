"""numpy.polynomial.polyutils, traced. See `linad.numpy.polynomial.rebinding`."""

from typing import Any

from numpy.polynomial import polyutils

from linad.core.frames import public_names
from linad.numpy.polynomial.rebinding import traced_functions

globals().update(traced_functions(polyutils))


def __getattr__(name: str) -> Any:
    return getattr(polyutils, name)


def __dir__() -> list[str]:
    return public_names(polyutils)
