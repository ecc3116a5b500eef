"""Measurements by order of labelled regions of scipy.ndimage, traced; labels are integers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.scipy.boundaries import image
from linad.scipy.mirror import traced_form


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


def _measured(name: str, of_region: Callable[[Any], Any]) -> Any:
    """A traced form; ``of_region`` is of the pixels of one region."""

    @traced_form(getattr(scipy.ndimage, name))
    def function(input: Array, labels: Array | None = None, index: Any = None) -> Any:
        x = image(name, input)
        regions, several = _regions(name, x, labels, index)
        if any(not places.size for places in regions):
            raise UnsupportedError(
                f"{name}: a region without pixels is not traced by linad; leave its label out"
            )
        flat = x.reshape(-1)
        found = [of_region(flat[places]) for places in regions]
        return np.stack(found).reshape(np.shape(index)) if several else found[0]

    return function


maximum = _measured("maximum", np.max)
minimum = _measured("minimum", np.min)
median = _measured("median", np.median)
