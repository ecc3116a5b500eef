"""Forward mode without a tape: each operation pushes its tangents on at once."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from linad.arrays.buffers import attach_view, is_private, lazy_view, refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.arrays.writes import write_value
from linad.arrays.zero_dim import array, like
from linad.core import tree
from linad.core.adopted import repeated
from linad.core.array_type import Array
from linad.core.primitive import Primitive, lifted
from linad.core.regions import Region
from linad.core.shapes import is_inexact, memory_of
from linad.operators.entangled import Entangled, Results
from linad.operators.slopes import FACTOR, SlopeRule, reaches_infinity
from linad.transforms.likeness import alike
from linad.transforms.linearize import linearize_leaves, linearize_pullback
from linad.transforms.pair_operations import widened
from linad.transforms.poles import may_swallow
from linad.transforms.quiet_rules import RAISED, with_quiet_rules
from linad.transforms.spaces import Slot
from linad.transforms.tangent_sums import handed_out, push_onto
from linad.transforms.traced_values import (
    read_arguments,
    read_results,
    read_written,
    refuse_objects,
)

Read = tuple[list[Any], list[tuple[int, Any]], bool, bool]
"""What an operation reads: see `PushTrace._values_of`."""


class PushTrace(Trace):
    """A trace whose tracers carry their tangent as node; None is zero."""

    steep = False
    """Whether an operation may have been at a pole."""

    unsure = False
    """Whether an infinite value may have come from one: only a tape tells."""

    _entangled: list[Results] | None = None
    """The results of operations on eigenvalues, which do not hold together everywhere."""

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        try:
            if self.finished:
                return self.after_its_end(primitive, args, params)
            next(self.count)
            if primitive.view and (view := lazy_view(self, args[0], primitive, params)) is not None:
                return view
            values, active, nested, written = self._values_of(primitive, args)
            if active:
                if primitive.vjp_rule is not None:
                    return self._apply_vjp_rule(primitive, values, active, params)
                if primitive.whole is not None:
                    return self._apply_whole(primitive, values, active)
            y = (primitive if nested else primitive.impl)(*values, **params)
            if not isinstance(y, tuple) and y.dtype.hasobject:
                refuse_objects(primitive)
            total = J = None
            if primitive.constant:
                if primitive.decides:
                    self.decide(values)
            elif active:
                total, J = self._pushed(primitive, y, values, active, written, params)
            if isinstance(y, tuple):
                return self._several(y, total, J, active)
            if primitive.aside and total is not None:
                total = total[...]  # not the tangent that others may use
            result = self._result(y, total)
            if primitive.view and isinstance(result, Tracer):
                attach_view(result, args[0], primitive, params)
            return result
        except RAISED as error:
            return with_quiet_rules(error, self, primitive, args, params)

    def _values_of(self, primitive: Primitive, args: tuple[Any, ...]) -> Read:
        """The values of arguments, the tangents that they have, whether a value is traced, and
        whether one was written into: such tangents change later, and none may look into them."""
        values: list[Any] = []
        active: list[tuple[int, Any]] = []
        nested = False
        for a in args:
            if type(a) is Tracer:
                if a._trace is not self or a._buffer is not None or self._entangled is not None:
                    return self._read(primitive, args)
                if a._node is not None:
                    active.append((len(values), a._node))
                a = a._value
                if type(a) is Tracer:
                    nested = True
            values.append(a)
        return values, active, nested, False

    def _read(self, primitive: Primitive, args: tuple[Any, ...]) -> Read:
        """As `_values_of`, of any arguments."""
        values, nodes, nested = read_arguments(self, primitive, args, None)
        if self._entangled is not None and not (primitive.constant or primitive.aside):
            slopes = primitive.zero_slope_args
            nodes = [(i, t if i in slopes else self._told(t)) for i, t in nodes]
        active = []
        written = False
        for i, tangent in nodes:
            if tangent is not None:
                if args[i]._buffer is not None and is_private(args[i]):
                    written = True
                    if not primitive.view:  # a trace around this one may keep it
                        tangent = tangent.copy()
                active.append((i, tangent))
        return values, active, nested, written

    def _pushed(
        self,
        primitive: Primitive,
        y: Array,
        values: list[Any],
        active: list[tuple[int, Any]],
        written: bool,
        params: dict[str, Any],
    ) -> tuple[Any, Any]:
        """The tangent of a result, and the last operator that one was pushed through; None if there
        was none. It is ``mine`` to add to once it is in memory of its own."""
        total: Any = None
        J: Any = None
        mine = False
        for i, tangent in active:
            if i in primitive.zero_slope_args:
                continue
            rule = primitive.rules.get(i) or primitive.rule_of(i)
            x = values[i]
            if (
                type(rule) is SlopeRule
                and x.shape == y.shape
                and x.dtype is y.dtype
                and not (rule.levels and reaches_infinity(x))
            ):
                # Functions entry by entry are most of what there is: without an operator.
                if rule.slope is not None:
                    if rule.steep is not None and rule.steep is not FACTOR:
                        self.steep = True
                    part, own = tangent * rule.slope(y, *values, **params), True
                else:
                    own = written and total is None
                    part = tangent.copy() if own else tangent
                total, mine = (part, own) if total is None else (total + part, True)
                continue
            J = rule(y, *values, **params)
            if type(rule) is SlopeRule and rule.at_poles:
                if rule.levels and self.steep and reaches_infinity(x):
                    self.unsure = self.unsure or may_swallow(x, tangent)
                self.steep = self.steep or rule.steep is not FACTOR
            if primitive.outputs is None and x.dtype is not y.dtype:
                J = widened(J, x.dtype, y.dtype)
            if total is None:
                total, mine = J.pushforward(tangent), J.owns_result or J.spreads
                if written and not mine:
                    total = _copied(total)
            else:
                total, mine = push_onto(total, mine, J, tangent), True
        return total, J

    def constant(self, value: Any) -> Tracer:
        return Tracer(self, None, value)

    def is_constant(self, x: Tracer) -> bool:
        refresh_node(x)
        return x._node is None

    def same(self, x: Tracer, y: Tracer) -> bool:
        refresh_node(x)
        refresh_node(y)
        return alike(x._node, y._node) and alike(x._value, y._value)

    def connects(self, results: list[Tracer], inputs: list[Any]) -> bool:
        for y in results:
            refresh_node(y)
        return any([y._node is not None for y in results])

    def write(self, root: Tracer, region: Region, value: Array) -> None:
        self.check_alive()
        tangent, value = read_written(self, value)
        write_value(root, region, value)
        if self._entangled is not None:
            tangent, root._node = self._told(tangent), self._told(root._node)
        if root._node is None and tangent is None:
            return
        if root._node is None:
            root._node = np.zeros(root.shape, root.dtype)
        elif not root._buffer.private_node:
            root._node = array(root._node).copy(order="C")
        root._buffer.private_node = True
        root._node = region.home(lifted(root._node, tangent))
        region.assign(root._node, 0 if tangent is None else tangent)

    def outputs(self, result: Array, given: list[Any]) -> tuple[Any, list[Any], list[Any]]:
        """The structure of what the function returned, its values and their tangents, in
        memory that neither the caller's tangents nor each other use."""
        results, tangents, out_tree = read_results(self, result)
        pushed: list[Any] = []
        taken = {memory_of(t) for t in given}
        for y, tangent in zip(results, tangents, strict=True):
            tangent = self._told(tangent)
            tangent = Slot(y).zeros() if tangent is None else handed_out(tangent, taken)
            pushed.append(tangent if y.shape else like(y, tangent))
        return out_tree, results, pushed

    def _told(self, tangent: Array) -> Any:
        """A tangent that is used now, perhaps after another that it is entangled with."""
        if tangent is not None:
            for results in self._entangled or ():
                tangent = results.told(tangent)
        return tangent

    def _apply_vjp_rule(self, primitive: Primitive, values: Any, active: Any, params: Any) -> Any:
        """Push through a rule that has a pullback only: its adjoint is the pushforward."""
        y, L = linearize_pullback(primitive, values, [i for i, _ in active], params)
        results = self._results(y, L.pull_leaves([t for _, t in active]))
        return results[0] if primitive.outputs is None else results

    def _apply_whole(self, primitive: Primitive, values: Any, active: Any) -> Any:
        """Push through the one operator of a primitive, from all arguments to all results."""
        assert primitive.whole is not None
        self.searches = self.searches or primitive.searches
        if self.steep:
            for i, tangent in active:
                if reaches_infinity(values[i]):
                    self.unsure = self.unsure or may_swallow(values[i], tangent)
        self.steep = True  # there may be one inside
        y, J = primitive.whole(values, [i for i, _ in active])
        return self._results(y, J.pushforward(tuple([t for _, t in active])))

    def _several(self, ys: Any, tangents: Any, J: Any, active: list[tuple[int, Any]]) -> Any:
        """The results of one operation; J is the last derivative that was pushed through."""
        self.steep = True  # of what it is a derivative is not asked here
        if isinstance(J, Entangled):
            self._entangled = [*(self._entangled or ()), Results(J, active[0][1], tangents)]
        return self._results(ys, (None,) * len(ys) if tangents is None else tangents)

    def _results(self, ys: Iterable[Any], tangents: Iterable[Any]) -> tuple[Any, ...]:
        return tuple([self._result(y, t) for y, t in zip(ys, tangents, strict=True)])

    def _result(self, y: Array, tangent: Array) -> Any:
        return Tracer(self, tangent, y) if is_inexact(y.dtype) else y


def _copied(tangent: Array) -> Any:
    if isinstance(tangent, tuple):
        return tuple([None if t is None else t.copy() for t in tangent])
    return tangent.copy()


@repeated
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
    Memory is that of the function itself, doubled; nothing is kept for later. Where an infinite
    value may be that of a pole, a second run keeps a tape, which tells (`linad.transforms.poles`).
    """
    trace = PushTrace()
    tracers = [
        Tracer(trace, t, v.frozen() if isinstance(v, Tracer) else v)
        for v, t in zip(values, tangents, strict=True)
    ]
    with trace:
        result = function(tracers)
        if not trace.unsure:
            return trace.outputs(result, tangents)
    results, J = linearize_leaves(function, values, tree.flatten(values)[1])
    return J.out_tree, results, J.push_leaves(tangents)
