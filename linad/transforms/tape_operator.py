"""The derivative of a traced function: a list of operators that is itself an operator.

One walk down the list pushes tangents forward, one walk up pulls cotangents back. Neither
changes anything, so both can be repeated at will, from any thread.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from linad.arrays.tracer import Tracer
from linad.core import former_names, tree
from linad.core.arithmetic_warnings import FILTER, move_to_user_lines
from linad.core.array_type import Array
from linad.core.marks import running
from linad.core.primitive import lifted
from linad.core.shapes import Shape, memory_of
from linad.core.zero_seeds import seeds_are_zeros
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.operators.provided import ANSWERS, OTHER
from linad.operators.region_writes import Insert
from linad.operators.typed import Typed
from linad.transforms.flat_vectors import FlatVectors
from linad.transforms.fold import folded
from linad.transforms.needed_steps import Link, NeededSteps, Node, Step
from linad.transforms.spaces import Slot, check_seeds, common_dtype, flat_shape
from linad.transforms.spoilt_zeros import hold_nan
from linad.transforms.tangent_sums import (
    buffer_for,
    handed_out,
    in_c_order,
    is_own,
    may_hold_nan,
    push_onto,
)
from linad.transforms.tuple_entries import Entry, met
from linad.transforms.unread_entries import guarded

_PUSHED: Any = "push", ()
_PULLED: Any = "pull", ()
"""Which short way one tangent, one cotangent goes."""


class OfSlots:
    """An attribute that follows from the slots; all are set when the first is asked for."""

    def __init__(self, doc: str = "") -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, op: Any, kind: Any = None) -> Any:
        if op is None:
            return self
        op.follow_slots()
        return op.__dict__[self.name]


class TapeOperator(NeededSteps, Typed):
    """The derivative of a function at a point: ``J`` in ``y, J = linad.linearize(f, x)``.

    Notes
    -----
    A `scipy.sparse.linalg.LinearOperator`. ``J @ v`` is forward mode, ``J.T @ w`` reverse mode,
    on flat vectors: the leaves one after the other in C order. `pushforward` and `pullback` take
    and give containers like the arguments and the result; leading axes are seeds. One
    application costs about as much as the function; it allocates its results and frees
    intermediate tangents as it goes.

    See Also
    --------
    linad.linearize : makes it.
    linad.solve_linear : solves systems with it.

    Examples
    --------
    >>> import numpy as np, linad
    >>> y, J = linad.linearize(lambda x: x[1:] * x[:-1], np.array([1.0, 2.0, 3.0]))
    >>> J @ np.ones(3)
    array([3., 5.])
    >>> J.todense()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """

    unknown = EVERYTHING

    owns_result = True

    out_shape: Any = OfSlots("Shape of the result; (m,) where it is a container.")
    in_shape: Any = OfSlots("Shape of the argument; (n,) of a container, and of several.")
    dtype: Any = OfSlots("Type of the matrix entries.")
    _in_dtype: Any = OfSlots()
    _out_dtype: Any = OfSlots()

    _swept: Mapping[Any, Any] = {}  # the short ways; see `linad.sweeps.compiled`

    def __init__(
        self,
        steps: list[Step],
        writes: bool,
        count: int,
        inputs: list[Node],
        outputs: list[Node | None],
        in_slots: list[Slot],
        out_slots: list[Slot],
        in_tree: Any = tree.LEAF,
        out_tree: Any = tree.LEAF,
    ) -> None:
        """Make it of what a trace kept.

        Parameters
        ----------
        steps : list of (node, links)
            In the order it happened.
        writes : bool
            Whether the function wrote into arrays.
        count : int
            Number of nodes.
        inputs, outputs : list of int
            Their nodes; an output that depends on no input has None.
        in_slots, out_slots : list of Slot
        in_tree, out_tree : structure
            Containers that `pushforward` takes and gives, `pullback` gives and takes.
        """
        self.steps, self.writes, self.count = steps, writes, count
        self.inputs, self.outputs = inputs, outputs
        self.in_slots, self.out_slots = in_slots, out_slots
        self.in_tree, self.out_tree = in_tree, out_tree
        # One call of a compiled program: what it returns in a tuple is told apart before it.
        self.compiled = len(steps) == 2 and len(steps[1][1]) == 1 and steps[1][1][0][1].compiled
        self._schedule = None

    def follow_slots(self) -> None:
        """Set shapes and dtypes on flat vectors, for which a gradient never asks."""
        taken, given = common_dtype(self.in_slots), common_dtype(self.out_slots)
        self._in_dtype, self._out_dtype = taken, given
        dtype = taken if taken is given else np.promote_types(taken, given)
        super().__init__(
            flat_shape(self.out_slots, self.out_tree),
            flat_shape(self.in_slots, self.in_tree),
            dtype,
        )

    @property
    def clinear(self) -> bool:  # type: ignore[override]
        """Whether every operator on the way is linear over the complex numbers."""
        return self._in_dtype.kind != "c" or all(
            J.clinear for _, links, _ in self.scheduled() for _, J in links
        )

    @property
    def flat(self) -> JacobianOperator:
        if self.in_tree is tree.LEAF and self.out_tree is tree.LEAF:
            return self
        if tree.is_leaf(self.in_tree) and tree.is_leaf(self.out_tree):
            return self
        return FlatVectors(self)

    # Containers.

    def pushforward(self, tangent: Array, *others: Array) -> Array:
        """Map a tangent, a container like the input, to one like the output.

        Those of several arguments come as the arguments did, ``J.pushforward(da, db)``, or in a
        tuple.
        """
        if others:
            tangent = (tangent, *others)
        if self.compiled:
            short = self._swept.get(_PUSHED)
            found = OTHER if short is None else short((tangent,))
            if found is not OTHER or (found := ANSWERS.swept(self, "push", tangent)) is not OTHER:
                return found
        if not warnings.filters or warnings.filters[0] is not FILTER:  # a call less
            move_to_user_lines()
        tangents, seeds = check_seeds(tangent, self.in_tree, self.in_slots, "tangent")
        return tree.unflatten(self.out_tree, self.push_leaves(tangents, seeds))

    def pullback(self, cotangent: Array, *others: Array) -> Array:
        """Map a cotangent, a container like the output, to one like the input.

        Those of several results come side by side, or in a tuple.
        """
        if others:
            cotangent = (cotangent, *others)
        if self.compiled:
            short = self._swept.get(_PULLED)
            found = OTHER if short is None else short((cotangent,))
            if found is not OTHER or (found := ANSWERS.swept(self, "pull", cotangent)) is not OTHER:
                return found
        if not warnings.filters or warnings.filters[0] is not FILTER:  # a call less
            move_to_user_lines()
        cotangents, seeds = check_seeds(cotangent, self.out_tree, self.out_slots, "cotangent")
        return tree.unflatten(self.in_tree, self.pull_leaves(cotangents, seeds))

    # Leaves.

    def push_leaves(self, tangents: Sequence[Any], seeds: Shape = ()) -> list[Any]:
        """Push one tangent per input through the steps, first to last."""
        slots: list[Any] = [None] * self.count
        for node, tangent in zip(self.inputs, tangents, strict=True):
            slots[node] = tangent
        # A tangent is written into where nobody else holds it: not the caller, nor another
        # tangent that is a view of it.
        owned = bytearray(self.count)
        for out, links, dead in self.scheduled():
            total = None
            if self.writes and links and links[-1][1].writes:
                total = self._push_write(links, slots, owned, dead)
                owned[out] = True
                links = []  # all are in the total
            elif links and type(links[0][1]) is Entry:
                total = met(links, slots)
                links = []
            mine = False
            for node, J in links:
                tangent = slots[node]
                if tangent is None:
                    continue
                if total is None:
                    push = J.pushforward if type(out) is int else self.push_of(out, J)
                    total = push(tangent)
                    mine = J.owns_result or J.spreads
                    if self.writes and not mine:
                        total = total.copy()
                else:
                    total = push_onto(total, mine, J, tangent)
                    mine = True
                if self.writes and type(total) is Tracer and type(tangent) is not Tracer:
                    owned[node] = False  # the trace around this sweep may keep it
            for node in dead:
                slots[node] = None
            if type(out) is int:
                slots[out] = total
            elif total is not None:
                for node, part in zip(out, total, strict=True):
                    slots[node] = part
        return self._results(self.outputs, self.out_slots, slots, seeds, tangents)

    def pull_leaves(
        self, cotangents: Sequence[Any], seeds: Shape = (), steps: list[Step] | None = None
    ) -> list[Any]:
        """Pull one cotangent per output back through the steps, last to first.

        Zeros of entries that nobody read are kept in the steps that are given; without them, where
        NaN is found.
        """
        if steps is not None:
            return self._pulled(cotangents, seeds, steps)
        if running.get() is None:
            results = self._pulled(cotangents, seeds, self.steps)
            unsure = may_hold_nan(results)
        else:
            # What a trace around this one keeps is for other points, and orders, as well.
            kept, partial, _ = guarded(self, found=False)
            results = self._pulled(cotangents, seeds, kept or self.steps)
            unsure = partial and not seeds_are_zeros() and hold_nan(results)
        if unsure and (kept := guarded(self, found=True).steps) is not None:
            return self._pulled(cotangents, seeds, kept)
        return results

    def _pulled(self, cotangents: Sequence[Any], seeds: Shape, steps: Sequence[Step]) -> list[Any]:
        """The cotangents of the inputs, as these steps give them."""
        slots: list[Any] = [None] * self.count
        owned = bytearray(self.count)
        for output, cotangent in zip(self.outputs, cotangents, strict=True):
            if output is not None and cotangent is not None:
                first = slots[output] is None
                slots[output] = cotangent if first else slots[output] + cotangent
        for out, links in reversed(steps):
            if type(out) is int:
                cotangent = slots[out]
                if cotangent is None:
                    continue
                slots[out] = None
            else:
                cotangent = self._gathered(out, slots)
                if cotangent is None:
                    continue
            if self.writes and links and links[-1][1].writes:
                self._pull_write(out, cotangent, links, slots, owned)
                continue
            for node, J in links:
                held = slots[node]
                if J.scatters and (held is not None or type(cotangent) is not Tracer):
                    if not owned[node] or (type(held) is not ndarray and not is_own(held)):
                        held = buffer_for(held, seeds, J)
                    if type(cotangent) is Tracer:
                        held = lifted(held, cotangent)
                    J.pullback_into(cotangent, held)
                    slots[node] = held
                    owned[node] = True
                elif held is None:
                    part = slots[node] = J.pullback(cotangent)
                    owned[node] = part is not None and J.owns_result
                else:
                    part = J.pullback(cotangent)
                    if part is None:  # one of several, which has none
                        continue
                    if owned[node] and type(held) is type(part) is ndarray:
                        held += part
                    else:
                        slots[node] = held + part
                        owned[node] = True
        return self._results(self.inputs, self.in_slots, slots, seeds, cotangents)

    def _push_write(
        self, links: Sequence[Link], slots: list[Any], owned: bytearray, dead: list[Node]
    ) -> Any:
        """Push through a write, into the tangent of the array itself where that is allowed."""
        node, erase = links[-1]
        total = slots[node]
        if total is not None:
            if owned[node] and node in dead and in_c_order(total):
                erase.region.assign(total, 0)  # type: ignore[attr-defined]
            else:
                total = erase.pushforward(total)
        for node, J in links[:-1]:
            tangent = slots[node]
            if tangent is None:
                continue
            if total is not None and type(J) is Insert:
                total = lifted(total, tangent)
                J.region.assign(total, tangent)
            else:
                part = J.pushforward(tangent)
                total = part if total is None else total + part
        return total

    def _pull_write(
        self, out: Node, cotangent: Array, links: Sequence[Link], slots: list[Any], owned: bytearray
    ) -> None:
        """Pull back through a write, into the cotangent itself where that is allowed."""
        for node, J in links:
            held = slots[node]
            if J.writes and held is None and owned[out] and in_c_order(cotangent):
                J.region.assign(cotangent, 0)
                slots[node] = cotangent
            else:
                part = J.pullback(cotangent)
                slots[node] = part if held is None else held + part
            owned[node] = True

    def _gathered(self, out: tuple[Node, ...], slots: list[Any]) -> Any:
        """Cotangents of an equation with several results; a missing one is None."""
        cotangents = tuple([slots[node] for node in out])
        if all(c is None for c in cotangents):
            return None
        for node in out:
            slots[node] = None
        return cotangents

    def _results(
        self,
        nodes: Sequence[Node | None],
        expected: list[Slot],
        slots: list[Any],
        seeds: Shape,
        given: Sequence[Any],
    ) -> list[Any]:
        """The values at ``nodes``, each in memory that nobody else holds."""
        results: list[Any] = []
        taken = set(map(memory_of, given))
        for node, slot in zip(nodes, expected, strict=True):
            value = None if node is None else slots[node]
            result = slot.zeros(seeds) if value is None else handed_out(value, taken)
            results.append(result if slot.kind is None or seeds else slot.kind(result))
        return results

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        return folded(self, simplify)


def __getattr__(name: str) -> Any:
    return former_names.class_from(__name__, name)
