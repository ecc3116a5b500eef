"""Functions of scipy.special without a rule of their own, by series and other functions.

Spherical Bessel functions, for z > 0 and with n!! the double factorial:

    j_n(z) = √(π/2z) J_n+1/2(z)       = z^n / (2n+1)!!  0F1(n + 3/2; -z^2/4)
    i_n(z) = √(π/2z) I_n+1/2(z)       = z^n / (2n+1)!!  0F1(n + 3/2;  z^2/4)
    y_n(z) = √(π/2z) Y_n+1/2(z)         k_n(z) = √(π/2z) K_n+1/2(z)

the second form about z = 0, where it has derivatives. For a negative z, j_n(-z) = (-1)^n j_n(z).

The zeta function, by Euler and Maclaurin's formula with N terms, which has derivatives in s and q:

    ζ(s, q) = Σ_{n<N} (q+n)^-s + a^(1-s) / (s-1) + a^-s / 2
              + Σ_k B_2k/(2k)! s (s+1) ... (s+2k-2) a^(1-s-2k),       a = q + N

Values stay SciPy's.

Sources: DLMF 10.47, 10.51, 10.53, 25.11.28; https://dlmf.nist.gov.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.showing import shown
from linad.errors import DTypeError, UnsupportedError
from linad.rules.shaping import astype, still
from linad.scipy.mirror import inexact, traced_form
from linad.scipy.plain_results import by_scipy


def _order_and_argument(name: str, n: Array, z: Array) -> tuple[Any, Any]:
    if isinstance(n, Traced):
        raise UnsupportedError(f"{name}: the derivative in the order n does not exist: n is whole")
    n, z = np.asarray(n), inexact(z)
    if n.dtype.kind not in "iu" or np.any(n < 0):
        raise ValueError(f"{name}: n must be non-negative integers, got {shown(n)}")
    if z.dtype.kind == "c":
        raise DTypeError(f"{name}: a complex z is not traced by linad")
    return n, z


def _regular(bessel: Any, sign: float) -> Callable[[Any, Any], Any]:
    """j_n or i_n, at any real z."""

    def value(n: Array, z: Array) -> Any:
        near = np.abs(still(z)) < 1
        small, large = np.where(near, z, 0.5), np.abs(np.where(near, 1.0, z))
        series = small**n / scipy.special.factorial2(2 * n + 1)
        series = series * scipy.special.hyp0f1(n + 1.5, sign * small * small / 4)
        far = np.sqrt(0.5 * math.pi / large) * bessel(n + 0.5, large)
        return np.where(near, series, np.where((still(z) < 0) & (n % 2 == 1), -far, far))

    return value


def _irregular(bessel: Any) -> Callable[[Any, Any], Any]:
    """y_n or k_n, at z > 0."""

    def value(n: Array, z: Array) -> Any:
        valid = still(z) > 0
        z = np.where(valid, z, 1.0)
        return np.where(valid, np.sqrt(0.5 * math.pi / z) * bessel(n + 0.5, z), np.nan)

    return value


def _spherical(name: str, function: Callable[..., Any], below: float, above: float) -> Any:
    """A spherical Bessel function, whose slope is (below n f_n-1 + above (n+1) f_n+1) / (2n+1)."""
    original = getattr(scipy.special, name)

    @traced_form(original)
    def form(n: Array, z: Array, derivative: bool = False) -> Any:
        n, z = _order_and_argument(name, n, z)
        plain = by_scipy(original, n, z, derivative=derivative)
        if derivative:
            before = function(np.maximum(n - 1, 0), z)
            after = function(n + 1, z)
            y = (below * n * before + above * (n + 1) * after) / (2 * n + 1)
        else:
            y = function(n, z)
        known = np.isfinite(plain)
        y = np.where(known, y, 0.0)
        return plain + astype(np.where(known, y - still(y), 0.0), plain.dtype, copy=False)

    return form


spherical_jn = _spherical("spherical_jn", _regular(scipy.special.jv, -1.0), 1.0, -1.0)
spherical_in = _spherical("spherical_in", _regular(scipy.special.iv, 1.0), 1.0, 1.0)
spherical_yn = _spherical("spherical_yn", _irregular(scipy.special.yv), 1.0, -1.0)
spherical_kn = _spherical("spherical_kn", _irregular(scipy.special.kv), -1.0, -1.0)


# The zeta function.

TERMS, CORRECTIONS = 16, 12
LEAST = -4.0
"""Below it the terms of the formula cancel: a functional equation would be needed."""


def _by_euler_maclaurin(s: Array, q: Array) -> Any:
    a = q + TERMS
    total = sum((q + n) ** -s for n in range(TERMS)) + a ** (1 - s) / (s - 1) + 0.5 * a**-s
    numbers = scipy.special.bernoulli(2 * CORRECTIONS)
    rising, power = s, a ** (-s - 1)
    for k in range(1, CORRECTIONS + 1):
        total = total + numbers[2 * k] / math.factorial(2 * k) * rising * power
        rising = rising * (s + 2 * k - 1) * (s + 2 * k)
        power = power / (a * a)
    return total


def _carried(name: str, plain: Array, s: Array, q: Any) -> Any:
    """SciPy's value, with the derivative of the formula."""
    s, q = inexact(s), inexact(q)
    if s.dtype.kind == "c" or q.dtype.kind == "c":
        raise DTypeError(f"{name}: complex numbers are not traced by linad")
    known = np.isfinite(plain) & (still(q) > 0)
    if np.any(known & (still(s) < LEAST)):
        raise UnsupportedError(
            f"{name}: the derivative is traced from x = {LEAST:g} on; below use the functional "
            f"equation, https://dlmf.nist.gov/25.4"
        )
    y = _by_euler_maclaurin(np.where(known, s, 2.0), np.where(known, q, 1.0))
    return plain + astype(np.where(known, y - still(y), 0.0), plain.dtype, copy=False)


@traced_form(scipy.special.zeta)
def zeta(x: Array, q: Array | None = None, out: Any = None) -> Any:
    if out is not None:
        raise UnsupportedError("zeta: out= is not traced by linad; assign the result")
    if q is not None and not isinstance(x, Traced):
        return scipy.special.zeta(x, q)
    plain = by_scipy(scipy.special.zeta, *[inexact(v) for v in (x, q) if v is not None])
    return _carried("zeta", plain, x, 1.0 if q is None else q)


@traced_form(scipy.special.zetac)
def zetac(x: Any) -> Any:
    return _carried("zetac", by_scipy(scipy.special.zetac, inexact(x)), x, 1.0)
