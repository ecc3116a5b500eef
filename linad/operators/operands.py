"""What an operator is multiplied with: vectors, matrices of columns, other operators."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from linad.core.array_type import Array
from linad.core.device_arrays import is_on_device
from linad.core.primitive import Traced
from linad.errors import DeviceError, DTypeError


def is_operator(x: Any) -> bool:
    """Whether ``x`` acts as a matrix and is not a plain array."""
    if type(x) is np.ndarray or isinstance(x, Traced):
        return False
    return isinstance(x, LinearOperator) or issparse(x) or hasattr(type(x), "matvec")


def as_numbers(x: Array) -> Any:
    """What SciPy or a user hands to an operator, as an array of numbers."""
    if isinstance(x, Traced):
        return x
    if not isinstance(x, np.ndarray) and is_on_device(x):
        raise DeviceError(
            "an operator is applied to one vector on a device, from the left: J @ x, J.T @ x, "
            "J.matvec(x); pass NumPy's array for more"
        )
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise DTypeError(f"an operator is applied to numbers, got dtype {x.dtype}")
    return x


def columns(X: Array) -> Any:
    """Swap the last two axes."""
    return X.swapaxes(-1, -2)
