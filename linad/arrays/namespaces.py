"""The namespace of the array API standard that a traced value belongs to.

`linad.numpy` for those who ask the value. array_api_compat's ``array_namespace(x, y)`` wants one
namespace of all its arguments, and a plain array beside a traced one has array_api_compat's own:
its functions are NumPy's, which find the traced argument by themselves.
"""

import importlib
from types import FrameType
from typing import Any

import numpy as np

from linad.core.dispatch import NAMESPACE

_HELPERS = ".common._helpers"


def namespace_for(frame: FrameType) -> Any:
    """The namespace for whoever asks: the frame that calls ``x.__array_namespace__()``.

    array_api_compat may be a part of another package (``scipy._external.array_api_compat``).
    """
    asking = frame.f_globals.get("__name__") or ""
    if asking.endswith(f"array_api_compat{_HELPERS}"):
        beside = frame.f_locals.get("xs", ())
        if any([isinstance(x, (np.ndarray, np.generic)) for x in beside]):
            if frame.f_locals.get("use_compat") is False:
                return np
            return importlib.import_module(f"{asking.removesuffix(_HELPERS)}.numpy")
    return NAMESPACE[0]
