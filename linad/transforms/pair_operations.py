"""``a * b`` and its like while a derivative is kept: what eager programs do most.

Written out without calls to spare, as is what else `linad.transforms.linearize.LinearTrace` does.
"""

from collections.abc import Iterator
from math import isinf
from typing import Any

import numpy as np
from numpy import float64, ndarray

from linad.arrays.buffers import is_settled
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.slopes import FACTOR, MANY, POLE, TRUE, SlopeRule, reaches_infinity
from linad.operators.structured import Cast, Diagonal, Identity
from linad.transforms.needed_steps import Step
from linad.transforms.plain_operands import PlainOperands
from linad.transforms.poles import note_operands, settled
from linad.transforms.traced_values import refuse_objects

_bare = object.__new__  # without the calls of a constructor
_NUMBERS = {np.float64, float, int}
FLOAT64 = np.dtype(np.float64)


class PairTrace(Trace):
    """A trace that keeps the operators of an operation on two values.

    Attributes
    ----------
    nodes : iterator of int
        Numbers for results.
    steps : list of Step
        The results so far, each with operators from the values it came from.
    identities : dict
        By shape: sums share them.
    operands_of : list of (operator, operands)
        Those that tell whether slopes are those of poles.
    """

    nodes: Iterator[int]
    steps: list[Step]
    operands: PlainOperands
    identities: dict[Any, Identity]
    operands_of: list[tuple[Any, Any]]

    def _apply_to_two(self, primitive: Primitive, a: Array, b: Array) -> Any:
        """``a * b`` and its like; None if it needs the general way."""
        from_a = from_b = None
        if type(a) is Tracer:
            if a._trace is not self or (a._buffer is not None and not is_settled(a._buffer)):
                return None
            from_a = a._node
            a = a._value
        elif type(a) is ndarray and primitive.captures_args:
            a = self.operands.keep(a)
        if type(b) is Tracer:
            if b._trace is not self or (b._buffer is not None and not is_settled(b._buffer)):
                return None
            from_b = b._node
            b = b._value
        elif type(b) is ndarray and primitive.captures_args:
            b = self.operands.keep(b)
        if type(a) is Tracer or type(b) is Tracer:
            y = primitive(a, b)
        elif primitive.on_numbers is not None and type(a) in _NUMBERS and type(b) in _NUMBERS:
            y = primitive.on_numbers(a, b)
        else:
            impl = primitive.impl  # a method is called in less time than an attribute
            y = impl(a, b)
        dtype = FLOAT64 if type(y) is float64 else y.dtype
        if dtype is not FLOAT64 and dtype.hasobject:
            refuse_objects(primitive)
        rules = primitive.rules
        links: list[Any] = []
        if from_a == from_b and primitive.of_equal is not None and type(a) is not Tracer:
            J = self._operator(primitive.of_equal, 0, from_a, a, y, a, b)
            links.append((from_a, J))
        else:
            if from_a is not None:
                rule = rules.get(0) or primitive.rule_of(0)
                if type(rule) is SlopeRule or a.dtype is not dtype:
                    J = self._operator(rule, 0, from_a, a, y, a, b)
                else:
                    J = rule(y, a, b)
                links.append((from_a, J))
            if from_b is not None:
                rule = rules.get(1) or primitive.rule_of(1)
                if type(rule) is SlopeRule or b.dtype is not dtype:
                    J = self._operator(rule, 1, from_b, b, y, a, b)
                else:
                    J = rule(y, a, b)
                links.append((from_b, J))
        node = next(self.nodes)
        self.steps.append((node, links))
        result: Any = _bare(Tracer)
        result._trace, result._node, result._value, result._buffer = self, node, y, None
        result._square, result._whole = None, False
        return result

    def _operator(
        self, rule: Any, place: int, node: Any, x: Array, y: Array, a: Array, b: Array
    ) -> Any:
        """The operator of ``x``, which is one of a and b, and of which it is the node."""
        J: Any
        shape: Shape
        if type(x) is float64 and type(y) is float64:  # what they are need not be asked
            shape, dtype = (), FLOAT64
            is_plain = type(rule) is SlopeRule and not (rule.levels and isinf(x))
        else:
            shape, dtype = y.shape, y.dtype
            is_plain = (
                type(rule) is SlopeRule
                and x.shape == shape
                and x.dtype is dtype
                and not (
                    rule.levels  # few entries are asked here: a call takes as long
                    and (
                        reaches_infinity(x)
                        if type(x) is not ndarray or x.size > MANY
                        else TRUE in np.isinf(x).tobytes()
                    )
                )
            )
        if not is_plain:
            J = rule(y, a, b)
            if type(rule) is SlopeRule and rule.at_poles:
                J = settled(self, rule, place, node, J, y, a, b)
            return J if x.dtype is dtype else widened(J, x.dtype, dtype)
        slope = rule.slope
        if slope is not None:
            J = _bare(Diagonal)
            J.entries = slope(y, a, b)
            J.out_shape = J.in_shape = shape
            J.dtype = dtype
            steep = rule.steep
            if steep is not None:
                J.steep = steep
                if steep is not FACTOR and steep is not POLE:
                    if y.size > MANY:
                        note_operands(self, J, (a, b))
                    else:
                        self.operands_of.append((J, (a, b)))
            return J
        J = self.identities.get(shape)
        if J is None or J.dtype is not dtype:
            J = self.identities[shape] = Identity(shape, dtype)
        return J


def widened(J: JacobianOperator, x: np.dtype[Any], y: np.dtype[Any]) -> JacobianOperator:
    """``J``, after the cast that NumPy's promotion made of an argument of dtype x."""
    if x != y and J.in_dtype != x and np.promote_types(x, y) == y:
        return J @ Cast(J.in_shape, y, x)
    return J
