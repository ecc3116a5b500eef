"""scipy.constants with conversions of traced values."""

from typing import Any

import scipy.constants

from linad.core.frames import public_names
from linad.scipy.twinforms import form_by_twin

TWINS = ("convert_temperature", "lambda2nu", "nu2lambda")
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


def __getattr__(name: str) -> Any:
    theirs = getattr(scipy.constants, name)
    return form_by_twin(theirs) if name in TWINS else theirs


def __dir__() -> list[str]:
    return public_names(scipy.constants)
