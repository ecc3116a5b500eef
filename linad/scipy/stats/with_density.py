"""Distributions with a density.

    z = (x - loc) / scale      pdf(x) = f(z) / scale      cdf(x) = F(z)

A distribution gives log f, F and its kin on its support, in traced functions; this module puts
what SciPy says outside of it: 0, 1, -inf, and NaN for parameters that make no distribution. Far
out in the tails some logarithms are closer than SciPy's, which are -inf where the probability
underflows, or NaN at infinity.
"""

from typing import Any, ClassVar

import numpy as np
import scipy.stats

from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.shaping import still
from linad.scipy.plain_results import by_scipy
from linad.scipy.stats.distribution import Distribution, beyond, double, log_of_either
from linad.scipy.stats.endquantiles import at_ends


class Continuous(Distribution):
    """A distribution with a density.

    A subclass says on the standard variable z what `logpdf`, `cdf`, ... are; its methods are
    named ``_logpdf``, ``_cdf``, ``_sf``, ``_logcdf`` and ``_logsf``, and see interior points only.
    """

    functions = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
    moments = ("mean", "var", "std", "median", "entropy")
    span: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    inside: ClassVar[float] = 0.0  # a point of the support
    # About loc, where the density may have a kink, a zero or a pole: no place for Newton's method.
    symmetric: bool = False

    def parameters(self) -> dict[str, Any]:
        return dict.fromkeys(self.shape_names) | {"loc": 0.0, "scale": 1.0}

    def _ends(self, *shapes: Any) -> tuple[Any, Any]:
        """Where the support begins and ends; the shapes are plain."""
        return self.span

    def moving_ends(self, *shapes: Any) -> tuple[Any, Any]:
        """Where the support begins and ends; the shapes may be traced."""
        return self._ends(*shapes)

    def _standard_point(self, *shapes: Any) -> Any:
        """A point of the support; the shapes are plain."""
        return self.inside

    def traced_moment(self, function: str, parameters: dict[str, Any]) -> Any:
        if function == "median" and not self.symmetric:
            return self.traced("ppf", 0.5, parameters)
        loc, scale = double(parameters["loc"]), double(parameters["scale"])
        shapes = [double(parameters[name]) for name in self.shape_names]
        valid = (scale > 0) & self._valid(*shapes) & ~np.isnan(still(loc))
        shapes = [np.where(valid, s, 1.0) for s in shapes]
        scale = np.where(valid, scale, 1.0)
        if function == "entropy":
            y = self._entropy(*shapes) + np.log(scale)
        else:
            mean, variance = self._mean_and_variance(*shapes)
            if function in ("mean", "median"):
                y = loc + scale * mean
            else:
                y = scale * scale * variance if function == "var" else scale * np.sqrt(variance)
        return np.where(valid, y, np.nan)

    def _mean_and_variance(self, *shapes: Any) -> tuple[Any, Any]:
        """Of the standard variable: as SciPy's class has them, by moments about 0 or directly."""
        theirs, generic = type(self.original), scipy.stats.rv_continuous
        if theirs._stats is not generic._stats:
            mean, variance = self.formulas._stats(*shapes)[:2]
            if mean is not None and variance is not None:
                return mean, variance
        if theirs._munp is not generic._munp:
            mean = self.formulas._munp(1, *shapes)
            finite = np.isfinite(mean)
            square = np.where(finite, mean, 0.0) ** 2
            return mean, np.where(finite, self.formulas._munp(2, *shapes) - square, mean)
        raise UnsupportedError(
            f"{self.name}: its moments, which SciPy has no formula for, are not traced by linad; "
            f"integrate the density with linad.scipy.integrate.quad"
        )

    def _entropy(self, *shapes: Any) -> Any:
        """Of the standard variable, as SciPy's class has it."""
        if type(self.original)._entropy is scipy.stats.rv_continuous._entropy:
            raise UnsupportedError(
                f"{self.name}.entropy: SciPy has no formula for it, and it is not traced by linad; "
                f"integrate -p log(p) with linad.scipy.integrate.quad"
            )
        return self.formulas._entropy(*shapes)

    def _quantile(self, function: str, q: Array, parameters: dict[str, Any]) -> Any:
        """The x where F(x) = q, or 1 - F(x) = q, which is SciPy's.

        Its derivative is that of Newton's method there, x - (F(x) - q) / f(x): a step has the
        first, the next one all up to the third, see `linad.scipy.implicit_solutions`.
        """
        lower = function == "ppf"
        q = double(q)
        plain = {name: still(double(value)) for name, value in parameters.items()}
        theirs = getattr(self.original, function)
        found = by_scipy(theirs, q, *plain.values(), of=tuple(plain))
        known = np.isfinite(found) & (still(q) > 0) & (still(q) < 1)
        steady = [plain[name] for name in self.shape_names]
        valid = self._valid(*steady)
        point = self._standard_point(*[np.where(valid, s, 1.0) for s in steady])
        x: Any = np.where(known, found, plain["loc"] + plain["scale"] * point)
        for _ in range(2):
            with np.errstate(all="ignore"):  # of what comes out it is told below
                slope = self.traced("pdf", x, parameters)
            if np.any(known & ((still(slope) == 0) | ~np.isfinite(still(slope)))):
                raise UnsupportedError(
                    f"{self.name}.{function}: where the density is 0 or infinite a quantile has no "
                    f"derivative; pass linad.stop_gradient of q and of the parameters"
                )
            gap = self.traced("cdf" if lower else "sf", x, parameters) - np.where(known, q, 0.5)
            x = x - (gap if lower else -gap) / slope
        y = np.where(known, found + (x - still(x)), found)
        at_end = np.isfinite(found) & ((still(q) == 0) | (still(q) == 1))
        if not np.any(at_end):
            return y
        shapes = [double(parameters[name]) for name in self.shape_names]
        loc, scale = double(parameters["loc"]), double(parameters["scale"])
        x = at_ends(self, lower, q, shapes, loc, scale, at_end)
        return np.where(at_end, found + (x - still(x)), y)

    def traced(self, function: str, x: Array, parameters: dict[str, Any]) -> Any:
        if function in ("ppf", "isf"):
            return self._quantile(function, x, parameters)
        density = function in ("pdf", "logpdf")
        x, loc, scale = (double(v) for v in (x, parameters["loc"], parameters["scale"]))
        shapes = [double(parameters[name]) for name in self.shape_names]
        valid = (scale > 0) & self._valid(*shapes)
        shapes = [np.where(valid, s, 1.0) for s in shapes]
        scale = np.where(valid, scale, 1.0)
        plain = (still(x) - still(loc)) / still(scale)
        steady = [still(s) for s in shapes]
        low, high = self._ends(*steady)
        within = (low < plain) & (plain < high)
        if density:
            end = (plain == low) | (plain == high)
            within = within | (end & self._counts_at_end(plain, *steady))
            outside = self._outside_density(end & ~within, plain, *steady)
        # An infinite x, though masked out later, would have the derivative inf times 0.
        z = np.where(
            within, (np.where(within, x, 0.0) - loc) / scale, self._standard_point(*steady)
        )
        if density:
            y = np.where(within, self._logpdf(z, *shapes) - np.log(scale), outside)
            y = np.exp(y) if function == "pdf" else y
        else:
            y = getattr(self, "_" + function)(z, *shapes)
            y = np.where(within, y, beyond(function, plain >= high))
        return np.where(valid & ~np.isnan(plain), y, np.nan)

    def _outside_density(self, end: Any, z: Array, *shapes: Any) -> Any:
        """The logarithm -inf, and inf at an end of the support where the density has a pole."""
        if not np.any(end):
            return -np.inf
        theirs = by_scipy(self.original.logpdf, np.where(end, z, self.inside), *shapes)
        return np.where(end & (theirs == np.inf), np.inf, -np.inf)

    def _valid(self, *shapes: Any) -> Any:
        valid = np.True_
        for shape in shapes:
            valid = valid & (shape > 0)
        return valid

    def _counts_at_end(self, z: Array, *shapes: Any) -> Any:
        """Whether the density at an end of the support is the formula's, and not 0."""
        return np.isfinite(z)

    def _logpdf(self, z: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _cdf(self, z: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _sf(self, z: Any, *shapes: Any) -> Any:
        raise NotImplementedError

    def _logcdf(self, z: Array, *shapes: Any) -> Any:
        return log_of_either(self._cdf(z, *shapes), self._sf(z, *shapes))

    def _logsf(self, z: Array, *shapes: Any) -> Any:
        return log_of_either(self._sf(z, *shapes), self._cdf(z, *shapes))
