"""Linearize: run a function once and keep its derivative as a list of operators.

`LinearTrace` builds the Jacobian operators of each operation while the function runs;
`linad.transforms.tape_operator.TapeOperator` is the result.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.buffers import Storage, attach_view, is_settled, lazy_view
from linad.arrays.tracer import Tracer
from linad.arrays.writes import write_value
from linad.core import tree
from linad.core.adopted import repeated
from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.regions import Region
from linad.core.shapes import is_inexact, size_of
from linad.errors import WrongRuleError
from linad.operators.region_writes import Erase, Insert
from linad.operators.slopes import MANY, SINGULAR, TRUE, SlopeRule, reaches_infinity
from linad.operators.structured import Diagonal, Identity
from linad.transforms.asked_traces import AskedTrace
from linad.transforms.needed_steps import Link, Node
from linad.transforms.pair_operations import widened
from linad.transforms.plain_operands import PlainOperands
from linad.transforms.poles import behind_poles, note_operands, read_from_poles, settled
from linad.transforms.quiet_rules import RAISED, with_quiet_rules
from linad.transforms.spaces import Slot, slot_of
from linad.transforms.tape_operator import TapeOperator
from linad.transforms.traced_values import (
    read_arguments,
    read_results,
    read_written,
    refuse_objects,
)
from linad.transforms.tuple_entries import Entry

_bare = object.__new__  # without the calls of a constructor


class LinearTrace(AskedTrace):
    """A trace that keeps, for each result, the operators from the values it came from."""

    writes = False
    """Whether the function wrote into arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes = self.count
        self.steps = []
        self.operands = PlainOperands()
        self.identities = {}
        self.operands_of = []
        self.seen: Any = None
        self._constants = set()

    def finish(
        self, result: Any, values: list[Any], inputs: list[Node], in_tree: Any
    ) -> tuple[list[Any], TapeOperator]:
        """What the function returned, untraced, and its derivative; see `linearize_leaves`."""
        results, outputs, out_tree = read_results(self, result)
        if self.operands.watched:
            self.operands.check()
        J = TapeOperator(
            self.steps,
            self.writes,
            next(self.nodes),
            inputs,
            outputs,
            list(map(slot_of, values)),
            list(map(slot_of, results)),
            in_tree,
            out_tree,
        )
        return results, J

    # What eager programs spend their time in is written out here, without calls to spare.

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        try:
            if self.finished:
                return self.after_its_end(primitive, args, params)
            count = len(args) if primitive.plain else 0
            if count == 1:
                x = args[0]
                buffer = x._buffer
                if x._trace is self and (
                    buffer is None
                    or (not buffer.private if type(buffer) is Storage else is_settled(buffer))
                ):
                    value = x._value
                    # Only a value that is itself traced needs the dispatch of a call.
                    run = primitive if type(value) is Tracer else primitive.impl
                    y = run(value, **params) if params else run(value)
                    dtype = y.dtype
                    if dtype.hasobject:
                        refuse_objects(primitive)
                    rule = primitive.rules.get(0) or primitive.rule_of(0)
                    J: Any
                    if (
                        type(rule) is SlopeRule
                        and (slope := rule.slope) is not None
                        and value.dtype is dtype
                        and not params
                        and not (
                            rule.levels  # few entries are asked here: a call takes as long
                            and (
                                reaches_infinity(value)
                                if type(value) is not ndarray or value.size > MANY
                                else TRUE in np.isinf(value).tobytes()
                            )
                        )
                    ):
                        J = _bare(Diagonal)
                        J.entries = slope(y, value)
                        J.out_shape = J.in_shape = y.shape
                        J.dtype = dtype
                        if rule.steep is not None:
                            J.steep = rule.steep
                            if rule.steep is SINGULAR:
                                note_operands(self, J, (value,))
                    else:
                        J = rule(y, value, **params)
                        if type(rule) is SlopeRule and rule.at_poles:
                            J = settled(self, rule, 0, x._node, J, y, value, **params)
                        if value.dtype is not dtype:
                            J = widened(J, value.dtype, dtype)
                    node = next(self.nodes)
                    self.steps.append((node, [(x._node, J)]))
                    result: Any = _bare(Tracer)
                    result._trace, result._node, result._value = self, node, y
                    result._buffer, result._square, result._whole = None, None, False
                    if primitive.view and (type(y) is ndarray or type(value) is Tracer):
                        attach_view(result, x, primitive, params)
                    return result
            elif count == 2 and not params and not primitive.view:
                found = self._apply_to_two(primitive, args[0], args[1])
                if found is not None:
                    return found
            if primitive.view and args[0]._buffer is not None:
                found = lazy_view(self, args[0], primitive, params)
                if found is not None:
                    return found
            return self._apply_to_any(primitive, args, params)
        except RAISED as error:
            return with_quiet_rules(error, self, primitive, args, params)

    def _apply_to_any(
        self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """An operation on any number of values, some of which may be plain, or traced elsewhere."""
        operands = self.operands if primitive.captures_args else None
        values: list[Any] = []
        active: list[tuple[int, Node]] = []
        nested = False
        for a in args:
            if type(a) is Tracer:
                if a._trace is not self or (
                    a._buffer is not None and not is_settled(a._buffer, primitive.view)
                ):
                    values, active, nested = read_arguments(self, primitive, args, operands)
                    break
                active.append((len(values), a._node))
                a = a._value
                if type(a) is Tracer:
                    nested = True
            elif operands is not None and type(a) is ndarray:
                a = operands.keep(a)
            values.append(a)
        if primitive.vjp_rule is not None:
            return self._apply_vjp_rule(primitive, values, active, params)
        if primitive.whole is not None:
            return self._apply_whole(primitive, values, active)
        y = (primitive if nested else primitive.impl)(*values, **params)
        if primitive.constant:
            if primitive.decides:
                self.decide(values)
            return self._constant(y)
        if primitive.outputs is not None:
            return self._several(primitive, y, values, active, params)
        dtype = y.dtype
        if dtype.hasobject:
            refuse_objects(primitive)
        if primitive.zero_slope_args:
            active = [(i, node) for i, node in active if i not in primitive.zero_slope_args]
            self.cut = self.cut or not active
        links = []
        rules = primitive.rules
        for i, node in active:
            rule = rules.get(i) or primitive.rule_of(i)
            J = rule(y, *values, **params)
            if type(rule) is SlopeRule and rule.at_poles:
                J = settled(self, rule, i, node, J, y, *values, **params)
            if values[i].dtype is not dtype:
                J = widened(J, values[i].dtype, dtype)
            links.append((node, J))
        node = next(self.nodes)
        self.steps.append((node, links))
        result = _bare(Tracer)
        result._trace, result._node, result._value, result._buffer = self, node, y, None
        result._square, result._whole = None, False
        if primitive.view and (nested or type(y) is ndarray):
            attach_view(result, args[0], primitive, params)
        return result

    def write(self, root: Tracer, region: Region, value: Array) -> None:
        self.check_alive()
        shape, dtype = root._value.shape, root._value.dtype
        links: list[Link] = []
        node, value = read_written(self, value)
        if node is not None:
            links.append((node, Insert(region, shape, dtype)))
        if not region.covers(size_of(shape)):
            links.append((root._node, Erase(region, shape, dtype)))
        self.cut = self.cut or not links
        write_value(root, region, value)
        root._node = next(self.nodes)
        self.steps.append((root._node, links))
        self.writes = True

    def _several(
        self,
        primitive: Primitive,
        y: tuple[Any, ...],
        values: Any,
        active: Any,
        params: dict[str, Any],
    ) -> Any:
        """The results of a primitive with several, which share their links."""
        links = [(node, primitive.rule_of(i)(y, *values, **params)) for i, node in active]
        nodes = tuple([next(self.nodes) for _ in y])
        self.steps.append((nodes, links))
        return tuple(
            [
                Tracer(self, n, v) if is_inexact(v.dtype) else v
                for n, v in zip(nodes, y, strict=True)
            ]
        )

    def _apply_whole(self, primitive: Primitive, values: Any, active: Any) -> Any:
        """A primitive whose one operator maps all active arguments to all results: they meet
        in a node that holds a tuple."""
        assert primitive.whole is not None
        self.searches = self.searches or primitive.searches
        if self.cut:  # a derivative of all that a loop has made of constants is work for nothing
            constants = self.all_constants()
            active = [(i, node) for i, node in active if node not in constants]
        moving = read_from_poles(self, values, active)
        if moving and (tape := getattr(primitive, "written_out", None)) is not None:
            given = list(values)
            for i, node in active:
                given[i] = Tracer(self, node, values[i])
            return tuple(tape.run(given))
        y, J = primitive.whole(values, [i for i, _ in active])
        together = next(self.nodes)
        links = [(node, Entry(k, values[i], len(active))) for k, (i, node) in enumerate(active)]
        self.steps.append((together, links))
        nodes: Any = tuple([next(self.nodes) for _ in y])
        self.steps.append((nodes, [(together, J)]))
        if moving:
            nodes = behind_poles(self, moving, nodes, y)
        return tuple(
            [
                Tracer(self, n, v) if is_inexact(v.dtype) else v
                for n, v in zip(nodes, y, strict=True)
            ]
        )

    def _constant(self, y: Array) -> Any:
        """A result without derivative: still traced where it is floating, so it acts alike."""
        if isinstance(y, tuple):
            return tuple([self._constant(part) for part in y])
        return self.constant(y) if is_inexact(y.dtype) else y

    def _apply_vjp_rule(self, primitive: Primitive, values: Any, active: Any, params: Any) -> Any:
        """Split a rule with a pullback closure into the operations the closure does.

        The closure is a linear map from cotangents of y to cotangents of the arguments.
        Linearized, it is a list of operators; the list read backwards, each operator by its
        adjoint, is the Jacobian from the arguments to y. Its links become links of this
        trace: no closure stays behind, and forward mode works too.
        """
        y, L = linearize_pullback(primitive, values, [i for i, _ in active], params)
        users: dict[Node, list[Link]] = {}
        for out, links in L.steps:
            if type(out) is not int:
                raise WrongRuleError(
                    f"{primitive.name}: its pullback uses an operation with several results, "
                    f"which cannot be linear in the cotangent"
                )
            for node, J in links:
                users.setdefault(node, []).append((out, J))
        here = {node: next(self.nodes) for node in range(L.count)}
        sources: dict[Node, list[Link]] = {}
        for (_, node), out, slot in zip(active, L.outputs, L.out_slots, strict=True):
            if out is not None:
                sources.setdefault(out, []).append((node, Identity(slot.shape, slot.dtype)))
        for node in range(L.count - 1, -1, -1):
            links = [(here[out], J.H) for out, J in users.get(node, ())]
            links += sources.get(node, ())
            if links:
                self.steps.append((here[node], links))
        results = [Tracer(self, here[n], v) for n, v in zip(L.inputs, y, strict=True)]
        return results[0] if primitive.outputs is None else tuple(results)


def linearize_pullback(
    primitive: Primitive, values: list[Any], active: list[int], params: dict[str, Any]
) -> tuple[list[Any], TapeOperator]:
    """Run a VJP rule and linearize the pullback it returns.

    Parameters
    ----------
    primitive : Primitive
        With a rule ``vjp_rule(*args, **params) -> (y, pullback)``.
    values : list
        Its arguments.
    active : list of int
        The arguments whose cotangents are wanted.
    params : dict

    Returns
    -------
    y : list
        The results.
    L : TapeOperator
        From the cotangents of the results to those of the active arguments.

    Raises
    ------
    WrongRuleError
        If the pullback does not return one cotangent per argument, of its shape.
    """
    assert primitive.vjp_rule is not None
    y, pullback = primitive.vjp_rule(*values, **params)
    results = [y] if primitive.outputs is None else list(y)

    def pulled(seeds: list[Any]) -> list[Any]:
        found = pullback(seeds[0] if primitive.outputs is None else tuple(seeds))
        found = found if isinstance(found, (tuple, list)) else (found,)
        if len(found) != len(values):
            raise WrongRuleError(
                f"{primitive.name}: the pullback returned {len(found)} cotangents for "
                f"{len(values)} arguments"
            )
        return [_cotangent(primitive, i, found[i], values[i]) for i in active]

    # Any seed shows the operations; ones stay clear of the kinks and poles at zero.
    ones = [np.ones(r.shape, Slot(r).dtype) for r in results]
    _, L = linearize_leaves(pulled, ones, tree.flatten(ones)[1])
    return results, L


def _cotangent(primitive: Primitive, i: int, found: Array, value: Array) -> Any:
    if found is None:
        return np.zeros(value.shape, value.dtype)
    if not isinstance(found, Tracer):
        found = np.asarray(found)
    if found.shape != value.shape:
        raise WrongRuleError(
            f"{primitive.name}: the pullback returned a cotangent of shape {found.shape} for "
            f"argument {i} of shape {value.shape}"
        )
    return found if found.dtype == value.dtype else found.astype(value.dtype)


def start(
    values: list[Any], trace: LinearTrace | None = None
) -> tuple[LinearTrace, list[Tracer], list[Node]]:
    """A trace, what a function is called with in the place of values, and the nodes of these.

    What it returns, within ``with trace:``, goes to `LinearTrace.finish`.
    """
    trace = trace or LinearTrace()
    nodes, inputs, tracers = trace.nodes, [], []
    for v in values:
        inputs.append(next(nodes))  # before the function writes into its arguments
        tracers.append(Tracer(trace, inputs[-1], v.frozen() if isinstance(v, Tracer) else v))
    return trace, tracers, inputs


@repeated
def linearize_leaves(
    function: Callable[[list[Any]], Any],
    values: list[Any],
    in_tree: Any,
    trace: LinearTrace | None = None,
) -> tuple[list[Any], TapeOperator]:
    """Run ``function`` on traced ``values`` and keep its derivative.

    Parameters
    ----------
    function : callable
        Takes the list of traced leaves and returns a container of results.
    values : list of array
        The point, checked already.
    in_tree : structure
        The container that the operator takes tangents in.
    trace : LinearTrace, optional
        Where to run it, instead of a new one.

    Returns
    -------
    results : list of array
        The leaves of the result, untraced.
    J : TapeOperator
    """
    trace, tracers, inputs = start(values, trace)
    with trace:
        return trace.finish(function(tracers), values, inputs, in_tree)
