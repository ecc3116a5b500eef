"""The normal distribution of vectors.

    log p(x) = -½ (d log 2π + log det Σ + (x - μ)^T Σ^-1 (x - μ)),    Σ = L L^T

by one Cholesky decomposition. The gradient in a symmetric Σ is symmetric.
"""

from typing import Any

import numpy as np
import scipy.stats

from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import still
from linad.scipy.linalg import solve_triangular
from linad.scipy.stats.continuous import HALF_LOG_2PI
from linad.scipy.stats.distribution import Distribution, double
from linad.scipy.twins import instance_twin


def _on_a_subspace(rows: Array, cov: Array, cutoff: float, rank: int) -> Any:
    """log p for a singular Σ, on the space that Σ spans; -inf off it.

    The product of the eigenvalues other than 0 is det(Σ + I - Σ Σ^+).
    """
    inverse = np.linalg.pinv(cov, rcond=cutoff, hermitian=True)
    outside = np.eye(cov.shape[0]) - cov @ inverse
    log_det = np.linalg.slogdet(cov + outside)[1]
    quadratic = np.sum((rows @ inverse) * rows, axis=-1)
    away = np.linalg.norm(still(rows) @ still(outside), axis=-1)
    y = -0.5 * quadratic - 0.5 * log_det - rank * HALF_LOG_2PI
    return np.where(away > 1e3 * cutoff, -np.inf, y)


def _whitens(cov: Array) -> bool:
    """Whether it is a Covariance of SciPy's, or one with traced parts."""
    return hasattr(cov, "log_pdet")


class MultivariateNormal(Distribution):
    """`scipy.stats.multivariate_normal`, traced in x, the mean and the covariance."""

    frozen_kind = type(scipy.stats.multivariate_normal())
    functions = ("pdf", "logpdf")

    def parameters(self) -> dict[str, Any]:
        return {"mean": None, "cov": 1.0, "allow_singular": False}

    def check_real(self, function: str, given: dict[str, Any]) -> None:
        numbers = {name: value for name, value in given.items() if not _whitens(value)}
        super().check_real(function, numbers)

    def traced(self, function: str, x: Array, parameters: dict[str, Any]) -> Any:
        name = f"{self.name}.{function}"
        if _whitens(parameters["cov"]):
            return self._of_covariance(name, x, parameters["mean"], parameters["cov"])
        x, cov = double(x), double(parameters["cov"])
        mean = None if parameters["mean"] is None else np.atleast_1d(double(parameters["mean"]))
        given = mean.shape[0] if mean is not None else None
        d = given or (cov.shape[0] if cov.ndim else 1)
        if mean is None:
            mean = np.zeros(d)
        if cov.ndim < 2:
            cov = np.eye(d) * cov  # one variance, or one for each component
        if mean.shape != (d,) or cov.shape != (d, d):
            raise ShapeError(f"{name}: mean has shape {mean.shape} and cov {cov.shape}")
        if not np.allclose(still(cov), still(cov).T, rtol=1e-10, atol=0):
            raise ValueError(f"{name}: cov must be symmetric")
        # As SciPy reads it: numbers are vectors of length 1, or one vector of length d.
        if x.ndim == 0:
            x = x[None]
        elif x.ndim == 1:
            x = x[:, None] if d == 1 else x[None]
        if x.shape[-1] != d:
            raise ShapeError(f"{name}: x has shape {x.shape}; its last axis must have length {d}")
        rows = (x - mean).reshape((-1, d))
        if parameters["allow_singular"]:
            w = np.linalg.eigvalsh(still(cov))
            # As SciPy tells what counts as 0.
            small = 1e6 * np.finfo(float).eps * np.max(np.abs(w))
            if np.any(w <= small):
                y = _on_a_subspace(rows, cov, small / np.max(np.abs(w)), int(np.sum(w > small)))
                y = np.squeeze(y.reshape(x.shape[:-1]))
                return np.exp(y) if function == "pdf" else y
        factor = np.linalg.cholesky(cov)
        white = solve_triangular(factor, rows.T, lower=True)
        log_det = np.sum(np.log(np.diagonal(factor)))
        y = -0.5 * np.sum(white * white, axis=0) - log_det - d * HALF_LOG_2PI
        y = np.squeeze(y.reshape(x.shape[:-1]))
        return np.exp(y) if function == "pdf" else y

    def _of_covariance(self, name: str, x: Array, mean: Array, covariance: Any) -> Any:
        """By an object of SciPy's, which whitens: Σ (W (x - μ))² is the quadratic form."""
        if isinstance(covariance, scipy.stats.Covariance):
            covariance = instance_twin(covariance)
        d, rank = covariance.shape[-1], still(covariance.rank)
        if np.any(rank < d):
            raise UnsupportedError(
                f"{name}: a singular Covariance is not traced by linad; pass the matrix, and "
                "allow_singular=True"
            )
        x, mean = double(x), np.zeros(d) if mean is None else double(mean)
        x = x[None] if x.ndim == 0 else x[:, None] if x.ndim == 1 and d == 1 else x
        gap = x - mean
        white = covariance.whiten(gap.reshape((-1, d)))
        y = -0.5 * (np.sum(white * white, axis=-1) + covariance.log_pdet) - d * HALF_LOG_2PI
        y = np.squeeze(y.reshape(gap.shape[:-1]))
        return np.exp(y) if name.endswith(".pdf") else y


multivariate_normal = MultivariateNormal("multivariate_normal")
