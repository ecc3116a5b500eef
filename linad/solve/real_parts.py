"""Residuals that are complex, as real ones."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.shapes import name_of


class RealParts:
    """Complex residuals of real unknowns, as their real and imaginary parts."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.structure: Any = None
        self.split: list[bool] = []

    @property
    def __name__(self) -> str:
        return name_of(self.f)

    def __call__(self, x: Any, *args: Any) -> Any:
        leaves, structure = tree.flatten(self.f(x, *args))
        split = [np.iscomplexobj(y) for y in leaves]
        if not any(split):
            self.split = []
            return tree.unflatten(structure, leaves)
        self.structure, self.split = structure, split
        pairs = [
            (np.real(y), np.imag(y)) if s else (y,) for y, s in zip(leaves, split, strict=True)
        ]
        return [part for pair in pairs for part in pair]

    def joined(self, fun: Any) -> Any:
        """The residuals as ``f`` returned them."""
        if not self.split:
            return fun
        parts = iter(fun)
        leaves = [next(parts) + 1j * next(parts) if s else next(parts) for s in self.split]
        return tree.unflatten(self.structure, leaves)
