"""Loops that do nothing but multiply a number by another one, n times.

    y := y a                 y_n = y a^n        dy_n = a^n dy + n y a^(n-1) da

Their value is that of the loop, which rounds every product. The slopes are products of n numbers,
too, and which are multiplied first is nobody's to say: by a power they take no loop, and are
rounded less often. A power may overflow or underflow where the loop's products of y and a do not,
or the loop's where a power does not: it counts where neither comes near, else the loops do.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.control.deciding import cond, every_branch
from linad.control.repeat import SHORTER, Repeat, RepeatJacobian
from linad.core.array_type import Array
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.transforms.spaces import Slot

FEWEST = 16
"""Repetitions from which a power is faster than the loops."""

LARGEST = 1e100
"""|y|, |y a^n|, |a^n| and 1 / |a^n| up to which the power counts: products of two that lie between
are far from the ends of float64."""


def factor_of(owner: Repeat, active: Sequence[int]) -> int | None:
    """The number of the operand a, where that is all that a loop does; else None."""
    body = owner.body
    inputs, equations = body.tape.inputs, body.tape.equations
    if owner.counted or owner.n < FEWEST or body.carries != 1 or len(equations) != 1:
        return None
    [eqn] = equations
    if eqn.primitive.name != "multiply" or tuple(body.tape.outputs) != eqn.outputs:
        return None
    fixed = range(1 + body.rows, len(inputs))
    operands = {id(a) for a in eqn.inputs}
    read = [i for i in fixed if id(inputs[i]) in operands]
    if len(read) != 1 or id(inputs[0]) not in operands or not {0, *read}.issuperset(active):
        return None
    numbers = [inputs[i].shape == () and inputs[i].dtype == np.float64 for i in (0, *read)]
    return read[0] if all(numbers) else None


class GrowthJacobian(JacobianOperator):
    """The derivative of such a loop, as of `RepeatJacobian`.

    Parameters
    ----------
    owner : Repeat
    values : list
        The operands, plain or traced.
    active : tuple of int
        Operands that have tangents: of the number, of its factor, or both.
    factor : int
        Which operand that is.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(
        self, owner: Repeat, values: list[Any], active: tuple[int, ...], factor: int
    ) -> None:
        self.owner, self.values, self.active, self.factor = owner, values, active, factor
        self.results = tuple(owner(*values))
        self.in_slots = [Slot(values[i]) for i in active]
        self.out_slots = [Slot(v) for v in self.results]
        super().__init__((), (), np.dtype(np.float64))

    def _by_loops(self, values: Sequence[Any]) -> RepeatJacobian:
        return RepeatJacobian(self.owner, list(values), self.active)

    def _either(self, short: Callable[..., Any], long: Callable[..., Any], seeds: Any) -> Any:
        """``short(slopes, seeds)``, or what ``long(J, seeds)`` makes of the loops' Jacobian."""
        n, y, a = self.owner.n, self.values[0], self.values[self.factor]

        def by_power(y: Array, a: Array, power: Array, seeds: Any) -> Any:
            slopes = {0: power * a, self.factor: n * (y * power)}
            return short([slopes[i] for i in self.active], seeds)

        def by_loops(y: Array, a: Array, power: Array, seeds: Any) -> Any:
            values = list(self.values)
            values[0], values[self.factor] = y, a
            return long(self._by_loops(values), seeds)

        with np.errstate(all="ignore"), every_branch():
            power = a ** (n - 1)
            growth, size = np.abs(power * a), np.abs(y)
            near = (growth < LARGEST) & (growth * LARGEST > 1.0)
            near &= (size < LARGEST) & (size * growth < LARGEST)
            return cond(near, by_power, by_loops, y, a, power, seeds)

    def pushforward(self, tangent: Any) -> Any:
        moving = [k for k, t in enumerate(tangent) if t is not None]

        def short(slopes: list[Any], given: list[Any]) -> Any:
            first, *others = [slopes[k] * t for k, t in zip(moving, given, strict=True)]
            return sum(others, first)

        def long(J: RepeatJacobian, given: list[Any]) -> Any:
            seeds = dict(zip(moving, given, strict=True))
            return J.pushforward([seeds.get(k) for k in range(len(tangent))])[0]

        return (self._either(short, long, [tangent[k] for k in moving]),)

    def pullback(self, cotangent: Any) -> Any:
        if cotangent[0] is None:
            return (None,) * len(self.active)

        def short(slopes: list[Any], w: Array) -> Any:
            return [s * w for s in slopes]

        return tuple(self._either(short, lambda J, w: list(J.pullback((w,))), *cotangent))

    def loses_zeros(self, asked: list[Any], behind: bool) -> bool:
        return self._by_loops(self.values).loses_zeros(asked, behind)

    def made_of(self) -> Any:
        return self._by_loops(self.values).made_of()


def _growth(owner: Repeat, values: Sequence[Any], active: Sequence[int]) -> Any:
    factor = factor_of(owner, active)
    if factor is None:
        return None
    return GrowthJacobian(owner, list(values), tuple(active), factor)


SHORTER.append(_growth)
