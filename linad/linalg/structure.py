"""What is proven of a matrix: names of its structure, from how its operator was made.

Shapes of the pattern (diagonal, triangular, Kronecker ...) are read from the simplified
operator; symmetry and definiteness from the expression as it was written, where J.T @ J is still
seen, and from the simplified one. Numbers are looked at only where an operator holds them
openly: diagonals, given matrices, eigenvalues of circulants.

Source of the rules for definiteness: R. Horn and C. Johnson, "Matrix Analysis", 2nd edition,
section 7.1.
"""

from typing import Any

import numpy as np

from linad.core.settings import config, settings
from linad.operators.base import JacobianOperator
from linad.operators.composites import Composite, bare
from linad.operators.facts import DEFINITE, HERMITIAN, SEMIDEFINITE
from linad.operators.residuals import lifted
from linad.operators.rewrites import simplified
from linad.operators.tagged import Tagged

ORDER = [
    "zero",
    "identity",
    "diagonal",
    "permutation",
    "selection",
    "fourier",
    "circulant",
    "kronecker",
    "kronecker sum",
    "block diagonal",
    "lower triangular",
    "upper triangular",
    "block lower triangular",
    "block upper triangular",
    "banded",
    "low rank plus diagonal",
    "low rank",
    "matrix",
    "unitary",
    "symmetric",
    "hermitian",
    "positive semidefinite",
    "positive definite",
]
"""All names, the most telling first."""

THIN = 0.1
"""Share of entries that may differ from zero, up to which a matrix is treated as sparse."""


def structure(op: JacobianOperator) -> tuple[str, ...]:
    """`JacobianOperator.structure`."""
    flat = op.flat
    plain = bare(simplified(flat))
    names = plain.pattern_names()
    if flat.shape[0] == flat.shape[1]:
        forms = plain.forms() if isinstance(plain, Composite) else ()
        level = max(flat.definiteness(), *[op.definiteness() for op in (plain, *forms)])
        names |= _level_names(level, flat.dtype)
    names |= tags_in(flat)
    if "diagonal" in names:
        names -= {"lower triangular", "upper triangular"}
    if "positive definite" in names:
        names -= {"positive semidefinite"}
    return tuple([name for name in ORDER if name in names])


def _level_names(level: int, dtype: np.dtype[Any]) -> set[str]:
    names = set()
    if level >= HERMITIAN:
        names.add("hermitian" if dtype.kind == "c" else "symmetric")
    if level == SEMIDEFINITE:
        names.add("positive semidefinite")
    if level == DEFINITE:
        names.add("positive definite")
    return names


def tags_in(op: Any) -> set[str]:
    """What was asserted of an operator, seen through views that keep it."""
    if type(op) is Tagged:
        return set(op.tags) | tags_in(op.op)
    return set()


def is_thin(op: JacobianOperator) -> bool:
    """Whether so few entries may differ from zero that the sparse matrix is worth forming."""
    while type(op) is Tagged:
        op = op.op
    if not op.clinear or lifted(op)[0]:
        return False
    m, n = op.shape
    most = int(THIN * m * n)
    try:
        with config(densify_limit=min(most, settings().densify_limit)):
            return op.nnz <= most
    except MemoryError:  # DensifyError is one
        return False
