"""Continuous distributions by the formulas that SciPy's own classes hold.

`scipy.stats.rv_continuous` is made to be subclassed: a distribution says ``_pdf``, ``_cdf``
and their kind of the standard variable, in NumPy and `scipy.special`. Those of the distributions
here trace as they stand; masks, loc, scale, quantiles and moments are those of `Continuous`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.errors import UnsupportedError
from linad.operators.slopes import SlopeRule
from linad.rules.shaping import still
from linad.scipy.plain_results import by_scipy
from linad.scipy.stats.distribution import log_of_either
from linad.scipy.stats.limits import log_bessel, von_mises_density
from linad.scipy.stats.with_density import Continuous

NAMES = (
    *("alpha", "anglit", "arcsine", "argus", "bradford", "burr12", "chi", "dweibull"),
    *("erlang", "exponpow", "exponweib", "f", "fatiguelife", "foldcauchy"),
    *("foldnorm", "genexpon", "genlogistic", "gennorm", "gompertz", "gumbel_l"),
    *("halfcauchy", "halflogistic", "halfnorm", "hypsecant", "invgamma", "invgauss", "invweibull"),
    *("johnsonsb", "johnsonsu", "laplace_asymmetric", "levy", "levy_l", "loggamma", "loglaplace"),
    *("loguniform", "lomax", "maxwell", "mielke", "moyal", "nakagami", "pareto", "powerlaw"),
    *("powerlognorm", "powernorm", "rayleigh", "rdist", "reciprocal", "rel_breitwigner"),
    *("semicircular", "skewcauchy", "truncexpon", "truncweibull_min", "wald", "weibull_max"),
    *("betaprime", "jf_skew_t", "vonmises", "wrapcauchy"),
)
"""The distributions whose formulas trace."""

SYMMETRIC = ("dgamma", "dweibull", "gennorm")
"""Those that are symmetric about a kink, a zero or a pole of their density."""


def _where(
    exists: Any, moment: Callable[..., Any], *shapes: Any, otherwise: float = np.inf
) -> Any:
    """A moment, and what SciPy says where it does not exist."""
    safe = [np.where(exists, s, 10.0) for s in shapes]
    return np.where(exists, moment(*safe), otherwise)


def _of_pareto(b: Any) -> Any:
    mean = _where(b > 1, lambda b: b / (b - 1), b)
    return mean, _where(b > 2, lambda b: b / ((b - 1) ** 2 * (b - 2)), b)


def _of_lomax(c: Any) -> Any:
    mean, variance = _of_pareto(c)
    return mean - 1, variance


def _of_inverse_gamma(a: Any) -> Any:
    mean = _where(a > 1, lambda a: 1 / (a - 1), a)
    return mean, _where(a > 2, lambda a: 1 / ((a - 1) ** 2 * (a - 2)), a)


def _of_general_pareto(c: Any) -> Any:
    def variance(c: Any) -> Any:
        return 1 / ((1 - c) ** 2 * (1 - 2 * c))

    mean = _where(c < 1, lambda c: 1 / (1 - c), c)
    return mean, _where(c < 0.5, variance, c, otherwise=np.nan)


def _of_ratio(n: Array, d: Array) -> Any:
    def variance(n: Array, d: Array) -> Any:
        return 2 * d * d * (n + d - 2) / (n * (d - 2) ** 2 * (d - 4))

    mean = _where(d > 2, lambda d: d / (d - 2), d)
    return mean, _where(d > 4, variance, n, d)


def _of_generalized_normal(beta: Array) -> Any:
    return 0.0 * beta, np.exp(sp.gammaln(3 / beta) - sp.gammaln(1 / beta))


def _of_skewed_t(a: Array, b: Array) -> Any:
    """E T^n = (a + b)^(n/2) / 2^n Σ_i (-1)^i binom(n, i) B(a + n/2 - i, b - n/2 + i) / B(a, b).

    Source: M. Jones and M. Faddy, "A skew extension of the t-distribution, with applications",
    Journal of the Royal Statistical Society B 65 (2003) 159.
    """

    def moment(n: int, a: Array, b: Array) -> Any:
        shifted = [sp.beta(a + n / 2 - i, b - n / 2 + i) for i in range(n + 1)]
        signed = sum((-1) ** i * math.comb(n, i) * term for i, term in enumerate(shifted))
        return (0.5 * np.sqrt(a + b)) ** n * signed / sp.beta(a, b)

    def variance(a: Array, b: Array) -> Any:
        return moment(2, a, b) - moment(1, a, b) ** 2

    def mean(a: Array, b: Array) -> Any:
        return moment(1, a, b)

    smaller = np.minimum(still(a), still(b))
    return (
        _where(smaller > 0.5, mean, a, b, otherwise=np.nan),
        _where(smaller > 1, variance, a, b, otherwise=np.nan),
    )


MOMENTS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "pareto": _of_pareto,
    "lomax": _of_lomax,
    "invgamma": _of_inverse_gamma,
    "genpareto": _of_general_pareto,
    "f": _of_ratio,
    "gennorm": _of_generalized_normal,
    "jf_skew_t": _of_skewed_t,
}
"""Mean and variance, where SciPy's class writes them by cases or takes them of lists."""


class Hooked(Continuous):
    """A distribution by SciPy's formulas for it."""

    def __init__(self, name: str) -> None:
        given = getattr(scipy.stats, name).shapes
        self.shape_names = tuple(given.split(", ")) if given else ()  # type: ignore[misc]
        self.symmetric = name in SYMMETRIC
        super().__init__(name)

    def _valid(self, *shapes: Any) -> Any:
        return by_scipy(self.original._argcheck, *shapes)

    def _ends(self, *shapes: Any) -> tuple[Any, Any]:
        low, high = (by_scipy(self._end, *shapes, which=which) for which in (0, 1))
        return low, high

    def _end(self, *shapes: Any, which: int) -> Any:
        return self.original._get_support(*shapes)[which]

    def moving_ends(self, *shapes: Any) -> Any:
        """Where the support begins and ends; the shapes may be traced."""
        return self.formulas._get_support(*shapes)

    def _standard_point(self, *shapes: Any) -> Any:
        # Of infinite shapes, which some distributions take, SciPy looks for a median in vain.
        safe = [np.where(np.isfinite(s), s, 1.0) for s in shapes]
        return by_scipy(self._median, *safe) if shapes else self.original.median()

    def _median(self, *shapes: Any) -> Any:
        return self.original._ppf(0.5, *shapes)

    def _counts_at_end(self, z: Array, *shapes: Any) -> Any:
        return by_scipy(self._is_finite, z, *shapes)

    def _is_finite(self, z: Array, *shapes: Any) -> Any:
        # A density with a pole or a logarithm of 0 there has no derivative.
        with np.errstate(all="ignore"):
            return np.isfinite(self.original._logpdf(z, *shapes))

    def _logpdf(self, z: Array, *shapes: Any) -> Any:
        return self.formulas._logpdf(z, *shapes)

    def _mean_and_variance(self, *shapes: Any) -> tuple[Any, Any]:
        if self.name in MOMENTS:
            return MOMENTS[self.name](*shapes)
        return super()._mean_and_variance(*shapes)

    def _cdf(self, z: Array, *shapes: Any) -> Any:
        return self.formulas._cdf(z, *shapes)

    def _sf(self, z: Array, *shapes: Any) -> Any:
        return self.formulas._sf(z, *shapes)

    def _logcdf(self, z: Array, *shapes: Any) -> Any:
        p, q = self._cdf(z, *shapes), self._sf(z, *shapes)
        return self._with_far_tail("_logcdf", log_of_either(p, q), p, z, *shapes)

    def _logsf(self, z: Array, *shapes: Any) -> Any:
        p, q = self._cdf(z, *shapes), self._sf(z, *shapes)
        return self._with_far_tail("_logsf", log_of_either(q, p), q, z, *shapes)

    def _with_far_tail(self, name: str, near: Array, p: Array, z: Array, *shapes: Any) -> Any:
        """A logarithm: ``near``, and by SciPy's formula for it, if any, where p underflows."""
        far = still(p) < np.finfo(float).tiny
        own = getattr(type(self.original), name) is not getattr(scipy.stats.rv_continuous, name)
        if not own or not np.any(far):
            return near
        inner = np.where(far, z, self._standard_point(*[still(s) for s in shapes]))
        return np.where(far, getattr(self.formulas, name)(inner, *shapes), near)


class ExponNormal(Hooked):
    """A normal and an exponential variable, added; SciPy 1.18 writes it by cases into an array.

    Density T / K, distribution function Φ(x) - T, T = exp(1/2K² - x/K) Φ(x - 1/K).
    """

    def _log_tail(self, x: Any, K: Any) -> Any:
        """log T; where the two factors cancel, by the scaled erfc."""
        u = (1 / K - x) / math.sqrt(2)
        far = (still(u) >= 0) & (still(K) < 1)
        scaled = np.log(0.5 * sp.erfcx(np.where(far, u, 0.0))) - 0.5 * x * x
        return np.where(far, scaled, (0.5 / K - x) / K + sp.log_ndtr(x - 1 / K))

    def _logpdf(self, z: Any, K: Any) -> Any:
        return self._log_tail(z, K) - np.log(K)

    def _cdf(self, z: Any, K: Any) -> Any:
        return sp.ndtr(z) - np.exp(self._log_tail(z, K))

    def _sf(self, z: Any, K: Any) -> Any:
        return sp.ndtr(-z) + np.exp(self._log_tail(z, K))


class DoubleGamma(Hooked):
    """Gamma's distribution on both sides of 0.

    SciPy's F takes both sides at all points: the other one is NaN, and its derivative spoils sums.
    """

    def _cdf(self, z: Any, a: Any) -> Any:
        right = still(z) > 0
        above = 0.5 + 0.5 * sp.gammainc(a, np.where(right, z, 1.0))
        return np.where(right, above, 0.5 * sp.gammaincc(a, np.where(right, 1.0, -z)))

    def _sf(self, z: Any, a: Any) -> Any:
        return self._cdf(-z, a)


class GeneralizedNormal(Hooked):
    """Density exp(-|z|^β) / (2 Γ(1 + 1/β)).

    F - 1/2 is ± the incomplete gamma function P(1/β, u) / 2, u = |z|^β, whose slope in u has a pole
    at 0, and about 0 it is z times the density.
    """

    def _cdf(self, z: Any, beta: Any) -> Any:
        size = np.abs(still(z))
        near = (size ** still(beta) < 1e-290) & np.isfinite(still(beta))
        about = 0.5 + np.where(near, z, 0.0) / (2 * sp.gamma(1 + 1 / beta))
        below, above = ~near & (still(z) < 0), ~near & (still(z) > 0)
        left = 0.5 * sp.gammaincc(1 / beta, np.where(below, -z, 1.0) ** beta)
        right = 0.5 + 0.5 * sp.gammainc(1 / beta, np.where(above, z, 1.0) ** beta)
        return np.where(near, about, np.where(below, left, right))

    def _sf(self, z: Any, beta: Any) -> Any:
        return self._cdf(-z, beta)


class Rice(Hooked):
    """Density x exp(-(x² + b²) / 2) I_0(b x)."""

    def _logpdf(self, z: Array, b: Array) -> Any:
        return np.log(z) - 0.5 * (z * z + b * b) + log_bessel(b * z)


class Mielke(Hooked):
    """Density k x^(k-1) / (1 + x^s)^(1 + k/s)."""

    def _counts_at_end(self, z: Array, k: Array, s: Array) -> Any:
        return (z == 0) & (k <= 1)

    def _logpdf(self, z: Array, k: Array, s: Array) -> Any:
        return np.log(k) + sp.xlogy(k - 1, z) - (1 + k / s) * np.log1p(z**s)


class VonMises(Hooked):
    """Density exp(κ cos x) / (2π I_0(κ)), whose integral SciPy sums in compiled code."""

    def _cdf(self, z: Any, kappa: Any) -> Any:
        if isinstance(kappa, Traced):
            self.refuse("cdf", "kappa", "has no formula, and that of sf and of quantiles neither")
        return von_mises_integral(z, kappa)

    def _sf(self, z: Any, kappa: Any) -> Any:
        return 1.0 - self._cdf(z, kappa)

    def _logcdf(self, z: Any, kappa: Any) -> Any:
        return np.log(self._cdf(z, kappa))

    def _logsf(self, z: Any, kappa: Any) -> Any:
        return np.log(self._sf(z, kappa))  # NaN beyond one turn, as SciPy's: F goes on there


von_mises_integral = Primitive(
    "von_mises_integral", lambda x, kappa: scipy.stats.vonmises._cdf(x, kappa), register=False
)
von_mises_integral.jacobian(wrt=0)(
    SlopeRule("von_mises_integral_wrt_x", 0, lambda y, x, kappa: von_mises_density(None, x, kappa))
)


class GeneralizedInverseGauss(Hooked):
    """Density x^(p-1) exp(-b (x + 1/x) / 2) / (2 K_p(b)); SciPy integrates it for the others.

    The moments E x^k are K_(p+k)(b) / K_p(b).
    """

    def _logpdf(self, z: Array, p: Array, b: Array) -> Any:
        far = 0.5 * b * (np.sqrt(z) - 1 / np.sqrt(z)) ** 2
        return sp.xlogy(p - 1, z) - far - np.log(2 * sp.kve(p, b))

    def _mean_and_variance(self, p: Array, b: Array) -> tuple[Any, Any]:
        whole = sp.kve(p, b)
        mean = sp.kve(p + 1, b) / whole
        return mean, sp.kve(p + 2, b) / whole - mean * mean

    def _cdf(self, z: Array, p: Array, b: Array) -> Any:
        raise UnsupportedError(
            "geninvgauss: of its functions, the densities and moments are traced by linad; "
            "integrate the density with linad.scipy.integrate.quad"
        )

    _sf = _cdf


HOOKED = {name: Hooked(name) for name in NAMES}
HOOKED |= {"exponnorm": ExponNormal("exponnorm"), "dgamma": DoubleGamma("dgamma")}
HOOKED["gennorm"] = GeneralizedNormal("gennorm")
HOOKED |= {
    "rice": Rice("rice"),
    "mielke": Mielke("mielke"),
    "vonmises": VonMises("vonmises"),
    "geninvgauss": GeneralizedInverseGauss("geninvgauss"),
}
