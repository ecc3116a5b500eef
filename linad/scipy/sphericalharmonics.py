"""Legendre functions and spherical harmonics of scipy.special that are no ufuncs, traced.

They differ from the ufuncs ``eval_legendre`` and ``lpmv`` in the shapes of what they give: an axis
in front counts derivatives, and the functions of all degrees and orders stack them, the orders
0, 1, ..., m, -m, ..., -1. Of the derivatives that ``diff_n`` asks for, none are traced.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules.harmonics import sph_legendre_p as on_the_sphere
from linad.rules.shaping import as_array, concrete
from linad.scipy.mirror import Function, check_real, refuse, traced_form

REAL = ("z", "theta", "phi")
"""Arguments that are no degrees or orders."""


def _form(traced: Function) -> Function:
    """The form of SciPy's function of a name: what computes it of real arguments in double
    precision, with SciPy's own dtype, of which versions have their own minds."""
    name, signature = traced.__name__, inspect.signature(traced)
    own = getattr(scipy.special, name)
    integers = [1 for key in ("n", "m") if key in signature.parameters]

    def plain(*args: Any, **kwargs: Any) -> Any:
        return own(*args, **kwargs)

    # The objects of SciPy 1.15 do not say what they are called.
    plain.__name__ = plain.__qualname__ = name
    plain.__module__, plain.__doc__ = "scipy.special", own.__doc__

    @functools.lru_cache(64)
    def kind(dtype: np.dtype[Any], count: int) -> Any:
        return own(*integers, *[np.zeros((), dtype)] * count).dtype

    def form(*args: Any, diff_n: int = 0, **options: Any) -> Any:
        refuse(name, diff_n=(diff_n, 0))
        given = signature.bind(*args, **options).arguments
        real = {key: given[key] for key in REAL if key in given}
        check_real(name, **real)
        real = {key: as_array(x) for key, x in real.items()}
        double = {key: np.astype(x, np.float64, copy=False) for key, x in real.items()}
        dtype = np.result_type(*[x.dtype for x in real.values()])
        return np.astype(traced(**(given | double)), kind(dtype, len(real)), copy=False)

    return traced_form(plain)(form)


def _orders(m: int) -> list[int]:
    return [*range(m + 1), *range(-m, 0)]


def _of_all_degrees(function: Callable[[int, int], Any], n: Any, m: Any) -> Any:
    """Of all degrees to ``n`` and orders to ``m``, in two axes in front."""
    if np.ndim(n) or np.ndim(m):
        raise ValueError("expected one largest degree n and order m, got arrays")
    rows = [[function(k, j) for j in _orders(abs(int(m)))] for k in range(int(n) + 1)]
    return np.stack([np.stack(row) for row in rows])


def _associated(n: Any, m: Any, z: Array, norm: bool) -> Any:
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


@_form
def legendre_p(n: Any, z: Any) -> Any:
    return scipy.special.eval_legendre(np.asarray(n, float), z)[None]


@_form
def legendre_p_all(n: Any, z: Any) -> Any:
    return np.stack([scipy.special.eval_legendre(float(k), z) for k in range(int(n) + 1)])[None]


@_form
def assoc_legendre_p(n: Any, m: Any, z: Array, *, branch_cut: Any = 2, norm: bool = False) -> Any:
    return _associated(n, m, z, norm)[None]


@_form
def assoc_legendre_p_all(n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False) -> Any:
    return _of_all_degrees(lambda k, j: _associated(k, j, z, norm), n, m)[None]


@_form
def sph_legendre_p(n: Array, m: Array, theta: Array) -> Any:
    return on_the_sphere(n, m, theta)[None]


@_form
def sph_legendre_p_all(n: Any, m: Any, theta: Any) -> Any:
    return _of_all_degrees(lambda k, j: on_the_sphere(k, j, theta), n, m)[None]


def _harmonic(n: Any, m: Any, theta: Array, phi: Array) -> Any:
    return on_the_sphere(n, m, theta) * np.exp(1j * (m * phi))


@_form
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any) -> Any:
    return _harmonic(n, np.asarray(m), theta, phi)


@_form
def sph_harm_y_all(n: Any, m: Any, theta: Array, phi: Array) -> Any:
    return _of_all_degrees(lambda k, j: _harmonic(k, j, theta, phi), n, m)
