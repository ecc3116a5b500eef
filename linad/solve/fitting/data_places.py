"""xdata as a model gets it.

As in SciPy arrays are of floats, whose powers do not overflow and may be negative, and a list or a
tuple of arrays of one shape is an array. Integers stay integers, but wide ones, in a dict, and
where a model indexes by them, which floats cannot: labels of groups, ``offsets[group]``.
"""

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Set
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.errors import ArgumentError
from linad.solve.fitting.given_data import as_arrays, refuse_none
from linad.solve.fitting.tables import is_column, is_table
from linad.solve.fitting.written_data import OnCopies


def as_places(xdata: Any, labels: bool = False) -> Any:
    """xdata with floats for integers, and wide integers where it is a dict.

    Parameters
    ----------
    xdata : any
    labels : bool
        Whether integers are labels, which stay integers everywhere.

    Raises
    ------
    ArgumentError
        If it can be read once only, or holds None among numbers.
    """
    if isinstance(xdata, Iterator):
        raise ArgumentError(
            f"curve_fit: xdata is a {type(xdata).__name__}, which can be read once; give "
            f"np.array(list(xdata))"
        )
    if isinstance(xdata, Set) and not isinstance(xdata, (KeysView, ItemsView)):
        raise ArgumentError(
            f"curve_fit: xdata is a {type(xdata).__name__}, which has no order; give a list or an "
            f"array, whose entries belong to those of ydata"
        )
    refuse_none("xdata", xdata)
    return _numbers(as_arrays(xdata), np.int64 if labels else float)


def as_those_of_data(xdata: Any, given: Any) -> Any:
    """Places elsewhere in the form of those that a model was fitted at: a Series for a Series.

    Raises
    ------
    ArgumentError
        If the data have a table, and the places are an array without columns.
    """
    if isinstance(given, Mapping) and isinstance(xdata, Mapping):
        return {key: as_those_of_data(x, given.get(key)) for key, x in xdata.items()}
    if type(given) in (list, tuple) and type(xdata) is type(given) and len(xdata) == len(given):
        return type(given)(map(as_those_of_data, xdata, given))
    if hasattr(xdata, "iloc") or not isinstance(xdata, np.ndarray):
        return xdata
    if is_table(given):
        raise ArgumentError(
            f"xdata of the fit is a table of the columns {', '.join(map(str, given.columns))}, and "
            f"places elsewhere must be one with those that the model reads, got an array of shape "
            f"{xdata.shape}"
        )
    if hasattr(given, "iloc") and xdata.ndim == 1:
        return type(given)(xdata, name=given.name)
    return xdata


def has_labels(xdata: Any) -> bool:
    """Whether there is a table, or a column of one, in xdata."""
    return any(hasattr(leaf, "iloc") for leaf in tree.flatten(xdata)[0])


def without_labels(predicted: Any) -> Any:
    """Predictions with arrays for columns: their labels are of places that nobody gave."""
    leaves, structure = tree.flatten(predicted)
    bare = [leaf.to_numpy() if hasattr(leaf, "iloc") else leaf for leaf in leaves]
    return tree.unflatten(structure, bare)


def holds_integers(xdata: Any) -> bool:
    """Whether there are integers in xdata that a model gets as floats."""
    parts = xdata if type(xdata) in (list, tuple) else [xdata]
    if any(type(part) in (list, tuple) for part in parts):
        return any(holds_integers(part) for part in parts)
    if all(isinstance(part, Integral) for part in parts):
        return True
    return any(getattr(getattr(part, "dtype", None), "kind", "") in ("i", "u") for part in parts)


def whole_rows(xdata: Any) -> bool:
    """Whether an array of floats holds, as all of it or as a row, numbers that might be labels."""
    kind = getattr(getattr(xdata, "dtype", None), "kind", "")
    if kind != "f" or not np.size(xdata):
        return False
    values = np.asarray(xdata)
    rows = [values] if values.ndim < 2 else [*values, *values.T]
    return any(bool((row == np.round(row)).all()) for row in rows)


def _numbers(xdata: Any, whole: type) -> Any:
    if type(xdata) is dict:
        return {key: _numbers(value, np.int64) for key, value in xdata.items()}
    if type(xdata) in (list, tuple):
        return type(xdata)(_numbers(part, whole) for part in xdata)
    kind = getattr(getattr(xdata, "dtype", None), "kind", "")
    if (kind == "b" and whole is float) or kind in ("i", "u"):
        return xdata if whole is np.int64 and xdata.dtype.itemsize == 8 else xdata.astype(whole)
    if kind == "O" and all(isinstance(x, (Real, Decimal)) for x in np.ravel(np.asarray(xdata))):
        return xdata.astype(float)
    return xdata


def joined_places(xdata: Array) -> Any:
    """A list or a tuple of arrays of numbers, or of columns of tables, all of one shape, as one
    array."""
    if type(xdata) not in (list, tuple) or len(xdata) < 1:
        return xdata
    arrays = [np.asarray(part) for part in xdata if isinstance(part, np.ndarray) or is_column(part)]
    alike = len(arrays) == len(xdata) and len({a.shape for a in arrays}) == 1
    kinds = {a.dtype.kind for a in arrays}
    return np.stack(arrays) if alike and (kinds <= set("fc") or kinds <= set("iu")) else xdata


class OfJoinedPlaces:
    """A model ``(xdata, p)`` that gets lists of places as one array; a class, to be pickled."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self, xdata: Any, p: Any) -> Any:
        return self.model(joined_places(xdata), p)


def bare_model(model: Any) -> Any:
    """A model, without what copies or joins its places."""
    while isinstance(model, (OfJoinedPlaces, OnCopies)):
        model = model.model
    return model


def is_single(ydata: Any) -> bool:
    """Whether data are one set, and xdata not a list of places for each of several."""
    return tree.is_leaf(tree.flatten(as_arrays(ydata, foreign=True))[1])
