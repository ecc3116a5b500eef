"""Why residuals of Series are NaN: rows that pandas has matched by labels, where some differ."""

from typing import Any

from linad.api.derivatives import linearize
from linad.core.array_type import Array
from linad.core.during import during
from linad.core.unmatched import UNMATCHED
from linad.jit.jitted import operation_by_operation
from linad.solve.problems import of_unknown, quiet


def of_labels(problem: Any, x: Array) -> str:
    """What there is to say of labels without a partner where a function is NaN; "" for none."""
    met: list[str] = []
    with quiet(), during(UNMATCHED, met):
        f = of_unknown(operation_by_operation(problem.f), problem.args)
        linearize(f, problem.x.container(x))
    return f"; {met[0]}" if met else ""
