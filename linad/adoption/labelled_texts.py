"""Columns of pandas as texts for people, and columns of texts and dates, which are no numbers."""

from typing import Any

import pandas as pd

from linad.adoption.labelled_arrays import TracedDtype, bare_array
from linad.arrays.tracer import Tracer
from linad.core.showing import shown


def printed(column: Any) -> Any:
    """The entries of a column, traced or not, for a text."""
    array = bare_array(column)
    return array.printed() if type(array) is Tracer else array


def refuse_column(ufunc: Any, x: Any) -> None:
    """Raise for a Series of texts or dates beside a traced number."""
    if not isinstance(x, pd.Series) or isinstance(x.dtype, TracedDtype):
        return
    kind = x.dtype.kind
    if kind in "biufc":
        return
    holds, remedy = "", "s.astype(float) reads the numbers in them"
    if kind in "mM":
        since = "s" if kind == "m" else "(s - s.iloc[0])"
        holds, remedy = f"dtype {x.dtype}", f"{since} / np.timedelta64(1, 'D') is in days"
    elif texts := [entry for entry in x if isinstance(entry, str)]:
        holds = f"texts, as {shown(texts[0])}"
    if holds:
        called = "a Series" if x.name is None else f"the Series {x.name!r}"
        raise TypeError(
            f"np.{ufunc.__name__} of a traced number and of {called} of {holds}: {remedy}"
        )
