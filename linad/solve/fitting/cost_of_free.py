"""What `maximum_likelihood` minimises, of the parameters that are free; infinite beyond bounds."""

from typing import Any

import numpy as np

from linad.api.gradients import grad
from linad.core import tree
from linad.solve.derived_models import PartOf


class CostOfFree:
    """Minus the logarithm, as a function of the free parameters as a vector.

    Parameters
    ----------
    maximum : Maximum
        Of `linad.solve.fitting.likelihood`: what it minimises, and within which bounds.
    start : ndarray (n,)
        The others, where they are held.
    free : ndarray (n,) of bool

    Attributes
    ----------
    beyond : int
        Points beyond bounds at which it was asked for a value, and had none.
    """

    def __init__(self, maximum: Any, start: Any, free: Any) -> None:
        self.waiting, self.__name__ = maximum.residual, maximum.residual.called
        self.unknown = maximum.parameters.unknown
        self.ends = np.cumsum([slot.size for slot in self.unknown.slots]).tolist()
        held = np.flatnonzero(~free)
        self.order = np.argsort(np.concatenate([np.flatnonzero(free), held]))
        self.rest = start[held].copy()
        self.lower, self.upper = maximum.lower[free], maximum.upper[free]
        self.bounded = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        self.beyond = 0
        model = maximum.derived
        self.derived = None if model is None else PartOf(model, self.full, free)

    def full(self, v: Any) -> Any:
        """All parameters; None beyond the bounds."""
        if self.bounded and not np.all((v >= self.lower) & (v <= self.upper)):
            return None
        return np.concatenate([v, self.rest])[self.order] if len(self.rest) else v

    def __call__(self, v: Any) -> Any:
        full = self.full(v)
        if full is None:
            self.beyond += 1
            return np.inf
        slots, ends = self.unknown.slots, self.ends
        parts = [
            full[end - slot.size : end].reshape(slot.shape) if slot.shape else full[end - 1]
            for end, slot in zip(ends, slots, strict=True)
        ]
        return self.waiting(tree.unflatten(self.unknown.structure, parts))

    def slope(self, v: Any) -> Any:
        """The gradient."""
        if self.derived is not None and self.derived.is_worth():
            return self.derived.slope(v)[1]
        return grad(self)(v)
