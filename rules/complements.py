"""An orthonormal basis of what is orthogonal to the columns of U.

Let C be such a basis at the point. With P = I - U U^H and G = C^H P C, the columns of

    N = P C G^-1/2,      G^-1/2 = (3 I - G) / 2 + O(|G - I|^2)

are a basis that turns as little as it can while U moves. There G = I and dG = 0, so the derivatives
of this form are those of N up to the third. Any basis would do: what depends on the space alone has
these derivatives, a single vector of several has none.
"""

from typing import Any

import numpy as np

from linad.core.primitive import Primitive
from linad.rules.linalg import adjoint
from linad.rules.shaping import still

left_rest_ = Primitive(
    "left_rest",
    lambda a: np.ascontiguousarray(np.linalg.svd(a)[0][..., a.shape[-1] :]),
    constant=True,
)
"""The last left singular vectors (..., m, m - n) of matrices (..., m, n)."""

qr_rest_ = Primitive(
    "qr_rest",
    lambda a: np.ascontiguousarray(np.linalg.qr(a, "complete")[0][..., a.shape[-1] :]),
    constant=True,
)
"""The last columns (..., m, m - n) of Q of matrices (..., m, n)."""


def complement(u: Any, basis: Any) -> Any:
    """The basis, which is orthogonal to the columns of u, as it moves with them.

    Parameters
    ----------
    u : array (..., m, n)
        Orthonormal columns.
    basis : array (..., m, m - n)
        Constant.
    """
    rest = basis - u @ (adjoint(u) @ basis)
    gram = adjoint(basis) @ rest
    moved = 1.5 * rest - 0.5 * (rest @ gram)
    return basis + (moved - still(moved))
