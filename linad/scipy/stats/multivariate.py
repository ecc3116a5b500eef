"""The normal distribution of vectors.

    log p(x) = -½ (d log 2π + log det Σ + (x - μ)^T Σ^-1 (x - μ)),    Σ = L L^T

by one Cholesky decomposition. The gradient in a symmetric Σ is symmetric.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from linad.arrays.traces import running_trace
from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import still
from linad.scipy.implicit_solutions import with_derivative
from linad.scipy.linalg import solve_triangular
from linad.scipy.mirror import holds_traced
from linad.scipy.plain_results import by_scipy
from linad.scipy.stats.boxes_of_normals import box_probability
from linad.scipy.stats.continuous import HALF_LOG_2PI
from linad.scipy.stats.distribution import Distribution, double, log_of
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


_PLACES = ("mean", "cov", "allow_singular", "maxpts", "abseps", "releps")
"""What `scipy.stats.multivariate_normal.cdf` takes by place, after x."""


class MultivariateNormal(Distribution):
    """`scipy.stats.multivariate_normal`, traced in x, the mean and the covariance."""

    frozen_kind = type(scipy.stats.multivariate_normal())
    functions = ("pdf", "logpdf", "cdf", "logcdf")

    def _method(self, name: str) -> Callable[..., Any]:
        if name not in ("cdf", "logcdf"):
            return super()._method(name)
        original = getattr(self.original, name)

        @functools.wraps(original)
        def function(x: Array, *args: Any, **keywords: Any) -> Any:
            given = {**dict(zip(_PLACES, args, strict=False)), **keywords}
            if running_trace() is None or not holds_traced((x, given)):
                return original(x, *args, **keywords)
            own = {key: given.pop(key) for key in self.parameters() if key in given}
            return number(self._in_box(name, x, self.bind((), own), given))

        return function

    def _in_box(
        self, function: str, x: Any, parameters: dict[str, Any], options: dict[str, Any]
    ) -> Any:
        """The probability of a box, or its logarithm; ``options`` are those of the integration.

        The value is SciPy's, whose error is 1e-5, the derivative that of `box_probability`.
        """
        name = f"{self.name}.{function}"
        low = options.pop("lower_limit", None)
        self.check_real(function, {"x": x, "lower_limit": low} | parameters)
        if _whitens(parameters["cov"]):
            raise UnsupportedError(
                f"{name}: a Covariance is not traced by linad here; pass the matrix as cov"
            )
        x, mean, cov = self._as_read(name, x, parameters["mean"], parameters["cov"])
        d = mean.shape[0]
        if d > 3:
            raise UnsupportedError(
                f"{name}: traced in up to 3 dimensions, got {d}; average over fixed draws of "
                "normal numbers instead, through np.linalg.cholesky of cov"
            )
        low = np.full(d, -np.inf) if low is None else double(low)
        low, high = np.broadcast_arrays(low, x)
        rows = [(side - mean).reshape((-1, d)) for side in (low, high)]
        try:
            factor = np.linalg.cholesky(cov)
        except np.linalg.LinAlgError as error:
            raise UnsupportedError(
                f"{name}: a singular cov is not traced by linad; leave out the components that "
                "others determine"
            ) from error
        y = box_probability(factor, *rows).reshape(low.shape[:-1])
        y = with_derivative(by_scipy(self._plain_box, low, high, mean, cov, **options), y)
        return np.squeeze(log_of(y) if function == "logcdf" else y)

    def _plain_box(self, low: Array, high: Array, mean: Array, cov: Array, **options: Any) -> Any:
        found = self.original.cdf(high, mean, cov, lower_limit=low, **options)
        return np.reshape(found, high.shape[:-1])

    def parameters(self) -> dict[str, Any]:
        return {"mean": None, "cov": 1.0, "allow_singular": False}

    def check_real(self, function: str, given: dict[str, Any]) -> None:
        numbers = {name: value for name, value in given.items() if not _whitens(value)}
        super().check_real(function, numbers)

    def traced(self, function: str, x: Array, parameters: dict[str, Any]) -> Any:
        name = f"{self.name}.{function}"
        if _whitens(parameters["cov"]):
            return self._of_covariance(name, x, parameters["mean"], parameters["cov"])
        x, mean, cov = self._as_read(name, x, parameters["mean"], parameters["cov"])
        d = mean.shape[0]
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

    def _as_read(self, name: str, x: Any, mean: Any, cov: Any) -> tuple[Any, Any, Any]:
        """x (..., d), the mean (d,) and the covariance (d, d), as SciPy reads them."""
        x, cov = double(x), double(cov)
        mean = None if mean is None else np.atleast_1d(double(mean))
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
        # Numbers are vectors of length 1, or one vector of length d.
        if x.ndim == 0:
            x = x[None]
        elif x.ndim == 1:
            x = x[:, None] if d == 1 else x[None]
        if x.shape[-1] != d:
            raise ShapeError(f"{name}: x has shape {x.shape}; its last axis must have length {d}")
        return x, mean, cov

    def _of_covariance(self, name: str, x: Array, mean: Array, covariance: Any) -> Any:
        """By a SciPy object, which whitens: Σ (W (x - μ))² is the quadratic form."""
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
