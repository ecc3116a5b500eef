"""What a model returns for one data set: an array of numbers in the order of the data."""

import numbers
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import OutputError
from linad.rules.creation import asarray
from linad.solve.fitting.given_data import NUMBERS
from linad.solve.labels import other_order


def prediction_of(f: Any, part: Array, rows: Any) -> Any:
    """What a model returns for one data set: an array, also of a list of numbers."""
    if type(part) in (list, tuple):
        try:
            part = asarray(part)
        except ValueError as error:
            raise OutputError(
                f"curve_fit: {name_of(f)} must return an array of numbers like ydata, its "
                f"{type(part).__name__} cannot be made one: {error}; of several data sets give "
                f"ydata as a {type(part).__name__} too, or let the model np.concatenate them"
            ) from error
    if hasattr(part, "columns"):
        raise OutputError(
            f"curve_fit: {name_of(f)} must return an array of numbers like ydata, it "
            f"returned a table of shape {part.shape}; where xdata is a table of one column, "
            f"give or read the column, X[{part.columns[0]!r}]"
        )
    kind = getattr(getattr(part, "dtype", None), "kind", "")
    if rows is not None and hasattr(part, "iloc"):
        _refuse_other_order(f, part, rows)
    if hasattr(part, "iloc") and kind in NUMBERS | {"O"}:
        return of_rows(part, f"curve_fit: {name_of(f)} must return an array of numbers like ydata")
    if isinstance(part, numbers.Complex) or kind in NUMBERS:
        return part
    came = f"a {type(part).__name__}" + (f" of dtype {part.dtype}" if kind else "")
    remedy = "; of several data sets give ydata as a dict too" if isinstance(part, dict) else ""
    if isinstance(f, type):
        remedy = f"; that is a class: the model is one of its objects, as {name_of(f)}(...)"
    elif callable(part):
        remedy = "; that is a function: return what it returns"
    raise OutputError(
        f"curve_fit: {name_of(f)} must return an array of numbers like ydata, it returned "
        f"{came}: {shown(part)}{remedy}"
    )


def _refuse_other_order(f: Any, series: Any, rows: Any) -> None:
    """Raise where a prediction has the labels of the data in another order.

    Residuals are taken place by place, which would compare what does not belong together.
    """
    k = other_order(series.index, rows)
    if k is not None:
        raise OutputError(
            f"curve_fit: {name_of(f)} returned the rows of the data in another order, as "
            f"pd.concat over groups does: at place {k} is {shown(series.index[k])}, where the data "
            f"have {shown(rows[k])}; return them in the order of the data, "
            f"prediction.loc[ydata.index], or prediction.sort_index() where the labels of the "
            f"data ascend"
        )


def of_rows(series: Any, wanted: str) -> Any:
    """The numbers of a Series: traced ones, or what pandas' apply and map made row by row.

    Raises
    ------
    OutputError
        If an entry is not a number; ``wanted`` says what was.
    """
    held = series.to_numpy()
    if isinstance(held, Traced) or held.dtype.kind != "O":
        return held
    for entry in held:
        if np.ndim(entry) or not isinstance(entry, (numbers.Complex, Traced)):
            raise OutputError(
                f"{wanted}, it returned a Series of dtype object, of which one entry is "
                f"{shown(entry)}"
            )
    return asarray(list(held))
