"""Reductions of Bottleneck, in C, as NumPy's: it has the names of NumPy, and no derivative."""

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.conversions import held
from linad.core.array_type import Array

_NAMES = (
    *("nansum", "nanmean", "nanstd", "nanvar", "nanmin", "nanmax", "nanmedian", "median"),
    *("nanargmin", "nanargmax"),
)


def reductions(bottleneck: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """The forms of Bottleneck's functions that NumPy has as well, by name."""
    return {name: _form(getattr(bottleneck, name), getattr(np, name)) for name in _NAMES}


def _form(original: Callable[..., Any], of_numpy: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def form(a: Array, *args: Any, **kwargs: Any) -> Any:
        if not held((a,)):
            return original(a, *args, **kwargs)
        spread = dict(zip(("axis", "ddof"), args, strict=False)) | kwargs
        return of_numpy(a, **spread)

    return form
