"""The module that generated functions say they are of; Numba looks it up by its name."""
