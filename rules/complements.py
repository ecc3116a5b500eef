"""An orthonormal basis of what is orthogonal to the columns of U.

That of a complete QR decomposition is LAPACK's: Q is a product of reflections I - V T V^H, where V
is unit lower trapezoidal. With [Q1 Q2] = Q, Q1 of n columns and Q11 its first n rows, Q21 the rest,
this says Q1 - E1 = -V T V1^H, so V2 V1^-1 = Q21 (Q11 - I)^-1 and

    Q2 = E2 + (Q1 - E1) (Q11 - I)^-H Q21^H

It moves with Q1 alone. Q11 - I is singular where LAPACK leaves a reflection out, for a column that
is zero below; there, and for singular vectors, stands a basis that moves as little as it can:

Let C be such a basis at the point. With P = I - U U^H and G = C^H P C, the columns of

    N = P C G^-1/2,      G^-1/2 = (3 I - G) / 2 + O(|G - I|^2)

are a basis that turns as little as it can while U moves. There G = I and dG = 0, so the derivatives
of this form are those of N up to the third. Any basis would do: what depends on the space alone has
these derivatives, a single vector of several has none.

Source: G. Ballard, J. Demmel, L. Grigori, M. Jacquelin, N. Knight, H. Nguyen, "Reconstructing
Householder vectors from tall-skinny QR", Journal of Parallel and Distributed Computing 85, 2015.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
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


def complement(u: Array, basis: Array) -> Any:
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


def qr_complement(q: Any, rest: Any) -> Any:
    """The further columns of a complete Q, as they move with the first ones.

    Parameters
    ----------
    q : array (..., m, n)
        Orthonormal columns, as LAPACK computes them.
    rest : array (..., m, m - n)
        Constant.
    """
    n = q.shape[-1]
    if n == 0:
        return rest
    eye = np.eye(q.shape[-2], dtype=q.dtype)
    less = q - eye[:, :n]
    top = less[..., :n, :]
    small = np.linalg.svdvals(still(top))[..., -1:, None] < 1e-6
    safe = np.where(small, -eye[:n, :n], top)
    bottom = adjoint(q[..., n:, :])
    moved = eye[:, n:] + less @ np.linalg.solve(adjoint(safe), bottom)
    return np.where(small, complement(q, rest), rest + (moved - still(moved)))
