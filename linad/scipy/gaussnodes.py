"""Nodes and weights of Gauss's quadrature with Jacobi's and Gegenbauer's weights, traced.

The nodes are the eigenvalues of the symmetric tridiagonal matrix of the polynomials' recurrence,
the weights μ v_0² by its eigenvectors v, with μ the integral of the weight function. SciPy finds
them by compiled code; at α = β = 0 by other polynomials, which leave the parameters out.

    (1 - x)^α (1 + x)^β    μ = 2^(α+β+1) B(α + 1, β + 1)
    (1 - x²)^(α - 1/2)     μ = √π Γ(α + 1/2) / Γ(α + 1)

Source: G. Golub and J. Welsch, "Calculation of Gauss quadrature rules", Mathematics of Computation
23 (1969) 221.
"""

import math
import operator
from typing import Any

import numpy as np
import scipy.special as sp

from linad.errors import UnsupportedError
from linad.rules.shaping import as_array, still
from linad.scipy.mirror import bound_form


def _nodes(name: str, n: Any, a: Any, b: Any, total: Any, mu: Any) -> Any:
    count = operator.index(n)
    if np.ndim(a) or np.ndim(b) or count < 1 or still(a) <= -1 or still(b) <= -1:
        raise UnsupportedError(
            f"{name}: n={n!r} with these parameters is not traced by linad; pass n of at least 1, "
            "and numbers for which the weight can be integrated"
        )
    k = np.arange(1.0, count)
    s = 2 * k + a + b
    middle = np.concatenate([[(b - a) / (a + b + 2)], (b * b - a * a) / (s * (s + 2))])
    # The factors k + a + b and s - 1 are one for k = 1.
    share = np.concatenate([[1.0], (k[1:] + a + b) / (s[1:] - 1)]) if count > 1 else k
    beside = np.sqrt(4 * k * (k + a) * (k + b) * share / (s * s * (s + 1)))
    matrix = np.diag(middle) + np.diag(beside, 1) + np.diag(beside, -1)
    x, vectors = np.linalg.eigh(matrix)
    w = total * vectors[0] ** 2
    return (x, w, total) if mu else (x, w)


@bound_form(sp.roots_jacobi)
def roots_jacobi(n: Any, alpha: Any, beta: Any, mu: Any) -> Any:
    a, b = as_array(alpha) * 1.0, as_array(beta) * 1.0
    total = np.exp(math.log(2) * (a + b + 1) + sp.betaln(a + 1, b + 1))
    return _nodes("roots_jacobi", n, a, b, total, mu)


@bound_form(sp.roots_gegenbauer)
def roots_gegenbauer(n: Any, alpha: Any, mu: Any) -> Any:
    a = as_array(alpha) * 1.0
    total = math.sqrt(math.pi) * np.exp(sp.gammaln(a + 0.5) - sp.gammaln(a + 1))
    return _nodes("roots_gegenbauer", n, a - 0.5, a - 0.5, total, mu)
