"""scipy.special: elliptic integrals and functions, with parameter m = k^2.

K'(m) = π/8 F(3/2, 3/2; 2; m)          E'(m) = -π/8 F(1/2, 3/2; 2; m)
F_φ(φ, m) = 1 / sqrt(1 - m sin²φ)      F_m = s³/6 R_D(c², 1, 1 - m s²)
E_φ(φ, m) = sqrt(1 - m sin²φ)          E_m = -s³/6 R_D(c², 1 - m s², 1)

with s, c the sine and cosine of φ less its nearest multiple of π, for which the complete
integral stands. These forms are regular at m = 0, where the textbook's divide by m.

R_D is Carlson's integral, whose own rule is in `linad.rules.carlson`.

Source: DLMF 19.4, 19.18, 19.25, 22.13; B. Carlson, "Numerical computation of real or
complex elliptic integrals", 1995.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.rules.special import special, special_fan


def _complete_k_slope(m: Array) -> Any:
    return math.pi / 8 * sp.hyp2f1(1.5, 1.5, 2, m)


def _complete_e_slope(m: Array) -> Any:
    return -math.pi / 8 * sp.hyp2f1(0.5, 1.5, 2, m)


special("ellipk", m=lambda y, m: _complete_k_slope(m))
special("ellipe", m=lambda y, m: _complete_e_slope(m))
special("ellipkm1", p=lambda y, p: -sp.elliprd(0, 1, p) / 6)


def _root(phi: Array, m: Array) -> Any:
    return np.sqrt(1 - m * np.sin(phi) ** 2)


def _reduced(phi: Array, m: Array) -> tuple[Any, Any, Any, Any]:
    """The number of half periods in φ; s³/6, c² and 1 - m s² of the rest."""
    turns = np.rint(phi / math.pi)
    s = np.sin(phi - math.pi * turns)
    return turns, s**3 / 6, 1 - s * s, 1 - m * s * s


def _ellipkinc_m(y: Array, phi: Array, m: Array) -> Any:
    turns, cube, cosine, d = _reduced(phi, m)
    rest = cube * sp.elliprd(cosine, 1, d)
    return rest + np.where(turns == 0, 0, 2 * turns * _complete_k_slope(np.where(turns == 0, 0, m)))


def _ellipeinc_m(y: Array, phi: Array, m: Array) -> Any:
    turns, cube, cosine, d = _reduced(phi, m)
    return 2 * turns * _complete_e_slope(m) - cube * sp.elliprd(cosine, d, 1)


special("ellipkinc", phi=lambda y, phi, m: 1 / _root(phi, m), m=_ellipkinc_m)
special("ellipeinc", phi=lambda y, phi, m: _root(phi, m), m=_ellipeinc_m)


def _ellipj_m(y: tuple[Any, ...], u: Array, m: Array) -> Any:
    # F(ph, m) = u gives d ph = -F_m / F_φ dm, and the others follow from ph.
    sn, cn, dn, ph = y
    turn = -_ellipkinc_m(u, ph, m) * dn
    return cn * turn, -sn * turn, -(sn * sn + 2 * m * sn * cn * turn) / (2 * dn), turn


special_fan(
    "ellipj",
    u=lambda y, u, m: (y[1] * y[2], -y[0] * y[2], -m * y[0] * y[1], y[2]),
    m=_ellipj_m,
)
