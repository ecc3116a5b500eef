"""Formulas of SciPy's distributions that hold at every value of a shape.

Where a formula is 0 / 0 at one value of a shape, or has a kink at it, SciPy takes another one
there, which does not depend on the shape: its derivative is not that of the distribution. So it is
where a formula goes through a pole, whose second derivative has no digits. The forms here, of one
piece, stand for SciPy's where its code is traced, see `linad.scipy.twins`.

truncpareto    E x^n = r((n - b) L) / r(-b L), with r(u) = (e^u - 1) / u and L = log c
genpareto      E x^n = n! / ((1 - c) (1 - 2c) ... (1 - n c))
trapezoid      E x^n = 2 (1 + d + ... + d^(n+1) - c^(n+1)) / ((1 + d - c) (n + 1) (n + 2))
vonmises       density exp(kappa cos x) / (2π I_0(kappa)); SciPy's is of exp(-|kappa|) I_0(kappa)
wrapcauchy     tan(π F) = (1 + c) / (1 - c) tan(x / 2), of which x = π, F = 1/2 are poles; angles
               of (cos, sin) have none
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats

from linad.core.array_type import Array
from linad.rules.shaping import still
from linad.scipy.twins import stands_for


def _truncated_pareto_moment(_: Any, n: Any, b: Array, c: Array) -> Any:
    sign, log = np.where(still(b) > 0, 1.0, -1.0), np.log(c)
    # For b < 0 by r(u) = e^u r(-u), so that nothing overflows.
    ratio = sp.exprel(sign * (n - b) * log) / sp.exprel(-sign * b * log)
    return ratio * np.exp(np.where(sign > 0, 0, n) * log)


def _general_pareto_moment(_: Any, n: Any, c: Array) -> Any:
    exists = still(c) * n < 1
    safe: Any = np.where(exists, c, 0.0)
    moment: Any = 1.0
    for k in range(1, int(n) + 1):
        moment = moment * k / (1 - k * safe)
    return np.where(exists, moment, np.inf)


def _trapezoid_moment(_: Any, n: Any, c: Array, d: Array) -> Any:
    powers: Any = 1.0
    for _k in range(int(n) + 1):
        powers = 1 + d * powers
    return 2 * (powers - c ** (n + 1)) / ((1 + d - c) * (n + 1) * (n + 2))


def log_bessel(x: Array) -> Any:
    """log I_0(x) for x >= 0."""
    small = still(x) < 1
    near, far = np.where(small, x, 0.0), np.where(small, 1.0, x)
    return np.where(small, np.log(sp.i0(near)), np.log(sp.i0e(far)) + far)


def _bessel_ratio(x: Array) -> Any:
    """I_1(x) / I_0(x) for x >= 0."""
    small = still(x) < 1
    near, far = np.where(small, x, 0.0), np.where(small, 1.0, x)
    return np.where(small, sp.i1(near) / sp.i0(near), sp.i1e(far) / sp.i0e(far))


def _von_mises_log_density(_: Any, x: Array, kappa: Array) -> Any:
    return kappa * np.cos(x) - math.log(2 * math.pi) - log_bessel(kappa)


def von_mises_density(_: Any, x: Array, kappa: Array) -> Any:
    return np.exp(_von_mises_log_density(_, x, kappa))


def _von_mises_entropy(_: Any, kappa: Array) -> Any:
    return math.log(2 * math.pi) + log_bessel(kappa) - kappa * _bessel_ratio(kappa)


def _wrapped_cauchy_probability(_: Any, x: Array, c: Array) -> Any:
    return np.arctan2((1 + c) * np.sin(x / 2), (1 - c) * np.cos(x / 2)) / np.pi


def _wrapped_cauchy_quantile(_: Any, q: Array, c: Array) -> Any:
    return 2 * np.arctan2((1 - c) * np.sin(np.pi * q), (1 + c) * np.cos(np.pi * q))


_FORMS: dict[str, dict[str, Callable[..., Any]]] = {
    "truncpareto": {"_munp": _truncated_pareto_moment},
    "genpareto": {"_munp": _general_pareto_moment},
    "trapezoid": {"_munp": _trapezoid_moment},
    "vonmises": {
        "_logpdf": _von_mises_log_density,
        "_pdf": von_mises_density,
        "_entropy": _von_mises_entropy,
    },
    "wrapcauchy": {"_cdf": _wrapped_cauchy_probability, "_ppf": _wrapped_cauchy_quantile},
}

for _name, _methods in _FORMS.items():
    for _method, _form in _methods.items():
        stands_for(getattr(type(getattr(scipy.stats, _name)), _method), _form)
