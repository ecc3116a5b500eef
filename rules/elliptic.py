"""scipy.special: elliptic integrals and functions, with parameter m = k^2.

K'(m) = π/8 F(3/2, 3/2; 2; m)          E'(m) = -π/8 F(1/2, 3/2; 2; m)
F_φ(φ, m) = 1 / sqrt(1 - m sin²φ)      F_m = s³/6 R_D(c², 1, 1 - m s²)
E_φ(φ, m) = sqrt(1 - m sin²φ)          E_m = -s³/6 R_D(c², 1 - m s², 1)
∂R_F/∂z = -R_D(x, y, z) / 6

with s, c the sine and cosine of φ less its nearest multiple of π, for which the complete
integral stands. These forms are regular at m = 0, where the textbook's divide by m.

The derivatives of R_C, R_D and R_J are divided differences: NaN where the two arguments
they divide by are equal.

Source: DLMF 19.4, 19.18, 19.25, 22.13; B. Carlson, "Numerical computation of real or
complex elliptic integrals", 1995.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.rules.special import special, special_fan


def _complete_k_slope(m: Any) -> Any:
    return math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2, m)


def _complete_e_slope(m: Any) -> Any:
    return -math.pi / 8 * sp.hyp2f1(0.5, 1.5, 2, m)


special("ellipk", m=lambda y, m: _complete_k_slope(m))
special("ellipe", m=lambda y, m: _complete_e_slope(m))
special("ellipkm1", p=lambda y, p: -sp.elliprd(0, 1, p) / 6)


def _root(phi: Any, m: Any) -> Any:
    return np.sqrt(1 - m * np.sin(phi) ** 2)


def _reduced(phi: Any, m: Any) -> tuple[Any, Any, Any, Any]:
    """The number of half periods in φ; s³/6, c² and 1 - m s² of the rest."""
    turns = np.rint(phi / math.pi)
    s = np.sin(phi - math.pi * turns)
    return turns, s**3 / 6, 1 - s * s, 1 - m * s * s


def _ellipkinc_m(y: Any, phi: Any, m: Any) -> Any:
    turns, cube, cosine, d = _reduced(phi, m)
    rest = cube * sp.elliprd(cosine, 1, d)
    return rest + np.where(turns == 0, 0, 2 * turns * _complete_k_slope(np.where(turns == 0, 0, m)))


def _ellipeinc_m(y: Any, phi: Any, m: Any) -> Any:
    turns, cube, cosine, d = _reduced(phi, m)
    return 2 * turns * _complete_e_slope(m) - cube * sp.elliprd(cosine, d, 1)


special("ellipkinc", phi=lambda y, phi, m: 1 / _root(phi, m), m=_ellipkinc_m)
special("ellipeinc", phi=lambda y, phi, m: _root(phi, m), m=_ellipeinc_m)


def _ellipj_m(y: Any, u: Any, m: Any) -> Any:
    # F(ph, m) = u gives d ph = -F_m / F_φ dm, and the others follow from ph.
    sn, cn, dn, ph = y
    turn = -_ellipkinc_m(u, ph, m) * dn
    return cn * turn, -sn * turn, -(sn * sn + 2 * m * sn * cn * turn) / (2 * dn), turn


special_fan(
    "ellipj",
    u=lambda y, u, m: (y[1] * y[2], -y[0] * y[2], -m * y[0] * y[1], y[2]),
    m=_ellipj_m,
)

# Carlson's symmetric integrals.

special(
    "elliprf",
    x=lambda f, x, y, z: -sp.elliprd(y, z, x) / 6,
    y=lambda f, x, y, z: -sp.elliprd(x, z, y) / 6,
    z=lambda f, x, y, z: -sp.elliprd(x, y, z) / 6,
)


def _elliprg_slope(x: Any, y: Any, z: Any) -> Any:
    # z R_D is 0 where z is 0 and R_D infinite.
    return (sp.elliprf(x, y, z) - z * sp.elliprd(x, y, np.where(z == 0, 1, z)) / 3) / 4


special(
    "elliprg",
    x=lambda g, x, y, z: _elliprg_slope(y, z, x),
    y=lambda g, x, y, z: _elliprg_slope(x, z, y),
    z=lambda g, x, y, z: _elliprg_slope(x, y, z),
)


def _elliprc_x(f: Any, x: Any, y: Any) -> Any:
    return (1 / np.sqrt(x) - f) / (2 * (x - y))


special(
    "elliprc",
    x=_elliprc_x,
    y=lambda f, x, y: (f - np.sqrt(x) / y) / (2 * (x - y)),
)


def _elliprd_x(f: Any, x: Any, y: Any, z: Any) -> Any:
    return (sp.elliprd(y, z, x) - f) / (2 * (x - z))


def _elliprd_moment(f: Any, x: Any, y: Any, z: Any) -> Any:
    """x ∂/∂x, which is 0 where x is 0 and the slope infinite."""
    return x * (sp.elliprd(y, z, np.where(x == 0, 1, x)) - f) / (2 * (x - z))


special(
    "elliprd",
    x=_elliprd_x,
    y=lambda f, x, y, z: _elliprd_x(f, y, x, z),
    # Homogeneous of degree -3/2.
    z=lambda f, x, y, z: -(1.5 * f + _elliprd_moment(f, x, y, z) + _elliprd_moment(f, y, x, z)) / z,
)


def _elliprj_x(f: Any, x: Any, y: Any, z: Any, p: Any) -> Any:
    return (sp.elliprd(y, z, x) - f) / (2 * (x - p))


def _elliprj_p(f: Any, x: Any, y: Any, z: Any, p: Any) -> Any:
    rest = (
        x * _elliprj_x(f, x, y, z, p)
        + y * _elliprj_x(f, y, x, z, p)
        + z * _elliprj_x(f, z, x, y, p)
    )
    return -(1.5 * f + rest) / p


special(
    "elliprj",
    x=_elliprj_x,
    y=lambda f, x, y, z, p: _elliprj_x(f, y, x, z, p),
    z=lambda f, x, y, z, p: _elliprj_x(f, z, x, y, p),
    p=_elliprj_p,
)


def _agm_b(mean: Any, a: Any, b: Any) -> Any:
    # agm(a, b) = π a / (2 R_F(0, p, 1)),  p = b² / a²
    p = (b / a) ** 2
    return mean * sp.elliprd(0, 1, p) / sp.elliprf(0, p, 1) / 3 * (b / (a * a))


special("agm", a=lambda mean, a, b: _agm_b(mean, b, a), b=_agm_b)
