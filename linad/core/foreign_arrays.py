"""Arrays of other libraries among arguments: NumPy's views of them, by DLPack.

PyTorch's tensors on the CPU, JAX's arrays and their kind hand out their memory by the protocol
``__dlpack__``. They are points like arrays; what is returned is NumPy's.
"""

from typing import Any

import numpy as np

from linad.core import tree
from linad.core.primitive import Traced
from linad.errors import ArgumentError

OWN = (np.ndarray, np.generic, Traced, float, int)


def is_foreign(kind: type) -> bool:
    """Whether values of a type are arrays of another library."""
    return not issubclass(kind, OWN) and hasattr(kind, "__dlpack__")


def as_numpy(value: Any) -> np.ndarray:
    """The array of another library as NumPy's, of the same memory.

    Raises
    ------
    ArgumentError
        If its library does not hand it out: it is not on the CPU, or needs a gradient of its own.
    """
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        kind = type(value)
        raise ArgumentError(
            f"an argument is a {kind.__module__}.{kind.__qualname__}, which NumPy cannot read by "
            f"DLPack: {error}; pass a plain array on the CPU. linad.interop makes functions that "
            f"other libraries differentiate"
        ) from error


def taken_in(value: Any) -> Any:
    """An argument with NumPy's arrays in place of those of other libraries."""
    if is_foreign(type(value)):
        return as_numpy(value)
    if isinstance(value, (tuple, list, dict)):
        leaves, structure = tree.flatten(value)
        given = leaves_taken_in(leaves)
        if given is not leaves:
            return tree.unflatten(structure, given)
    return value


def leaves_taken_in(leaves: list[Any]) -> list[Any]:
    """Leaves with NumPy's arrays for those of other libraries; the same list if there are none."""
    if any([is_foreign(type(x)) for x in leaves]):
        return [as_numpy(x) if is_foreign(type(x)) else x for x in leaves]
    return leaves
