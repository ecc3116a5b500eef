"""Data whose last digits are changed, by which what is rounding can be told from what is small.

A number that is computed from data known to their last digits is known as far as it stays the same
when those change. One that becomes another one, sin(2π t) for t in whole years, is their error.

Source: the idea of stochastic arithmetic, J. Vignes, "A stochastic arithmetic for reliable
scientific computation", 1993, with what is given in place of each operation.
"""

import types
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.frames import names_in
from linad.core.installed import is_installed

DEEP = 3
"""How far functions are followed that name each other."""


def shaken_numbers(values: Array, whole: bool = False) -> Any:
    """Numbers, each of them by an eps up or down; integers too, as floats, if ``whole``."""
    values = np.asarray(values)
    if whole and values.dtype.kind in "iu":
        values = values.astype(float)
    if values.dtype.kind not in "fc":
        return values
    signs = np.random.default_rng(0).choice([-1.0, 1.0], values.shape).astype(values.real.dtype)
    return values * (1 + np.finfo(values.dtype).eps * signs)


def shaken_data(data: Any, whole: bool) -> Any:
    """Plain arrays, columns and tables of pandas' kind with their last digits changed, in
    containers too; whole numbers may be labels by which a function indexes."""
    if type(data) is dict:
        return {key: shaken_data(part, whole) for key, part in data.items()}
    if type(data) in (list, tuple):
        return type(data)([shaken_data(part, whole) for part in data])
    if type(data) is np.ndarray:
        return shaken_numbers(data, whole)
    if hasattr(data, "columns") and hasattr(data, "isetitem"):
        held = data.copy()
        for i in range(data.shape[1]):
            held.isetitem(i, shaken_data(data.iloc[:, i], whole))
        return held
    if hasattr(data, "iloc") and isinstance(data.dtype, np.dtype):
        return type(data)(shaken_numbers(data.to_numpy(), whole), data.index, name=data.name)
    return data


def shaken_function(f: Any, whole: bool, deep: int = DEEP) -> Any:
    """A function with its data changed so: by a method of its own, or where a plain function, or
    one of the user's that it names, names arrays from outside."""
    if hasattr(f, "shaken"):
        return f.shaken(whole)
    if not isinstance(f, types.FunctionType):
        return f

    def held(value: Any) -> Any:
        if not isinstance(value, types.FunctionType):
            return shaken_data(value, whole)
        if not deep or is_installed(value.__code__.co_filename):
            return value
        return shaken_function(value, whole, deep - 1)

    named = {k: f.__globals__[k] for k in names_in(f.__code__) if k in f.__globals__}
    space = {**f.__globals__, **{k: held(v) for k, v in named.items()}}
    cells = [types.CellType(held(c.cell_contents)) for c in f.__closure__ or ()]
    shaken = types.FunctionType(f.__code__, space, f.__name__, f.__defaults__, tuple(cells))
    shaken.__kwdefaults__ = f.__kwdefaults__
    return shaken
