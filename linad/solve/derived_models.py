"""Value, gradient and Hessian of a jitted function of few unknowns, as two programs of their own.

A derivative that is taken of a compiled function runs two programs and Python between them, once
for each product. One that is compiled as a whole takes a hundredth of that, and takes seconds to
compile; so it is made where a search has asked often.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.api.gradients import hessian, value_and_grad
from linad.jit.jitted import Jitted, jit
from linad.solve.problems import Unknown

FEW, OFTEN = 16, 40
"""Unknowns of a Hessian that is made whole, and points at which one was asked for before."""

LONG, PATHS = 20_000, 2
"""Operations of a function that takes long to be recorded again, and paths through its decisions,
each of which is as many programs."""


class DerivedModel:
    """Programs of a function of a vector, once they are worth it.

    Parameters
    ----------
    f : callable
        ``f(x)``, a real scalar of a vector.
    jitted : Jitted
        What it runs.
    """

    def __init__(self, f: Callable[..., Any], jitted: Jitted[..., Any]) -> None:
        self.jitted, self.asked = jitted, 0
        self.slope, self.curvature = jit(value_and_grad(f)), jit(hessian(f))

    def is_worth(self) -> bool:
        """Whether to ask these programs at this point; each call is one."""
        self.asked += 1
        if self.asked <= OFTEN:
            return False
        known = self.jitted.variants.values()
        return all([len(paths) <= PATHS for paths in known]) and all(
            [len(path.tape.equations) <= LONG for paths in known for path in paths]
        )


def derived_model(f: Any, x: Unknown) -> Any:
    """That of a function, which keeps it; None if it is not compiled, or has many unknowns."""
    if x.start.size > FEW or x.dtype != float:
        return None
    if not isinstance(f, Jitted):
        return getattr(f, "derived", None)
    key = "model", x.structure, tuple([slot.shape for slot in x.slots])
    made = f.related.get(key)
    if made is None:
        made = f.related[key] = DerivedModel(lambda v: f(x.container(v)), f)
    return made


class PartOf:
    """The model of some unknowns, with others held, of that of all.

    Parameters
    ----------
    model : DerivedModel
    full : callable
        All unknowns, of those that are free; None where the function has no value.
    free : ndarray of bool
    """

    def __init__(self, model: DerivedModel, full: Callable[[Any], Any], free: Any) -> None:
        self.model, self.full, self.free = model, full, free
        self.is_worth = model.is_worth

    def slope(self, x: Any) -> Any:
        """The value and the gradient."""
        full = self.full(x)
        if full is None:
            return np.inf, np.zeros_like(x)
        value, g = self.model.slope(full)
        return value, g[self.free]

    def curvature(self, x: Any) -> Any:
        """The Hessian."""
        full = self.full(x)
        if full is None:
            return np.zeros((x.size, x.size))
        return self.model.curvature(full)[np.ix_(self.free, self.free)]
