"""scipy.special: the gamma function and its relatives.

d log Γ(x) = ψ(x) dx        ψ'(x) = ζ(2, x)        ζ_q(s, q) = -s ζ(s + 1, q)
d P(a, x) = x^(a-1) e^-x / Γ(a) dx
d I_x(a, b) = x^(a-1) (1 - x)^(b-1) / B(a, b) dx

The derivatives of incomplete functions in a and b have no closed form.

Source: DLMF chapters 5, 8, 25.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sp

from linad.rules.entrywise import NO_SLOPE, constant
from linad.rules.special import real_only, special


def _trigamma(y: Any, x: Any) -> Any:
    real_only("psi", x)
    return sp.zeta(2, x)


special("psi", x=_trigamma)
special("_zeta", s=NO_SLOPE, q=lambda y, s, q: -s * sp.zeta(s + 1, q))
special("gamma", x=lambda y, x: y * sp.psi(x))
special("gammaln", x=lambda y, x: sp.psi(x))
special("loggamma", x=lambda y, x: sp.psi(x))
constant("gammasgn", sp.gammasgn)


def _rgamma_slope(y: Any, x: Any) -> Any:
    """-ψ(x) / Γ(x); left of 1/2 reflected, since the product is 0 times inf at the poles."""
    left = np.real(x) < 0.5
    right = np.where(left, 1, x)
    mirror = np.where(left, 1 - x, 1)
    turn = math.pi * x
    reflected = np.cos(turn) - np.sin(turn) / math.pi * sp.psi(mirror)
    return np.where(left, sp.gamma(mirror) * reflected, -y * sp.psi(right))


special("rgamma", x=_rgamma_slope)
special(
    "beta",
    a=lambda y, a, b: y * (sp.psi(a) - sp.psi(a + b)),
    b=lambda y, a, b: y * (sp.psi(b) - sp.psi(a + b)),
)
special(
    "betaln",
    a=lambda y, a, b: sp.psi(a) - sp.psi(a + b),
    b=lambda y, a, b: sp.psi(b) - sp.psi(a + b),
)
special(
    "binom",
    n=lambda y, n, k: y * (sp.psi(n + 1) - sp.psi(n - k + 1)),
    k=lambda y, n, k: y * (sp.psi(n - k + 1) - sp.psi(k + 1)),
)
special(
    "poch",
    a=lambda y, a, m: y * (sp.psi(a + m) - sp.psi(a)),
    m=lambda y, a, m: y * sp.psi(a + m),
)

# Incomplete functions and their inverses, as distributions: x -> probability -> x.


def gamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) e^-x / Γ(a)."""
    return np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a))


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1 - x)^(b-1) / B(a, b)."""
    return np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b))


special("gammainc", a=NO_SLOPE, x=lambda y, a, x: gamma_density(a, x))
special("gammaincc", a=NO_SLOPE, x=lambda y, a, x: -gamma_density(a, x))
special("gammaincinv", a=NO_SLOPE, p=lambda x, a, p: 1 / gamma_density(a, x))
special("gammainccinv", a=NO_SLOPE, q=lambda x, a, q: -1 / gamma_density(a, x))
special("betainc", a=NO_SLOPE, b=NO_SLOPE, x=lambda y, a, b, x: beta_density(a, b, x))
special("betaincc", a=NO_SLOPE, b=NO_SLOPE, x=lambda y, a, b, x: -beta_density(a, b, x))
special("betaincinv", a=NO_SLOPE, b=NO_SLOPE, p=lambda x, a, b, p: 1 / beta_density(a, b, x))
special("betainccinv", a=NO_SLOPE, b=NO_SLOPE, q=lambda x, a, b, q: -1 / beta_density(a, b, x))
