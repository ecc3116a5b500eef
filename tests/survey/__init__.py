"""A survey of NumPy and SciPy: one call of each function, and a table of what linad makes of it."""
