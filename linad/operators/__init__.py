"""Jacobian operators: the SciPy contract, structured operators, their algebra, blocks."""
