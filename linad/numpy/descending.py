"""Sorting in descending order, by the keyword of the array API standard."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.numpy.array_makers import asarray
from linad.numpy.nested_lists import gathered
from linad.rules.shaping import ravel


def descending_too(function: Callable[..., Any]) -> Callable[..., Any]:
    """`sort` or `argsort` with the keyword of the array API standard, which NumPy's have not."""

    @functools.wraps(function)
    def sorting(
        a: Any, axis: Any = -1, *args: Any, descending: bool = False, **keywords: Any
    ) -> Any:
        if not descending:
            return function(gathered(a), axis, *args, **keywords)
        a = asarray(a)
        if axis is None:
            a, axis = ravel(a), -1
        # Backwards, so that equal entries keep their order.
        order = np.argsort(np.flip(a, axis), axis, *args, **{"stable": True, **keywords})
        order = a.shape[axis] - 1 - np.flip(order, axis)
        return order if function.__name__ == "argsort" else np.take_along_axis(a, order, axis)

    return sorting
