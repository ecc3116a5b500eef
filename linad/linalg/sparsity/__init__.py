"""Sparse matrices of operators: patterns, colourings, and the sweeps that give the values."""
