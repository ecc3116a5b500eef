"""scipy.optimize.linprog with traced coefficients.

At a vertex that is not degenerate as many constraints hold with equality as there are unknowns.
They stay the same under small changes, so x solves that linear system, M x = r, and moves with its
entries alone; the cost is c x. The marginals, the derivatives of the cost in r, are y with
M^T y = c, and zero for all other constraints.

Source: J. Nocedal and S. Wright, "Numerical Optimization", 2nd edition, 2006, section 13.2.
"""

from typing import Any

import numpy as np
import scipy.optimize

from linad.core.array_type import Array
from linad.errors import ConvergenceError
from linad.rules.shaping import still
from linad.scipy.implicit_solutions import plain, with_derivative
from linad.scipy.mirror import bound_form, check_real, inexact, refuse

NEAR = 1e-7
"""Within which slack, relative to the size of the numbers, a constraint holds with equality."""


@bound_form(scipy.optimize.linprog)
def linprog(
    c: Any, A_ub: Any, b_ub: Array, A_eq: Any, b_eq: Any, bounds: Any, integrality: Any, **how: Any
) -> Any:
    refuse("linprog", integrality=(integrality, None))
    check_real("linprog", c=c, A_ub=A_ub, b_ub=b_ub, A_eq=A_eq, b_eq=b_eq)
    given = [plain(v) for v in (c, A_ub, b_ub, A_eq, b_eq, bounds)]
    found = scipy.optimize.linprog(*given, **plain(how))
    if not found.success:
        return found
    c, n = inexact(c).reshape(-1), found.x.shape[0]
    rows, sides = [], []
    places = list[tuple[str, int]]()  # of each row, among SciPy's marginals
    if A_eq is not None:
        rows.append(inexact(A_eq))
        sides.append(inexact(b_eq).reshape(-1))
        places += [("eqlin", i) for i in range(rows[-1].shape[0])]
    if A_ub is not None:
        A, b = inexact(A_ub), inexact(b_ub).reshape(-1)
        size = 1 + np.abs(still(b)) + np.abs(still(A)) @ np.abs(found.x)
        held = np.flatnonzero(still(b) - still(A) @ found.x <= NEAR * size)
        rows.append(A[held])
        sides.append(b[held])
        places += [("ineqlin", int(i)) for i in held]
    pairs = _pairs(bounds, n)
    for i, pair in enumerate(pairs):
        for end, side in zip(pair, ("lower", "upper"), strict=True):
            away = np.inf if end is None else abs(found.x[i] - plain(end))
            if away <= NEAR * (1 + abs(found.x[i])):
                rows.append(np.eye(n)[i : i + 1])
                sides.append(inexact(end).reshape(1))
                places.append((side, i))
                break
    M = np.concatenate(rows) if rows else np.zeros((0, n))
    if M.shape[0] != n or np.linalg.matrix_rank(still(M)) < n:
        raise ConvergenceError(
            f"linprog: {M.shape[0]} constraints hold with equality at the solution for {n} "
            f"unknowns: it is degenerate or not unique, and has no derivative",
            found,
        )
    x = np.linalg.solve(M, np.concatenate(sides))
    found.x = with_derivative(found.x, x)
    found.fun = np.dot(c, found.x)
    _move_slacks(found, (A_ub, b_ub), (A_eq, b_eq), pairs)
    if "eqlin" in found:  # the older methods have no marginals
        y = np.linalg.solve(M.T, c)
        for side in ("eqlin", "ineqlin", "lower", "upper"):
            own = [k for k, place in enumerate(places) if place[0] == side]
            spread = np.zeros((found[side].marginals.size, len(places)))
            spread[[places[k][1] for k in own], own] = 1
            found[side].marginals = with_derivative(found[side].marginals, spread @ y)
    return found


def _move_slacks(found: Any, upper: Any, equal: Any, pairs: list[Any]) -> None:
    """Let what is left of each constraint move with the solution."""
    for key, side, (A, b) in (("slack", "ineqlin", upper), ("con", "eqlin", equal)):
        if A is not None:
            rest = inexact(b).reshape(-1) - inexact(A) @ found.x
            found[key] = with_derivative(found[key], rest)
            if side in found:
                found[side].residual = found[key]
    for side, ends in zip(("lower", "upper"), zip(*pairs, strict=True), strict=True):
        if side in found:
            sign = 1 if side == "lower" else -1
            apart = [
                sign * (x - e) if e is not None and np.isfinite(plain(e)) else 0.0 * x
                for x, e in zip(found.x, ends, strict=True)
            ]
            found[side].residual = with_derivative(found[side].residual, np.stack(apart))


def _pairs(bounds: Any, n: int) -> list[Any]:
    """(low, high) for each unknown."""
    if bounds is None:
        return [(0, None)] * n
    if len(bounds) == 2 and all(end is None or np.ndim(plain(end)) == 0 for end in bounds):
        return [tuple(bounds)] * n
    return [tuple(pair) for pair in bounds]
