"""Newton-CG: Newton's method for minima, its systems solved by truncated conjugate gradients.

    H p = -g    until    |H p + g| <= min(1/2, sqrt(|g|/|g_0|)) |g|

or until a direction d of curvature <= 0 is met. Then the step goes along what has been found so
far and d, both of which lead down, and as far as f does. Then a line search. H acts by products
only.

Source: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, 2006, algorithm 7.1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import takes
from linad.solve.descent import COLUMNS, DESCENDING, DOUBT, Descent, descent, forcing
from linad.solve.linesearch import NoDecrease, backtrack
from linad.solve.status import Callback, Monitor, Status, Stop
from linad.solve.step_systems import PRECONDITIONER, preconditioner as operator_from


@takes(preconditioner=PRECONDITIONER, **DESCENDING)
def newton_cg(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: None = None,
    constraints: Any = (),
    callback: Callback = None,
    gtol: float | None = None,
    xtol: float | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
    preconditioner: Any = None,
    check_minimum: bool = True,
    disp: bool = False,
) -> Any:
    """Minimise ``fun`` by Newton's method with conjugate gradients and a line search.

    Also usable as ``scipy.optimize.minimize(fun, x0, method=linad.solve.newton_cg)``.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` in plain NumPy, a real scalar.
    x0 : array or container of arrays
        Where to start.
    args : tuple
        Further arguments of ``fun``.
    jac, hess, hessp : callable, optional
        Derivatives by hand, as SciPy takes them. linad's own by default.
    bounds, constraints
        Refused; `scipy.optimize.minimize` passes them.
    callback : callable, optional
        ``callback(intermediate_result)`` after each step; raise StopIteration to stop.
    gtol : float, optional
        Largest ``|gradient|`` to stop at. By default eps^(3/4) times the first one, or where
        rounding ends the descent. The units of the unknowns do not matter if there are at most 100
        of them, or at most 1000 and conjugate gradients take long, which shows that units differ.
    xtol : float, optional
        Relative step to stop at; none by default.
    tol : float, optional
        As ``gtol``; `scipy.optimize.minimize` passes it.
    maxiter : int, optional
        Most steps, by default the larger of 200 and 10 n.
    preconditioner : optional
        Of the conjugate gradients, positive definite: "diagonal", an operator, or a function
        ``(x, H)`` that returns one.
    check_minimum : bool
        Whether to look for negative curvature, with up to 12 products, before a point is
        called a minimum.
    disp : bool
        Whether to print a line for each step.

    Returns
    -------
    scipy.optimize.OptimizeResult
        ``x`` like x0, ``fun``, ``jac`` the gradient, ``hess`` the Hessian operator, ``nit nfev
        njev njvp nvjp success status message``. ``njvp`` counts products with the Hessian,
        ``nvjp`` gradients.

    Raises
    ------
    ShapeError, DTypeError, TreeError, OutputError
        If x0, or what ``fun`` returns, has a shape, dtype or structure that does not fit.
        Everything else ends with a status.

    Notes
    -----
    A step costs one gradient, which keeps what the products need; a forward sweep over it for
    each product; and the runs of ``fun`` in the line search.

    Examples
    --------
    >>> import numpy as np, linad
    >>> f = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> linad.solve.newton_cg(f, np.zeros(4)).x.round(8)
    array([1., 1., 1., 1.])
    """
    search = descent(
        "newton_cg",
        fun,
        x0,
        args,
        (jac, hess, hessp),
        (bounds, constraints),
        (gtol, xtol, tol),
        maxiter,
        check_minimum,
    )
    first = float(np.linalg.norm(search.g))

    def step(search: Descent) -> Any:
        M = None
        if preconditioner is not None:
            point = search.problem.x.container(search.x)
            M = operator_from(preconditioner, point, search.H, "newton_cg")
        size = float(np.linalg.norm(search.g))
        # In units of the gradient, whose square may be out of range.
        p, curved = truncated_cg(search.H, search.g / search.size, forcing(size, first), M)
        p = p if curved else p * search.size
        if not np.isfinite(p).all():
            raise Stop(Status.NOT_FINITE, "in a product with the Hessian")
        return _line(search, p, curved)

    return search.run(step, Monitor("newton_cg", callback, disp, COLUMNS))


def truncated_cg(H: Any, g: Array, eta: float, M: Any) -> tuple[Any, bool]:
    """The step, and whether curvature <= 0 ended it."""
    p, r = np.zeros_like(g), g.copy()
    z = r if M is None else np.asarray(M @ r, g.dtype)
    d = -z
    rz = float(r @ z)
    if not rz > 0:
        raise Stop(Status.LINEAR_SOLVER, "the preconditioner is not positive definite")
    goal = eta * float(np.linalg.norm(g))
    eps = float(np.finfo(g.dtype).eps)
    for _ in range(2 * g.size + 10):
        Hd = H @ d
        curvature = float(d @ Hd)
        if not curvature > eps * float(np.linalg.norm(d) * np.linalg.norm(Hd)):  # NaN as well
            length = float(np.linalg.norm(p)) or 1.0
            return p + (length / float(np.linalg.norm(d))) * d, True
        alpha = rz / curvature
        p = p + alpha * d
        r = r + alpha * Hd
        if float(np.linalg.norm(r)) <= goal:
            break
        z = r if M is None else np.asarray(M @ r, g.dtype)
        before, rz = rz, float(r @ z)
        d = -z + (rz / before) * d
    return p, False


def _line(search: Descent, p: Array, curved: bool) -> Any:
    """A point along ``p`` with a value low enough."""
    slope = float(search.g @ p)
    if not slope < 0:
        p, slope = -search.g, -float(search.g @ search.g)

    def phi(alpha: float) -> tuple[float, Any]:
        return search.problem.value(search.at(p, alpha)), None

    reach = float(np.linalg.norm(search.x)) or 1.0
    if not 0 < float(np.linalg.norm(p)) < np.inf:
        raise Stop(Status.NOT_FINITE, "in a product with the Hessian")
    if curved:  # the length of p says nothing
        p = p * (reach / float(np.linalg.norm(p)))
        slope = float(search.g @ p)
    if not curved and -0.5 * slope <= DOUBT * search.noise:
        x = search.at(p)
        if search.better_by_gradient(x, search.problem.value(x), -0.5 * slope):
            return x
    smallest = 1e-3 * search.eps * reach / float(np.linalg.norm(p))
    try:
        alpha, value, _ = backtrack(phi, search.f, slope, min(smallest, 1e-3), noise=search.noise)
    except NoDecrease as none:
        search.stuck(none.finite)
    if curved:
        # The quadratic model has no minimum along p: go on as long as f comes down.
        length = float(np.linalg.norm(p))
        while alpha * length < search.reach:
            further, _ = phi(2 * alpha)
            if not further < value:
                break
            alpha, value = 2 * alpha, further
    x = search.at(p, alpha)
    if search.f - value <= search.noise and not search.gradient_falls(x):
        search.stuck()  # within rounding of f, the gradient tells whether a step is for the better
    return x
