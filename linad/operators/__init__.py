"""Jacobian operators: the SciPy contract, structured operators, their algebra, blocks."""

from linad.operators import (
    algebra as algebra,  # gives operators their + - * @ .T .H
    contraction as contraction,  # these fill its tables
    kronecker_sums as kronecker_sums,
    low_rank as low_rank,
    structural_rewrites as structural_rewrites,
)
