"""Forward mode without a tape: each operation pushes its tangents on at once."""

from collections.abc import Callable
from typing import Any

from linad import tree
from linad.errors import OutputError
from linad.primitive import Primitive
from linad.shapes import is_inexact
from linad.tracer import Trace, Tracer
from linad.transforms.linearize import check_constant, linearize_pullback, widened
from linad.transforms.tape_operator import Slot, plus


class PushTrace(Trace):
    """A trace whose tracers carry their tangent as node; None is zero."""

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if self.finished:
            self.check_alive()
        values = list(args)
        active = []
        for i, a in enumerate(args):
            if isinstance(a, Tracer) and a._trace is self:
                values[i] = a._value
                if a._node is not None:
                    active.append((i, a._node))
        if primitive.joint is not None and active:
            return self._apply_joint(primitive, values, active, params)
        y = primitive(*values, **params)
        total = None
        if not primitive.constant:
            for i, tangent in active:
                J = primitive.rule_of(i)(y, *values, **params)
                if primitive.outputs is None and values[i].dtype is not y.dtype:
                    J = widened(J, values[i].dtype, y.dtype)
                part = J.pushforward(tangent)
                total = part if total is None else plus(total, part)
        if isinstance(y, tuple):
            tangents = (None,) * len(y) if total is None else total
            return tuple([self._result(v, t) for v, t in zip(y, tangents, strict=True)])
        return self._result(y, total)

    def _apply_joint(self, primitive: Primitive, values: Any, active: Any, params: Any) -> Any:
        """Push through a rule that has a pullback only: its adjoint is the pushforward."""
        y, L = linearize_pullback(primitive, values, [i for i, _ in active], params)
        results = [
            self._result(v, t)
            for v, t in zip(y, L.pull_leaves([t for _, t in active]), strict=True)
        ]
        return results[0] if primitive.outputs is None else tuple(results)

    def _result(self, y: Any, tangent: Any) -> Any:
        return Tracer(self, tangent, y) if is_inexact(y.dtype) else y


def push_leaves(
    function: Callable[[list[Any]], Any], values: list[Any], tangents: list[Any]
) -> tuple[Any, list[Any], list[Any]]:
    """Run ``function`` on values with tangents.

    Returns
    -------
    out_tree, results, tangents
        The structure of the result, its untraced leaves, and their tangents.

    Notes
    -----
    Memory is that of the function itself, doubled; nothing is kept for later.
    """
    trace = PushTrace()
    try:
        result = function([Tracer(trace, t, v) for v, t in zip(values, tangents, strict=True)])
    finally:
        trace.finished = True
    leaves, out_tree = tree.flatten(result)
    if not leaves:
        raise OutputError(
            f"the function returned {result!r}, which holds no array; return the result to "
            f"differentiate"
        )
    results, pushed = [], []
    for leaf in leaves:
        tangent = None
        if isinstance(leaf, Tracer) and leaf._trace is trace:
            tangent = leaf._node
            leaf = leaf._value
        else:
            leaf = check_constant(leaf)
        slot = Slot(leaf)
        results.append(leaf)
        pushed.append(slot.zeros() if tangent is None else tangent)
    return out_tree, results, pushed
