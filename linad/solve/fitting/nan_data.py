"""Data with NaN that a likelihood reads: they make it NaN wherever it starts."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.shapes import name_of


def with_nan(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """Of the arrays that a function is given and those that it names, which hold NaN, and where:
    ``"counts at index 3"``."""
    read = {f"args[{i}]": value for i, value in enumerate(args)}
    f = inspect.unwrap(f)
    if inspect.isfunction(f):
        named = inspect.getclosurevars(f)
        read |= {**named.globals, **named.nonlocals}
    found = []
    for name, value in read.items():
        for leaf in tree.flatten(value)[0] if isinstance(value, list | tuple | dict) else [value]:
            if not isinstance(leaf, np.ndarray) and not hasattr(leaf, "iloc"):
                continue
            array = np.asarray(leaf)
            if array.dtype.kind == "f" and (bad := np.argwhere(np.isnan(array))).size:
                first = bad[0].tolist()
                found.append(f"{name} at index {first[0] if len(first) == 1 else tuple(first)}")
    return found


def words_of_nan(f: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """That data which a function reads hold NaN, and what to do; "" where none do."""
    found = with_nan(f, args)
    if not found:
        return ""
    return (
        f"data that {name_of(f)} reads hold NaN, {' and '.join(found)}: leave such points out, "
        f"or np.nansum adds up the terms without them"
    )
