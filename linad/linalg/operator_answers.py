"""The answers to what operators are asked, in modules that are loaded when first needed."""

from typing import Any

from linad.operators.base import JacobianOperator
from linad.operators.provided import answer_of_operators


@answer_of_operators
def simplified(op: JacobianOperator) -> JacobianOperator:
    from linad.operators import rewrites

    return rewrites.simplified(op)


@answer_of_operators
def structure(op: JacobianOperator) -> tuple[str, ...]:
    from linad.linalg.structure import structure

    return structure(op)


@answer_of_operators
def diagonal(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Any:
    from linad.linalg.estimates import diagonal

    return diagonal(op, exact, samples, rng)


@answer_of_operators
def trace(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Any:
    from linad.linalg.estimates import trace

    return trace(op, exact, samples, rng)


@answer_of_operators
def norm_estimate(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Any:
    from linad.linalg.estimates import norm_estimate

    return norm_estimate(op, exact, samples, rng)


@answer_of_operators
def column_norms(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Any:
    from linad.linalg.estimates import column_norms

    return column_norms(op, exact, samples, rng)


@answer_of_operators
def inverse(op: JacobianOperator) -> JacobianOperator:
    from linad.linalg.linear_systems import inverse

    return inverse(op)
