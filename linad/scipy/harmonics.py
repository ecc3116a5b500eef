"""Legendre functions and spherical harmonics of scipy.special that are no ufuncs, traced.

They differ from the ufuncs ``eval_legendre`` and ``lpmv`` in the shapes of what they give: an axis
in front counts derivatives, and the functions of all degrees and orders stack them, the orders
0, 1, ..., m, -m, ..., -1. Of the derivatives that ``diff_n`` asks for, none are traced.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from linad.errors import UnsupportedError
from linad.rules.harmonics import sph_legendre_p as on_the_sphere
from linad.rules.shaping import as_array, concrete
from linad.scipy.mirror import Function, check_real, refuse, traced_form


def _form(name: str) -> Callable[[Function], Function]:
    """As `traced_form`; the objects of SciPy 1.15 do not say what they are called."""
    own = getattr(scipy.special, name)

    def plain(*args: Any, **kwargs: Any) -> Any:
        return own(*args, **kwargs)

    plain.__name__ = plain.__qualname__ = name
    plain.__module__, plain.__doc__ = "scipy.special", own.__doc__
    return traced_form(plain)


@functools.lru_cache(64)
def _kind(name: str, whole: int, dtype: Any) -> Any:
    """The dtype that SciPy gives for real arguments of another after ``whole`` integers."""
    given = 2 if "harm" in name else 1
    return getattr(scipy.special, name)(*[1] * whole, *[np.zeros((), dtype)] * given).dtype


def _given(name: str, **real: Any) -> Any:
    """Real arguments in double precision."""
    check_real(name, **real)
    return [np.astype(as_array(x), np.float64, copy=False) for x in real.values()]


def _made(name: str, whole: int, result: Any, *real: Any) -> Any:
    """A result in SciPy's own dtype, of which versions have their own minds."""
    dtype = np.result_type(*[as_array(x).dtype for x in real])
    return np.astype(result, _kind(name, whole, dtype), copy=False)


def _orders(m: int) -> list[int]:
    return [*range(m + 1), *range(-m, 0)]


def _all(function: Callable[[int, int], Any], n: Any, m: Any) -> Any:
    """Of all degrees to ``n`` and orders to ``m``, in two axes in front."""
    if np.ndim(n) or np.ndim(m):
        raise ValueError("expected one largest degree n and order m, got arrays")
    rows = [[function(k, j) for j in _orders(abs(int(m)))] for k in range(int(n) + 1)]
    return np.stack([np.stack(row) for row in rows])


def _associated(n: Any, m: Any, z: Any, norm: bool) -> Any:
    """Of a negative order by the positive one: P_n^-m = (-1)^m (n-m)! / (n+m)! P_n^m."""
    name = "assoc_legendre_p"
    if np.any(np.abs(concrete(z)) > 1):
        raise UnsupportedError(f"{name}: |z| > 1 is not traced by linad; legendre_p has any z")
    n, m = np.asarray(n, float), np.asarray(m, float)
    order = np.abs(m)
    ratio = np.where(order > n, 0.0, scipy.special.poch(np.maximum(n - order, 0) + 1, 2 * order))
    ratio = np.divide(1.0, ratio, out=np.zeros_like(ratio), where=ratio > 0)
    sign = np.where(m < 0, (-1.0) ** order, 1.0)
    factor = np.sqrt((n + 0.5) * ratio) if norm else np.where(m < 0, ratio, 1.0)
    return sign * factor * scipy.special.lpmv(order, n, z)


@_form("legendre_p")
def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    refuse("legendre_p", diff_n=(diff_n, 0))
    (x,) = _given("legendre_p", z=z)
    found = scipy.special.eval_legendre(np.asarray(n, float), x)[None]
    return _made("legendre_p", 1, found, z)


@_form("legendre_p_all")
def legendre_p_all(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    refuse("legendre_p_all", diff_n=(diff_n, 0))
    (x,) = _given("legendre_p_all", z=z)
    rows = [scipy.special.eval_legendre(float(k), x) for k in range(int(n) + 1)]
    return _made("legendre_p_all", 1, np.stack(rows)[None], z)


@_form("assoc_legendre_p")
def assoc_legendre_p(
    n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    refuse("assoc_legendre_p", diff_n=(diff_n, 0))
    (x,) = _given("assoc_legendre_p", z=z)
    return _made("assoc_legendre_p", 2, _associated(n, m, x, norm)[None], z)


@_form("assoc_legendre_p_all")
def assoc_legendre_p_all(
    n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    refuse("assoc_legendre_p_all", diff_n=(diff_n, 0))
    (x,) = _given("assoc_legendre_p_all", z=z)
    found = _all(lambda k, j: _associated(k, j, x, norm), n, m)[None]
    return _made("assoc_legendre_p_all", 2, found, z)


@_form("sph_legendre_p")
def sph_legendre_p(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    refuse("sph_legendre_p", diff_n=(diff_n, 0))
    (t,) = _given("sph_legendre_p", theta=theta)
    return _made("sph_legendre_p", 2, on_the_sphere(n, m, t)[None], theta)


@_form("sph_legendre_p_all")
def sph_legendre_p_all(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    refuse("sph_legendre_p_all", diff_n=(diff_n, 0))
    (t,) = _given("sph_legendre_p_all", theta=theta)
    found = _all(lambda k, j: on_the_sphere(k, j, t), n, m)[None]
    return _made("sph_legendre_p_all", 2, found, theta)


def _harmonic(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    return on_the_sphere(n, m, theta) * np.exp(1j * (m * phi))


@_form("sph_harm_y")
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    refuse("sph_harm_y", diff_n=(diff_n, 0))
    t, p = _given("sph_harm_y", theta=theta, phi=phi)
    return _made("sph_harm_y", 2, _harmonic(n, np.asarray(m), t, p), theta, phi)


@_form("sph_harm_y_all")
def sph_harm_y_all(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    refuse("sph_harm_y_all", diff_n=(diff_n, 0))
    t, p = _given("sph_harm_y_all", theta=theta, phi=phi)
    found = _all(lambda k, j: _harmonic(k, j, t, p), n, m)
    return _made("sph_harm_y_all", 2, found, theta, phi)
