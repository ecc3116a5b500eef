"""Which values are arrays in the memory of a GPU, as their libraries say."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.foreign_arrays import OWN

PLAIN = {np.ndarray, float, int, np.float64}
"""Types of most arguments."""

CUDA_KINDS = (2, 13)
"""DLPack's numbers for memory of CUDA's, and for memory that host and device share."""


def is_on_device(x: Any) -> bool:
    """Whether a value is an array in the memory of a GPU."""
    if isinstance(x, OWN):
        return False
    kind = type(x)  # a tensor of PyTorch's has both, wherever it is, and raises for one of them
    if hasattr(kind, "__dlpack_device__"):
        return x.__dlpack_device__()[0] in CUDA_KINDS
    return hasattr(kind, "__cuda_array_interface__") and hasattr(x, "__cuda_array_interface__")


def are_in(*containers: Any) -> bool:
    """Whether there is such an array in containers."""
    if all([type(x) in PLAIN for x in containers]):
        return False
    return are_among(tree.flatten(containers)[0])


def are_among(leaves: Iterable[Any]) -> bool:
    """Whether there is such an array among leaves."""
    return any([type(x) not in PLAIN and is_on_device(x) for x in leaves])


def fetched(x: Any) -> Any:
    """A value on the host: `linad.cuda.Array` is copied there."""
    return x.numpy() if is_on_device(x) else x
