"""scipy.integrate.quad_vec with traced integrands and ends.

SciPy chooses the intervals on plain values; they are halved on, and the integral is the sum of the
rule, as in `linad.scipy.quadrature`. The value is SciPy's.
"""

import functools
from typing import Any

import numpy as np
import scipy.integrate

from linad.api.derivatives import stop_gradient
from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.core.options import args_of
from linad.errors import ConvergenceError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import astype
from linad.scipy.gaussintervals import broken, nodes, resolved
from linad.scipy.implicit_solutions import Watched, plain, while_tracing
from linad.scipy.mirror import holds_traced


@while_tracing(scipy.integrate.quad_vec)
def quad_vec(
    f: Any, a: Array, b: Array, args: Any = (), full_output: bool = False, **options: Any
) -> Any:
    watched, low, high = Watched(f, args_of(args)), plain(a), plain(b)
    given, points = plain(options), options.get("points")
    value, error, info = scipy.integrate.quad_vec(watched, low, high, full_output=True, **given)
    if not (watched.traced or holds_traced((a, b, points))):
        return (value, error, info) if full_output else (value, error)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise UnsupportedError(
            "quad_vec: an infinite range is not traced by linad; substitute, or use quad, whose "
            "infinite ranges are"
        )
    total = _integral(watched, a, b, points, np.asarray(info.intervals))
    miss = float(np.max(np.abs(concrete(asarray(total)) - value), initial=0.0))
    if not miss <= 1e-6 + 1e-6 * np.max(np.abs(value), initial=0.0) + 10 * abs(error):
        raise ConvergenceError(
            f"quad_vec: the rule that carries the derivative misses the integral by {miss:.2g}: "
            f"the integrand is singular; substitute until it is smooth",
            value,
        )
    y = value + astype(total - stop_gradient(total), np.asarray(value).dtype, copy=False)
    return (y, error, info) if full_output else (y, error)


def _integral(f: Watched, a: Array, b: Array, points: Any, intervals: Array) -> Any:
    """The sum of the rule over the parts between break points, on the intervals there."""
    total: Any = 0.0
    for left, right in broken(a, b, points):
        low, high = [float(concrete(asarray(end))[()]) for end in (left, right)]
        integrand = functools.partial(_over_unit, f, low, high)
        unit = resolved(integrand, intervals[:, 0], intervals[:, 1], low, high)
        weighted = zip(*nodes(*unit), strict=True)
        part = sum([w * f.values(left + (right - left) * u) for u, w in weighted])
        total = total + (right - left) * part
    return total


def _over_unit(f: Watched, low: float, high: float, u: Array) -> Array:
    return np.array([f(t) for t in low + (high - low) * u])
