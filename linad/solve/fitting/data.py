"""The data of a fit: one set of observations or several, and how well each is known."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import optree

from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import is_number
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import ArgumentError, OptionError, OutputError
from linad.solve.fitting.data_covariance import whitening
from linad.solve.fitting.given_data import (
    as_array,
    as_arrays,
    count_not_finite,
    for_each_point,
    refuse_none,
    refuse_texts,
    refuse_units,
    shape_of,
)
from linad.solve.fitting.left_out import finite, is_nan, masked, related, with_finite_places
from linad.solve.fitting.prediction_shapes import (
    is_cut_short,
    refuse_joined,
    refuse_kind,
    refuse_other_sets,
    refuse_shape,
)
from linad.solve.fitting.predictions import prediction_of
from linad.solve.fitting.tables import count_not_finite_places, is_table, not_finite_columns
from linad.solve.labels import other_order


class Data:
    """Observations and their weights.

    Parameters
    ----------
    f : callable
        The model, for messages.
    xdata, ydata, sigma, weights, check_finite, nan_policy
        As of `curve_fit`.

    Attributes
    ----------
    leaves, weights : list of ndarray
        One each data set; what is left out is finite in ``leaves``, and 0 in ``weights``.
    xdata : any
        As given, finite where no data count.
    whiten : ndarray or None
        Of a covariance matrix: what makes residuals of deviations.
    variances : ndarray or None
        Its diagonal.
    weighted, scaled : bool
        Whether residuals are multiplied by weights, and whether these say how well data are known.
    fitted, cut_short : bool, int
        Whether a prediction has had the shape of the data; and how many later ones ended early.
    alone : int
        For how many data the model has returned one number, last; 0 where it never did.
    integrator : str
        What the model integrates with, as far as that is known.
    rows : list
        The labels of pandas of the rows of each data set; None where it has none.
    names : list of str
        Of the data sets, as their container has them; one that is alone has none.
    """

    def __init__(
        self,
        f: Any,
        xdata: Array,
        ydata: Any,
        sigma: Any,
        weights: Any,
        check_finite: bool,
        nan_policy: str | None,
    ) -> None:
        self.f, self.x_shape, self.labelled = f, shape_of(xdata), hasattr(xdata, "to_numpy")
        self.fitted, self.cut_short, self.integrator = False, 0, ""
        self.alone = 0
        self.omits = nan_policy == "omit"
        check_finite = nan_policy == "raise" or (check_finite and nan_policy != "propagate")
        refuse_none("ydata", ydata)
        refuse_units("ydata", ydata)
        self.container = as_arrays(ydata, foreign=True)
        leaves, self.structure = tree.flatten(self.container)
        self.leaves = [as_array(leaf) for leaf in leaves]
        self.rows = _rows(ydata, xdata, len(leaves))
        self.names = [_set_name(steps) for steps in tree.leaf_steps(self.structure)]
        if not sum(y.size for y in self.leaves):
            raise ArgumentError("curve_fit: ydata holds no numbers")
        refuse_texts("ydata", self.leaves)
        if sigma is not None and weights is not None:
            raise OptionError("curve_fit: sigma and weights say the same; give one of them")
        option, given = ("weights", weights) if sigma is None else ("sigma", sigma)
        self._require_order("xdata", xdata)
        self._require_order(option, given)
        self.scaled = given is not None
        is_vector = tree.is_leaf(self.structure) and self.leaves[0].ndim == 1
        is_matrix = is_vector and option == "sigma" and np.ndim(given) == 2
        self._weigh(option, None if is_matrix else given, xdata)
        if check_finite:
            self._require_finite(option if self.scaled else "")
        self.whiten: Any = None
        self.variances: Any = None
        if is_matrix:
            refuse_texts("sigma", [given])
            sigma = np.asarray(given, float)
            self.whiten = whitening(sigma, leaves[0].shape, self.counted)
            self.variances = np.diagonal(sigma)

    def _require_order(self, option: str, given: Any) -> None:
        """Raise where what belongs to the data has their labels in another order."""
        parts = tree.flatten(given)[0]
        each = self.rows * len(parts) if len(self.rows) == 1 else self.rows
        for part, rows in zip(parts, each, strict=False):
            k = None if rows is None or not hasattr(part, "iloc") else other_order(part.index, rows)
            if k is not None:
                raise ArgumentError(
                    f"curve_fit: {option} has the rows of ydata in another order: at place {k} is "
                    f"{shown(part.index[k])}, where ydata has {shown(rows[k])}, and rows are taken "
                    f"place by place; give {option}.loc[ydata.index]"
                )

    def _weigh(self, option: str, given: Any, xdata: Array) -> None:
        """Set weights, which are 0 for what is masked, and what of the data is then left out."""
        places, sets = tree.flatten(xdata)[0], self.leaves
        pairs = related(places, sets)
        known: list[Any] = [1.0 for _ in sets]
        if given is not None:
            known = self._for_each_set(option, given)
        out = [masked(j, pairs, places, sets, value) for j, value in enumerate(known)]
        if self.omits:
            nans = [is_nan(j, places, sets, value) for j, value in enumerate(known)]
            known = [
                np.where(n, 1.0, v) if n.any() else v for n, v in zip(nans, known, strict=True)
            ]
            out = [o | n for o, n in zip(out, nans, strict=True)]
        known = [np.ma.filled(value, 1.0) for value in known]
        if option == "weights":
            self._require_weights(known)
        if option == "sigma":
            self._require_positive(known)
            known = [1.0 / value for value in known]
        self.weighted = self.scaled or any(o.any() for o in out)
        self.weights = [
            np.where(o, 0.0, value) if o.any() else value
            for o, value in zip(out, known, strict=True)
        ]
        zero = [np.broadcast_to(w == 0, y.shape) for w, y in zip(self.weights, sets, strict=True)]
        if all(z.all() for z in zero):
            raise ArgumentError("curve_fit: all of ydata is masked, or has the weight 0")
        self.leaves = [finite(y, z) for y, z in zip(sets, zero, strict=True)]
        self.xdata = with_finite_places(xdata, pairs, zero)

    @property
    def counted(self) -> Any:
        """Which residuals are of data whose weight is not 0; a complex one is two."""
        flags = [
            np.tile(np.ravel(np.broadcast_to(w, y.shape) != 0), 1 + np.iscomplexobj(y))
            for w, y in zip(self.weights, self.leaves, strict=True)
        ]
        return np.concatenate(flags)

    @property
    def left_out(self) -> int:
        """Number of residuals whose weight is 0."""
        return int(np.count_nonzero(~self.counted))

    def _require_positive(self, sigmas: list[Any]) -> None:
        self._require(
            *("sigma", sigmas, "positive and finite", lambda s: (s > 0) & np.isfinite(s)),
            "points that do not count have the weight 0, weights=np.divide(1, sigma, "
            "out=np.zeros(len(sigma)), where=sigma > 0)",
        )

    def _require_weights(self, weights: list[Any]) -> None:
        self._require(
            *("weights", weights, "finite and not negative", lambda w: (w >= 0) & np.isfinite(w)),
            "points that do not count have the weight 0, np.where(np.isfinite(w), w, 0)",
        )

    def _require(
        self, option: str, given: list[Any], words: str, holds: Callable[[Any], Any], remedy: str
    ) -> None:
        """Raise where not all numbers of an option are as they must be."""
        for value, y, name in zip(given, self.leaves, self.names, strict=True):
            bad = np.argwhere(np.broadcast_to(~holds(value), y.shape))
            if len(bad) and not np.ndim(value):
                raise OptionError(f"curve_fit: {option} must be {words}; it is {value:g}")
            if len(bad):
                index = tuple(bad[0].tolist())
                place = ", ".join(map(str, index)) + (f" of {name}" if name else "")
                raise OptionError(
                    f"curve_fit: {option} must be {words} everywhere; it is {value[index]:g} in "
                    f"{len(bad)} of {value.size} places, first at index {place}; {remedy}"
                )

    def _require_finite(self, option: str) -> None:
        """Raise for infinities and NaNs at points that count."""
        places, structure = tree.flatten(self.xdata)
        single = len(places) == len(self.leaves) == 1 and self.leaves[0].ndim == 1
        named = [*zip(tree.leaf_paths(self.structure), self.leaves, strict=True)]
        arrays = [(f"ydata{path}", leaf) for path, leaf in named]
        named = [*zip(tree.leaf_paths(structure), places, strict=True)]
        arrays += [(f"xdata{path}", leaf) for path, leaf in named]
        for name, array in arrays:
            count = count_not_finite_places if is_table(array) else count_not_finite
            bad, size, first = count(array)
            if not bad:
                continue
            where = f", first at index {first}" if first else ""
            came = f"curve_fit: {name} is infinite or NaN in {bad} of {size} places{where}; "
            if is_table(array):
                raise ArgumentError(f"{came}{self._of_table(array)}")
            if single and not option:
                omit = "" if self.omits else "; nan_policy='omit' leaves out those that are NaN"
                raise ArgumentError(
                    f"{came}leave these points out, xdata[keep] and ydata[keep] for keep = "
                    f"np.isfinite({name}){omit}"
                )
            weights = {
                "": "weights=keep",
                "sigma": "weights=np.where(keep, 1 / sigma, 0)",
                "weights": "weights=np.where(keep, weights, 0)",
            }[option]
            several = "" if tree.is_leaf(self.structure) else ", for each data set"
            omit = "" if self.omits else "nan_policy='omit' leaves out points that are NaN; "
            raise ArgumentError(
                f"{came}{omit}points of weight 0 do not count, whatever is in them: {weights} for "
                f"keep = np.isfinite({name}){several}"
            )

    def _of_table(self, table: Any) -> str:
        """What to do about a table that holds what is not finite."""
        columns = ", ".join(shown(name) for name in not_finite_columns(table)[:6])
        omit = "" if self.omits else "nan_policy='omit' leaves out rows with NaN; "
        return (
            f"they are in {columns}; {omit}give a table without these rows, or of the columns that "
            f"{name_of(self.f)} reads, df[['t', ...]]"
        )

    def _for_each_set(self, option: str, given: Any) -> list[Any]:
        """Numbers or arrays, one each data set, of what may be one number for all."""
        refuse_units(option, given)
        refuse_texts(option, tree.flatten(given)[0])
        if tree.is_leaf(self.structure) and isinstance(given, Mapping):
            raise OptionError(
                f"curve_fit: {option} must be a number, or an array like ydata, which is one data "
                f"set; got a dict of {', '.join(map(str, given))}; where these are kinds of "
                f"points, give each its own, [{option}[k] for k in kinds]"
            )
        held = as_arrays(given, foreign=True, keep=not tree.is_leaf(self.structure))
        if is_number(held):
            values = [held for _ in self.leaves]
        elif tree.is_leaf(self.structure):
            values = [held]
        else:
            try:
                values = optree.broadcast_prefix(
                    self.as_container(held), self.container, namespace=tree.NAMESPACE
                )
            except ValueError:
                raise self._mismatch(option, held) from None
        sets = zip(values, self.leaves, self.names, strict=True)
        return [for_each_point(option, as_array(v).astype(float), y, name) for v, y, name in sets]

    def as_container(self, given: Any) -> Any:
        """A sequence of as many parts as there are data sets, in the form of theirs."""
        kind = type(self.container)
        if isinstance(given, np.ndarray):
            # An array as long as the data sets are might be meant for each of their points.
            if any(given.shape == y.shape for y in self.leaves) or given.ndim == 0:
                raise ValueError("an array, where there are several data sets")
            given = list(given)
        if kind not in (list, tuple) or type(given) not in (list, tuple):
            return given
        if len(given) != len(self.container):
            raise ValueError("not one for each data set")
        return kind(given)

    def _mismatch(self, option: str, given: Any) -> OptionError:
        sets = ", ".join(self.names[:6]) + (", ..." if len(self.names) > 6 else "")
        came = (
            f"an array of shape {given.shape}"
            if isinstance(given, np.ndarray)
            else tree.describe(tree.flatten(given)[1])
        )
        alike = type(self.container) in (list, tuple) and len({y.shape for y in self.leaves}) == 1
        table = "; if ydata is one table of numbers, give np.array(ydata)" if alike else ""
        return OptionError(
            f"curve_fit: {option} must be a number, or a container like ydata with a number or an "
            f"array for each data set ({sets}): {tree.describe(self.structure)}; got {came}{table}"
        )

    def sets(self, predicted: Any) -> list[Any]:
        """What a model returns, one part each data set.

        Raises
        ------
        TreeError
            If it returns something of another form.
        """
        if tree.is_leaf(self.structure):
            return [prediction_of(self.f, predicted, self.rows[0])]
        kind, count = type(self.container), len(self.leaves)
        if kind in (list, tuple) and type(predicted) in (list, tuple):
            predicted = kind(predicted)
        elif kind in (list, tuple) and np.ndim(predicted) and len(predicted) == count:
            predicted = kind(predicted[i] for i in range(count))
        with suppress(ValueError):  # of another form; flatten_like says which
            refuse_joined(self, predicted)
            refuse_other_sets(self, predicted)
            parts = self.structure.flatten_up_to(predicted)
            parts = [prediction_of(self.f, *p) for p in zip(parts, self.rows, strict=True)]
            predicted = tree.unflatten(self.structure, parts)
        return tree.flatten_like(
            predicted, self.structure, f"curve_fit: what {name_of(self.f)} returns"
        )

    def residual(self, predicted: Any) -> Any:
        """(prediction - data) / sigma, in the form of the data."""
        if predicted is None:
            raise OutputError(f"curve_fit: {name_of(self.f)} returned None; return the prediction")
        parts = []
        sets = zip(self.sets(predicted), self.leaves, self.weights, self.names, strict=True)
        for value, y, weight, name in sets:
            shape = np.shape(value)
            if self.fitted and is_cut_short(shape, y.shape):
                self.cut_short += 1
                value = np.full(y.shape, np.inf) + 0.0 * np.sum(value)
                shape = y.shape
            if shape not in ((), y.shape):
                refuse_shape(self, shape, y, name)
            if shape == () and y.size > 1:
                self.alone = y.size
            refuse_kind(self.f, value, y, self.xdata)
            difference = value - y
            if self.whiten is not None:
                parts.append(self.whiten @ difference)
            else:
                parts.append(weight * difference if self.weighted else difference)
        self.fitted = True
        return parts[0] if tree.is_leaf(self.structure) else tree.unflatten(self.structure, parts)


def _rows(ydata: Any, xdata: Any, count: int) -> list[Any]:
    """The labels of the rows of each data set, by its Series or by that of xdata, or None."""
    given = tree.flatten(ydata)[0]
    if len(given) != count:  # lists of numbers, which have become arrays
        return [None] * count
    labels = [getattr(part, "index", None) if hasattr(part, "iloc") else None for part in given]
    if count == 1 and labels[0] is None and hasattr(xdata, "iloc"):
        return [xdata.index]
    return labels


def _set_name(steps: list[tuple[bool, Any]]) -> str:
    """A data set as a reader would call it: by its keys, or by its place, from 1 on."""
    return ", ".join(
        [f"data set {at + placed}" if isinstance(at, int) else str(at) for placed, at in steps]
    )
