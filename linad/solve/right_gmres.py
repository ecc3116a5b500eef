"""A few steps of GMRES, preconditioned from the right.

    minimise |b - J x| over x = sum_k y_k M v_k,    v_k an orthonormal basis of the space spanned
                                                    by b, J M b, (J M)² b ...

From the right the residual that is minimised is the true one, so the iteration ends as soon as it
is small enough; and the M v_k are kept, so a step costs one product with J and one with M, and the
solution none. Preconditioned from the left, as by `scipy.sparse.linalg.gmres`, the same accuracy
takes two or three products with M more, which counts where the steps are few.

Source: Y. Saad, "A flexible inner-outer preconditioned GMRES algorithm", SIAM Journal on
Scientific Computing 14, 1993.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array


def right_gmres(
    J: Any, b: Array, rtol: float, apply: Callable[[Any], Any], most: int
) -> tuple[Any, float]:
    """Solve J x = b; the solution, and its relative residual, which may be above ``rtol``.

    Parameters
    ----------
    J : LinearOperator (n, n)
    b : array (n,)
    rtol : float
        Relative residual to stop at.
    apply : callable
        M: about the inverse of J times a vector.
    most : int
        Most steps; ``2 most`` vectors are kept.

    Returns
    -------
    x, reached : array (n,), float
        ``reached`` is infinite where products with J or M are not finite.
    """
    size = float(np.linalg.norm(b))
    if size == 0.0:
        return np.zeros_like(b), 0.0
    basis, images, columns = [b / size], [], []
    y: Any = np.zeros(0)
    reached = 1.0
    for k in range(min(most, b.size)):
        z = apply(basis[k])
        w = J @ z
        column = np.zeros(k + 2, np.result_type(w, b))
        for i, v in enumerate(basis):  # modified Gram-Schmidt
            column[i] = np.vdot(v, w)
            w = w - column[i] * v
        column[k + 1] = np.linalg.norm(w)
        if not np.isfinite(column).all():
            return np.full_like(b, np.nan), np.inf
        images.append(z)
        columns.append(column)
        y, reached = _least(columns)
        if reached <= rtol or column[k + 1] == 0:
            break
        basis.append(w / column[k + 1])
    return size * sum(c * z for c, z in zip(y, images, strict=True)), reached


def _least(columns: list[Any]) -> tuple[Any, float]:
    """The y that minimises |e_1 - H y|, H of these columns (Hessenberg), and the minimum."""
    k = len(columns)
    H = np.zeros((k + 1, k), columns[-1].dtype)
    for j, column in enumerate(columns):
        H[: j + 2, j] = column
    e = np.zeros(k + 1, H.dtype)
    e[0] = 1.0
    y = np.linalg.lstsq(H, e, rcond=None)[0]
    return y, float(np.linalg.norm(e - H @ y))
