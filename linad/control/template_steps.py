"""What a template expects of each operation, and whether an operation is that.

For speed, what is compared is prepared: see `linad.control.templates`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from linad.control.equal_operations import same_params
from linad.control.rows_of_constants import fits
from linad.core.primitive import Primitive
from linad.core.regions import Region
from linad.transforms.plain_operands import same_bits

RELATIVE, FIXED, CONSTANT, MOVING = range(4)
"""Kinds of operands: so many operations back, a value from before, a constant, one that moves."""


BITS = 6
"""A value is known by its operation, shifted by so many bits, and its place among the results."""


class ExpectedStep(NamedTuple):
    """An operation that is expected.

    Attributes
    ----------
    arity : int
        How many operands it has.
    operands : tuple of (kind, object)
        How far back, which variable, which constant, or which `Moved`.
    compared : list or None
        The parameters, with what equality does not see; None if it takes more.
    results : list of (shape, dtype)
    result : (shape, dtype)
        The first of these.
    place : Moved or None
        Where a read that moves writes down the place.
    region : Region or None
        What it reads there.
    """

    primitive: Primitive
    arity: int
    operands: tuple[tuple[int, Any], ...]
    params: dict[str, Any]
    compared: Any
    results: list[tuple[Any, Any]]
    result: Any
    place: Any
    region: Any


class Moved:
    """What moves: constants of one kind, one for each repetition since the template was made."""

    __slots__ = ("dtype", "kind", "shape", "values")

    def __init__(self, example: Any) -> None:
        self.kind, self.shape = type(example), np.shape(example)
        self.dtype = np.asarray(example).dtype
        self.values: list[Any] = []

    def takes(self, a: Any) -> bool:
        if type(a) is not self.kind:
            return False
        if self.kind in _NUMBERS:
            return fits(a)
        return a.shape == self.shape and a.dtype == self.dtype  # type: ignore[no-any-return]


_NUMBERS = (float, int, complex, bool)


def same_constant(a: Any, x: Any) -> bool:
    """Whether an operand is the constant that is expected, to the bit."""
    if type(a) is not type(x):
        return False
    if type(a) is float:
        return a == x and math.copysign(1.0, a) == math.copysign(1.0, x)
    if type(a) is np.ndarray:
        return same_bits(a, x)
    if isinstance(a, np.generic):
        return a.dtype == x.dtype and a.tobytes() == x.tobytes()
    return type(a) in (int, bool, str) and a == x


def compared(params: dict[str, Any]) -> Any:
    """Parameters with the types that equality does not tell apart; None if that is not all."""
    found = []
    for name, value in params.items():
        parts = value if isinstance(value, tuple) else (value,)
        if not all([a is None or a is ... or isinstance(a, _PLAIN) for a in parts]):
            return None
        types = tuple(map(type, value)) if isinstance(value, tuple) else ()
        found.append((name, value, None if _BY_THEMSELVES.issuperset(types) else types))
    return found


_BY_THEMSELVES = {slice, type(None), type(...)}
"""Types of what is equal to nothing of another type."""

_PLAIN = (int, bool, str, slice, np.dtype, type, Region)


def same_plain(params: dict[str, Any], step: ExpectedStep) -> bool:
    known = step.compared
    if known is None:
        return same_params(params, step.params)
    if len(params) != len(known):
        return False
    for name, value, types in known:
        found = params.get(name)
        if found is value:
            continue
        if type(found) is not type(value):
            return False
        if isinstance(value, Region):
            if not value.same(found):  # type: ignore[arg-type]
                return False
        elif found != value:
            return False
        if types is not None and tuple(map(type, found)) != types:  # type: ignore[arg-type]
            return False
    return True
