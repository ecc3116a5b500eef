"""Diagonal, trace, norm and column norms: exact where structure allows, else from random vectors.

Exact answers come from two tables over the simplified operator,

    diag(A + B) = diag A + diag B      diag(D A) = d diag A      diag(L ⊗ R) = diag L ⊗ diag R
    |A D e_j| = |d_j| |A e_j|          |U A e_j| = |A e_j|       |(L ⊗ R) e_jk| = |L e_j| |R e_k|

or, of small matrices, from unit vectors. `linad.linalg.probing` has the estimates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.settings import settings
from linad.errors import ShapeError
from linad.linalg import probing
from linad.linalg.structure import is_thin
from linad.operators.base import JacobianOperator
from linad.operators.composites import bare
from linad.operators.facts import (
    SMALL,
    column_squares_of,
    diagonal_of,
    largest_singular_value,
    norm_of,
    squares as squared,
)
from linad.operators.rewrites import simplified

UNITS = 1024
"""Up to this many unit vectors are used where structure gives no answer."""


@dataclass(frozen=True)
class Estimate:
    """A number or vector, and how it was found.

    An array where one is needed: ``np.asarray(estimate)``, ``float(estimate)``.

    Attributes
    ----------
    value : number or array
    exact : bool
        Whether it is exact up to rounding.
    method : str
        "structure", "colouring" (of the sparse matrix), "unit vectors", "dense", or the name of
        an estimator.
    samples : int
        Number of products with random vectors; 0 for an exact value.
    error : float or array or None
        Standard error of an estimate, where the samples tell.
    """

    value: Any
    exact: bool
    method: str
    samples: int = 0
    error: Any = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.value, dtype=dtype)

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)


def check_square(op: JacobianOperator, name: str) -> None:
    """Raise for a matrix that is not square."""
    if op.shape[0] != op.shape[1]:
        raise ShapeError(f"{name}: expected a square matrix, got {op._label()}")


def from_units(op: JacobianOperator, read: Callable[[Any, slice], Any]) -> Any:
    """Apply to all unit vectors, block by block; ``read`` what is wanted of each block's rows."""
    m, n = op.shape
    step = max(1, settings().block_bytes // (op.dtype.itemsize * (m + n + 1)))
    found = []
    for start in range(0, max(n, 1), step):
        part = slice(start, min(start + step, n))
        seeds = np.eye(part.stop - start, n, start, dtype=op.dtype)
        found.append(read(op._apply_rows(seeds, False), part))
    return found[0] if len(found) == 1 else np.concatenate(found)


# Diagonals.


def diagonal(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Estimate:
    """`JacobianOperator.diagonal`."""
    op = op.flat
    check_square(op, "diagonal")
    if exact is not False:
        found = diagonal_of(bare(simplified(op)))
        if found is not None:
            return Estimate(found, True, "structure")
        if op.shape[0] > UNITS and is_thin(op):
            return Estimate(op.tosparse("csr").diagonal(), True, "colouring")
        if exact or op.shape[0] <= UNITS:
            return Estimate(from_units(op, _on_diagonal), True, "unit vectors")
    value, error = probing.diagonal(op, samples, rng)
    return Estimate(value, False, "Bekas-Kokiopoulou-Saad", samples, error)


def _on_diagonal(rows: Array, part: slice) -> Any:
    return np.einsum("ii->i", rows[:, part]).copy()


def trace(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Estimate:
    """`JacobianOperator.trace`."""
    op = op.flat
    check_square(op, "trace")
    if exact is not False:
        found = diagonal_of(bare(simplified(op)))
        if found is not None:
            return Estimate(np.sum(found), True, "structure")
        if exact or op.shape[0] <= UNITS or is_thin(op):
            given = diagonal(op, True, samples, rng)
            return Estimate(np.sum(given.value), True, given.method)
    value, error = probing.hutch_plus_plus(op, samples, rng)
    return Estimate(value, False, "Hutch++", samples, error)


# Column norms.


def column_norms(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Estimate:
    """`JacobianOperator.column_norms`."""
    op = op.flat
    if exact is not False:
        found = column_squares_of(bare(simplified(op)))
        if found is not None:
            return Estimate(np.sqrt(found), True, "structure")
        if op.shape[1] > UNITS and is_thin(op):
            squares = squared(op.tosparse("csc")).sum(axis=0)
            return Estimate(np.sqrt(squares), True, "colouring")
        if exact or op.shape[1] <= UNITS:
            squares = from_units(op, lambda rows, part: np.sum(squared(rows), axis=-1))
            return Estimate(np.sqrt(squares), True, "unit vectors")
    squares, error = probing.squared_column_norms(op, samples, rng)
    norms = np.sqrt(squares)
    return Estimate(norms, False, "signs", samples, error / (2 * np.where(norms > 0, norms, 1)))


# The norm.


def norm_estimate(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Estimate:
    """`JacobianOperator.norm_estimate`."""
    op = op.flat
    if exact is not False:
        found = norm_of(bare(simplified(op)))
        if found is not None:
            return Estimate(found, True, "structure")
        if exact or min(op.shape) <= SMALL:
            return Estimate(largest_singular_value(op.todense()), True, "dense")
    value, error, steps = probing.largest_singular_value(op, samples, rng)
    return Estimate(value, False, "Golub-Kahan-Lanczos", steps, error)
