"""Banded systems, with the matrix as its diagonals: ab[u + i - j, j] = A[i, j].

A X = B       dX = A^-1 (dB - dA X)         (dA X)_ik = Σ_r dab[r, j] X_jk,  j = i + u - r

The entries of ab outside of the matrix are not read.
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, align
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.linear_solves import LinearSolve, solution_rules
from linad.operators.relations import Relation


def _solve_banded(ab: Array, b: Array, *, l_and_u: tuple[int, int]) -> Any:
    """Solve for all columns of b (*more, n, k)."""
    columns = np.moveaxis(b, -2, 0)
    if not b.size:
        return np.zeros(b.shape, np.result_type(ab, b))
    x = scipy.linalg.solve_banded(
        l_and_u, ab, columns.reshape((len(columns), -1)), check_finite=False
    )
    return np.moveaxis(x.reshape(columns.shape), 0, -2)


solve_banded_ = Primitive("solve_banded", _solve_banded)
solve_banded_.partial = "regular"


def _neighbours(l_and_u: tuple[int, int], n: int, step: int) -> tuple[Any, Any]:
    """For each band r and place k, the place k + step (r - u), and whether it exists."""
    lower, upper = l_and_u
    places = np.arange(n) + step * (np.arange(lower + upper + 1)[:, None] - upper)
    return np.clip(places, 0, n - 1), (places >= 0) & (places < n)


def adjoint_bands(ab: Array, l_and_u: tuple[int, int]) -> Any:
    """The bands of A^H, of which (u, l) lie below and above the diagonal."""
    lower, upper = l_and_u
    columns, exists = _neighbours((upper, lower), ab.shape[1], 1)
    rows = np.arange(lower + upper, -1, -1)[:, None]
    return np.conj(ab[rows, columns]) * exists.astype(ab.dtype)


class BandedSolve(LinearSolve):
    """b -> A^-1 b, column by column.

    Parameters
    ----------
    ab : array (l + u + 1, n)
        Kept by reference.
    l_and_u : tuple of int
        Bands below and above the diagonal.
    shape : tuple of int
        (n, k)
    dtype : numpy.dtype
    """

    def __init__(
        self, ab: Array, l_and_u: tuple[int, int], shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.ab, self.l_and_u = ab, l_and_u
        super().__init__(shape, shape, dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        ab, l_and_u = self.ab, self.l_and_u
        if adjoint:
            ab, l_and_u = adjoint_bands(ab, l_and_u), l_and_u[::-1]
        return solve_banded_(ab, b, l_and_u=l_and_u)


class BandedProduct(JacobianOperator):
    """dab -> -dA X.

    Parameters
    ----------
    x : array (*more, n, k)
        Kept by reference.
    l_and_u : tuple of int
    dtype : numpy.dtype
    """

    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(self, x: Array, l_and_u: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.x, self.l_and_u = x, l_and_u
        n = x.shape[-2]
        bands = sum(l_and_u) + 1
        self._rows = np.arange(bands)[:, None]
        self._columns, exists = _neighbours(l_and_u, n, -1)
        self._sources, used = _neighbours(l_and_u, n, 1)
        self._exists = exists.astype(dtype)[..., None]
        self._used = used.astype(dtype)
        super().__init__(x.shape, (bands, n), dtype)

    def pushforward(self, tangent: Array) -> Array:
        read = align(tangent, 2, self.x.ndim)[..., self._rows, self._columns]
        return -np.sum(read[..., None] * (self.x[..., self._columns, :] * self._exists), axis=-3)

    def pullback(self, cotangent: Array) -> Array:
        spread = cotangent[..., self._sources, :]
        more = range(-self.x.ndim - 1, -3)
        return -np.sum(spread * np.conj(self.x)[..., None, :, :], axis=(*more, -1)) * self._used

    def relation(self) -> Relation:
        """y_ik reads the bands r at their entries of row i, where these exist."""
        y = np.arange(self.shape[0]).reshape(self.out_shape)
        exists = self._exists[..., 0] != 0
        band, i = np.nonzero(exists)
        entry = band * self.in_shape[1] + self._columns[exists]
        return Relation.of_pairs(y[..., i, :], entry[:, None], self.shape)

    def relation_key(self) -> Any:
        return self.l_and_u


solution_rules(
    solve_banded_,
    right_side=1,
    inverse=lambda x, shape, ab, b, *, l_and_u: BandedSolve(ab, l_and_u, shape, x.dtype),
    changes={0: lambda x, ab, b, *, l_and_u: BandedProduct(x, l_and_u, x.dtype)},
)
