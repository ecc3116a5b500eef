"""What couples vectors of equal values, and is lost.

A derivative of vectors has factors F_ij = 1 / (λ_j - λ_i) of couplings M_ij. Where two values
count as equal (`linad.rules.degeneracy`) F_ij is 0: the vectors within an eigenspace are taken to
stay, and derivatives stay finite. What depends on the values only and treats equal ones alike (a
sum, a trace, a maximum's subgradient) has the right first derivative there, and so have vectors
of the other eigenspaces. What turns the vectors of one eigenspace into each other is lost: there
is no derivative of a single vector. A function V f(Λ) V^H of the matrix needs it as well, and so
does U f(S) V^H: what depends on the values and on the vectors that are coupled is NaN, in both
modes (`linad.operators.entangled`), and has to be differentiated in another way.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.rules.degeneracy import equal_values


def reciprocal(x: Array, zero: Array) -> Any:
    """1 / x, and 0 where the mask ``zero`` is true."""
    one = np.ones((), x.dtype)
    return np.where(zero, 0 * one, one / np.where(zero, one, x))


def reciprocal_gaps(values: Array) -> Any:
    """F_ij = 1 / (λ_j - λ_i), 0 on the diagonal and for values that count as equal."""
    return reciprocal(values[..., None, :] - values[..., :, None], equal_values(values))


def more_than_rounding(m: Array, axes: tuple[int, ...]) -> Any:
    """Which entries are more than rounding beside the largest along ``axes``."""
    size = np.abs(m)
    far = 100 * m.shape[-1] * float(np.finfo(m.dtype).eps)
    return size > far * np.max(size, axis=axes, keepdims=True, initial=0.0)


def others_equal(values: Array) -> Any:
    """Which pairs of different values count as equal."""
    return equal_values(values) & ~np.eye(values.shape[-1], dtype=bool)


def lost_couplings(values: Array, m: Array) -> Any:
    """Where a coupling M of vectors of equal values is not 0: it is in no F ∘ M."""
    return others_equal(values) & more_than_rounding(m, (-2, -1))


def used_values(values: Array, *vectors: Any) -> Any:
    """Which values a function makes use of, judging by cotangents of theirs and of their vectors.

    Those of values that are cut off are exactly 0, beside others. So are those of f(Λ) where f is 0
    and only what is lost matters; if nothing else does, all are 0: then all count as used.
    """
    used = values != 0
    for v in vectors:
        if v is not None:
            used = used | np.any(v != 0, axis=-2)
    return used | ~np.any(used, axis=-1, keepdims=True)


def spoilt(values: Array, used: Array, turned: Array) -> Any:
    """``turned``, and NaN for pairs of equal values that are used."""
    pairs = used[..., None, :] | used[..., :, None]
    return np.where(others_equal(values) & pairs, np.nan, turned)


def any_equal(values: Array) -> bool:
    """Whether two values are equal, as far as is known before a program runs."""
    return isinstance(values, Traced) or bool(np.any(others_equal(values)))


def in_pairs(lost: Array) -> Any:
    """Which values, and which vectors, a coupling belongs to."""
    return np.any(lost, axis=-1) | np.any(lost, axis=-2)


def diagonal(m: Array) -> Any:
    return np.diagonal(m, axis1=-2, axis2=-1)


def plus(a: Array, b: Array | None) -> Any:
    """a + b, where None is zero."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def embedded(values: Array, eye: Array) -> Any:
    """The diagonal matrices of ``values``."""
    return values[..., None] * eye
