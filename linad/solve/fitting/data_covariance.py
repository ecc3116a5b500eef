"""Data whose errors are correlated: the covariance matrix that is given as sigma.

sigma = L L^T       residuals L^-1 (model - data)
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.errors import OptionError

ALIKE = 1e-6
"""Relative to standard deviations, covariances that are the same but for rounding."""


def whitening(sigma: Any, shape: tuple[int], counts: Any) -> Any:
    """The inverse of the Cholesky factor of a covariance, of the points that count.

    Raises
    ------
    OptionError
        If it is no covariance of as many data.
    """
    size = shape[0]
    if sigma.shape != (size, size):
        raise OptionError(
            f"curve_fit: sigma must have shape {shape} or {(size, size)}, got {sigma.shape}"
        )
    block = np.ix_(counts, counts)
    bad = np.argwhere(~np.isfinite(sigma[block]))
    if len(bad):
        raise OptionError(
            f"curve_fit: a matrix given as sigma must be finite; it is not in {len(bad)} of "
            f"{sigma.size} places"
        )
    _require_symmetric(sigma, counts)
    try:
        factor = scipy.linalg.cholesky(sigma[block], lower=True)
    except np.linalg.LinAlgError as error:
        raise OptionError(_is_indefinite(sigma[block])) from error
    whiten = np.zeros(sigma.shape)
    whiten[block] = scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True)
    return whiten


def _require_symmetric(sigma: Any, counts: Any) -> None:
    """Raise where a matrix is no covariance, but half of one, a factor of it or a mistake."""
    with np.errstate(invalid="ignore"):  # of points that do not count
        scale = np.sqrt(np.abs(np.diagonal(sigma)))
        odd = np.abs(sigma - sigma.T) > ALIKE * np.outer(scale, scale)
    places = np.argwhere(odd & counts[:, None] & counts)
    if not len(places):
        return
    i, j = places[0].tolist()
    remedy = "(sigma + sigma.T) / 2 is, if the two should be alike"
    if not np.tril(sigma, -1).any() or not np.triu(sigma, 1).any():
        remedy = (
            "one of its triangles is zero: of a Cholesky factor L the covariance is L @ L.T, of a "
            "triangle T of the covariance it is T + T.T - np.diag(np.diag(T))"
        )
    raise OptionError(
        f"curve_fit: a matrix given as sigma is a covariance, and must be symmetric; it is "
        f"{sigma[i, j]:g} at [{i}, {j}] and {sigma[j, i]:g} at [{j}, {i}]; {remedy}"
    )


def _is_indefinite(sigma: Any) -> str:
    """That a matrix is no covariance, and by how much."""
    least = np.linalg.eigvalsh(sigma)[0]
    if (np.diagonal(sigma) <= 0).any():
        i = int(np.argmin(np.diagonal(sigma)))
        why = f"the variance at [{i}, {i}] is {sigma[i, i]:g}"
    else:
        why = (
            f"its least eigenvalue is {least:.3g}; if that is rounding, add a small variance, "
            f"sigma + {max(1e-12 * np.trace(sigma), -2 * least):.1g} * np.eye(len(sigma))"
        )
    return (
        f"curve_fit: a matrix given as sigma is a covariance, and must be positive definite; {why}"
    )
