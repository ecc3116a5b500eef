"""Derivatives of the user's own Numba kernels, by transformation of their source."""
