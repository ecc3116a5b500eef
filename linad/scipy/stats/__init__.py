"""scipy.stats, traced: densities and distribution functions.

The distributions named here, and those of `linad.scipy.stats.hooks`, have traced `pdf`, `logpdf`
(`pmf`, `logpmf`), `cdf`, `logcdf`, `sf` and `logsf`, those that are continuous also `ppf`, `isf`,
`mean`, `var`, `std`, `median` and `entropy`, with parameters given or frozen. They are
differentiable in x, loc, scale and the shape parameters, counts excepted. Results are double
precision, as SciPy's. Numbers that sum up samples, correlations, tests with their p-values,
transformations, distributions of vectors and the new `Normal` and its kind run as SciPy's own code:
`TWINS` lists them. Everything else is SciPy's own.
"""

from typing import Any

import scipy.stats

from linad.core.mirrored_names import mirrored_names
from linad.scipy.stats.cases import (
    burr,
    cosine,
    fisk,
    gengamma,
    pearson3,
    skewnorm,
    trapezoid,
    triang,
    truncnorm,
)
from linad.scipy.stats.chosen_formulas import (
    iqr as iqr,
    pmean as pmean,
    power_divergence as power_divergence,
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
from linad.scipy.stats.discrete import bernoulli, binom, geom, nbinom, poisson
from linad.scipy.stats.extremes import genextreme, genpareto, kappa4
from linad.scipy.stats.hooks import HOOKED
from linad.scipy.stats.kernels import gaussian_kde
from linad.scipy.stats.multivariate import multivariate_normal
from linad.scipy.stats.noncentral_families import ncf, nct, ncx2
from linad.scipy.stats.powers import (
    boxcox_llf as boxcox_llf,
    boxcox_normmax as boxcox_normmax,
    yeojohnson_llf as yeojohnson_llf,
    yeojohnson_normmax as yeojohnson_normmax,
)
from linad.scipy.stats.samples_apart import (
    energy_distance as energy_distance,
    wasserstein_distance as wasserstein_distance,
)
from linad.scipy.stats.siegel import siegelslopes as siegelslopes
from linad.scipy.stats.whole import WHOLE
from linad.scipy.twinforms import twins_among

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
    "genpareto",
    "geom",
    "gumbel_r",
    "kappa4",
    "laplace",
    "logistic",
    "lognorm",
    "multivariate_normal",
    "nbinom",
    "ncf",
    "nct",
    "ncx2",
    "norm",
    "pearson3",
    "poisson",
    "skewnorm",
    "t",
    "trapezoid",
    "triang",
    "truncnorm",
    "uniform",
    "weibull_min",
]


TWINS = (
    # Samples in numbers.
    *("bayes_mvs", "binned_statistic", "binned_statistic_2d", "binned_statistic_dd", "circmean"),
    *("circstd", "circvar", "describe", "differential_entropy", "directional_stats"),
    *("entropy", "expectile", "gmean", "gstd", "gzscore", "hmean", "kstat", "kstatvar"),
    *("kurtosis", "lmoment", "median_abs_deviation", "mode", "moment", "mvsdist"),
    *("obrientransform", "percentileofscore", "quantile", "rankdata", "relfreq"),
    *("scoreatpercentile", "sem", "sigmaclip", "skew", "tmax", "tmean", "tmin", "trim1"),
    *("trim_mean", "trimboth", "tsem", "tstd", "tvar", "variation", "zmap", "zscore"),
    *("ecdf", "probplot"),
    # Two samples, or more: how they are related, and tests.
    *("linregress", "pearsonr", "spearmanr", "kendalltau"),
    *("theilslopes", "chatterjeexi", "somersd"),
    *(
        "alexandergovern",
        "anderson",
        "ansari",
        "bartlett",
        "brunnermunzel",
        "chi2_contingency",
    ),
    *("chisquare", "cramervonmises", "cramervonmises_2samp", "f_oneway", "fligner"),
    *("friedmanchisquare", "jarque_bera", "kruskal", "ks_2samp"),
    *("kurtosistest", "levene", "mannwhitneyu", "median_test", "mood", "normaltest"),
    *("page_trend_test", "ranksums", "skewtest"),
    *("ttest_1samp", "ttest_ind", "ttest_ind_from_stats", "ttest_rel", "wilcoxon"),
    *("combine_pvalues", "false_discovery_control"),
    *("bws_test", "logrank", "pointbiserialr", "ppcc_plot", "spearmanrho"),
    *("bootstrap", "monte_carlo_test", "permutation_test"),
    *("boxcox", "yeojohnson"),
    # Distributions.
    *("Covariance", "dirichlet", "dirichlet_multinomial", "invwishart", "matrix_normal"),
    *("matrix_t", "multinomial", "multivariate_t", "normal_inverse_gamma", "vonmises_fisher"),
    *("wishart", "Normal", "Uniform", "Logistic", "Mixture"),
    *("abs", "exp", "log", "order_statistic"),
    *("dpareto_lognorm", "gausshyper", "irwinhall", "skellam", "Binomial"),
    *("rv_histogram",),
)
"""SciPy's own code, run on traced values: see `linad.scipy.twins`."""


_twin = twins_among(scipy.stats, TWINS)


def _form(name: str) -> Any:
    return HOOKED.get(name) or WHOLE.get(name) or _twin(name)


__getattr__, __dir__ = mirrored_names(
    scipy.stats, _form, package=__name__, rooms=("qmc",)
)
