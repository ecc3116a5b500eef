"""scipy.stats, traced: densities and distribution functions.

The distributions named here have traced `pdf`, `logpdf` (`pmf`, `logpmf`), `cdf`, `logcdf`, `sf`
and `logsf`, with parameters given or frozen. They are differentiable in x, loc, scale and the
shape parameters; where a distribution function has no derivative of closed form in a shape
parameter (gamma, beta, t, chi2) it raises. Results are double precision, as SciPy's. Everything
else is SciPy's own.
"""

from typing import Any

import scipy.stats

from linad.core.frames import public_names
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
from linad.scipy.stats.multivariate import multivariate_normal

__all__ = [
    "bernoulli",
    "beta",
    "binom",
    "cauchy",
    "chi2",
    "expon",
    "gamma",
    "geom",
    "gumbel_r",
    "laplace",
    "logistic",
    "lognorm",
    "multivariate_normal",
    "norm",
    "poisson",
    "t",
    "uniform",
    "weibull_min",
]


def __getattr__(name: str) -> Any:
    return getattr(scipy.stats, name)


def __dir__() -> list[str]:
    return public_names(scipy.stats)
