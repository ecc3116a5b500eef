"""Diagonals, traces and norms from products with random vectors.

    diag A   Σ z (A z) / Σ z z         z random signs (or complex units): z* z = 1
    tr A     Hutch++                   tr Q^H A Q, plus signs for the rest (I - Q Q^H) A
    |A e_j|  mean of |A^H z|^2
    |A|      Golub-Kahan-Lanczos from a random start

Sources: C. Bekas, E. Kokiopoulou and Y. Saad, "An estimator for the diagonal of a matrix", 2007;
R. Meyer, C. Musco, C. Musco and D. Woodruff, "Hutch++: optimal stochastic trace estimation",
2021; G. Golub and C. Van Loan, "Matrix Computations", 4th edition, section 10.4.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.operators.base import JacobianOperator

TOLERANCE = 1e-8
"""Relative residual of a singular value at which the iteration ends."""


def signs(rng: np.random.Generator, k: int, n: int, dtype: np.dtype[Any]) -> Any:
    """k vectors of length n of numbers of modulus 1: signs, or 1, i, -1, -i."""
    if dtype.kind == "c":
        return (1j ** rng.integers(0, 4, (k, n))).astype(dtype)
    return (2 * rng.integers(0, 2, (k, n)) - 1).astype(dtype)


def _mean(samples: Array) -> tuple[Any, Any]:
    """Mean over the first axis, and its standard error (infinite for one sample)."""
    k = len(samples)
    mean = np.mean(samples, axis=0)
    if k < 2:
        return mean, np.full(np.shape(mean), np.inf)
    spread = np.sum(np.abs(samples - mean) ** 2, axis=0) / (k - 1)
    return mean, np.sqrt(spread / k)


def diagonal(op: JacobianOperator, samples: int, rng: Any) -> tuple[Any, Any]:
    """Estimate the diagonal: value and standard error, both (n,)."""
    z = signs(np.random.default_rng(rng), samples, op.shape[0], op.dtype)
    return _mean(np.conj(z) * op._apply_rows(z, False))


def hutch_plus_plus(op: JacobianOperator, samples: int, rng: Any) -> tuple[Any, Any]:
    """Estimate the trace: value and standard error."""
    rng = np.random.default_rng(rng)
    n, k = op.shape[0], samples // 3
    if k == 0:
        z = signs(rng, samples, n, op.dtype)
        return _mean(np.sum(np.conj(z) * op._apply_rows(z, False), axis=-1))
    range_of_largest = op._apply_rows(signs(rng, min(k, n), n, op.dtype), False)
    Q = np.linalg.qr(range_of_largest.T)[0]  # (n, k), orthonormal columns
    exact = np.sum(np.conj(Q.T) * op._apply_rows(Q.T, False))
    z = signs(rng, samples - 2 * k, n, op.dtype)
    z = z - (z @ np.conj(Q)) @ Q.T
    rest, error = _mean(np.sum(np.conj(z) * op._apply_rows(z, False), axis=-1))
    return exact + rest, error


def squared_column_norms(op: JacobianOperator, samples: int, rng: Any) -> tuple[Any, Any]:
    """Estimate the squared norms of columns: value and standard error, both (n,)."""
    z = signs(np.random.default_rng(rng), samples, op.shape[0], op.dtype)
    rows = op._apply_rows(z, True)
    return _mean(np.real(rows) ** 2 + np.imag(rows) ** 2)


def largest_singular_value(op: JacobianOperator, steps: int, rng: Any) -> tuple[Any, float, int]:
    """Estimate the spectral norm: value, residual and number of steps."""
    rng = np.random.default_rng(rng)
    start = rng.standard_normal(op.shape[1])
    if op.dtype.kind == "c":
        start = start + 1j * rng.standard_normal(op.shape[1])
    v = (start / np.linalg.norm(start)).astype(op.dtype)
    right: list[Any] = [v]
    left: list[Any] = []
    alphas: list[float] = []
    betas: list[float] = []
    value, residual = 0.0, np.inf
    for step in range(1, min(steps, *op.shape) + 1):
        u = op._apply_rows(right[-1], False)
        u, alpha = _orthogonal(u, left)
        alphas.append(alpha)
        left.append(u)
        w, beta = _orthogonal(op._apply_rows(u, True), right)
        # A V = U B with B upper bidiagonal; what A^H U lacks in V is beta w e_k^T.
        B = np.diag(alphas) + np.diag(betas, 1)
        P, sigma, _ = np.linalg.svd(B)
        value, residual = float(sigma[0]), float(beta * abs(P[-1, 0]))
        if residual <= TOLERANCE * value or beta == 0:
            return value, residual, step
        betas.append(beta)
        right.append(w)
    return value, residual, step


def _orthogonal(x: Array, basis: list[Any]) -> tuple[Any, float]:
    """``x`` without its parts along the basis, normalised, and its length before that."""
    if basis:
        V = np.array(basis)
        for _ in range(2):
            x = x - (np.conj(V) @ x) @ V
    size = float(np.linalg.norm(x))
    return (x / size if size > 0 else x), size
