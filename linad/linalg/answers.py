"""The answers to what operators are asked, in modules that are loaded when first needed."""

from typing import Any

from linad.operators.base import JacobianOperator
from linad.operators.provided import answers


@answers
def simplified(op: JacobianOperator) -> JacobianOperator:
    from linad.operators import rewrites

    return rewrites.simplified(op)


@answers
def structure(op: JacobianOperator) -> tuple[str, ...]:
    from linad.linalg.structure import structure

    return structure(op)


@answers
def diagonal(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Any:
    from linad.linalg.estimates import diagonal

    return diagonal(op, exact, samples, rng)


@answers
def trace(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Any:
    from linad.linalg.estimates import trace

    return trace(op, exact, samples, rng)


@answers
def norm_estimate(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Any:
    from linad.linalg.estimates import norm_estimate

    return norm_estimate(op, exact, samples, rng)


@answers
def column_norms(op: JacobianOperator, exact: bool | None, samples: int, rng: Any) -> Any:
    from linad.linalg.estimates import column_norms

    return column_norms(op, exact, samples, rng)


@answers
def inverse(op: JacobianOperator) -> JacobianOperator:
    from linad.linalg.linear_systems import inverse

    return inverse(op)
