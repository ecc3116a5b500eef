"""The matrix of an operator as an array, made when it is asked for."""

import sys
from typing import Any

import numpy as np

from linad.core.primitive import Traced
from linad.core.settings import settings
from linad.errors import DensifyError


class DenseForms:
    """The part of `JacobianOperator` that makes arrays."""

    def todense(self: Any) -> Any:
        """Return the matrix as an ndarray (m, n).

        Raises
        ------
        NotHolomorphicError
            If it is linear over the reals only.

        Notes
        -----
        Costs min(m, n) seeds, pushed forward or pulled back in blocks of
        ``linad.config(block_bytes=...)``.
        """
        op = self.flat
        m, n = op.shape
        if n <= m:
            rows = op._dense_rows(n, op.in_dtype, adjoint=False)
            columns = rows.T if isinstance(rows, Traced) else np.ascontiguousarray(rows.T)
            return columns.astype(op.dtype, copy=False)
        rows = op._dense_rows(m, op.out_dtype, adjoint=True)
        rows = rows.conj() if rows.dtype.kind == "c" else rows
        return rows.astype(op.dtype, copy=False)

    def _dense_rows(self: Any, k: int, dtype: np.dtype[Any], adjoint: bool) -> Any:
        """Apply to each of the k unit vectors."""
        m, n = self.shape
        step = max(1, settings().block_bytes // (dtype.itemsize * (m + n + 1)))
        if step >= k:
            return self._apply_rows(np.eye(k, dtype=dtype), adjoint)
        blocks = []
        for start in range(0, k, step):
            seeds = np.eye(min(step, k - start), k, start, dtype=dtype)
            blocks.append(self._apply_rows(seeds, adjoint))
        return np.concatenate(blocks)

    def __array__(self: Any, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Any:
        asking = sys._getframe(1)
        if asking.f_code.co_name == "_matmul_dispatch":
            # A sparse array meets an operator it does not know: with something that is no
            # array it leaves the product to __rmatmul__ here, which composes.
            nothing = np.empty((), object)
            nothing[()] = self
            return nothing
        limit = settings().densify_limit
        m, n = self.shape
        if m * n > limit:
            raise DensifyError(
                f"{self._label()} was about to become a dense array of {m * n} entries, more "
                f"than the limit of {limit}; call .todense() yourself, or raise the limit with "
                f"linad.config(densify_limit=...)"
            )
        if copy is False:
            raise ValueError("an operator holds no array; a dense one can only be a new array")
        dense = self.todense()
        return dense if dtype is None else dense.astype(dtype, copy=False)
