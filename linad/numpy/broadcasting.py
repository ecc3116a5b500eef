"""The object that `numpy.broadcast` makes, of traced arrays."""

from typing import Any

import numpy as np

from linad.core.shapes import size_of
from linad.rules.creation import asarray
from linad.rules.shaping import ravel


class TracedBroadcast:
    """``np.broadcast`` of traced arrays."""

    def __init__(self, *arrays: Any) -> None:
        self._arrays = arrays
        self.shape = np.broadcast_shapes(*map(np.shape, arrays))
        self.nd = self.ndim = len(self.shape)
        self.size = size_of(self.shape)
        self.numiter = len(arrays)

    def __iter__(self) -> Any:
        arrays = np.broadcast_arrays(*map(asarray, self._arrays))
        return zip(*[ravel(a) for a in arrays], strict=True)
