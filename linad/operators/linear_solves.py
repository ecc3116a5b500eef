"""Solutions of linear systems: what every way to solve one has in common, its derivative first.

A x = b        dx = A^-1 (db - (dA) x)        adjoint of b -> A^-1 b:  y -> A^-H y

A way to solve is a primitive ``x = solve(b and what A is made of)`` and a `LinearSolve`, which
says how the primitive is called for A and for A^H. `solution_rules` makes the primitive's rules
of it, so that solving is closed under differentiation: derivatives are solutions again.

Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse
mode algorithmic differentiation", 2008, section 2.2.
"""

import inspect
from collections.abc import Callable
from typing import Any

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Rule
from linad.core.shapes import align, sum_to_shape
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relation_shapes import dense_along


class LinearSolve(JacobianOperator):
    """b -> A^-1 b; axes of b in front may be broadcast.

    A subclass writes `solve_for`.

    Attributes
    ----------
    axes : tuple of int
        Those axes of b, counted from the end, that A maps; it is the same for the others.
    """

    unknown = UNSTRUCTURED

    owns_result = True

    axes: tuple[int, ...] = (-2,)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        """Return A^-1 b or A^-H b; there may be axes of seeds in front."""
        raise NotImplementedError

    def pushforward(self, tangent: Array) -> Array:
        return self.solve_for(align(tangent, len(self.in_shape), len(self.out_shape)), False)

    def pullback(self, cotangent: Array) -> Array:
        x = self.solve_for(cotangent, True)
        return sum_to_shape(x, self.in_shape, len(self.out_shape))

    def relation(self) -> Any:
        return dense_along(self.out_shape, self.in_shape, self.axes)


def solution_rules(
    primitive: Primitive,
    right_side: int,
    inverse: Callable[..., JacobianOperator],
    changes: dict[int, Callable[..., JacobianOperator]],
) -> None:
    """Give a primitive that solves A x = b its rules.

    Parameters
    ----------
    primitive : Primitive
        ``x = primitive(*arrays, **static)``
    right_side : int
        Which array is b.
    inverse : callable
        ``inverse(x, b_shape, *arrays, **static)``, b -> A^-1 b.
    changes : dict of int to callable
        For each array θ that A depends on ``change(x, *arrays, **static)``, dθ -> -(dA) x.
    """
    names = list(inspect.signature(primitive.impl).parameters)

    def register(i: int, rule: Rule) -> None:
        rule.__name__ = rule.__qualname__ = f"{primitive.name}_wrt_{names[i]}"
        primitive.jacobian(wrt=i)(rule)

    def wrt_matrix(change: Callable[..., JacobianOperator]) -> Rule:
        def rule(x: Array, *arrays: Any, **static: Any) -> JacobianOperator:
            return inverse(x, x.shape, *arrays, **static) @ change(x, *arrays, **static)

        return rule

    def wrt_right_side(x: Array, *arrays: Any, **static: Any) -> JacobianOperator:
        return inverse(x, arrays[right_side].shape, *arrays, **static)

    for i, change in changes.items():
        register(i, wrt_matrix(change))
    register(right_side, wrt_right_side)
