"""The sparse matrix of an operator, by whichever way is cheaper.

Sweeps, with as many seeds as its colouring has, give the matrix of any operator. One that is
made of others may instead multiply and add the sparse matrices of its parts, and a traced
function carry their numbers along. All fill the same pattern; what they cost follows from the
patterns, so the choice is made once a structure.
"""

from typing import Any

from linad.core.primitive import Traced
from linad.linalg.sparsity.compress import stored
from linad.linalg.sparsity.pattern_keys import KnownStructure, Unrecordable, known
from linad.linalg.sparsity.replay import Replay
from linad.linalg.sparsity.sparse_products import (
    TooDear,
    chain_cost,
    chain_product,
    fewest_seeds,
    filled,
    given_matrix,
    is_plain,
    tape_cost,
    tape_product,
    touched,
)
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum
from linad.operators.relations import Relation
from linad.operators.wrappers import Adjoint, Reshaped, Scaled, Transpose
from linad.transforms.flat_vectors import FlatVectors
from linad.transforms.tape_operator import TapeOperator

FEW = 16
"""Seeds up to which the sweeps of a traced function are not compared with products."""


def knowledge_of(op: JacobianOperator) -> KnownStructure:
    """What is known of an operator's structure, remembered by the operator."""
    found = op.__dict__.get("_sparsity")
    if found is None:
        found = op.__dict__["_sparsity"] = known(op)
    return found


def matrix_of(op: JacobianOperator) -> Any:
    """The matrix of an operator on flat vectors, as a CSR array.

    Every entry of the pattern is stored, also where it happens to be zero.
    """
    op = op.flat
    matrix = given_matrix(op)
    if matrix is None and is_plain(op):
        matrix = _by_parts(op)
    if matrix is not None:
        return matrix
    return knowledge_of(op).plan.matrix(op)


def recorded_entries(op: JacobianOperator, symmetric: bool) -> tuple[Relation, Any]:
    """The pattern and the entries of the derivative of a function that is being recorded.

    Parameters
    ----------
    op : JacobianOperator
        Traced where it depends on the point.
    symmetric : bool
        Whether the matrix is known to be symmetric.

    Returns
    -------
    pattern : Relation
        The same at every point.
    data : array
        Traced where it depends on the point.

    Raises
    ------
    Unrecordable
        If which entries there are depends on the point, or if sweeps with many seeds fill them.
    """
    op = op.flat
    facts = knowledge_of(op)
    symmetric = symmetric and is_plain(op) and op.dtype.kind != "c"
    replay = _replay_of(op, facts) if is_plain(op) else None
    if replay and not (symmetric and facts.mirror is None):
        data = replay.record(op.op if isinstance(op, FlatVectors) else op)
        return facts.pattern, (data + data[facts.mirror]) / 2 if symmetric else data
    plan = facts.symmetric_plan if symmetric else facts.plan
    if any([part.count > part.together(op) for part in plan.parts]):
        raise Unrecordable
    return plan.pattern, plan.entries(op)


def seeds_of(op: JacobianOperator) -> list[tuple[bool, int]]:
    """What `matrix_of` swept through an operator: whether backward, and how many seeds."""
    facts = knowledge_of(op)
    if given_matrix(op) is not None or facts.products_pay or facts.replay:
        return []
    return [(part.adjoint, part.count) for part in facts.plan.parts]


def symmetric_matrix_of(op: JacobianOperator) -> Any:
    """As `matrix_of`, of a symmetric operator: exactly symmetric, and mirrored entries are computed
    once where that is cheaper."""
    op = op.flat
    if not is_plain(op) or op.dtype.kind == "c":
        return matrix_of(op)
    facts = knowledge_of(op)
    if facts.mirror is not None:
        matrix = _replayed(op) if isinstance(op, (TapeOperator, FlatVectors)) else None
        if matrix is None and facts.symmetric_plan.count > FEW and _products_pay(op):
            matrix = matrix_of(op)
        if matrix is not None:
            # Entry and mirrored entry are sums in different order: they differ by rounding.
            matrix.data = (matrix.data + matrix.data[facts.mirror]) / 2
            return matrix
    return facts.symmetric_plan.matrix(op)


def _by_parts(op: JacobianOperator) -> Any:
    """The matrix from those of the parts, or None where sweeps are cheaper."""
    kind = type(op)
    if kind is Adjoint:
        return matrix_of(op.op).conj().T.tocsr()  # type: ignore[attr-defined]
    if kind is Transpose:
        return matrix_of(op.op).T.tocsr()  # type: ignore[attr-defined]
    if kind is Reshaped:
        return matrix_of(op.op)  # type: ignore[attr-defined]
    if isinstance(op, Scaled) and not isinstance(op.alpha, Traced):
        matrix = matrix_of(op.op)
        matrix.data = (op.alpha * matrix.data).astype(op.dtype, copy=False)
        return matrix
    if isinstance(op, Sum) and all([is_plain(t) for t in op.terms]):
        pattern = knowledge_of(op).pattern
        data = sum([filled(pattern, matrix_of(t), op.dtype).data for t in op.terms])
        return stored(pattern, data)
    if isinstance(op, (TapeOperator, FlatVectors)):
        matrix = _replayed(op)
        if matrix is not None:
            return matrix
    if isinstance(op, (Chain, TapeOperator, FlatVectors)) and _products_pay(op):
        if isinstance(op, Chain):
            product = chain_product([matrix_of(f) for f in op.factors])
        else:
            product = tape_product(op.op if isinstance(op, FlatVectors) else op, matrix_of)
        return filled(knowledge_of(op).pattern, product, op.dtype)
    return None


def _replayed(op: Any) -> Any:
    """The matrix from numbers carried along a traced function, or None."""
    facts = knowledge_of(op)
    replay = _replay_of(op, facts)
    data = replay.run(op.op if isinstance(op, FlatVectors) else op) if replay else None
    return None if data is None else stored(facts.pattern, data)


def _replay_of(op: Any, facts: KnownStructure) -> Replay | None:
    """How numbers are carried along, where that is cheaper than sweeps."""
    if facts.replay is None:
        tape = op.op if isinstance(op, FlatVectors) else op
        pattern = facts.pattern  # refused here if it is too large
        seeds = _seeds_needed(facts) if pattern.nnz else 0
        try:
            facts.replay = seeds > 2 and Replay(tape, seeds * touched(tape) / 4)
        except TooDear:
            facts.replay = False
    return facts.replay or None


def _products_pay(op: Any) -> bool:
    facts = knowledge_of(op)
    if facts.products_pay is None:
        facts.products_pay = _compare(op, _seeds_needed(facts))
    return facts.products_pay


def _seeds_needed(facts: KnownStructure) -> int:
    """The number of seeds, or a bound from below; rows or columns with at most two entries say
    little, and are quickly coloured."""
    bound = fewest_seeds(facts.compact.sets)
    return facts.plan.count if bound <= 2 else bound


def _compare(op: Any, seeds: int) -> bool:
    if isinstance(op, Chain):
        sweeps = seeds * touched(op)
        return all([is_plain(f) for f in op.factors]) and chain_cost(op, sweeps) < sweeps
    tape = op.op if isinstance(op, FlatVectors) else op
    sweeps = seeds * touched(tape)
    return seeds > FEW and tape_cost(tape, sweeps) < sweeps
