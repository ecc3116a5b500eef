"""Equal eigenvalues and singular values, where vectors have no derivative.

Write f for a function of the eigenvalues λ of a Hermitian A, f_i and f_ij for its derivatives.

    first      df  = Σ_i f_i E_ii,                     E = V^H dA V
    second     d²f = Σ_ij f_ij E_ii E_jj + Σ_{i≠j} g_ij |E_ij|²
               g_ij = (f_i - f_j) / (λ_i - λ_j)        where λ_i ≠ λ_j
               g_ij = f_ii - f_ij                      where λ_i = λ_j, if f_i = f_j there

A rule for eigenvalues sees the cotangent f_i, and how it moves with λ; of the E inside an
eigenspace it sees the diagonal alone. So where eigenvalues are equal it knows the second
derivative when the f_i are constant: then f_ii = f_ij = 0 and g_ij = 0, as for a trace, for a sum
that takes all of the equal ones, for a nuclear norm. If the f_i differ within the eigenspace
there is no second derivative. If they move with λ, as for Σ λ², there is one, which the rules for
eigenvalues cannot find; and the same holds for functions of eigenvectors. Then
`DegenerateError` is raised: it is never left out in silence.

It is raised by the derivative of `settled`, which gives back its argument: only a derivative of
a derivative asks for it. Singular values are the same, and zero counts as degenerate, because
they are moduli: with weight zero it does no harm.

Source: A. Lewis and H. Sendov, "Twice differentiable spectral functions", SIAM Journal on Matrix
Analysis 23, 2001.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.errors import DegenerateError
from linad.operators.base import JacobianOperator
from linad.operators.structured import Identity, Zero
from linad.rules.shaping import form

EQUAL = 8
"""Values count as equal within so many times n eps max|λ|.

LAPACK finds equal values of random orthogonal similarities up to 2 n eps apart. A derivative of
vectors that are as close has no digit: the error of V^H dA V is divided by the gap.
"""


def equal_values(values: Array) -> Any:
    """Which pairs count as equal, the diagonal with them."""
    gaps = values[..., None, :] - values[..., :, None]
    largest = np.max(np.abs(values), axis=-1, initial=0.0)[..., None, None]
    return np.abs(gaps) <= EQUAL * values.shape[-1] * float(np.finfo(values.dtype).eps) * largest


def _degenerate(values: Array, singular: bool) -> Any:
    """The pairs of different values that count as equal, and of zeros with themselves."""
    equal = equal_values(values)
    n = values.shape[-1]
    pairs = equal & ~np.eye(n, dtype=bool)
    if not singular:
        return pairs
    largest = np.max(np.abs(values), axis=-1, initial=0.0)[..., None]
    zero = np.abs(values) <= n * float(np.finfo(values.dtype).eps) * largest
    return pairs | (zero[..., None] & np.eye(n, dtype=bool))


def _refuse(values: Array, name: str, why: str) -> None:
    kind = "singular values" if name == "svd" else "eigenvalues"
    alike = "that are equal or zero" if name == "svd" else "that are equal"
    found = np.array2string(form(values), precision=6)
    raise DegenerateError(
        f"{name}: a second derivative at {kind} {alike}, {found}: "
        f"{why}; write the function of the matrix without its {kind} (np.trace, A * A, "
        f"np.linalg.slogdet, np.linalg.norm, linad.scipy.linalg.expm, sqrtm, logm), or move the "
        f"matrix off the point"
    )


inside_ = Primitive("inside", lambda x: x)
inside_.aside = True


@inside_.jacobian(wrt=0)
def inside_wrt_x(y: Array, x: Array) -> JacobianOperator:
    return Identity(y.shape, y.dtype)


def inside(x: Array) -> Any:
    """Values or vectors, for their own rules, which `settle` what they make of both."""
    return inside_(x) if isinstance(x, Traced) else x


settled = Primitive("settled", lambda vectors, weights, values, *, name, strict: vectors)
"""Its first argument; differentiated, it refuses degenerate values."""


@settled.jacobian(wrt=0)
def settled_wrt_vectors(
    y: Array, vectors: Array, weights: Array, values: Array, *, name: str, strict: bool
) -> JacobianOperator:
    # What is decided here, a program that is being recorded checks at each run.
    pairs = _degenerate(values, name == "svd")
    if np.any(pairs):
        if strict:
            _refuse(values, name, "its vectors are not settled there")
        w = np.abs(weights)
        allowed = 100 * values.shape[-1] * float(np.finfo(values.dtype).eps)
        far = allowed * np.max(w, axis=-1, initial=0.0)[..., None, None]
        uneven = np.abs(weights[..., None, :] - weights[..., :, None]) > far
        heavy = w[..., None] * np.eye(values.shape[-1]) > far
        if np.any(pairs & (uneven | heavy)):
            _refuse(values, name, "it does not exist, for the function tells them apart")
    return Identity(y.shape, y.dtype)


@settled.jacobian(wrt=1)
def settled_wrt_weights(
    y: Array, vectors: Array, weights: Array, values: Array, *, name: str, strict: bool
) -> JacobianOperator:
    if np.any(_degenerate(values, name == "svd")):
        _refuse(values, name, "the part inside of their space is not known")
    return Zero(y.shape, weights.shape, y.dtype)


@settled.jacobian(wrt=2)
def settled_wrt_values(
    y: Array, vectors: Array, weights: Array, values: Array, *, name: str, strict: bool
) -> JacobianOperator:
    return Zero(y.shape, values.shape, y.dtype)


settled.zero_slope_args = frozenset({2})  # a link would say that they enter


def settle(vectors: Array, values: Array, weights: Array | None, name: str) -> Any:
    """``vectors``, for a derivative that may be differentiated again.

    Parameters
    ----------
    vectors : array (..., m, n)
    values : array (..., n)
        The eigenvalues or singular values they belong to.
    weights : array (*seeds, ..., n) or None
        The cotangent of the values, where nothing else came; None where vectors are in play.
    name : str
        "eigh", "eig" or "svd".
    """
    if not isinstance(vectors, Traced):
        return vectors
    strict = weights is None
    if strict:
        weights = np.zeros(values.shape, values.dtype)
    return settled(vectors, weights, values, name=name, strict=strict)
