"""Densities estimated by Gaussian kernels.

    p(x) = Σ_i w_i N(x; x_i, h^2 C)

with C the covariance of the data and h Scott's or Silverman's factor, or a given one.

Source: D. Scott, "Multivariate Density Estimation", 1992.
"""

from typing import Any

import numpy as np
import scipy.special
import scipy.stats

from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules.shaping import still
from linad.scipy.linalg import solve_triangular
from linad.scipy.mirror import holds_traced, inexact
from linad.scipy.option_kinds import check_options
from linad.scipy.special import logsumexp
from linad.scipy.stats.continuous import HALF_LOG_2PI


class KernelEstimate:
    """A traced density: what `gaussian_kde` makes of traced arguments.

    Parameters
    ----------
    dataset : array (n,) or (d, n)
    bw_method : str, number, callable or None
    weights : array (n,), optional
    """

    stands_for: type = scipy.stats.gaussian_kde

    def __init__(self, dataset: Array, bw_method: Any = None, weights: Array | None = None) -> None:
        data = inexact(dataset)
        self.dataset = data[None] if data.ndim == 1 else data
        self.d, self.n = self.dataset.shape
        if weights is None:
            self.weights: Any = np.full(self.n, 1 / self.n)
        else:
            weights = inexact(weights)
            if weights.shape != (self.n,):
                raise ShapeError(
                    f"gaussian_kde: weights of shape {weights.shape} for {self.n} points"
                )
            self.weights = weights / np.sum(weights)
        self.neff = 1 / np.sum(self.weights * self.weights)
        self.factor = self._factor(bw_method)
        away = self.dataset - np.sum(self.weights * self.dataset, axis=1)[:, None]
        spread = (self.weights * away) @ away.T / (1 - np.sum(self.weights * self.weights))
        self.covariance = spread * self.factor * self.factor
        self._root = np.linalg.cholesky(self.covariance)

    def scotts_factor(self) -> Any:
        """n^(-1 / (d + 4))."""
        return self.neff ** (-1 / (self.d + 4))

    def silverman_factor(self) -> Any:
        """(n (d + 2) / 4)^(-1 / (d + 4))."""
        return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))

    def _factor(self, method: Any) -> Any:
        if method is None or (isinstance(method, str) and method == "scott"):
            return self.scotts_factor()
        if isinstance(method, str):
            if method != "silverman":
                raise ValueError(
                    f"gaussian_kde: bw_method must be 'scott', 'silverman', a number or a "
                    f"function, got {method!r}"
                )
            return self.silverman_factor()
        return method(self) if callable(method) else method

    def logpdf(self, x: Array) -> Any:
        """The logarithm of the density at points (m,) or (d, m)."""
        points = np.atleast_2d(inexact(x))
        if points.shape[0] != self.d:
            if points.shape != (1, self.d):
                raise ShapeError(
                    f"gaussian_kde: points of {points.shape[0]} coordinates, the data has {self.d}"
                )
            points = points.reshape((self.d, 1))
        lower = solve_triangular(self._root, points, lower=True)
        data = solve_triangular(self._root, self.dataset, lower=True)
        away = lower[:, :, None] - data[:, None, :]
        energy = 0.5 * np.sum(away * away, axis=0)
        scale = np.sum(np.log(np.diagonal(self._root))) + self.d * HALF_LOG_2PI
        return logsumexp(-energy, axis=1, b=self.weights[None]) - scale

    def evaluate(self, points: Array) -> Any:
        """The density at points (m,) or (d, m)."""
        return np.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """The probability of an interval."""
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        return np.sum(self.weights * (self._below(high) - self._below(low)))

    def _below(self, limit: Any) -> Any:
        """The part of each kernel that lies below a limit: all or none for an infinite one."""
        limit = inexact(limit)
        away = np.isinf(still(limit))
        z = (np.where(away, 0.0, limit) - self.dataset[0]) / self._root[0, 0]
        return np.where(away, still(limit) > 0, scipy.special.ndtr(z))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(scipy.stats.gaussian_kde, name):
            raise AttributeError(name)
        raise UnsupportedError(
            f"gaussian_kde.{name} is not traced by linad; logpdf, pdf and integrate_box_1d are"
        )


class gaussian_kde(scipy.stats.gaussian_kde):
    """As `scipy.stats.gaussian_kde`; a traced argument makes an `KernelEstimate`."""

    def __new__(cls, dataset: Array, bw_method: Any = None, weights: Array | None = None) -> Any:
        if not holds_traced((dataset, bw_method, weights)):
            return super().__new__(cls)
        check_options("scipy.stats.gaussian_kde", "gaussian_kde", {"bw_method": bw_method})
        return KernelEstimate(dataset, bw_method, weights)

    def _traced(self) -> KernelEstimate:
        return KernelEstimate(self.dataset, self.factor, self.weights)

    def evaluate(self, points: Array) -> Any:
        if holds_traced(points):
            return self._traced().evaluate(points)
        return super().evaluate(points)

    __call__ = evaluate

    def pdf(self, x: Array) -> Any:
        return self.evaluate(x)

    def logpdf(self, x: Array) -> Any:
        return self._traced().logpdf(x) if holds_traced(x) else super().logpdf(x)

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        if holds_traced((low, high)):
            return self._traced().integrate_box_1d(low, high)
        return super().integrate_box_1d(low, high)
