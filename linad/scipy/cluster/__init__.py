"""scipy.cluster, traced."""

import importlib
from typing import Any

import scipy.cluster

from linad.core.frames import public_names


def __getattr__(name: str) -> Any:
    if name == "vq":
        return importlib.import_module(f"{__name__}.vq")
    return getattr(scipy.cluster, name)


def __dir__() -> list[str]:
    return public_names(scipy.cluster)
