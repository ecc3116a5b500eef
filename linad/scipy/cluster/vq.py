"""scipy.cluster.vq, traced where no codes are looked up."""

from typing import Any

import scipy.cluster.vq

from linad.core.frames import public_names
from linad.scipy.twinforms import form_by_twin

TWINS = ("whiten",)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


def __getattr__(name: str) -> Any:
    theirs = getattr(scipy.cluster.vq, name)
    return form_by_twin(theirs) if name in TWINS else theirs


def __dir__() -> list[str]:
    return public_names(scipy.cluster.vq)
