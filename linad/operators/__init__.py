"""Jacobian operators: the SciPy contract, structured operators, their algebra, blocks."""

from linad.operators import algebra as algebra  # gives operators their + - * @ .T .H
