"""What determines the pattern of an operator, in a form that can be compared.

Two runs of a function have the same structure when they do the same operations on arrays of the
same shapes, with the same indices. Then what was found out for one, its pattern and colouring,
holds for the other. Anything that cannot be compared makes a structure like no other.
"""

from collections import OrderedDict
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from linad.core.primitive import Traced
from linad.core.regions import Grid, Part, Positions, Region, Window
from linad.linalg.sparsity.compiled_steps import opened
from linad.linalg.sparsity.compress import SeedPlan, plan_for, symmetric_plan_for
from linad.linalg.sparsity.reach import PARTED, Compact
from linad.operators.base import JacobianOperator
from linad.operators.blocks import Blocks
from linad.operators.composites import Chain, Sum
from linad.operators.facts import knows
from linad.operators.relations import Relation
from linad.operators.wrappers import Adjoint, Transpose, Wrapper
from linad.transforms.flat_vectors import FlatVectors
from linad.transforms.tape_operator import TapeOperator

REGIONS: dict[type, tuple[str, ...]] = {
    Window: ("offset", "shape", "strides", "ndim"),
    Grid: ("start", "steps", "shape"),
    Positions: ("flat", "ndim"),
    Part: ("inner", "name"),
}


class Unrecordable(Exception):
    """The entries of a matrix cannot be one program: which there are depends on values, or it would
    take too many seeds."""


class Structure:
    """A key that can be hashed, and the arrays that belong to it.

    Attributes
    ----------
    key : tuple
    arrays : list of ndarray
        Indices; equal structures have equal ones.
    """

    def __init__(self, op: JacobianOperator) -> None:
        self.arrays: list[np.ndarray] = []
        self.key = self._key_of(op)

    def agrees(self, other: "Structure") -> bool:
        return self.key == other.key and all(
            [a is b or np.array_equal(a, b) for a, b in zip(self.arrays, other.arrays, strict=True)]
        )

    def _key_of(self, op: JacobianOperator) -> Any:
        kind = type(op)
        if knows(op, "relation"):
            return kind, op.out_shape, op.in_shape, self._value(op.relation_key())
        if isinstance(op, Chain):
            return kind, *[self._key_of(f) for f in op.factors]
        if isinstance(op, TapeOperator):
            return self._of_tape(op)
        if kind is FlatVectors:
            return kind, self._of_tape(op.op)  # type: ignore[attr-defined]
        if isinstance(op, (Wrapper, Adjoint, Transpose)):
            return kind, op.out_shape, op.in_shape, self._key_of(op.op)
        if isinstance(op, Sum):
            return kind, *[self._key_of(t) for t in op.terms]
        if isinstance(op, Blocks):
            blocks = [(i, j, self._key_of(block)) for i, j, block in op.blocks]
            return kind, self._value(op._rows), self._value(op._columns), *blocks
        if kind in PARTED:
            key, arrays = PARTED[kind].key(op)
            return kind, key, self._value(arrays)
        return kind, op.out_shape, op.in_shape  # a dense block

    def _of_tape(self, op: TapeOperator) -> Any:
        steps = [
            (out, *[(node, self._key_of(J)) for node, J in links])
            for out, links, _ in opened(op).scheduled()
        ]
        shapes = [tuple([s.shape for s in slots]) for slots in (op.in_slots, op.out_slots)]
        return TapeOperator, tuple(op.inputs), tuple(op.outputs), *shapes, *steps

    def _value(self, value: Any) -> Any:
        """Anything that a relation reads of an operator."""
        kind = type(value)
        if kind in (int, bool, str) or value is None:
            return value
        if isinstance(value, (tuple, list)):
            return kind, *[self._value(v) for v in value]
        if kind is slice:
            return "slice", value.start, value.stop, value.step
        if kind is np.ndarray:
            self.arrays.append(value)
            return "array", value.dtype.str, value.shape
        if isinstance(value, np.integer):
            return int(value)
        if isinstance(value, Region) and kind in REGIONS:
            return kind, *[self._value(getattr(value, name)) for name in REGIONS[kind]]
        if isinstance(value, Traced):
            raise Unrecordable
        return object()


class KnownStructure:
    """What has been found out for a structure; each part when it is first asked for."""

    def __init__(self, structure: Structure, compact: Compact) -> None:
        self.structure, self.compact = structure, compact
        # Filled in by `linad.linalg.sparsity.assemble`; None: not known yet.
        self.products_pay: bool | None = None
        self.replay: Any = None
        self._plan: SeedPlan | None = None
        self._symmetric: SeedPlan | None = None

    @property
    def size(self) -> int:
        """Entries that are kept."""
        written = self.__dict__.get("pattern", self.compact.sets.table)
        return int(written.nnz) + (self.replay.held if self.replay else 0)

    @cached_property
    def pattern(self) -> Relation:
        """The pattern, written out."""
        return self.compact.relation

    @property
    def plan(self) -> SeedPlan:
        if self._plan is None:
            self._plan = plan_for(self.pattern)
        return self._plan

    @cached_property
    def mirror(self) -> np.ndarray | None:
        """Where the mirrored entry of each entry is; None if there is none."""
        pattern = self.pattern
        shape = pattern.m, pattern.n
        numbers = csr_array((np.arange(pattern.nnz), pattern.indices, pattern.indptr), shape=shape)
        turned = numbers.T.tocsr()
        return turned.data if Relation.of_matrix(turned) == pattern else None

    @property
    def symmetric_plan(self) -> SeedPlan:
        if self._symmetric is None:
            both = self.pattern.matrix + self.pattern.T.matrix
            self._symmetric = symmetric_plan_for(Relation.of_matrix(both))
        return self._symmetric


KEPT_ENTRIES = 2**24
"""Entries of all patterns that are kept, and of the arrays that say how they are found; about 16
bytes each."""

_kept: "OrderedDict[Any, KnownStructure]" = OrderedDict()
_lock = Lock()


def known(op: JacobianOperator) -> KnownStructure:
    """Return what is known of the structure of an operator, found out now or before.

    Notes
    -----
    The structures used last are kept, `KEPT_ENTRIES` entries together.
    """
    structure = Structure(op)
    with _lock:
        found = _kept.get(structure.key)
        if found is not None and found.structure.agrees(structure):
            _kept.move_to_end(structure.key)
            return found
    found = KnownStructure(structure, Compact(op))
    with _lock:
        _kept.pop(structure.key, None)
        _kept[structure.key] = found
        total = sum([k.size for k in _kept.values()])
        while total > KEPT_ENTRIES and _kept:
            total -= _kept.popitem(last=False)[1].size
    return found
