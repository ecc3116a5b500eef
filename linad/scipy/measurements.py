"""Measurements of labelled regions of scipy.ndimage, traced in the image; labels are integers.

sum      Σ x        mean   Σ x / n        variance   Σ (x - mean)^2 / n
center_of_mass      Σ x r / Σ x, r the indices of a pixel
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.scipy.boundaries import image
from linad.scipy.mirror import check_real, doubled, traced_form


def _regions(name: str, x: Array, labels: Array | None, index: Any) -> tuple[list[Any], bool]:
    """The places of the pixels of each region, and whether several were asked for."""
    if isinstance(labels, Traced) or isinstance(index, Traced):
        raise UnsupportedError(f"{name}: labels and index must be plain integers")
    if labels is None:
        if index is not None:
            raise ValueError(f"{name}: an index needs labels")
        return [np.arange(x.size)], False
    labels = np.broadcast_to(np.asarray(labels), x.shape).reshape(-1)
    if index is None:
        return [np.flatnonzero(labels > 0)], False
    if np.ndim(index) == 0:
        return [np.flatnonzero(labels == index)], False
    return [np.flatnonzero(labels == k) for k in np.asarray(index).reshape(-1)], True


def _measured(
    name: str,
    of_region: Callable[[Any], Any],
    *,
    empty: bool = False,
    real: bool = False,
    double: tuple[bool, ...] = (),
) -> Any:
    """A traced form; ``of_region`` is of the pixels of one region, ``real`` ones only perhaps;
    in double precision if ``double`` holds whether there are several."""

    @traced_form(getattr(scipy.ndimage, name))
    def function(input: Array, labels: Array | None = None, index: Any = None) -> Any:
        x = image(name, input)
        if real:
            check_real(name, input=x)
        regions, several = _regions(name, x, labels, index)
        if not empty and any(not places.size for places in regions):
            raise UnsupportedError(
                f"{name}: a region without pixels is not traced by linad; leave its label out"
            )
        flat = (doubled(x) if several in double else x).reshape(-1)
        found = [of_region(flat[places]) for places in regions]
        return np.stack(found).reshape(np.shape(index)) if several else found[0]

    return function


sum_labels = _measured("sum_labels", np.sum, empty=True, double=(True,))
mean = _measured("mean", np.mean, double=(False, True))
variance = _measured("variance", np.var, real=True, double=(False, True))
standard_deviation = _measured("standard_deviation", np.std, real=True, double=(False, True))
maximum = _measured("maximum", np.max)
minimum = _measured("minimum", np.min)
median = _measured("median", np.median)


@traced_form(scipy.ndimage.sum)
def sum(input: Array, labels: Any = None, index: Any = None) -> Any:
    return sum_labels(input, labels, index)


@traced_form(scipy.ndimage.center_of_mass)
def center_of_mass(input: Array, labels: Array | None = None, index: Any = None) -> Any:
    x = image("center_of_mass", input)
    regions, several = _regions("center_of_mass", x, labels, index)
    flat, grid = x.reshape(-1), [g.reshape(-1) for g in np.indices(x.shape, dtype=float)]
    found = []
    for places in regions:
        mass = flat[places]
        total = np.sum(mass)
        found.append(tuple([np.sum(mass * g[places]) / total for g in grid]))
    return found if several else found[0]
