"""Modules of linad that import a library that it does not need: ``tox -e interop`` has them."""

ELSEWHERE = {f"linad.interop.{name}" for name in ("jax_function", "pytensor_op", "torch_function")}
