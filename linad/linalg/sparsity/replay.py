"""Sparse matrices carried along a traced function: the chain rule entry by entry.

The derivative of each intermediate array is kept as a sparse matrix, of which only the numbers
change from point to point. Where they are, how they are combined, and what does not depend on
the point at all (stencils, sums, constant factors) is worked out once a structure.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.linalg.sparsity.compiled_steps import opened
from linad.linalg.sparsity.compress import plan_for
from linad.linalg.sparsity.reach import reach
from linad.linalg.sparsity.sparse_products import (
    SPARSE,
    TooDear,
    fewest_seeds,
    given_matrix,
    is_plain,
    touched,
)
from linad.linalg.sparsity.value_programs import Combine, Scale, Unite, Weigh
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain
from linad.operators.dependency_sets import DependencySets
from linad.operators.facts import knows
from linad.operators.recurrences import Difference
from linad.operators.reduction import ScaledSum, WeightedSum
from linad.operators.relations import Gather, Product, Relation
from linad.operators.reordering import Reshape
from linad.operators.structured import Cast, Diagonal, Identity, Masked
from linad.operators.wrappers import Adjoint, Reshaped, Scaled
from linad.transforms.needed_steps import Node
from linad.transforms.programs import Sourced
from linad.transforms.tape_operator import TapeOperator

LARGEST = 2**24
"""Most numbers in the arrays that say where things are: 128 MiB."""

Leaf = tuple[JacobianOperator, bool]


class Value:
    """The derivative of an intermediate array: numbers for the entries of a table of sets."""

    def __init__(self, sets: DependencySets, slot: int, constant: bool) -> None:
        self.sets, self.slot, self.constant = sets, slot, constant

    @cached_property
    def places(self) -> np.ndarray | None:
        """Where the table has the entries of the sets written out; None: in the same order."""
        return None if self.sets.source is None else self.sets.table.places(self.sets.source)[1]


def leaves_of(op: JacobianOperator, adjoint: bool = False) -> list[Leaf]:
    """The factors of a link, each with whether its adjoint is meant; the first is applied
    first."""
    kind = type(op)
    if isinstance(op, Chain):
        factors = op.factors if adjoint else op.factors[::-1]
        return [leaf for f in factors for leaf in leaves_of(f, adjoint)]
    if kind is Adjoint:
        return leaves_of(op.op, not adjoint)  # type: ignore[attr-defined]
    if kind is Reshaped or kind is Sourced:
        return leaves_of(op.op, adjoint)  # type: ignore[attr-defined]
    if kind is Scaled:
        return [*leaves_of(op.op, adjoint), (op, adjoint)]  # type: ignore[attr-defined]
    return [(op, adjoint)]


class Reading:
    """How the entries of the matrix of a factor are found: by the seeds of its own colouring."""

    def __init__(self, relation: Relation, adjoint: bool) -> None:
        self.plan = plan_for(relation)
        self.relation, self._order = relation, None
        if adjoint:
            turned = csr_array(
                (np.arange(relation.nnz), relation.indices, relation.indptr),
                shape=(relation.m, relation.n),
            ).T.tocsr()
            self.relation, self._order = Relation.of_matrix(turned), turned.data

    def entries(self, op: JacobianOperator) -> Any:
        data = self.plan.entries(op)
        return data if self._order is None else data[self._order]


def number_of(leaf: Leaf) -> Any:
    """What an operator multiplies with: a number, the entries of an array, or of a matrix."""
    op, adjoint = leaf
    if isinstance(op, Diagonal):
        return op.entries
    if isinstance(op, Masked):
        return op.mask
    if isinstance(op, WeightedSum):
        return op.weights
    if isinstance(op, ScaledSum):
        return 1.0 if op.factor is None else op.factor
    if isinstance(op, Scaled):
        return op.alpha
    matrix = given_matrix(op)
    return (matrix.T.tocsr() if adjoint else matrix).data


class Replay:
    """The steps that give the matrix of every traced function of one structure.

    Parameters
    ----------
    op : TapeOperator
        One of them.
    limit : float
        Numbers to be computed, above which it is too dear.

    Attributes
    ----------
    spent, held : float, int
        Numbers that are computed, and that are kept to say where things are.

    Raises
    ------
    TooDear
    """

    def __init__(self, op: TapeOperator, limit: float) -> None:
        self._limit, self.spent, self.held, self._count = limit, 0.0, 0, 1
        self._instructions: list[Any] = []
        self._constant: list[Any] = []
        self._readings: dict[int, Reading] = {}
        # Numbers found before, and the factors that they were found with.
        self._folded: tuple[list[Any], dict[int, Any]] | None = None
        if op.dtype.kind == "c" or not is_plain(op):
            raise TooDear
        n = op.flat.shape[1]
        self.n = n
        result = self._compiled(op)
        self.pattern = result.sets.relation
        self._result, self._places = result.slot, result.places

    def run(self, op: TapeOperator) -> Any:
        """The entries of the matrix, or None if the function is being differentiated."""
        numbers = self._numbers(op)
        if any([isinstance(number, Traced) for number in numbers.values()]):
            return None
        constants = self._constants(numbers)
        data = self._followed(self._instructions, dict(constants), numbers)
        # What is constant is kept.
        return data.astype(op.dtype, copy=self._result in constants)

    def record(self, op: TapeOperator) -> Any:
        """The entries of the matrix of a function that is recorded, traced where they depend on
        the point."""
        steps = [*self._constant, *self._instructions]
        slots = {0: np.ones(self.n)}
        return self._followed(steps, slots, self._numbers(op)).astype(op.dtype)

    def _numbers(self, op: TapeOperator) -> dict[int, Any]:
        """What the factors multiply with at this point, by their places among all factors."""
        leaves = [
            leaf
            for _, links, _ in opened(op).scheduled()
            for _, J in links
            for leaf in leaves_of(J)
        ]
        numbers: dict[int, Any] = {}
        for step in (*self._constant, *self._instructions):
            if step.leaf is not None:
                leaf, reading = leaves[step.leaf], self._readings.get(step.leaf)
                number = number_of(leaf) if reading is None else reading.entries(leaf[0])
                numbers[step.leaf] = number
        return numbers

    def _followed(self, steps: list[Any], slots: dict[int, Any], numbers: dict[int, Any]) -> Any:
        for step in steps:
            slots[step.out] = step.run(slots, numbers)
        data = slots[self._result].ravel()
        return data if self._places is None else data[self._places]

    def _constants(self, numbers: dict[int, Any]) -> dict[int, Any]:
        """The slots that do not depend on the point, as long as these factors are the same."""
        factors = [numbers[step.leaf] for step in self._constant if step.leaf is not None]
        folded = self._folded
        if folded is not None and all(map(np.array_equal, folded[0], factors)):
            return folded[1]
        slots: dict[int, Any] = {0: np.ones(self.n)}
        for step in self._constant:
            slots[step.out] = step.run(slots, numbers)
        used = {k for step in self._instructions for k in step.inputs} | {self._result}
        kept = {k: data for k, data in slots.items() if k in used}
        # Copies, since an array may be the caller's.
        self._folded = [np.copy(factor) for factor in factors], kept
        return kept

    # Compilation.

    def _compiled(self, op: TapeOperator) -> Value:
        everything = Value(DependencySets.identity(self.n), 0, True)
        known: dict[Node, Value] = {}
        start = 0
        for node, slot in zip(op.inputs, op.in_slots, strict=True):
            part = everything.sets.part(slice(start, start + slot.size))
            known[node] = Value(part, 0, True)
            start += slot.size
        leaf = 0
        for out, links, dead in opened(op).scheduled():
            parts = []
            for node, J in links:
                sequence = leaves_of(J)
                if node in known:
                    if type(out) is not int or not is_plain(J):
                        raise TooDear
                    value = known[node]
                    for k, part_of_link in enumerate(sequence, leaf):
                        value = self._through(*part_of_link, value, k)
                    parts.append(value)
                leaf += len(sequence)
            if parts:
                known[out] = self._united(parts)
            for node in dead:
                known.pop(node, None)
        return self._stacked(
            [
                known[node]
                if node in known
                else Value(DependencySets.empty(slot.size, self.n), 0, True)
                for node, slot in zip(op.outputs, op.out_slots, strict=True)
            ]
        )

    def _emit(
        self, kind: Any, sets: DependencySets, inputs: list[Value], *args: Any, **more: Any
    ) -> Value:
        """Add an instruction; its result has a slot of its own."""
        constant = all([v.constant for v in inputs]) and kind is not Weigh
        step = kind(self._count, [v.slot for v in inputs], *args, **more)
        self._count += 1
        (self._constant if constant else self._instructions).append(step)
        self.spent += sets.table.nnz if not constant else 0.1 * sets.table.nnz
        self.held += step.held
        if self.spent > self._limit or self.held > LARGEST:
            raise TooDear
        return Value(sets, step.out, constant)

    def _through(self, op: JacobianOperator, adjoint: bool, value: Value, leaf: int) -> Value:
        """One factor of a link."""
        kind = type(op)
        if op.dtype.kind == "c":
            raise TooDear
        if kind is Scaled:
            return self._emit(Scale, value.sets, [value], leaf)
        if kind is Diagonal and np.ndim(op.entries) == 0:  # type: ignore[attr-defined]
            return self._emit(Scale, value.sets, [value], leaf)
        if kind is Diagonal or kind is Masked:
            return self._weighed(value, op.out_shape, leaf, kind is Masked)
        if kind in (Identity, Cast, Reshape):
            return value
        if kind is WeightedSum:
            if adjoint:
                return self._weighed(self._moved(op, True, value), op.in_shape, leaf, False)
            return self._moved(op, False, self._weighed(value, op.in_shape, leaf, False))
        if kind is ScaledSum:
            value = self._moved(op, adjoint, value)
            return self._emit(Scale, value.sets, [value], leaf)
        if kind is Difference:
            relation = op.relation()
            signs = relation.matrix.astype(float)
            signs.data[0::2] = -1.0
            signs = signs.T.tocsr() if adjoint else signs
            return self._combined(value, Relation.of_matrix(signs), weights=signs.data)
        if kind in SPARSE and given_matrix(op) is not None:
            relation = op.relation()
            return self._combined(value, relation.T if adjoint else relation, leaf=leaf)
        if op.copies:
            return self._moved(op, adjoint, value)
        if not knows(op, "relation") or op.relation() is None:
            raise TooDear
        return self._read(op, adjoint, value, leaf)

    def _read(self, op: JacobianOperator, adjoint: bool, value: Value, leaf: int) -> Value:
        """A factor whose matrix is found by sweeps of its own."""
        sets = reach(op, DependencySets.identity(op.shape[1]), False)
        if self.spent + max(sets.nnz, fewest_seeds(sets) * touched(op)) > self._limit:
            raise TooDear
        reading = Reading(sets.relation, adjoint)
        self.spent += reading.plan.count * touched(op)
        if self.spent > self._limit:
            raise TooDear
        self._readings[leaf] = reading
        return self._combined(value, reading.relation, leaf=leaf)

    def _moved(self, op: JacobianOperator, adjoint: bool, value: Value) -> Value:
        """Entries are copied and added up."""
        relation = op.relation()
        relation = relation.T if adjoint else relation
        steps = relation.factors[::-1] if isinstance(relation, Product) else (relation,)
        for step in steps:
            if isinstance(step, Relation) and (step.counts == 1).all():
                step = Gather(step.indices, step.n)
            if isinstance(step, Gather):
                value = Value(value.sets.taken(step.source), value.slot, value.constant)
            else:
                value = self._combined(value, step)
        return value

    def _weighed(self, value: Value, shape: Shape, leaf: int, mask: bool) -> Value:
        relation = value.sets.relation
        counts = relation.counts
        uniform = relation.m > 0 and bool((counts == counts[0]).all())
        return self._emit(
            Weigh,
            DependencySets(None, relation),
            [value],
            leaf,
            value.places,
            int(counts[0]) if uniform else counts,
            shape,
            mask,
        )

    def _combined(self, value: Value, relation: Relation, **more: Any) -> Value:
        """A product with a sparse matrix."""
        table, source = value.sets.table, value.sets.source
        rows = relation.indices if source is None else source[relation.indices]
        counts, places = table.places(rows)
        self.spent += len(places)
        if self.spent > self._limit:
            raise TooDear
        keys = np.repeat(relation.rows.astype(np.int64), counts) * self.n + table.indices[places]
        result = relation.after(value.sets).relation
        target = np.searchsorted(result.keys, keys)
        factors = np.repeat(np.arange(relation.nnz), counts) if more else None
        return self._emit(
            Combine,
            DependencySets(None, result),
            [value],
            target,
            result.nnz,
            places,
            factors,
            **more,
        )

    def _united(self, parts: list[Value]) -> Value:
        """The sum of several links, the constant ones first."""
        if len(parts) == 1:
            return parts[0]
        constant = [v for v in parts if v.constant]
        if 1 < len(constant) < len(parts):
            return self._united([self._united(constant), *[v for v in parts if not v.constant]])
        inputs = constant + [v for v in parts if not v.constant]
        first = inputs[0].sets
        if all([v.sets.source is first.source and v.sets.table is first.table for v in inputs]):
            nowhere = [(None, None)] * len(inputs)
            return self._emit(Unite, first, inputs, nowhere, first.table.nnz)
        # Which numbers of each summand are read, and where in the sum they go; None: as they are.
        total, targets = first.relation, [np.arange(first.relation.nnz)]
        for value in inputs[1:]:
            total, before, last = total.merged(value.sets.relation)
            targets = [before[target] for target in targets] + [last]
        where = [
            (value.places, None if target.size == total.nnz else target)
            for value, target in zip(inputs, targets, strict=True)
        ]
        return self._emit(Unite, DependencySets(None, total), inputs, where, total.nnz)

    def _stacked(self, parts: list[Value]) -> Value:
        """The results, one after the other."""
        if len(parts) == 1:
            return parts[0]
        total = DependencySets(None, DependencySets.stacked([v.sets for v in parts]).relation)
        ends = np.cumsum([0] + [v.sets.nnz for v in parts])
        where = [
            (v.places, np.arange(a, b)) for v, a, b in zip(parts, ends[:-1], ends[1:], strict=True)
        ]
        return self._emit(Unite, total, parts, where, total.table.nnz)
