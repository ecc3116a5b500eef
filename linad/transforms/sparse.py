"""Sparse matrices of operators: what `JacobianOperator` hands on, loaded when first asked for."""

from typing import Any

from linad.operators.base import JacobianOperator
from linad.operators.sparse_forms import SPARSITY
from linad.options import FORMAT


def tosparse(op: JacobianOperator, format: str) -> Any:
    from linad.transforms.sparsity.assemble import matrix_of

    FORMAT.check("tosparse", "format", format)
    return matrix_of(op).asformat(format)


def known(op: JacobianOperator) -> Any:
    """What has been found out about an operator's pattern, written out only where it is read."""
    from linad.transforms.sparsity.assemble import knowledge_of

    return knowledge_of(op.flat)


def pattern(op: JacobianOperator) -> Any:
    return known(op).pattern.matrix.copy()


def count(op: JacobianOperator) -> int:
    return int(known(op).compact.nnz)


def bandwidth(op: JacobianOperator) -> tuple[int, int]:
    found: tuple[int, int] = known(op).compact.bandwidth()
    return found


def picture(op: JacobianOperator) -> str:
    from linad.transforms.sparsity.picture import html

    return html(op)


SPARSITY.tosparse, SPARSITY.pattern, SPARSITY.count = tosparse, pattern, count
SPARSITY.bandwidth, SPARSITY.picture = bandwidth, picture
