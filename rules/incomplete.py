"""scipy.special: the incomplete gamma and beta functions, their complements and their inverses.

d P(a, x) = x^(a-1) e^-x / Γ(a) dx + P_a da
d I_x(a, b) = x^(a-1) (1 - x)^(b-1) / B(a, b) dx + I_a da + I_b db

and their complements and inverses, see `linad.rules.families`.

P_a, I_a, I_b are integrals, see `linad.rules.incompleteintegrals`, and primitives: in their shapes
their derivatives are the same of a higher order, and in x they are the densities differentiated.

Source: DLMF chapter 8.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sp

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.rules.elementwise import several
from linad.rules.families import family
from linad.rules.incompleteintegrals import (
    beta_factor,
    betainc_in_shapes,
    gamma_factor,
    gammainc_in_shape,
)


def _with_ends(
    end: Array, inside: Callable[..., Any], powers: Callable[..., Any], x: Array, other: float
) -> Any:
    """``inside(x)``, and ``powers(x)`` at ends, where logarithms have no derivative."""
    if not isinstance(end, Traced) and not np.any(end):
        return inside(x)
    return np.where(end, powers(np.where(end, x, other)), inside(np.where(end, other, x)))


def gamma_density(a: Array, x: Array) -> Any:
    """x^(a-1) e^-x / Γ(a), by Γ(1 + a), whose logarithm has no pole at a = 0."""

    def inside(x: Array) -> Any:
        return a * np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(1 + a))

    def powers(x: Array) -> Any:
        return x ** (a - 1.0) * np.exp(-x) * sp.rgamma(a)

    return _with_ends(x == 0, inside, powers, x, 1.0)


def beta_density(a: Array, b: Array, x: Array) -> Any:
    """x^(a-1) (1 - x)^(b-1) / B(a, b)."""

    def inside(x: Array) -> Any:
        return np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))

    def powers(x: Array) -> Any:
        return x ** (a - 1.0) * (1 - x) ** (b - 1.0) / sp.beta(a, b)

    return _with_ends((x == 0) | (x == 1), inside, powers, x, 0.5)


def _log(x: Array) -> Any:
    """log x, and at 0 something negative: the densities beside it are 0 or infinite there."""
    return np.log(np.where(x == 0, 1e-30, x))


def _at_end(end: Array, shape: Array, order: int, y: Array) -> Any:
    """``y``, and the power of a logarithm at an end where the density is neither 0 nor infinite."""
    if order == 0:
        return y
    return np.where(end & (shape == 1), (-1) ** order * np.inf, y)


def _gamma_a(y: Array, a: Array, x: Array, *, nth: int) -> Any:
    return gammainc_wrt_shape(a, x, nth=nth + 1)


def _gamma_x(y: Array, a: Array, x: Array, *, nth: int) -> Any:
    scale = np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(1 + a))
    return _at_end(x == 0, a, nth, scale * gamma_factor(nth, a, _log(x)))


gammainc_wrt_shape: Primitive = several(
    "gammainc_wrt_shape", gammainc_in_shape, a=_gamma_a, x=_gamma_x
)


def _beta_a(y: Array, a: Array, b: Array, x: Array, *, orders: tuple[int, int]) -> Any:
    return betainc_wrt_shapes(a, b, x, orders=(orders[0] + 1, orders[1]))


def _beta_b(y: Array, a: Array, b: Array, x: Array, *, orders: tuple[int, int]) -> Any:
    return betainc_wrt_shapes(a, b, x, orders=(orders[0], orders[1] + 1))


def _beta_x(y: Array, a: Array, b: Array, x: Array, *, orders: tuple[int, int]) -> Any:
    log = sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x)
    scale = np.exp(log + sp.gammaln(a + b) - sp.gammaln(1 + a) - sp.gammaln(1 + b))
    slope = scale * beta_factor(*orders, a, b, _log(x), _log(1 - x))
    return _at_end(x == 1, b, orders[1], _at_end(x == 0, a, orders[0], slope))


betainc_wrt_shapes: Primitive = several(
    "betainc_wrt_shapes", betainc_in_shapes, a=_beta_a, b=_beta_b, x=_beta_x
)


def P_a(a: Array, x: Array) -> Any:
    """∂P(a, x)/∂a."""
    return gammainc_wrt_shape(a, x, nth=1)


def I_a(a: Array, b: Array, x: Array) -> Any:
    """∂I_x(a, b)/∂a."""
    return betainc_wrt_shapes(a, b, x, orders=(1, 0))


def I_b(a: Array, b: Array, x: Array) -> Any:
    """∂I_x(a, b)/∂b."""
    return betainc_wrt_shapes(a, b, x, orders=(0, 1))


family(
    *("gammainc", "gammaincc"),
    inverse="gammaincinv p",
    complement_inverse="gammainccinv q",
    a=P_a,
    x=gamma_density,
)
family(
    *("betainc", "betaincc"),
    inverse="betaincinv p",
    complement_inverse="betainccinv q",
    a=I_a,
    b=I_b,
    x=beta_density,
)
