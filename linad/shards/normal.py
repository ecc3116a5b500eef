"""The Gauss-Newton matrix of residuals that lie in shards: Σ_k J_k^H J_k."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import FUNCTION, takes
from linad.core.shapes import Shape, size_of
from linad.core.showing import shown
from linad.errors import ArgumentError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING, SEMIDEFINITE
from linad.shards.engines import Progress
from linad.shards.packing import Layout, Slice, is_array, pack
from linad.shards.sums import OPTIONS, OverShards, Shards, is_clinear


class NormalOperator(JacobianOperator):
    """Apply v -> Σ_k J_k^H J_k v, with J_k the derivative of the residuals of shard k.

    Parameters
    ----------
    shards : Shards
    args, layout
        The point, packed; its first vector is what is differentiated in.
    shape : tuple of int
        Of the tangents.
    """

    unknown = " ".join(sorted({*EVERYTHING.split()} - {"definiteness"}))

    owns_result = True
    hermitian = True

    def __init__(self, shards: Shards, args: list[Any], layout: Layout, shape: Shape) -> None:
        self.shards, self.args, self.layout = shards, args, layout
        super().__init__(shape, shape, args[0].dtype)

    @property
    def clinear(self) -> bool:  # type: ignore[override]
        """Whether the map is linear over the complex numbers, which the workers are asked."""
        if self.dtype.kind != "c":
            return True
        if "_clinear" not in self.__dict__:
            self._clinear = is_clinear(self.shards, (), 0, tuple(self.args), self.layout)
        return self._clinear

    def pushforward(self, tangent: Array) -> Any:
        lead = tangent.shape[: tangent.ndim - len(self.in_shape)]
        rows = tangent.reshape((*lead, size_of(self.in_shape)))
        product = self.shards.sum((("normal", 0),))(*self.args, rows, layout=self.layout)
        return product.reshape(tangent.shape)

    def pullback(self, cotangent: Array) -> Any:
        return self.pushforward(cotangent)

    def definiteness(self) -> int:
        return SEMIDEFINITE


class NormalOf(OverShards):
    """A function that gives the Gauss-Newton matrix at a point; made by `normal_of`."""

    def __call__(self, w: Any, *args: Any) -> NormalOperator:
        """The operator at ``w``; nothing is computed before it is applied."""
        packed, layout = pack((_as_arrays(w), *args), self._shards.name)
        if layout.vectors.count(0) != 1 or packed[0].dtype.kind not in "fc":
            raise ArgumentError(
                f"{self._shards.name}: w must hold floating or complex arrays, all of one dtype, "
                f"got {shown(w)}"
            )
        own = [p for p in layout.places if isinstance(p, Slice) and p.vector == 0]
        shape = own[0].shape if len(own) == 1 else packed[0].shape
        return NormalOperator(self._shards, packed, layout, shape)


def _as_arrays(w: Any) -> Any:
    """A container with Python's floats as NumPy's, in the precision of the arrays beside them."""
    leaves, structure = tree.flatten(w)
    dtypes = [leaf.dtype for leaf in leaves if is_array(leaf)]
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(float)
    return tree.unflatten(
        structure, [dtype.type(leaf) if type(leaf) is float else leaf for leaf in leaves]
    )


@takes(residual=FUNCTION, **OPTIONS)
def normal_of(
    residual: Callable[..., Any],
    shards: Iterable[Any],
    *,
    executor: Any = None,
    kept_bytes: int = 2**30,
    jit: bool = True,
    tasks: int | None = None,
    progress: Progress = None,
) -> NormalOf:
    """Return a function of w that gives ``Σ_k J_k^H J_k``, the Gauss-Newton matrix, as an operator.

    Parameters
    ----------
    residual : callable
        ``residual(w, *args, *shard)`` in plain NumPy: an array, of any shape for each shard.
    shards, executor, kept_bytes, jit, tasks, progress
        As for `sum_of`.

    Returns
    -------
    NormalOf
        ``G = N(w, *args)`` is a LinearOperator (n, n), with n the number of entries of ``w``, a
        floating or complex array, or a container of such of one dtype, whose tangents are then
        vectors as of `linad.ravel`. It is symmetric and has no negative eigenvalues, which
        `linad.solve_linear` makes use of; ``G.diagonal()`` is what a preconditioner needs.

    Notes
    -----
    A product costs a pushforward and a pullback of each shard. No residual travels.

    Examples
    --------
    >>> import numpy as np, linad
    >>> shards = [np.array([0.0, 1.0]), np.array([2.0])]
    >>> N = linad.normal_of(lambda w, t: w[0] * np.exp(w[1] * t), shards)
    >>> (N(np.array([1.0, 0.0])) @ np.eye(2)).round(3)
    array([[3., 3.],
           [3., 5.]])
    """
    options = {"kept_bytes": kept_bytes, "jit": jit, "tasks": tasks, "progress": progress}
    return NormalOf(Shards(residual, shards, executor, options, "normal_of"))
