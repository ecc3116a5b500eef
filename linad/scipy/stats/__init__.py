"""scipy.stats, traced: densities and distribution functions.

The distributions named here, and those of `linad.scipy.stats.hooks`, have traced `pdf`, `logpdf`
(`pmf`, `logpmf`), `cdf`, `logcdf`, `sf` and `logsf`, those that are continuous also `ppf`, `isf`,
`mean`, `var`, `std`, `median` and `entropy`, with parameters given or frozen. They are
differentiable in x, loc, scale and the shape parameters, counts excepted. Results are double
precision, as SciPy's. Summaries of samples (`skew`, `kurtosis`, `moment`, `zscore`, `sem`, `gmean`,
`hmean`, `entropy`) are traced as well. Everything else is SciPy's own.
"""

from typing import Any

import scipy.stats

from linad.core.frames import public_names
from linad.scipy.stats.cases import (
    burr,
    cosine,
    fisk,
    genextreme,
    gengamma,
    skewnorm,
    trapezoid,
    triang,
    truncnorm,
)
from linad.scipy.stats.continuous import (
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    gumbel_r,
    laplace,
    logistic,
    lognorm,
    norm,
    t,
    uniform,
    weibull_min,
)
from linad.scipy.stats.discrete import bernoulli, binom, geom, poisson
from linad.scipy.stats.hooks import HOOKED
from linad.scipy.stats.kernels import gaussian_kde
from linad.scipy.stats.multivariate import multivariate_normal
from linad.scipy.stats.summaries import (
    entropy as entropy,
    gmean as gmean,
    hmean as hmean,
    kurtosis as kurtosis,
    moment as moment,
    sem as sem,
    skew as skew,
    zscore as zscore,
)

__all__ = [
    "bernoulli",
    "beta",
    "binom",
    "burr",
    "cauchy",
    "chi2",
    "cosine",
    "expon",
    "fisk",
    "gamma",
    "gaussian_kde",
    "genextreme",
    "gengamma",
    "geom",
    "gumbel_r",
    "laplace",
    "logistic",
    "lognorm",
    "multivariate_normal",
    "norm",
    "poisson",
    "skewnorm",
    "t",
    "trapezoid",
    "triang",
    "truncnorm",
    "uniform",
    "weibull_min",
]


def __getattr__(name: str) -> Any:
    return HOOKED[name] if name in HOOKED else getattr(scipy.stats, name)


def __dir__() -> list[str]:
    return public_names(scipy.stats)
