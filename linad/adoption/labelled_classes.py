"""The classes of pandas as adopted code names them: what makes objects, and what it finds there.

    pd.DataFrame(data)              of values that may be traced
    pd.DataFrame.from_dict(data)    pandas's own, which makes such
    pd.Series.mean(s)               the method of what it is given
"""

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.errors import UnsupportedError


class FormOfClass:
    """What stands for a class of pandas where adopted code calls it, or a function of it.

    Parameters
    ----------
    original : type
    make : callable
        Called in place of it.
    traced : type
        What it makes of traced values.
    """

    def __init__(self, original: type, make: Callable[..., Any], traced: type) -> None:
        self._original, self._make, self._traced = original, make, traced
        functools.update_wrapper(self, make)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._make(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._original, name)
        if isinstance(found, types.MethodType) and name in _MAKERS:
            return functools.partial(found.__func__, self)
        if isinstance(found, types.FunctionType):
            return self._of_object(found)
        return found

    def _of_object(self, method: types.FunctionType) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(x: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(x, self._traced):
                return getattr(x, method.__name__)(*args, **kwargs)
            return method(x, *args, **kwargs)

        return call


_MAKERS = ("from_dict",)
"""Functions of the classes that end in a call of the class."""


# Rows by their labels.


def columns_of(rows: Sequence[Any], labels: Any) -> dict[Any, list[Any]]:
    """The columns of rows that are dicts or Series; NaN where a row has no entry of that label.

    Labels that are not given are those of all rows, in the order in which they appear.
    """
    for row in rows:
        if not isinstance(row, dict) and not row.index.is_unique:
            raise UnsupportedError(
                "DataFrame: rows that are Series around traced values, in which a label stands "
                "twice, are not traced by linad; make the frame of an array"
            )
    parts = [dict(row.items()) for row in rows]
    found = dict.fromkeys(key for part in parts for key in part)
    return {
        label: [part.get(label, np.nan) for part in parts]
        for label in (found if labels is None else labels)
    }


def names_of(rows: Sequence[Any]) -> list[Any] | None:
    """The labels of rows that are Series, of which one has a name, as pandas makes them."""
    names = [getattr(row, "name", None) for row in rows]
    if all(name is None for name in names):
        return None
    unnamed = iter(range(len(names)))
    return [f"Unnamed {next(unnamed)}" if name is None else name for name in names]
