"""scipy.spatial with traced values: distances, nearest neighbours, rotations."""

import importlib
from typing import Any

import scipy.spatial

from linad.core.frames import public_names
from linad.scipy.spatial.trees import KDTree as KDTree, cKDTree as cKDTree
from linad.scipy.twinforms import form_by_twin

_ROOMS = ("distance", "transform")

TWINS = (
    *("Rectangle", "distance_matrix", "geometric_slerp", "minkowski_distance"),
    *("minkowski_distance_p", "procrustes"),
)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    theirs = getattr(scipy.spatial, name)
    return form_by_twin(theirs) if name in TWINS else theirs


def __dir__() -> list[str]:
    return public_names(scipy.spatial)
