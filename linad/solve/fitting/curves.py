"""The curves of a fit's data: rows of residuals, and where they stand."""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core import tree
from linad.core.array_type import Array

MOST = 10
"""Columns of data that are curves; more are too many colours."""


class Curve(NamedTuple):
    """A row of residuals: where they stand, which leaf of the data they are of, and what of it."""

    x: Any
    residual: Any
    leaf: int
    of: Callable[[Any], Any]
    suffix: str


def curves_over(xdata: Any, residuals: list[Any]) -> list[Curve]:
    """Residuals over xdata, columns of a matrix one by one; none if xdata does not say where."""
    places = [np.asarray(leaf) for leaf in tree.flatten(xdata)[0]]
    if len(places) == 1:
        places *= len(residuals)
    if len(places) != len(residuals):
        return []
    found: list[Curve] = []
    for leaf, (x, r) in enumerate(zip(places, residuals, strict=True)):
        if x.ndim != 1 or x.dtype.kind not in "iuf":
            return []
        if r.shape == x.shape:
            found += _parts(Curve(x, r, leaf, np.asarray, ""))
        elif r.ndim == 2 and len(x) in r.shape and r.size <= MOST * len(x):
            for curve in _columns(x, r, leaf):
                found += _parts(curve)
        else:
            return []
    return found


def _parts(curve: Curve) -> list[Curve]:
    """A curve, or those of its real and imaginary parts."""
    if not np.iscomplexobj(curve.residual):
        return [curve]
    return [
        Curve(
            curve.x,
            part(curve.residual),
            curve.leaf,
            functools.partial(_part_of, part, curve.of),
            ", ".join(name for name in (curve.suffix, said) if name),
        )
        for part, said in ((np.real, "real part"), (np.imag, "imaginary part"))
    ]


def _part_of(part: Any, of: Callable[..., Any], values: Array) -> Any:
    return part(of(values))


def _columns(x: Array, r: Array, leaf: int) -> list[Curve]:
    """A curve for each column of a matrix, or row, whichever is as long as x."""
    along = axis_of(x, r.shape)
    found = []
    for k in range(r.shape[1 - along]):
        of = functools.partial(np.take, indices=k, axis=1 - along)
        found.append(Curve(x, of(r), leaf, of, f"row {k + 1}" if along else f"column {k + 1}"))
    return found


def axis_of(x: Array, shape: Any) -> int:
    """The axis of data that x belongs to: the first of its length."""
    return int(shape.index(len(x)))


def curves_by_number(residuals: list[Any]) -> list[Curve]:
    """Residuals in their order, one data set after the other."""
    ends = np.cumsum([0, *[r.size for r in residuals]])
    return [
        curve
        for leaf, ((a, b), r) in enumerate(zip(itertools.pairwise(ends), residuals, strict=True))
        for curve in _parts(Curve(np.arange(a, b), np.ravel(r), leaf, np.ravel, ""))
    ]
