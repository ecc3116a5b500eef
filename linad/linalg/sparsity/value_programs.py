"""What is done with the numbers of sparse matrices; where they are was worked out before.

Each instruction reads slots, arrays of numbers in C order, and gives a new one. Numbers of a
program that is recorded are traced: what depends on the point becomes part of it.
"""

from typing import Any

import numpy as np

from linad.core.primitive import lifted
from linad.core.shapes import Shape

Slots = dict[int, Any]


def _read(data: Any, places: np.ndarray | None) -> Any:
    """The numbers of these places, or all."""
    return data if places is None else data.ravel()[places]


class ValueInstruction:
    """One step.

    Attributes
    ----------
    out : int
        The slot it fills.
    inputs : list of int
        Those it reads.
    leaf : int or None
        The operator whose factors it needs.
    """

    leaf: int | None = None

    def __init__(self, out: int, inputs: list[int]) -> None:
        self.out, self.inputs = out, inputs

    @property
    def held(self) -> int:
        """Numbers in the arrays that say where things are."""
        found = [a for a in vars(self).values() if isinstance(a, np.ndarray)]
        found += [a for pair in vars(self).get("where", ()) for a in pair if a is not None]
        return sum([a.size for a in found])

    def run(self, slots: Slots, numbers: dict[int, Any]) -> Any:
        raise NotImplementedError


class Scale(ValueInstruction):
    """All numbers times one factor."""

    def __init__(self, out: int, inputs: list[int], leaf: int) -> None:
        super().__init__(out, inputs)
        self.leaf = leaf

    def run(self, slots: Slots, numbers: dict[int, Any]) -> Any:
        assert self.leaf is not None
        return slots[self.inputs[0]] * numbers[self.leaf]


class Weigh(ValueInstruction):
    """Each row times a factor of its own, or masked.

    Parameters
    ----------
    places : ndarray of int, or None
        Which numbers are read.
    counts : int or ndarray of int
        How many there are in each row; one number if in all rows equally many.
    shape : tuple of int
        Of the factors, one a row.
    mask : bool
        Whether factors are true and false: what is masked out is 0, even if it is NaN.
    """

    def __init__(
        self,
        out: int,
        inputs: list[int],
        leaf: int,
        places: Any,
        counts: Any,
        shape: Shape,
        mask: bool,
    ) -> None:
        super().__init__(out, inputs)
        self.leaf, self.places, self.counts = leaf, places, counts
        self.shape, self.mask = shape, mask

    def run(self, slots: Slots, numbers: dict[int, Any]) -> Any:
        assert self.leaf is not None
        data = _read(slots[self.inputs[0]], self.places)
        factors = np.broadcast_to(numbers[self.leaf], self.shape)
        if isinstance(self.counts, int):
            # In the shape of the factors, so that a program has one loop over both.
            each = () if self.counts == 1 else (self.counts,)
            data = data.reshape((*self.shape, *each))
            factors = factors[..., None] if each else factors
        else:
            data, factors = data.ravel(), np.repeat(factors.ravel(), self.counts)
        return np.where(factors, data, 0) if self.mask else data * factors


class Combine(ValueInstruction):
    """A product with a sparse matrix: sums of numbers, each perhaps times an entry of it.

    Parameters
    ----------
    target : ndarray of int
        Where each summand goes.
    size : int
        How many sums there are.
    places : ndarray of int
        The number that each summand is.
    factors : ndarray of int, or None
        The entry of the matrix that it is multiplied with.
    weights : ndarray, optional
        The entries; without, they are those of the operator ``leaf``.
    """

    def __init__(
        self,
        out: int,
        inputs: list[int],
        target: Any,
        size: int,
        places: Any,
        factors: Any,
        weights: Any = None,
        leaf: int | None = None,
    ) -> None:
        super().__init__(out, inputs)
        self.target, self.size, self.places, self.factors = target, size, places, factors
        self.weights, self.leaf = weights, leaf

    def run(self, slots: Slots, numbers: dict[int, Any]) -> Any:
        data = _read(slots[self.inputs[0]], self.places)
        if self.factors is not None:
            weights = self.weights if self.leaf is None else numbers[self.leaf]
            data = data * weights[self.factors]
        # NumPy counts nothing at all in integers, and what is added later would not fit in.
        return np.bincount(self.target, data, self.size).astype(float, copy=False)


class Unite(ValueInstruction):
    """Sums of matrices of different patterns, or matrices on top of each other.

    Parameters
    ----------
    where : list of (places, target)
        For each, the numbers that are read and where they go; None: all, in order.
    size : int
        How many numbers there are in the end.
    """

    def __init__(self, out: int, inputs: list[int], where: list[Any], size: int) -> None:
        super().__init__(out, inputs)
        self.where, self.size = where, size

    def run(self, slots: Slots, numbers: dict[int, Any]) -> Any:
        total: Any = None
        for slot, (places, target) in zip(self.inputs, self.where, strict=True):
            data = _read(slots[slot], places)
            if target is None:
                data = data.ravel()
            else:
                target = target.reshape(data.shape)
            if total is None and target is None:
                total = data if places is not None else data.copy()
                continue
            if total is None:
                total = np.zeros(self.size, data.dtype)
            total = lifted(total, data)
            if target is None:
                total += data
            else:
                total[target] += data  # no place comes twice
        return total
