"""Sums of products with weights of which some are not finite, where zeros are zeros.

x̄_j = Σ_i conj(w_ij) ȳ_i

A ȳ_i that is zero because nobody read y_i contributes nothing, whatever w_ij is; in IEEE
arithmetic 0 · inf is NaN. So a row of data that is NaN, and is left out later, would make NaN of
all derivatives:

    np.nansum((data @ x) ** 2)

Which x_j meet such a weight in an entry that *is* read, the same operator counts, with ones for
the weights, and with ones for those that are finite only. All other entries are computed with
zeros in the place of what is not finite.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING


def have_infinite_weights(J: JacobianOperator, traced: bool = False) -> bool:
    """Whether an operator that names its weights has some that are not finite; ``traced`` says what
    to think of those that are traced."""
    weights = [w for name in J.weighted_by for w in _arrays(getattr(J, name))]
    return any([may_be_infinite(w, traced) for w in weights])


def may_be_infinite(w: Any, traced: bool) -> bool:
    """Whether weights may not be finite; ``traced`` says what to think of those that are traced."""
    return traced if isinstance(w, Traced) else _is_infinite(w)


def keeping_zeros(J: JacobianOperator, read: Array, reached: Any, traced: bool) -> Any:
    """What keeps the zeros of entries that nobody reads, in the place of an operator; None where
    the operator does. See `linad.operators.facts.Facts.where_read`."""
    if J.weighted_by:
        return UnreadWeights(J, read) if have_infinite_weights(J, traced) else None
    return J.where_read(read, reached, traced)


def _arrays(weights: Any) -> list[Any]:
    """An array, the second of pairs, the first of several, or nothing."""
    if isinstance(weights, tuple):
        return [weights[0]]
    if isinstance(weights, list):
        return [array for _, array in weights]
    return [] if weights is None else [weights]


def _is_infinite(w: Any) -> bool:
    return isinstance(w, np.ndarray) and w.dtype.kind in "fc" and not np.isfinite(w).all()


def reweighted(J: JacobianOperator, change: Callable[[Any], Any]) -> JacobianOperator:
    """The operator with other weights in the same places."""
    other = copy.copy(J)
    for name in J.weighted_by:
        weights = getattr(J, name)
        if isinstance(weights, tuple):
            setattr(other, name, (change(weights[0]), *weights[1:]))
        elif isinstance(weights, list):
            setattr(other, name, [(labels, change(array)) for labels, array in weights])
        elif weights is not None:
            setattr(other, name, change(weights))
    return other


def _finite(w: Any) -> Any:
    return np.where(np.isfinite(w), w, w.dtype.type(0))


class UnreadWeights(JacobianOperator):
    """An operator whose adjoint keeps the zeros of entries that nobody read.

    Parameters
    ----------
    op : JacobianOperator
        One that names its weights, and is linear in each array of them.
    mask : array of bool
        True at the entries of its result that are read.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(self, op: JacobianOperator, mask: Array) -> None:
        self.op = op
        super().__init__(op.out_shape, op.in_shape, op.dtype)
        self.finite = reweighted(op, _finite)
        read = np.broadcast_to(mask, op.out_shape).astype(float)
        every, few = [
            np.real(reweighted(op, count).pullback(read)) for count in (_ones, _is_finite)
        ]
        self.met = every - few > 0.5

    def pushforward(self, tangent: Array) -> Array:
        return self.op.pushforward(tangent)

    def pullback(self, cotangent: Array) -> Array:
        with np.errstate(invalid="ignore"):  # what it warns of is not used
            given = self.op.pullback(cotangent)
        return np.where(self.met, given, self.finite.pullback(cotangent))


def _ones(w: Any) -> Any:
    return np.ones(w.shape, w.dtype)


def _is_finite(w: Any) -> Any:
    return np.isfinite(w).astype(w.dtype)
