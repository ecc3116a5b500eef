"""Containers as vectors, for solvers that know nothing else."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import size_of
from linad.errors import ShapeError, TreeError


def ravel(container: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the numbers of a container as one vector, and the function that puts them back.

    Parameters
    ----------
    container : array or container of arrays

    Returns
    -------
    vector : ndarray (n,)
        Of the dtype that all leaves fit into: one after the other, those of a dict in the order
        of its sorted keys, as in the rows and columns of Jacobians; ``unravel`` knows them.
    unravel : callable
        ``unravel(vector)`` has the form of ``container``. It is traced like any function.

    Raises
    ------
    TreeError
        If the container holds no array; ShapeError from ``unravel`` for a vector of another size.

    Examples
    --------
    SciPy minimises over a container:

    >>> import numpy as np, linad
    >>> from scipy.optimize import minimize
    >>> x0, unravel = linad.ravel({"a": 1.0, "b": np.zeros(2)})
    >>> def f(v):
    ...     p = unravel(v)
    ...     return (p["a"] - 3) ** 2 + np.sum((p["b"] - p["a"]) ** 2)
    >>> found = minimize(x0=x0, **linad.scipy_args(f, "minimize", "trust-ncg"))
    >>> unravel(found.x)["b"].round(6)
    array([3., 3.])
    """
    leaves, structure = tree.flatten(container)
    if not leaves:
        raise TreeError("ravel: the container holds no array")
    shapes = [np.shape(leaf) for leaf in leaves]
    sizes = [size_of(shape) for shape in shapes]
    flat = [np.reshape(leaf, (size,)) for leaf, size in zip(leaves, sizes, strict=True)]
    dtype = np.result_type(*flat, *([] if any(x.dtype.kind in "fc" for x in flat) else [float]))
    vector = np.concatenate([x.astype(dtype) for x in flat])
    ends = np.cumsum(sizes).tolist()

    def unravel(vector: Array) -> Any:
        """Put the numbers of a vector back into the container."""
        if np.shape(vector) != (ends[-1],):
            raise ShapeError(
                f"unravel: expected a vector of shape ({ends[-1]},), got {np.shape(vector)}"
            )
        parts = [
            vector[end - size : end].reshape(shape) if shape else vector[end - 1]
            for end, size, shape in zip(ends, sizes, shapes, strict=True)
        ]
        return tree.unflatten(structure, parts)

    return vector, unravel
