"""scipy.integrate.quad_vec with traced integrands and ends.

SciPy chooses the intervals on plain values; the integral is then the sum of the rule of
`linad.scipy.quadrature` over those, of the traced integrand, and carries the derivative. The value
is SciPy's.
"""

from typing import Any

import numpy as np
import scipy.integrate

from linad.api.derivatives import stop_gradient
from linad.arrays.buffers import concrete
from linad.core.options import args_of
from linad.errors import ConvergenceError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import astype
from linad.scipy.gaussintervals import nodes
from linad.scipy.implicit_solutions import Watched, plain, while_tracing
from linad.scipy.mirror import holds_traced


@while_tracing(scipy.integrate.quad_vec)
def quad_vec(
    f: Any, a: Any, b: Any, args: Any = (), full_output: bool = False, **options: Any
) -> Any:
    watched, low, high = Watched(f, args_of(args)), plain(a), plain(b)
    value, error, info = scipy.integrate.quad_vec(watched, low, high, full_output=True, **options)
    if not (watched.traced or holds_traced((a, b))):
        return (value, error, info) if full_output else (value, error)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise UnsupportedError(
            "quad_vec: an infinite range is not traced by linad; substitute, or use quad, whose "
            "infinite ranges are"
        )
    total: Any = 0.0
    if low != high:
        total = (b - a) * _sum(watched, a, b, (np.asarray(info.intervals) - low) / (high - low))
    miss = float(np.max(np.abs(concrete(asarray(total)) - value), initial=0.0))
    if not miss <= 1e-6 + 1e-6 * np.max(np.abs(value), initial=0.0) + 10 * abs(error):
        raise ConvergenceError(
            f"quad_vec: the rule that carries the derivative misses the integral by {miss:.2g}: "
            f"the integrand is singular; substitute until it is smooth",
            value,
        )
    y = value + astype(total - stop_gradient(total), np.asarray(value).dtype, copy=False)
    return (y, error, info) if full_output else (y, error)


def _sum(f: Watched, a: Any, b: Any, intervals: Any) -> Any:
    """The integral over [0, 1] of f(a + (b - a) u)."""
    return sum(w * f.values(a + (b - a) * x) for x, w in nodes(*intervals.T))
