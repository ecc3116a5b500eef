"""Sparse matrices of operators: what `JacobianOperator` hands on, loaded when first asked for."""

from typing import Any

import numpy as np

from linad.errors import OptionError
from linad.operators.base import JacobianOperator
from linad.operators.sparse_forms import SPARSITY

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")


def check_format(format: str, name: str) -> None:
    """Raise unless SciPy has a sparse array of this name."""
    if format not in FORMATS:
        raise OptionError(f"{name}: format={format!r} came, one of {', '.join(FORMATS)} is needed")


def tosparse(op: JacobianOperator, format: str) -> Any:
    from linad.transforms.sparsity.assemble import matrix_of

    check_format(format, "tosparse")
    return matrix_of(op).asformat(format)


def known_pattern(op: JacobianOperator) -> Any:
    """The pattern as a `Relation`, to be read only."""
    from linad.transforms.sparsity.assemble import knowledge_of

    return knowledge_of(op.flat).pattern


def pattern(op: JacobianOperator) -> Any:
    return known_pattern(op).matrix.copy()


def bandwidth(op: JacobianOperator) -> tuple[int, int]:
    found = known_pattern(op)
    offsets = found.indices.astype(np.int64) - found.rows
    return int(max(0, -offsets.min(initial=0))), int(max(0, offsets.max(initial=0)))


def picture(op: JacobianOperator) -> str:
    from linad.transforms.sparsity.picture import html

    return html(op)


SPARSITY.tosparse, SPARSITY.pattern, SPARSITY.known = tosparse, pattern, known_pattern
SPARSITY.bandwidth, SPARSITY.picture = bandwidth, picture
