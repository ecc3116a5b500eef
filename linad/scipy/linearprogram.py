"""scipy.optimize.linprog with traced coefficients.

At a vertex that is not degenerate as many constraints hold with equality as there are unknowns.
They stay the same under small changes, so x solves that linear system, M x = r, and moves with its
entries alone; the cost is c x.

Source: J. Nocedal and S. Wright, "Numerical Optimization", 2nd edition, 2006, section 13.2.
"""

from typing import Any

import numpy as np
import scipy.optimize

from linad.errors import ConvergenceError
from linad.rules.shaping import still
from linad.scipy.implicit_solutions import plain
from linad.scipy.mirror import bound_form, check_real, inexact, refuse

NEAR = 1e-7
"""Within which slack, relative to the size of the numbers, a constraint holds with equality."""


@bound_form(scipy.optimize.linprog)
def linprog(
    c: Any, A_ub: Any, b_ub: Any, A_eq: Any, b_eq: Any, bounds: Any, integrality: Any, **how: Any
) -> Any:
    refuse("linprog", integrality=(integrality, None))
    check_real("linprog", c=c, A_ub=A_ub, b_ub=b_ub, A_eq=A_eq, b_eq=b_eq)
    given = [plain(v) for v in (c, A_ub, b_ub, A_eq, b_eq, bounds)]
    found = scipy.optimize.linprog(*given, **plain(how))
    if not found.success:
        return found
    c, n = inexact(c).reshape(-1), found.x.shape[0]
    rows, sides = [], []
    if A_eq is not None:
        rows.append(inexact(A_eq))
        sides.append(inexact(b_eq).reshape(-1))
    if A_ub is not None:
        A, b = inexact(A_ub), inexact(b_ub).reshape(-1)
        size = 1 + np.abs(still(b)) + np.abs(still(A)) @ np.abs(found.x)
        held = np.flatnonzero(still(b) - still(A) @ found.x <= NEAR * size)
        rows.append(A[held])
        sides.append(b[held])
    for i, pair in enumerate(_pairs(bounds, n)):
        for end in pair:
            away = np.inf if end is None else abs(found.x[i] - plain(end))
            if away <= NEAR * (1 + abs(found.x[i])):
                rows.append(np.eye(n)[i : i + 1])
                sides.append(inexact(end).reshape(1))
                break
    M = np.concatenate(rows) if rows else np.zeros((0, n))
    if M.shape[0] != n or np.linalg.matrix_rank(still(M)) < n:
        raise ConvergenceError(
            f"linprog: {M.shape[0]} constraints hold with equality at the solution for {n} "
            f"unknowns: it is degenerate or not unique, and has no derivative",
            found,
        )
    x = np.linalg.solve(M, np.concatenate(sides))
    found.x = found.x + (x - still(x))
    found.fun = np.dot(c, found.x)
    return found


def _pairs(bounds: Any, n: int) -> list[Any]:
    """(low, high) for each unknown."""
    if bounds is None:
        return [(0, None)] * n
    if len(bounds) == 2 and all(end is None or np.ndim(plain(end)) == 0 for end in bounds):
        return [tuple(bounds)] * n
    return [tuple(pair) for pair in bounds]
