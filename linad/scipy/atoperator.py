"""``at(x, index).set(v)``: SciPy's writing into arrays, for traced ones and for single numbers."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import linad.numpy as traced_numpy
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.rules.creation import asarray
from linad.rules.shaping import astype


class at:
    """As ``array_api_extra.at`` of arrays that can be written into; numbers are made anew.

    Parameters
    ----------
    x : array or number
    index : index or array of bool, optional
        May be given as ``at(x)[index]`` as well.
    """

    def __init__(self, x: Array, index: Array = ..., /) -> None:
        self._x, self._index = x, index

    def __getitem__(self, index: Any) -> "at":
        return at(self._x, index)

    def _written(self, value: Callable[[Any], Any], copy: bool | None) -> Any:
        x, index = self._x, self._index
        if np.ndim(x) == 0:  # a number: all of it, or nothing
            x = asarray(x)
            chosen = index is ... or isinstance(index, tuple) or bool(index)
            new = astype(asarray(value(x)).reshape(()), x.dtype, copy=False) if chosen else x
            return new[()]
        new = value(x[index])
        if copy or (isinstance(new, Traced) and not isinstance(x, Traced)):
            made = traced_numpy.zeros_like(x)  # callers go on with what is returned
            made[...] = x
            x = made
        x[index] = new
        return x

    def set(self, y: Array, /, copy: Any = None, xp: Any = None) -> Any:
        """The array, with ``x[index] = y``."""
        return self._written(lambda _: y, copy)


def _operator(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def method(self: at, y: Array, /, copy: Any = None, xp: Any = None) -> Any:
        return self._written(lambda x: function(x, y), copy)

    return method


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "min": np.minimum,
    "max": np.maximum,
}
for _name, _function in _OPERATORS.items():
    setattr(at, _name, _operator(_function))
