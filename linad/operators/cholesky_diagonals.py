"""The diagonal of a Cholesky factor, pulled back.

A = L L^T, and G the cotangent of L. The cotangent of A is

    L^-T Φ(L^T G) L^-1        Φ(M): the lower triangle of M, its diagonal halved

Where G = diag(g), as that of a log-determinant is, L^T G is an upper triangle, of which Φ
leaves the diagonal: with s = l g / 2, l the diagonal of L,

    L^-T diag(s) L^-1

an inverse of L and a product by triangles, in place of a product and two solutions.

Source: S. F. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
application in optimum experimental design", 2010.
"""

from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced


def _pulled_back(lower: Array, g: Array) -> Array:
    (trtri,), (trmm,) = get_lapack_funcs(("trtri",), (lower,)), get_blas_funcs(("trmm",), (lower,))
    inverse, info = trtri(lower.T, lower=0)  # L^-T
    if info:
        raise np.linalg.LinAlgError("Singular matrix")
    s = 0.5 * np.diagonal(lower) * g
    product = trmm(1.0, inverse, inverse * s, side=1, lower=0, trans_a=1).T
    return 0.5 * product + 0.5 * product.T


pull_diagonal = Primitive("pull_diagonal", _pulled_back, register=False)
"""``L^-T diag(l g / 2) L^-1``, exactly symmetric, of L (n, n) and g (n,), real and of one dtype."""


def diagonal_if_alone(lower: Array, cotangent: Array) -> Any:
    """The diagonal of a cotangent that is zero elsewhere, where `pull_diagonal` takes it, or None.

    Of arrays only: what a program records is looked at when it is compiled.
    """
    if isinstance(lower, Traced) or isinstance(cotangent, Traced):
        return None
    if lower.shape != cotangent.shape or lower.ndim != 2 or not lower.size:
        return None
    if lower.dtype.char not in "fd" or cotangent.dtype != lower.dtype:
        return None
    return lone_diagonal(cotangent)


def lone_diagonal(a: Array) -> Array | None:
    """The diagonal of a matrix that is zero elsewhere, or None."""
    diagonal = np.diagonal(a)
    return diagonal if np.count_nonzero(a) == np.count_nonzero(diagonal) else None
