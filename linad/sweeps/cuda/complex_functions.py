"""Functions of complex numbers, of real ones: those that `cmath` of numba-cuda lacks.

sinh(x + iy) = sinh x cos y + i cosh x sin y        sin z = -i sinh iz
cosh(x + iy) = cosh x cos y + i sinh x sin y        cos z = cosh iz
tanh(x + iy) = (b r s + i t) / (1 + b s^2)          tan z = -i tanh iz
               with t = tan y, s = sinh x, b = 1 + t^2, r = sqrt(1 + s^2)

Sources: W. Kahan, "Branch cuts for complex elementary functions", 1987; C11, annex G, for
infinities, NaN and signed zeros.
"""

from typing import Any

import numpy as np

LARGE = 20.0
"""From here on tanh x is 1 to the last bit."""


def z_sinh(z: Any) -> Any:
    x, y = z.real, z.imag
    if y == 0:
        return complex(np.sinh(x), y)
    if not np.isfinite(y) and (x == 0 or np.isinf(x)):
        return complex(x, y - y)
    return complex(np.sinh(x) * np.cos(y), np.cosh(x) * np.sin(y))


def z_cosh(z: Any) -> Any:
    x, y = z.real, z.imag
    if y == 0:
        return complex(np.cosh(x), np.copysign(1.0, x) * y)
    if not np.isfinite(y) and x == 0:
        return complex(y - y, x)
    if not np.isfinite(y) and np.isinf(x):
        return complex(abs(x), y - y)
    return complex(np.cosh(x) * np.cos(y), np.sinh(x) * np.sin(y))


def z_tanh(z: Any) -> Any:
    x, y = z.real, z.imag
    if y == 0:
        return complex(np.tanh(x), y)
    if np.isinf(x):
        side = np.sin(2 * y) if np.isfinite(y) else y
        return complex(np.copysign(1.0, x), np.copysign(0.0, side))
    if not np.isfinite(y) and x == 0:
        return complex(x, y - y)
    if abs(x) > LARGE:
        small = np.exp(-2 * abs(x))
        return complex(np.copysign(1.0, x) + (y - y), 4 * np.sin(y) * np.cos(y) * small)
    t, s = np.tan(y), np.sinh(x)
    b, r = 1 + t * t, np.sqrt(1 + s * s)
    size = 1 + b * s * s
    return complex(b * r * s / size, t / size)


def z_sin(z: Any) -> Any:
    turned = z_sinh(complex(-z.imag, z.real))
    return complex(turned.imag, -turned.real)


def z_cos(z: Any) -> Any:
    return z_cosh(complex(-z.imag, z.real))


def z_tan(z: Any) -> Any:
    turned = z_tanh(complex(-z.imag, z.real))
    return complex(turned.imag, -turned.real)


def z_acosh(z: Any) -> Any:
    """The arc cosine times i or -i, whichever has a real part that is not negative."""
    turned = np.arccos(z)
    if np.isnan(turned.real):
        return complex(abs(turned.imag), turned.real)
    return complex(abs(turned.imag), np.copysign(turned.real, z.imag))


WRITTEN = {
    f.__name__.removeprefix("z_"): f for f in (z_sin, z_cos, z_tan, z_sinh, z_cosh, z_tanh, z_acosh)
}
"""These, by the names that C has for real numbers."""
