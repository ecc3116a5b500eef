"""What xdata is that a model cannot compute with, told where the model has failed.

A model may read dates, texts and tables in its own way, so nothing is refused before.
"""

import datetime as dt
import dis
from traceback import walk_tb
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.callers import innermost, package_of
from linad.core.frames import library_of
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import ArgumentError, TracerError
from linad.solve.fitting.data_places import joined_places, whole_rows
from linad.solve.fitting.given_data import words_of_axes
from linad.solve.fitting.tables import is_column, is_table


def refuse_places(
    f: Any, error: Exception, xdata: Any, shapes: list[tuple[int, ...]], joined: bool
) -> None:
    """Raise, with what to give, where a model failed for what xdata is, beside data of shapes.

    ``joined`` says that the model got arrays of one shape as one array.
    """
    if isinstance(error, TracerError) and _is_of_one_column(xdata) and _in_table(error):
        said = _of_table(xdata)
        raise ArgumentError(f"curve_fit: {name_of(f)} cannot compute with xdata: {said}") from error
    if isinstance(error, TracerError) or isinstance(error.__cause__, TracerError):
        return  # of a parameter, whatever xdata is, and it says what to write
    if _is_stated(error):
        return  # the model's own words, which know better
    words = ""
    if "for dtype 'int" in str(error) and _raised_in("pandas", error):
        raise ArgumentError(
            f"curve_fit: {name_of(f)} writes numbers with a fraction into a column of integers, "
            f"which pandas refuses ({error}); make it one of floats, pd.Series(0.0, index=...), or "
            f"column.astype(float)"
        ) from error
    if isinstance(error, IndexError) and "integer" in str(error):
        words = _of_names(error, xdata) or _of_labels(xdata)
    elif isinstance(error, KeyError):
        words = _of_keys(error, xdata)
    elif "broadcast" in str(error) and len(shapes) == 1:
        axes = words_of_axes(xdata, shapes[0])
        words = f"it {axes}" if axes else ""
    elif "truth value" in str(error):
        words = _of_decisions(xdata)
    elif any(word in str(error) for word in _SEQUENCE):
        words = _of_list(joined_places(xdata) if joined else xdata)
        if not words and "setting an array element" in str(error):
            words = _of_first(xdata)
    if not words and isinstance(error, TypeError):
        words = _of_kinds(xdata)
    if not words:
        return
    several = isinstance(xdata, dict) or len(getattr(xdata, "columns", ())) > 1
    came = "" if not several or isinstance(error, KeyError) else f" ({error})"
    raise ArgumentError(
        f"curve_fit: {name_of(f)} cannot compute with xdata{came}: {words}"
    ) from error


_SEQUENCE = ("sequence", "inhomogeneous", "'list'", "'tuple'")
"""Words in the errors of those who compute with a list as with an array."""


def _of_list(xdata: Any) -> str:
    """Of arrays that stand side by side: one for each data set, or of several shapes."""
    listed = type(xdata) in (list, tuple) and len(xdata)
    if not listed or not all(isinstance(part, np.ndarray) or is_column(part) for part in xdata):
        return ""
    kind, shapes = type(xdata).__name__, ", ".join(str(part.shape) for part in xdata[:6])
    return (
        f"it is a {kind} of {len(xdata)} arrays, of shapes {shapes}, which the model is given as "
        f"it is; compute with each, [... for part in x]"
    )


def _of_first(xdata: Any) -> str:
    """Of all of them put where one number goes, as by a model whose first argument is another."""
    if np.ndim(xdata) == 0:
        return ""
    return (
        f"a model is called with xdata first, here of shape {np.shape(xdata)}, and the parameters "
        f"after it; one without xdata is lambda x, *p: model(*p), with p0"
    )


def _of_decisions(xdata: Any) -> str:
    """Of an if on all of them at once."""
    if np.ndim(xdata) == 0 or np.size(xdata) < 2:
        return ""
    return (
        f"it is given all of it in one call, of shape {np.shape(xdata)}, on which an if, a while, "
        f"min or max cannot decide; np.where(x < 2, first, second) chooses for each number, and "
        f"np.minimum and np.maximum are those of two arrays"
    )


def _of_names(error: Exception, xdata: Any) -> str:
    """Of a model that reads columns by their names in an array, which has none."""
    name = _text_index(error)
    if not name or not isinstance(xdata, np.ndarray):
        return ""
    return (
        f"it is an array of shape {xdata.shape}, which knows no names as {name!r}: give the table "
        f"itself, as df[[{name!r}, ...]] without to_numpy() or values, or a dict of columns"
    )


def _text_index(error: Exception) -> str:
    """The text by which the user's line indexes that has failed; "" for no text."""
    link, own = error.__traceback__, None
    while link is not None:
        own = own if library_of(link.tb_frame) else link
        link = link.tb_next
    if own is None:
        return ""
    before = None
    for step in dis.get_instructions(own.tb_frame.f_code):
        if step.offset == own.tb_lasti:
            break
        before = step
    key = None if before is None else before.argval
    key = key[-1] if isinstance(key, tuple) and key else key  # LOAD_FAST_LOAD_FAST
    if before is not None and before.opname.startswith("LOAD_FAST"):
        key = own.tb_frame.f_locals.get(str(key))
    return key if isinstance(key, str) else ""


def _of_labels(xdata: Any) -> str:
    """Of a model that indexes by numbers which have become floats beside others."""
    if not whole_rows(xdata):
        return ""
    return (
        "labels that a model indexes by must be integers, and it is one array of floats; give a "
        "tuple, (t, group), or a dict, {'t': t, 'group': group}, in which integers stay integers"
    )


def _of_keys(error: KeyError, xdata: Any) -> str:
    """Of a key that pandas does not find."""
    if not (hasattr(xdata, "to_numpy") and _raised_in("pandas", error)):
        return ""
    key = shown(error.args[0]) if error.args else "it"
    if hasattr(xdata, "columns"):
        return (
            f"it is a table without a column {key}; {_columns(xdata)}, or xdata.to_numpy().T is an "
            f"array with the rows X[0] and so on"
        )
    return (
        f"it is a {type(xdata).__name__}, which is read by the labels of its index, and {key} is "
        f"none of them; x.iloc[0] is the first, or give xdata.to_numpy()"
    )


def _of_kinds(xdata: Any) -> str:
    """Of what is not a number."""
    if hasattr(xdata, "columns"):
        return _of_table(xdata)
    parts = xdata.items() if isinstance(xdata, dict) else [("", xdata)]
    for key, part in parts:
        if words := _of_array(part):
            return f"{f'its {key!r}' if key else 'it'} holds {words}"
    return ""


def _is_of_one_column(xdata: Any) -> bool:
    return is_table(xdata) and len(xdata.columns) == 1


def _in_table(error: Exception) -> bool:
    """Whether a table of pandas' was asked to be a plain array, as one of two in a ufunc is."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if package_of(frame) == "pandas"]
    return bool(frames) and is_table(frames[-1].f_locals.get("self"))


def _of_table(xdata: Any) -> str:
    if _is_of_one_column(xdata):
        name = xdata.columns[0]
        return f"it is a table of one column: give the column, xdata[{name!r}], or read X[{name!r}]"
    told = [
        f"column {key!r} holds {words}" for key in xdata.columns if (words := _of_array(xdata[key]))
    ]
    unpacked = "it is a table, which unpacks to the names of its columns, not to arrays"
    return "; ".join([unpacked, _columns(xdata), "or give xdata.to_numpy().T", *told])


def _columns(xdata: Any) -> str:
    return "columns are read as " + ", ".join(f"X[{key!r}]" for key in list(xdata.columns)[:6])


def _of_array(part: Any) -> str:
    """What a part of xdata holds beside numbers, how to make numbers of it; "" for nothing."""
    leaves = [np.asarray(leaf) for leaf in tree.flatten(part)[0]]
    if any(_holds(leaf, dt.date, dt.timedelta) for leaf in leaves):
        return (
            "dates or times; give numbers, as days since the first: "
            "[(t - xdata[0]).total_seconds() / 86400 for t in xdata] of dates, and "
            "[t.total_seconds() / 86400 for t in xdata] of times"
        )
    if any(leaf.dtype.kind == "M" for leaf in leaves):
        first = "xdata.iloc[0]" if hasattr(part, "iloc") else "xdata[0]"
        return (
            f"dates; give numbers, as days since the first: "
            f"(xdata - {first}) / np.timedelta64(1, 'D')"
        )
    if any(leaf.dtype.kind == "m" for leaf in leaves):
        return "times; give numbers, as days: xdata / np.timedelta64(1, 'D')"
    texts = [leaf for leaf in leaves if leaf.dtype.kind in "SUT" or _holds(leaf, str)]
    if not texts:
        return ""
    return f"texts; {_read(texts[0])}"


def _read(texts: Any) -> str:
    """How texts become numbers."""
    for kind, remedy in (
        (float, "np.asarray(xdata, float) reads the numbers in them"),
        ("M8[s]", "np.asarray(xdata, 'M8[s]') reads the dates in them"),
    ):
        try:
            np.asarray(texts.astype(str), kind)
        except ValueError:
            continue
        return remedy
    return (
        "labels become integers to index by, group = np.unique(xdata, return_inverse=True)[1], "
        "as offsets[group]"
    )


def _holds(leaf: np.ndarray, *kinds: type) -> bool:
    """Whether an array of objects, as a column of a table is, has one of these kinds."""
    return leaf.dtype.kind == "O" and any(isinstance(entry, kinds) for entry in leaf.flat)


def _is_stated(error: Exception) -> bool:
    """Whether a line of the user's raises the error, ``raise TypeError("...")``."""
    traceback = innermost(error)
    if traceback is None or library_of(traceback.tb_frame):
        return False
    code = traceback.tb_frame.f_code.co_code
    return dis.opname[code[traceback.tb_lasti]] == "RAISE_VARARGS"


def _raised_in(package: str, error: Exception) -> bool:
    """Whether an error comes out of a package's own code."""
    traceback = innermost(error)
    return traceback is not None and package_of(traceback.tb_frame) == package
