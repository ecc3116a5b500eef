"""scipy.spatial with traced values: distances and rotations."""

import importlib
from typing import Any

import scipy.spatial

from linad.core.frames import public_names

_ROOMS = ("distance", "transform")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(scipy.spatial, name)


def __dir__() -> list[str]:
    return public_names(scipy.spatial)
