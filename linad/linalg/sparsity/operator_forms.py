"""Sparse matrices of operators: what `JacobianOperator` hands on, loaded when first asked for."""

from typing import Any

from linad.core.options import FORMAT
from linad.operators.base import JacobianOperator
from linad.operators.provided import answer_of_operators


@answer_of_operators
def tosparse(op: JacobianOperator, format: str) -> Any:
    from linad.linalg.sparsity.assemble import matrix_of

    FORMAT.check("tosparse", "format", format)
    return matrix_of(op).asformat(format)


def known(op: JacobianOperator) -> Any:
    """What has been found out about an operator's pattern, written out only where it is read."""
    from linad.linalg.sparsity.assemble import knowledge_of

    return knowledge_of(op.flat)


@answer_of_operators
def pattern(op: JacobianOperator) -> Any:
    return known(op).pattern.matrix.copy()


@answer_of_operators
def count(op: JacobianOperator) -> int:
    return int(known(op).compact.nnz)


@answer_of_operators
def bandwidth(op: JacobianOperator) -> tuple[int, int]:
    found: tuple[int, int] = known(op).compact.bandwidth()
    return found


@answer_of_operators
def picture(op: JacobianOperator) -> str:
    from linad.linalg.sparsity.picture import html

    return html(op)
