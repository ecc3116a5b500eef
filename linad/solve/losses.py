"""Robust losses: the cost ½ c² Σ ρ((r_i / c)²) of residuals, and its model as plain squares.

ρ(z) = z gives ½ |r|². A loss that grows more slowly lets outliers count for less. Near a point
the cost is ½ |w r̃ + w J p|² up to a constant and the curvature that is left out:

    w² = ρ' + 2 ρ'' r²          r̃ = r ρ' / w²        so J^T w w r̃ = J^T ρ' r, the gradient

Source: B. Triggs, P. McLauchlan, R. Hartley, A. Fitzgibbon, "Bundle adjustment: a modern
synthesis", 2000, section 4.3.

The minimum spreads, over repeated measurements whose m residuals are alike, with the covariance

    K² s² / μ² (J^T J)^-1      s² = Σ ψ² / (m - n)      ψ = ρ' r      μ, v: mean, variance of ψ'
                               K = 1 + (n / m) v / μ²   ψ' = ρ' + 2 ρ'' (r / c)²

for n parameters, whatever the distribution of the residuals: outliers count through ψ alone.

Source: P. J. Huber, "Robust statistics", 1981, section 7.6.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import Kind
from linad.core.primitive import Traced
from linad.errors import OutputError


def _soft_l1(z: Array) -> Any:
    t = 1.0 + z
    return 2.0 * (np.sqrt(t) - 1.0), t**-0.5, -0.5 * t**-1.5


def _huber(z: Array) -> Any:
    inside = z <= 1.0
    t = np.where(inside, 1.0, z)
    return (
        np.where(inside, z, 2.0 * np.sqrt(t) - 1.0),
        t**-0.5,
        np.where(inside, 0.0, -0.5 * t**-1.5),
    )


def _cauchy(z: Array) -> Any:
    t = 1.0 + z
    return np.log1p(z), 1.0 / t, -1.0 / t**2


def _arctan(z: Array) -> Any:
    t = 1.0 + z**2
    return np.arctan(z), 1.0 / t, -2.0 * z / t**2


LOSSES: dict[str, Callable[[Any], Any]] = {
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": _cauchy,
    "arctan": _arctan,
}
"""z -> ρ(z), ρ'(z), ρ''(z), under SciPy's names."""

LOSS = Kind(
    f"'linear', {', '.join(map(repr, LOSSES))} or a function z -> (rho, rho', rho'')",
    lambda given: callable(given) or (isinstance(given, str) and given in {"linear", *LOSSES}),
)


class Loss:
    """The cost of residuals, which may be traced.

    Parameters
    ----------
    loss : str or callable
        One of `LOSSES`, or ``loss(z)`` that returns ρ, ρ' and ρ'' as SciPy's losses do.
    scale : float
        c, the size of a residual from which on it counts for less.
    """

    def __init__(self, loss: Any, scale: float) -> None:
        self.function = LOSSES[loss] if isinstance(loss, str) else loss
        self.scale = scale

    def _values(self, r: Array) -> Any:
        values = self.function((r / self.scale) ** 2)
        if isinstance(r, Traced):
            return values
        values = np.asarray(values)
        if values.shape != (3, *r.shape):
            raise OutputError(
                f"loss: a function given as loss must return rho, its first and its second "
                f"derivative, in all of shape {(3, *r.shape)}; it returned {values.shape}"
            )
        return values

    def influence(self, r: Array) -> Any:
        """ρ' r, whose product with J^T is the gradient of the cost."""
        if r.dtype.kind == "c":
            return self.influence(r.real) + 1j * self.influence(r.imag)
        flat = r.reshape(-1)
        return (self._values(flat)[1] * flat).astype(r.dtype).reshape(r.shape)

    def cost(self, r: Array) -> Any:
        """½ c² Σ ρ, in double precision."""
        return 0.5 * self.scale**2 * np.sum(self._values(r)[0]).astype(float)

    def curvature(self, r: Any) -> Any:
        """ρ' + 2 ρ'' (r / c)², the second derivative of the cost in each residual."""
        _, first, second = self._values(r)
        return first + 2.0 * second * (r / self.scale) ** 2

    def spread(self, r: Array, n: int) -> tuple[float, float]:
        """K² s² / μ² and K² s² / μ, of residuals and a number of parameters.

        The second is what differences of 2 cost are compared with. Infinite where residuals are so
        many times the scale that on average a larger one would count for less.
        """
        slopes = self.curvature(r)
        mu, m = float(np.mean(slopes)), r.size
        if m <= n or not mu > 0:
            return np.inf, np.inf
        K = 1.0 + n / m * float(np.var(slopes)) / mu**2
        scale = K**2 * float(np.sum(self.influence(r) ** 2)) / (m - n) / mu
        return scale / mu, scale

    def model(self, r: Array) -> tuple[Any, Any]:
        """w, by which the rows of J are multiplied, and w r̃."""
        first, squared = self._values(r)[1], self.curvature(r)
        w = np.sqrt(np.maximum(squared, 1e-4 * np.abs(first) + np.finfo(float).tiny))
        return w.astype(r.dtype), (r * first / w).astype(r.dtype)
