"""The exponents that make data most like normal ones: the maxima of `boxcox_llf`, `yeojohnson_llf`.

SciPy finds λ; there l'(λ, x) = 0 holds, and Newton's method on traced values carries the
derivative, see `linad.scipy.implicit_solutions`.

The transforms are y = u r(λ u) with u = log x, and with u = log(1 + x) for x >= 0 of Yeo and
Johnson's, r(v) = (e^v - 1) / v: where an exponent is 0 SciPy takes y = u, which does not depend
on it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp
import scipy.stats
from scipy.stats import _morestats

from linad.api.derivatives import derivative
from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.shaping import still
from linad.scipy.implicit_solutions import Watched, plain, root_of_number
from linad.scipy.mirror import bound_form, holds_traced, inexact, traced_form
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import stands_for


@traced_form(scipy.stats.boxcox_llf)
def boxcox_llf(lmb: Array, data: Array, **options: Any) -> Any:
    likelihood = form_by_twin(scipy.stats.boxcox_llf)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.log(still(data))
    if not holds_traced(lmb) or not _is_near_logarithm("boxcox_llf", still(lmb), u, options):
        return likelihood(lmb, data, **options)
    # By its value for λ = 0 of data whose logarithms are y.
    u = np.log(inexact(data))
    y = u * sp.exprel(lmb * u)
    return likelihood(0.0, np.exp(y), **options) + _sum(y + (lmb - 1) * u, options)


def _is_near_logarithm(name: str, power: Any, u: Any, options: dict[str, Any]) -> bool:
    """Whether e^(λ u) is so near to 1 that its variance over λ² has lost digits.

    Raises
    ------
    UnsupportedError
        At λ = 0, where NaN is to be left out.
    """
    size = np.abs(u)
    near = power == 0 or abs(power) * np.max(size[np.isfinite(size)], initial=0.0) < 0.01
    if not near or options.get("nan_policy", "propagate") == "propagate":
        return bool(near)
    if power == 0:
        raise UnsupportedError(
            f"{name}: the derivative in lmb is not traced by linad there with this nan_policy; "
            f"leave the NaN out of data"
        )
    return False


def _sum(terms: Array, options: dict[str, Any]) -> Any:
    axis, keepdims = options.get("axis", 0), options.get("keepdims", False)
    return np.sum(terms, axis=axis, keepdims=keepdims)


def _size(x: Array) -> Any:
    """|x| with the slope 1 at 0: where x stands in odd functions of it, as in all here."""
    return np.where(x >= 0, x, -x)


def _yeojohnson_transform(x: Array, lmbda: Array, xp: Any = None) -> Any:
    x = inexact(x)
    u = np.log1p(_size(x))
    return np.where(x >= 0, u * sp.exprel(lmbda * u), -u * sp.exprel((2 - lmbda) * u))


stands_for(_morestats._yeojohnson_transform, _yeojohnson_transform)


@traced_form(scipy.stats.yeojohnson_llf)
def yeojohnson_llf(lmb: Array, data: Array, **options: Any) -> Any:
    given = still(data)
    sign = 1 if np.all(given >= 0) else -1
    # Where all signs are one it is that of Box and Cox, of 1 + |x|: of λ, or of 2 - λ.
    if holds_traced(lmb) and np.size(given) and np.all(sign * given >= 0):
        power = lmb if sign > 0 else 2 - lmb
        if _is_near_logarithm("yeojohnson_llf", still(power), np.log1p(np.abs(given)), options):
            u = np.log1p(sign * inexact(data))
            y = u * sp.exprel(power * u)
            at = 0.0 if sign > 0 else 2.0
            shift = _sum(y + sign * (lmb - 1) * u, options)
            return yeojohnson_llf(at, sign * np.expm1(y), **options) + shift
    likelihood = form_by_twin(scipy.stats.yeojohnson_llf)(lmb, data, **options)
    if not holds_traced(data):
        return likelihood
    # Of sign(x) log(1 + |x|), as SciPy writes the Jacobian, the slope 1 at x = 0 is lost.
    data = inexact(data)
    return likelihood + (lmb - 1) * _sum(np.where(data == 0, data, 0.0), options)


def _at_maximum(name: str, likelihood: Callable[..., Any], x: Array, found: Any) -> Any:
    slope = derivative(lambda exponent: likelihood(exponent, x))
    return root_of_number(name, Watched(slope), np.float64(found))


@bound_form(scipy.stats.boxcox_normmax)
def boxcox_normmax(x: Array, method: str, **options: Any) -> Any:
    if method != "mle":
        raise UnsupportedError(
            f'boxcox_normmax: method={method!r} is not traced by linad; use method="mle"'
        )
    x = inexact(x)
    found = scipy.stats.boxcox_normmax(plain(x), method=method, **options)
    return _at_maximum("boxcox_normmax", boxcox_llf, x, found)


@bound_form(scipy.stats.yeojohnson_normmax)
def yeojohnson_normmax(x: Array, brack: Any) -> Any:
    x = inexact(x)
    found = scipy.stats.yeojohnson_normmax(plain(x), brack)
    return _at_maximum("yeojohnson_normmax", yeojohnson_llf, x, found)
