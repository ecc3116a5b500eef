"""scipy.sparse.csgraph, traced: the Laplacian of a dense matrix of weights."""

from typing import Any

import scipy.sparse.csgraph

from linad.core.frames import public_names
from linad.scipy.twinforms import form_by_twin

TWINS = ("laplacian",)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


def __getattr__(name: str) -> Any:
    theirs = getattr(scipy.sparse.csgraph, name)
    return form_by_twin(theirs) if name in TWINS else theirs


def __dir__() -> list[str]:
    return public_names(scipy.sparse.csgraph)
