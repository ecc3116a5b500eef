"""Distributions of counts: SciPy's values outside of the counts that they are of."""

from typing import Any, ClassVar

import numpy as np
import scipy.stats

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.scipy.stats.distribution import Distribution, beyond, double, log_of_either


class Discrete(Distribution):
    """A distribution of counts: traced in its parameters, not in the count.

    A subclass says what ``_logpmf``, ``_pmf``, ``_cdf`` and ``_sf`` are at counts of the support.
    """

    variable = "k"
    frozen_kind = type(scipy.stats.poisson(1.0))
    functions = ("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")
    first: ClassVar[int] = 0  # the smallest count

    def parameters(self) -> dict[str, Any]:
        return dict.fromkeys(self.shape_names) | {"loc": 0}

    def traced(self, function: str, x: Array, parameters: dict[str, Any]) -> Any:
        for name, value in ((self.variable, x), ("loc", parameters["loc"])):
            if isinstance(value, Traced):
                self.refuse(function, name, "does not exist: counts are integers")
        k = double(x) - double(parameters["loc"])
        shapes = [double(parameters[name]) for name in self.shape_names]
        valid = self._valid(*shapes)
        shapes = [np.where(valid, s, 1.0) for s in shapes]
        last = self._last(*shapes)
        known = valid & ~np.isnan(k)
        if function.endswith("pmf"):
            within = (k >= self.first) & (k <= last) & (np.floor(k) == k) & np.isfinite(k)
            y = getattr(self, "_" + function)(np.where(within, k, self.first), *shapes)
            outside: Any = -np.inf if function == "logpmf" else 0.0
        else:
            within, above = (k >= self.first) & (k < last), k >= last
            counts = np.floor(np.where(within, k, self.first))
            upper = function in ("sf", "logsf")
            p, q = self._cdf(counts, *shapes), self._sf(counts, *shapes)
            p, q = (q, p) if upper else (p, q)
            y = log_of_either(p, q) if function.startswith("log") else p
            outside = beyond(function, above)
        return np.where(known, np.where(within, y, outside), np.nan)

    def _valid(self, *shapes: Any) -> Any:
        raise NotImplementedError

    def _last(self, *shapes: Any) -> Any:
        """The largest count."""
        return np.inf

    def _logpmf(self, k: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _pmf(self, k: Any, *shapes: Any) -> Any:
        return np.exp(self._logpmf(k, *shapes))

    def _cdf(self, k: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _sf(self, k: Any, *shapes: Any) -> Any:
        raise NotImplementedError
