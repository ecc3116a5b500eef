"""scipy.integrate.solve_bvp with traced problems.

SciPy finds the mesh and the solution on plain values. On that mesh y solves the equations of
collocation at both ends and in the middle of each interval,

    y_i+1 - y_i = h/6 (f_i + 4 f(x_m, y_m) + f_i+1),    y_m = (y_i + y_i+1)/2 + h/8 (f_i - f_i+1)

and the boundary conditions. The derivative is that of the solution of these. Nodes that SciPy adds
to the mesh stand at fixed parts of the intervals of the mesh that is given, and move with it.

Source: J. Kierzenka and L. Shampine, "A BVP solver based on residual control and the Matlab PSE",
ACM Transactions on Mathematical Software 27, 2001.
"""

from typing import Any

import numpy as np
import scipy.integrate

from linad.core.array_type import Array
from linad.errors import ConvergenceError, UnsupportedError
from linad.rules.creation import asarray
from linad.scipy.implicit_solutions import (
    Watched,
    plain,
    root_of_vector,
    watched,
    while_tracing,
    with_derivative,
)
from linad.scipy.mirror import holds_traced
from linad.scipy.piecewise import CubicHermiteSpline


def _moved(given: Array, mesh: Array) -> Any:
    """The mesh of a solution, which moves with the one that was given."""
    given = asarray(given)
    nodes = plain(given)
    k = np.clip(np.searchsorted(nodes, mesh, side="right") - 1, 0, len(nodes) - 2)
    part = (mesh - nodes[k]) / (nodes[k + 1] - nodes[k])
    return with_derivative(mesh, given[k] + part * (given[k + 1] - given[k]))


@while_tracing(scipy.integrate.solve_bvp)
def solve_bvp(
    fun: Any, bc: Any, x: Any, y: Any, p: Any = None, S: Any = None, **options: Any
) -> Any:
    f, ends = Watched(fun), Watched(bc)
    for name in ("fun_jac", "bc_jac"):
        if name in options:
            options[name] = watched(options[name])
    found = scipy.integrate.solve_bvp(f, ends, plain(x), plain(y), plain(p), S, **options)
    if not (f.traced or ends.traced or holds_traced(x)):
        return found
    if S is not None:
        raise UnsupportedError(
            "solve_bvp: a singular term S= is not traced by linad; put it into fun, away from the "
            "end that is singular"
        )
    if not found.success:
        raise ConvergenceError(f"solve_bvp: {found.message}", found)
    found.x, shape = _moved(x, found.x), found.y.shape
    mesh = found.x
    h, middle, cut = np.diff(mesh), (mesh[1:] + mesh[:-1]) / 2, found.y.size

    def parts(z: Any) -> Any:
        given = () if found.p is None else (z[cut:],)
        return z[:cut].reshape(shape), given

    def equations(z: Any) -> Any:
        y, given = parts(z)
        slopes = f.values(mesh, y, *given)
        before, after = slopes[:, :-1], slopes[:, 1:]
        inner = (y[:, 1:] + y[:, :-1]) / 2 + h / 8 * (before - after)
        bent = f.values(middle, inner, *given)
        rest = y[:, 1:] - y[:, :-1] - h / 6 * (before + 4 * bent + after)
        return np.concatenate([rest.reshape(-1), ends.values(y[:, 0], y[:, -1], *given)])

    start = found.y.reshape(-1)
    if found.p is not None:
        start = np.concatenate([start, found.p])
    z = root_of_vector("solve_bvp", equations, start)
    found.y, given = parts(z)
    found.p = given[0] if given else None
    found.yp = asarray(f.values(mesh, found.y, *given))
    found.sol = CubicHermiteSpline(mesh, found.y, found.yp, axis=1)
    return found
