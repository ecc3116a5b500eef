"""Elementary functions by NumPy's names, and what C calls each."""

HOLOMORPHIC = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
"""Functions that C has of complex numbers as well."""

ELEMENTARY = HOLOMORPHIC | {
    name: name for name in ("exp2", "expm1", "log2", "log10", "log1p", "cbrt", "erf", "erfc")
}
"""Functions that C has of real numbers."""
