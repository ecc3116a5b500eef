"""Diagonal, trace, norm and column norms: exact where structure allows, else from random vectors.

Exact answers come from two tables over the simplified operator,

    diag(A + B) = diag A + diag B      diag(D A) = d diag A      diag(L ⊗ R) = diag L ⊗ diag R
    |A D e_j| = |d_j| |A e_j|          |U A e_j| = |A e_j|       |(L ⊗ R) e_jk| = |L e_j| |R e_k|

or, of small matrices, from unit vectors. `linad.operators.probing` has the estimates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linad.config import settings
from linad.errors import ShapeError
from linad.operators import probing
from linad.operators.base import JacobianOperator
from linad.operators.blocks import Blocks
from linad.operators.circulant import Circulant
from linad.operators.composites import Adjoint, Chain, Scaled, Sum, Transpose
from linad.operators.cumulative import BackwardDifference, CumulativeSum, Recurrence
from linad.operators.fourier import Fourier
from linad.operators.identities import full
from linad.operators.joining import Pad, Roll
from linad.operators.rewrites import simplified
from linad.operators.structure import are_adjoint, bare, is_thin, names_of
from linad.operators.structured import (
    Diagonal,
    Identity,
    Kronecker,
    Masked,
    Matrix,
    Permutation,
    Reshape,
    Zero,
)
from linad.operators.tagged import Tagged
from linad.shapes import size_of

UNITS = 1024
"""Up to this many unit vectors are used where structure gives no answer."""

SMALL = 256
"""Up to this smaller side the norm is computed of the dense matrix."""


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


def _on_diagonal(rows: Any, part: slice) -> Any:
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


def diagonal_of(op: Any) -> Any:
    """The diagonal (n,) of a square simplified operator, or None."""
    kind, n = type(op), op.shape[0]
    if op.shape[0] != op.shape[1] or op.wide:
        return None
    if kind is Identity or kind is Reshape or kind is CumulativeSum:
        return np.ones(n, op.dtype)
    if kind in (Recurrence, BackwardDifference):
        return np.ones(n, op.dtype)
    if kind is Zero:
        return np.zeros(n, op.dtype)
    if kind is Diagonal or kind is Masked:
        return _entries(op).reshape(n)
    if kind is Matrix:
        return np.diagonal(op.a) + np.zeros((), op.dtype)
    if kind is Kronecker:
        return _kronecker_diagonal(op)
    if kind is Circulant:
        return _circulant_diagonal(op)
    if kind is Scaled:
        found = diagonal_of(op.op)
        return None if found is None else op.alpha * found
    if kind in (Adjoint, Transpose):
        found = diagonal_of(op.op)
        return found if found is None or kind is Transpose else np.conj(found)
    if kind is Tagged:
        return diagonal_of(op.op)
    if kind is Sum:
        parts = [diagonal_of(bare(t)) for t in op.terms]
        return None if any(p is None for p in parts) else sum(parts[1:], parts[0])
    if kind is Blocks:
        return _blocks_diagonal(op)
    return _chain_diagonal(op) if kind is Chain else None


def _entries(op: Any) -> Any:
    if type(op) is Masked:
        return np.broadcast_to(op.mask, op.in_shape).astype(op.dtype)
    return full(op)


def _kronecker_diagonal(op: Kronecker) -> Any:
    if op.in_shape != op.out_shape:
        return None
    one = np.ones(1, op.dtype)
    left, right = [
        one if f is None else np.diagonal(f, axis1=-2, axis2=-1) for f in (op.left, op.right)
    ]
    product = left[..., :, None] * right[..., None, :]
    return (product + np.zeros(op.in_shape, op.dtype)).reshape(op.shape[0])


def _circulant_diagonal(op: Circulant) -> Any:
    # The trace of each circulant block, shared equally: the mean of its eigenvalues
    mean = np.mean(op.eigenvalues, axis=op.axes, keepdims=True)
    mean = mean if op.dtype.kind == "c" else np.real(mean)
    return (mean + np.zeros(op.in_shape)).reshape(op.shape[0]).astype(op.dtype)


def _blocks_diagonal(op: Blocks) -> Any:
    if op.heights != op.widths:
        return None
    parts = [np.zeros(k, op.dtype) for k in op.heights]
    for i, j, block in op.blocks:
        if i == j:
            found = diagonal_of(bare(block))
            if found is None:
                return None
            parts[i] = parts[i] + found
    return np.concatenate(parts)


def _chain_diagonal(op: Chain) -> Any:
    factors = [f for f in op.factors if type(f) is not Reshape]
    first, last = factors[0], factors[-1]
    if len(factors) < 2 or op.dtype != op.in_dtype:
        return None
    if type(first) is Diagonal:
        rest = diagonal_of(_product(factors[1:]))
        return None if rest is None else full(first).reshape(-1) * rest
    if type(last) is Diagonal:
        rest = diagonal_of(_product(factors[:-1]))
        return None if rest is None else rest * full(last).reshape(-1)
    if len(factors) == 2:
        a, b = factors
        if type(a) is Matrix and type(b) is Matrix:
            return np.einsum("ij,ji->i", a.a, b.a)
        if are_adjoint(a, b):
            squares = squared_norms_of(b)  # of the columns of B, for B^H B
            return None if squares is None else squares.astype(op.dtype)
    return None


def _product(factors: Any) -> Any:
    return factors[0] if len(factors) == 1 else Chain(tuple(factors))


# Column norms.


def column_norms(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Estimate:
    """`JacobianOperator.column_norms`."""
    op = op.flat
    if exact is not False:
        found = squared_norms_of(bare(simplified(op)))
        if found is not None:
            return Estimate(np.sqrt(found), True, "structure")
        if op.shape[1] > UNITS and is_thin(op):
            squares = _squares(op.tosparse("csc")).sum(axis=0)
            return Estimate(np.sqrt(squares), True, "colouring")
        if exact or op.shape[1] <= UNITS:
            squares = from_units(op, lambda rows, part: np.sum(_squares(rows), axis=-1))
            return Estimate(np.sqrt(squares), True, "unit vectors")
    squares, error = probing.squared_column_norms(op, samples, rng)
    norms = np.sqrt(squares)
    return Estimate(norms, False, "signs", samples, error / (2 * np.where(norms > 0, norms, 1)))


def _squares(x: Any) -> Any:
    return x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x


def squared_norms_of(op: Any) -> Any:
    """The squared norm of each column (n,) of a simplified operator, or None."""
    kind, n = type(op), op.shape[1]
    if op.wide:
        return None
    real = np.empty(0, op.dtype).real.dtype
    if kind in (Identity, Reshape, Permutation, Roll, Pad) or "unitary" in _names(op):
        return np.ones(n, real)
    if kind is Zero:
        return np.zeros(n, real)
    if kind is Diagonal or kind is Masked:
        return _squares(_entries(op).reshape(n))
    if kind is Matrix:
        return np.sum(_squares(op.a), axis=0)
    if kind is Kronecker:
        return _kronecker_squares(op, real)
    if kind is Circulant:
        mean = np.mean(_squares(op.eigenvalues), axis=op.axes, keepdims=True)
        return (mean + np.zeros(op.in_shape)).reshape(n).astype(real)
    if kind is Scaled:
        found = squared_norms_of(op.op)
        return None if found is None else abs(op.alpha) ** 2 * found
    if kind is Tagged:
        return squared_norms_of(op.op)
    if kind is Blocks:
        return _blocks_squares(op, real)
    if kind is Chain and op.dtype == op.in_dtype:
        factors = list(op.factors)
        if type(factors[-1]) in (Diagonal, Reshape):
            rest = squared_norms_of(_product(factors[:-1]))
            if rest is None or type(factors[-1]) is Reshape:
                return rest
            return rest * _squares(full(factors[-1]).reshape(-1))
        if "unitary" in _names(factors[0]) or type(factors[0]) in (Pad, Reshape):
            return squared_norms_of(_product(factors[1:]))
    return None


def _names(op: Any) -> set[str]:
    kinds = (Identity, Permutation, Roll, Fourier)
    return names_of(op) if type(op) in kinds else set()


def _kronecker_squares(op: Kronecker, real: Any) -> Any:
    if op.in_shape[:-2] != op.out_shape[:-2]:
        return None
    one = np.ones(1, real)
    left, right = [one if f is None else np.sum(_squares(f), axis=-2) for f in (op.left, op.right)]
    product = left[..., :, None] * right[..., None, :]
    return (product + np.zeros(op.in_shape, real)).reshape(op.shape[1])


def _blocks_squares(op: Blocks, real: Any) -> Any:
    if len({(i, j) for i, j, _ in op.blocks}) < len(op.blocks):
        return None
    parts = [np.zeros(k, real) for k in op.widths]
    for _, j, block in op.blocks:
        found = squared_norms_of(bare(block))
        if found is None:
            return None
        parts[j] = parts[j] + found
    return np.concatenate(parts)


# The norm.


def norm_estimate(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Estimate:
    """`JacobianOperator.norm_estimate`."""
    op = op.flat
    if exact is not False:
        found = norm_of(bare(simplified(op)))
        if found is not None:
            return Estimate(found, True, "structure")
        if exact or min(op.shape) <= SMALL:
            return Estimate(_largest(op.todense()), True, "dense")
    value, error, steps = probing.largest_singular_value(op, samples, rng)
    return Estimate(value, False, "Golub-Kahan-Lanczos", steps, error)


def _largest(a: Any) -> Any:
    """The largest singular value of a matrix."""
    if 0 in a.shape:
        return 0.0
    return np.linalg.svd(a, compute_uv=False)[..., 0].max()


def norm_of(op: Any) -> Any:
    """The spectral norm of a simplified operator in closed form, or None."""
    kind = type(op)
    if op.wide:
        return None
    if 0 in op.shape or kind is Zero:
        return 0.0
    if kind in (Identity, Reshape, Permutation, Roll, Pad):
        return 1.0
    if kind is Diagonal or kind is Masked:
        return np.max(np.abs(_entries(op)))
    if kind is Circulant:
        return np.max(np.abs(op.eigenvalues))
    if kind is Fourier:
        n = size_of([op.in_shape[k] for k in op.axes])
        divides = op.norm == "ortho", (op.norm == "backward") == op.backward
        return 1.0 if divides[0] else n**-0.5 if divides[1] else n**0.5
    if kind is CumulativeSum:
        # Singular values 1 / (2 sin((2k - 1) π / (4 n + 2))) of the matrix of ones below
        return 0.5 / np.sin(np.pi / (4 * op.in_shape[op._axis] + 2))
    if kind is Kronecker and op.in_shape[:-2] == op.out_shape[:-2]:
        return _kronecker_norm(op)
    if kind is Scaled:
        found = norm_of(op.op)
        return None if found is None else abs(op.alpha) * found
    if kind in (Adjoint, Transpose, Tagged):
        return norm_of(op.op)
    if kind is Blocks and all(i == j for i, j, _ in op.blocks):
        found = [norm_of(bare(block)) for _, _, block in op.blocks]
        return None if None in found or len(op.blocks) < len(op.heights) else max(found)
    return None


def _kronecker_norm(op: Kronecker) -> Any:
    factors = [f for f in (op.left, op.right) if f is not None]
    if any(f.ndim > 2 for f in factors) or any(min(f.shape) > SMALL for f in factors):
        return None
    product: Any = 1.0
    for f in factors:
        product = product * _largest(f)
    return product
