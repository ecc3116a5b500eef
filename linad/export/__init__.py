"""Programs as text that runs elsewhere: a NumPy module with no linad in it."""
