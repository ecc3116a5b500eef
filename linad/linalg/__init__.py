"""What operators are asked: structure, estimates, factors, inverses, linear systems."""
