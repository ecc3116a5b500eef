"""Forward mode without a tape: each operation pushes its tangents on at once."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad import tree
from linad.buffers import Region, attach_view, is_private, settle, write_value
from linad.errors import OutputError
from linad.primitive import Primitive
from linad.shapes import is_inexact
from linad.tracer import Trace, Tracer
from linad.transforms.linearize import captured, check_constant, linearize_pullback, widened
from linad.transforms.tape_operator import Slot, push_onto


class PushTrace(Trace):
    """A trace whose tracers carry their tangent as node; None is zero."""

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if self.finished:
            self.check_alive()
        values = list(args)
        active = []
        for i, a in enumerate(args):
            if isinstance(a, Tracer):
                settle(a)
                if a._trace is not self:
                    values[i] = a.frozen()
                    continue
                values[i] = captured(a, primitive)
                if a._node is not None:
                    written = a._buffer is not None and is_private(a)
                    active.append((i, a._node.copy() if written else a._node))
        if primitive.joint is not None and active:
            return self._apply_joint(primitive, values, active, params)
        y = primitive(*values, **params)
        total, mine = None, False
        if not primitive.constant:
            for i, tangent in active:
                J = primitive.rule_of(i)(y, *values, **params)
                if primitive.outputs is None and values[i].dtype is not y.dtype:
                    J = widened(J, values[i].dtype, y.dtype)
                if total is None:
                    total, mine = J.pushforward(tangent), J.fresh or J.spreads
                else:
                    total, mine = push_onto(total, mine, J, tangent), True
        if isinstance(y, tuple):
            tangents = (None,) * len(y) if total is None else total
            return tuple([self._result(v, t) for v, t in zip(y, tangents, strict=True)])
        result = self._result(y, total)
        if primitive.view and isinstance(result, Tracer):
            attach_view(result, args[0])
        return result

    def constant(self, value: Any) -> Tracer:
        return Tracer(self, None, value)

    def write(self, root: Tracer, region: Region, value: Any) -> None:
        self.check_alive()
        tangent = None
        if isinstance(value, Tracer):
            settle(value)
            if value._trace is self:
                tangent, value = value._node, value._value
        write_value(root, region, value)
        if root._node is None and tangent is None:
            return
        if root._node is None:
            root._node = np.zeros(root.shape, root.dtype)
        elif not root._buffer.private_node:
            root._node = root._node.copy(order="C")
        root._buffer.private_node = True
        if isinstance(tangent, Tracer) and not isinstance(root._node, Tracer):
            root._node = tangent._trace.constant(root._node)
        region.assign(root._node, 0 if tangent is None else tangent)

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
    with trace:
        result = function([Tracer(trace, t, v) for v, t in zip(values, tangents, strict=True)])
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
            settle(leaf)
            tangent = leaf._node
            leaf = leaf._value
        else:
            leaf = check_constant(leaf)
        slot = Slot(leaf)
        results.append(leaf)
        pushed.append(slot.zeros() if tangent is None else tangent)
    return out_tree, results, pushed
