"""scipy.signal.windows, traced in the parameters of the windows."""

from typing import Any

import scipy.signal.windows

from linad.core.frames import public_names
from linad.scipy.twinforms import form_by_twin

TWINS = (
    *("chebwin", "dpss", "exponential", "gaussian", "general_cosine", "general_gaussian"),
    *("general_hamming", "get_window", "kaiser", "kaiser_bessel_derived", "taylor", "tukey"),
)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


def __getattr__(name: str) -> Any:
    theirs = getattr(scipy.signal.windows, name)
    return form_by_twin(theirs) if name in TWINS else theirs


def __dir__() -> list[str]:
    return public_names(scipy.signal.windows)
