"""Predictions of another form than that of the data, and what may be meant by them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape, name_of
from linad.errors import DTypeError, ShapeError, TreeError
from linad.solve.fitting.given_data import words_of_axes

if TYPE_CHECKING:
    from linad.solve.fitting.data import Data


def is_cut_short(shape: Shape, wanted: Shape) -> bool:
    """Whether a prediction ends early, as that of an integrator that failed does."""
    return (
        len(shape) == len(wanted)
        and shape != wanted
        and all(n <= m for n, m in zip(shape, wanted, strict=True))
    )


def refuse_joined(data: "Data", predicted: Any) -> None:
    """Raise where a model returns one array for several data sets."""
    if not (isinstance(predicted, (np.ndarray, Traced)) or hasattr(predicted, "iloc")):
        return
    kind, shape = type(data.container), np.shape(predicted)
    shapes = ", ".join(str(y.shape) for y in data.leaves[:6])
    form = "[first, second, ...]" if kind is list else "(first, second, ...)"
    if kind is dict:
        form = "{" + ", ".join(f"{key!r}: ..." for key in list(data.container)[:6]) + "}"
    joined = ""
    if shape == (sum(y.size for y in data.leaves),):
        parts = "list(ydata.values())" if kind is dict else "ydata"
        joined = f", or give one data set, ydata=np.concatenate({parts}), and sigma so too"
    raise TreeError(
        f"curve_fit: {name_of(data.f)} returned one array, of shape {shape}, and ydata is a "
        f"{kind.__name__} of {len(data.leaves)} data sets, of shapes {shapes}; return a "
        f"{kind.__name__} of as many, {form}{joined}"
    )


def refuse_other_sets(data: "Data", predicted: Any) -> None:
    """Raise where a model returns more data sets than there are, or fewer, or others."""
    f, held = name_of(data.f), data.container
    if type(predicted) is not type(held):
        return
    if isinstance(held, dict) and predicted.keys() != held.keys():
        lacking = ", ".join(repr(key) for key in held if key not in predicted)
        beyond = ", ".join(repr(key) for key in predicted if key not in held)
        words = [f"no {lacking}"] * bool(lacking) + [f"{beyond} beside them"] * bool(beyond)
        raise TreeError(
            f"curve_fit: ydata has the data sets {', '.join(map(repr, held))}, and {f} returned "
            f"{' and '.join(words)}; return a prediction for each of ydata, and for no others"
        )
    if type(held) in (list, tuple) and len(predicted) != len(held):
        raise TreeError(
            f"curve_fit: ydata has {len(held)} data sets, and {f} returned {len(predicted)} "
            f"predictions; return one for each, in their order, or give the one that is missing"
        )


def refuse_shape(data: "Data", shape: Shape, y: Array, name: str) -> None:
    """Raise for a prediction that has not the shape of its data set, which is called ``name``."""
    whole = f" for {name}" if name else ""
    if shape == data.x_shape and y.ndim and shape[0] != len(y) and not whole:
        raise ShapeError(
            f"curve_fit: xdata has the shape {shape} and ydata {y.shape}; give as many "
            f"of the one as of the other"
        )
    count = _points(data.xdata, len(y)) if y.ndim else None
    if shape == (count,) and y.ndim == 1 and not whole:
        raise ShapeError(
            f"curve_fit: xdata has {count} points and ydata {len(y)}; give as many of "
            f"the one as of the other"
        )
    raise ShapeError(
        f"curve_fit: {name_of(data.f)} must return the shape {y.shape} of ydata"
        f"{whole}, it returned {shape}{_hint(data, shape, y.shape)}"
    )


def _points(xdata: Any, data: int) -> int | None:
    """How many points a table has, or vectors side by side; None where they are of several
    lengths, or as many as the data."""
    if hasattr(xdata, "iloc"):
        return len(xdata)
    leaves = tree.flatten(xdata)[0]
    lengths = {np.size(leaf) if np.ndim(leaf) == 1 else -1 for leaf in leaves}
    found = lengths.pop() if len(lengths) == 1 and len(leaves) != data else -1
    return found if found >= 0 else None


def _hint(data: "Data", shape: Shape, wanted: Shape) -> str:
    """What may be meant where a model returns another shape than that of the data."""
    if not wanted:
        return "; ydata is one number: give a measurement for each prediction"
    if shape == data.x_shape == (*wanted, 1):
        return "; xdata is a table of one column: give the column, not the table"
    if shape == wanted[::-1] and len(shape) > 1:
        return "; transpose it"
    if len(wanted) == 1 and len(shape) == 2 and shape[0] == wanted[0]:
        return (
            f"; it returned {shape[1]} numbers for each of ydata: return those that were measured, "
            f"as y[:, 0] of an array, or give ydata of all of them, of shape {shape}"
        )
    if wanted == (*shape, 1):
        return "; ydata is a table of one column: give the column, np.ravel(ydata)"
    if words := words_of_axes(data.xdata, wanted):
        return f"; xdata {words}"
    if data.x_shape == (*wanted, *shape):
        return (
            f"; xdata is given to it as it is, {data.x_shape}: a column is X[:, 0], or "
            f"give xdata.T, whose rows are X[0] and so on"
        )
    if data.labelled and len(shape) == len(wanted):
        return (
            "; pandas matches the rows of its arrays by their labels: give xdata.to_numpy(), "
            "and use plain arrays beside it"
        )
    if is_cut_short(shape, wanted) and len(wanted) == 1 and data.integrator:
        return (
            f"; its {data.integrator} may have failed, which ends early and gives fewer, "
            f"solution.message says why: start where it does not fail, or return np.inf there, "
            f"np.full(len(x), np.inf); or it has not been given the times, as t_eval=x"
        )
    if len(shape) != len(wanted):
        return ""
    if shape == data.x_shape and not tree.is_leaf(data.structure):
        return "; data sets of unlike lengths have an xdata each: give it in the form of ydata"
    return (
        "; return a number for each of ydata, np.inf where the model has no meaning; it is called "
        "with xdata first, and the parameters after it"
    )


def refuse_kind(f: Any, value: Any, y: Array, xdata: Any) -> None:
    """Raise for complex predictions of real data, and for real ones of complex data."""
    if np.iscomplexobj(value) and not np.iscomplexobj(y):
        exchanged = any(np.iscomplexobj(leaf) for leaf in tree.flatten(xdata)[0])
        asked = "; xdata are complex: are xdata and ydata exchanged?" if exchanged else ""
        raise DTypeError(
            f"curve_fit: {name_of(f)} returned complex numbers for real ydata; return "
            f"np.abs() or np.real() of them, or give complex ydata, ydata + 0j{asked}"
        )
    plain_real = type(value) is np.ndarray and value.dtype.kind != "c"
    # np.inf is where the model has no meaning.
    if np.iscomplexobj(y) and plain_real and np.isfinite(value).any():
        raise DTypeError(
            f"curve_fit: {name_of(f)} returned real numbers for complex ydata; give "
            f"ydata.real, or return complex numbers"
        )


def refuse_ignored(data: "Data", title: str, places: Any, predicted: Any) -> None:
    """Raise where a model of places in a row returns as many numbers as there are data for another
    number of places: it reads the data's own, not those that it is given."""
    if not tree.is_leaf(data.structure):
        return
    y: Shape = data.leaves[0].shape
    shape: Shape = getattr(places, "shape", ())
    as_data = data.x_shape == y == getattr(predicted, "shape", None)
    if as_data and len(y) == len(shape) == 1 and shape != y:
        raise ShapeError(
            f"predict: {title} returned {y[0]} values for {shape[0]} places, as for the data: it "
            f"computes at places of its own; let it compute at its first argument, or predict "
            f"where the data are, without xdata"
        )
