"""The duck array: traced values, their views and writes, and who is told of an operation."""
