"""`maximum_likelihood`: estimates where data are not least squares, with their uncertainties.

    covariance      H^-1        H the Hessian of minus the logarithm, at its minimum
    interval        x ± z s_x   z of the normal distribution

Counts, times until something happens, mixtures, censored data: whatever has a likelihood. With the
logarithm of a prior added, the maximum is that of the posterior, and H^-1 Laplace's approximation.

Source: Y. Pawitan, "In all likelihood: statistical modelling and inference using likelihood", 2001.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from linad.api.gradients import grad, hessian_operator
from linad.core import tree
from linad.core.options import COUNT, FUNCTION, TOLERANCE, takes
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import ArgumentError, OutputError
from linad.jit.jitted import Jitted
from linad.solve.bounds import as_box
from linad.solve.derived_models import FEW, DerivedModel
from linad.solve.described_starts import of_described
from linad.solve.fitting.boxed_newton import boxed_newton
from linad.solve.fitting.cost_of_free import CostOfFree
from linad.solve.fitting.doubts import CUT_OFF, at_bounds, handed_over
from linad.solve.fitting.fit_options import START, VERBOSE
from linad.solve.fitting.likelihood_result import NO_LOGARITHM, LikelihoodResult, is_no_logarithm
from linad.solve.fitting.parameters import Parameters, told
from linad.solve.fitting.taken_parameters import taking
from linad.solve.fitting.with_arguments import WithArguments
from linad.solve.lbfgs import lbfgs
from linad.solve.objectives import Objective
from linad.solve.problems import quiet
from linad.solve.read_data import words_of_nan
from linad.solve.status import WORDS, Status
from linad.solve.trust_region import trust_region
from linad.solve.waiting import Waiting

NAME = "maximum_likelihood"

SMALL = 1e-6
"""Of standard errors, a step that does not matter."""

RELEASES = 10
"""How often a bound that holds a parameter is tried without."""

BEYOND = 5
"""Points beyond bounds that Newton's steps may try before bounds are taken to hold parameters."""

MANY = 100
"""Parameters from which L-BFGS-B tells which bounds hold, not the whole Hessian."""

MINIMUM_INSTEAD = (
    "has a minimum instead: return the logarithm of the likelihood, not minus the logarithm, nor "
    "the likelihood itself"
)


@takes(f=FUNCTION, p0=START, maxiter=COUNT.optional, gtol=TOLERANCE.optional, verbose=VERBOSE)
def maximum_likelihood(
    f: Callable[..., Any],
    p0: Any,
    args: Any = (),
    *,
    bounds: Any = (-np.inf, np.inf),
    fixed: Any = None,
    maxiter: int | None = None,
    gtol: float | None = None,
    verbose: int = 0,
) -> LikelihoodResult:
    """Find the parameters that make data most likely, with uncertainties.

    Parameters
    ----------
    f : callable
        ``f(p, *args)`` in plain NumPy, or ``f(a, b, *args)`` with parameters by name or one by
        one: the logarithm of the likelihood, one number; terms without parameters may be left
        out. It may be -inf where parameters have no meaning.
    p0 : array or container of arrays
        Where to start.
    args : tuple or list
        Further arguments of ``f``.
    bounds, fixed
        As for `curve_fit`.
    maxiter, gtol
        Most steps, and the largest entry of the gradient to stop at, as for `trust_region`.
    verbose : 0, 1 or 2
        1 prints the report, 2 each step as well.

    Returns
    -------
    LikelihoodResult
        ``x`` like p0, ``errors``, ``covariance``, ``log_likelihood``, ``report()``, intervals and
        ``propagate(g)``. It unpacks to ``x`` and ``covariance``.

    Raises
    ------
    ArgumentError, OptionError, OutputError, ShapeError, TreeError
        If what was given does not fit. A search that does not converge says so in ``success``
        and ``message``, and raises ConvergenceError when it is unpacked.

    See Also
    --------
    curve_fit, fit : where the logarithm is minus a sum of squares, or of a robust loss.

    Notes
    -----
    A trust-region method with the exact Hessian. Where it comes to bounds Newton's steps within
    them tell which hold parameters, or L-BFGS-B for many; the trust-region method ends it.

    Examples
    --------
    Counts that fall, with Poisson's distribution:

    >>> import numpy as np, linad
    >>> t = np.arange(6.0)
    >>> counts = np.array([31, 22, 11, 9, 4, 3])
    >>> def log_likelihood(p):
    ...     expected = p["height"] * np.exp(-p["rate"] * t)
    ...     return np.sum(counts * np.log(expected) - expected)
    >>> found = linad.solve.maximum_likelihood(log_likelihood, {"rate": 1.0, "height": 20.0})
    >>> [f"{name} = {v:.2f} ± {e:.2f}" for name, v, e in found.rows()]
    ['rate = 0.48 ± 0.08', 'height = 32.13 ± 4.84']
    """
    p0, bounds, fixed = of_described(NAME, p0, bounds, fixed)
    way, args = taking(f, p0, args, NAME)
    parameters = Parameters(NAME, p0, way.names, fixed)
    unknown = parameters.unknown
    unknown.start = parameters.start
    plus = WithArguments(NAME, f, args, way)
    _require_number(plus, parameters)
    box = as_box(NAME, parameters.bounds(bounds), unknown, parameters.names)
    lower = np.full(parameters.start.shape, -np.inf) if box is None else box.lower
    upper = np.full(parameters.start.shape, np.inf) if box is None else box.upper

    minus = Waiting(NAME, name_of(f), f, _Minus(NAME, f, args, way))
    options = {"maxiter": maxiter, "gtol": gtol, "disp": verbose == 2}
    solve = Maximum(minus, parameters, (lower, upper), options)
    result = solve(parameters.start, ~parameters.free)
    lost = not result.success and not _is_bent(result, solve, parameters)
    if lost and _falls(plus, parameters, (lower, upper)):
        result.message += f"; {name_of(f)} {MINIMUM_INSTEAD}"
    elif not result.success and is_no_logarithm(float(-result.cost)):
        result.message += f"; {name_of(f)} is {-result.cost:.3g}: {NO_LOGARITHM}"
    elif result.success and _is_flat(result, solve, parameters):
        result.success, result.status = False, int(Status.SINGULAR)
        result.message = (
            f"{NAME}: {name_of(f)} depends on no parameter where it started, {told(parameters)}; "
            f"{CUT_OFF}"
        )
    elif result.status == Status.NOT_FINITE:
        result.message += (
            "; where it grows without end, as where a width goes to 0, bounds= keep parameters "
            "from there; else start elsewhere"
        )
    elif result.status == Status.MAXITER and (steepest := _steepest(result, parameters)):
        result.message = (
            f"{NAME}: {WORDS[Status.MAXITER]}: {result.nit} steps, on which it has become ever "
            f"steeper, most in {steepest}; where it grows without end, as where a width goes to 0, "
            f"bounds= keep parameters from there, or a prior that is 0 there"
        )
    found = LikelihoodResult(result, parameters, (lower, upper), solve, name_of(f))
    in_doubt = result.success and at_bounds(found) and not found._are_known
    if in_doubt and _falls(plus, parameters, (lower, upper)):
        found.success, found.status = False, int(Status.STAGNATED)
        found.message = f"{NAME}: ended at bounds; {name_of(f)} {MINIMUM_INSTEAD}"
    return handed_over(NAME, found, verbose)


def _is_bent(result: Any, solve: "Maximum", parameters: Parameters) -> bool:
    """Whether the logarithm is bent where a search has ended as beside a maximum, in each free
    parameter: then it is one, though that was not found."""
    free = parameters.free
    bent = np.diagonal(solve.hessian(tree.vector(result.x), free))
    return bool(np.isfinite(bent).all() and (bent > 0).all())


def _is_flat(result: Any, solve: "Maximum", parameters: Parameters) -> bool:
    """Whether a search has not moved, and nothing there says where to: no slope, no curvature."""
    x, free = tree.vector(result.x), parameters.free
    if not free.any() or not np.array_equal(x, parameters.start):
        return False
    with quiet():
        g = grad(solve.cost(x, free))(x[free])
    return not g.any() and not solve.hessian(x, free).any()


STEEP = 1e8
"""A slope, relative to the value by one of the parameter, at which no search comes to an end."""


def _steepest(result: Any, parameters: Parameters) -> str:
    """The parameter in which a logarithm is steepest, and its value; "" where it is not steep."""
    slopes, values = np.zeros(parameters.start.shape), tree.vector(result.x)
    slopes[parameters.free] = np.abs(result.jac)
    k = int(np.argmax(slopes))
    if not slopes[k] > STEEP * max(1.0, abs(float(result.fun))):
        return ""
    return f"{parameters.names[k]} = {values[k]:.3g}"


def _require_number(likelihood: WithArguments, parameters: Parameters) -> None:
    """Raise where a function does not return one number at the start, or none to start from."""
    with quiet():
        value = likelihood(parameters.container(parameters.start))
    called = name_of(likelihood.f)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.size != 1:
        came = f"an array of shape {array.shape}" if array.size != 1 else shown(value)
        raise OutputError(
            f"{NAME}: {called} must return one number, the logarithm of the likelihood; it "
            f"returned {came}{'; return np.sum() of it' * (array.size > 1)}"
        )
    if not np.isfinite(array).all():
        remedy = words_of_nan(likelihood.f, likelihood.args) if np.isnan(array).all() else ""
        remedy += ", or np.nansum adds up the terms without them" if remedy else ""
        raise ArgumentError(
            f"{NAME}: {called} is {float(array.reshape(())):g} at the start, "
            f"{told(parameters)}; {remedy or 'start where it is finite'}"
        )


def _falls(likelihood: WithArguments, parameters: Parameters, bounds: tuple[Any, Any]) -> bool:
    """Whether what has no maximum has a minimum, and that not in a corner as well: it is minus
    what was asked for."""
    f, free = likelihood.f, parameters.free
    plus = Waiting(NAME, name_of(f), f, likelihood)
    with quiet():  # it may run to where its steps overflow
        found = Maximum(plus, parameters, bounds, {})(parameters.start, ~free)
    x, (lower, upper) = tree.vector(found.x), bounds
    return bool(found.success and not ((x == lower) | (x == upper))[free].all())


class _Minus(WithArguments):
    """A function with the other sign; where it is a Python number it is constant."""

    def __call__(self, p: Any) -> Any:
        y = super().__call__(p)
        return -(np.float64(y) if type(y) in (int, float) else y)


class Maximum:
    """The maximum with some parameters held at their start.

    Parameters
    ----------
    residual : Waiting
        Minus the logarithm of the likelihood, of the container of parameters.
    parameters : Parameters
    bounds : (lower, upper)
        Arrays.
    options : dict
        For `trust_region`.
    """

    def __init__(
        self, residual: Waiting, parameters: Parameters, bounds: Any, options: dict[str, Any]
    ) -> None:
        self.residual, self.parameters, self.options = residual, parameters, options
        self.lower, self.upper = bounds

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "derived"}

    @cached_property
    def derived(self) -> DerivedModel | None:
        """Programs of the cost in all parameters, if the likelihood is compiled."""
        minus: Any = self.residual.run
        if not isinstance(minus.f, Jitted) or self.parameters.start.size > FEW:
            return None
        container = self.parameters.unknown.container
        return DerivedModel(lambda x: minus(container(x)), minus.f)

    def cost(self, start: Any, free: Any) -> CostOfFree:
        return CostOfFree(self, start, free)

    def __call__(self, start: Any, held: Any) -> Any:
        free = ~held
        if np.isfinite(self.lower[free]).any() or np.isfinite(self.upper[free]).any():
            found, x = self._within(start, free)
        else:
            found, x = self._inside(start, free)
        found.x, found.cost = self.parameters.container(x), float(found.fun)
        found.message = f"{NAME}: {found.message.partition(': ')[2] or found.message}"
        return found

    def beside(self, start: Any, held: Any, enough: float) -> Any:
        """The maximum with more parameters held, from near it, by a few of Newton's steps until one
        promises no more than enough; from elsewhere as any other."""
        inner, x = ~held & (self.lower < self.upper), start.copy()
        if 0 < np.count_nonzero(inner) <= MANY:
            problem = Objective(self.cost(start, inner), start[inner], (), NAME)
            end = boxed_newton(
                problem, start[inner], self.lower[inner], self.upper[inner], enough
            )
            if np.isfinite(end.value) and end.promise <= enough:
                x[inner] = end.x
                return SimpleNamespace(x=self.parameters.container(x), cost=float(end.value))
        return self(start, held)

    def cost_at(self, x: Any) -> float:
        """What it minimises, at a point."""
        with quiet():
            return float(np.reshape(self.residual(self.parameters.container(x)), ()))

    def _inside(self, start: Any, free: Any, most: float = BEYOND) -> tuple[Any, Any]:
        """Where no bound holds a free parameter; beyond them the cost is infinite, and a search
        ends that asks for it there more than ``most`` times."""
        cost = self.cost(start, free)
        x = start.copy()
        if not free.any():
            with quiet():
                return _ended(cost(start[free])), x

        def ends_at_bounds(_: Any) -> None:
            if cost.beyond > most:
                raise StopIteration

        found = trust_region(cost, start[free], callback=ends_at_bounds, **self.options)
        x[free] = found.x
        if found.status == Status.STAGNATED and self.options.get("gtol") is None:
            self._settle(found, x, free)
        return found, x

    def _settle(self, found: Any, x: Any, free: Any) -> None:
        """Call it an end where rounding hides what is left, a small part of the errors:

        g^T H^-1 g, the square of the next step in standard errors.
        """
        if not free.any():
            return
        H, g = self.hessian(x, free), found.jac
        with suppress(np.linalg.LinAlgError):  # H is not positive definite: it is no maximum
            left = np.linalg.norm(np.linalg.solve(np.linalg.cholesky(H), g))
            self._end(found, float(left))

    def _end(self, found: Any, left: float) -> None:
        """Call it an end where the next step is a small part of the errors."""
        if left <= SMALL:
            found.success, found.status = True, int(Status.CONVERGED)
            found.message = (
                f"{NAME}: {WORDS[Status.CONVERGED]}: the next step is {left:.1e} of an error"
            )

    def _within(self, start: Any, free: Any) -> tuple[Any, Any]:
        """Newton's steps; where bounds are in the way, from where a search within them ends."""
        found, x = self._beside_bounds(start, free)
        if found.success:
            return found, x
        inner = free & (self.lower < self.upper)
        if np.count_nonzero(inner) <= MANY and np.isfinite(found.fun):
            problem = Objective(self.cost(x, inner), x[inner], (), NAME)
            box = self.lower[inner], self.upper[inner]
            end = boxed_newton(problem, x[inner], *box)
            x[inner] = end.x
            found, x = self._beside_bounds(x, free)
            if not found.success and self.options.get("gtol") is None:
                self._end(found, float(np.sqrt(2.0 * end.promise)))
            if found.success:
                return found, x
        return self._from_lbfgs(start, free)

    def _from_lbfgs(self, start: Any, free: Any) -> tuple[Any, Any]:
        """L-BFGS-B tells which bounds hold; where those are right Newton's steps end it."""
        from scipy.optimize import Bounds

        shown = bool(self.options.get("disp"))
        bounds = Bounds(self.lower[free], self.upper[free])
        first = lbfgs(self.cost(start, free), start[free], bounds=bounds, disp=shown)
        x = start.copy()
        x[free] = first.x
        found, better = self._beside_bounds(x, free, np.inf)
        return (found, better) if found.success else (first, x)

    def _beside_bounds(self, x: Any, free: Any, most: float = BEYOND) -> tuple[Any, Any]:
        """Newton's steps with those parameters held at bounds that the gradient leads beyond: the
        end, no success where others come to bounds."""
        lower, upper = self.lower[free], self.upper[free]
        slope = self.cost(x, free).slope
        for _ in range(RELEASES):
            with quiet():
                g = slope(x[free])
            outwards = ((x[free] <= lower) & (g > 0)) | ((x[free] >= upper) & (g < 0))
            inner = free.copy()
            inner[free] = ~outwards
            found, better = self._inside(x, inner, most)
            same = np.array_equal(better, x)
            x = better
            if not found.success:
                return found, x
            if same or not outwards.any() or self._holds(x, free, outwards, slope):
                if self.options.get("gtol") is None:
                    self._settle(found, x, inner)
                return found, x
        found.success = False
        return found, x

    def _holds(self, x: Any, free: Any, outwards: Any, slope: Any) -> bool:
        """Whether the bounds that hold parameters still do."""
        with quiet():
            g = slope(x[free])
        low = x[free] <= self.lower[free]
        return bool(np.all(np.where(low, g, -g)[outwards] >= 0))

    def hessian(self, x: Any, free: Any) -> Any:
        """The Hessian of the cost in the free parameters, as a matrix."""
        cost = self.cost(x, free)
        with quiet():
            if cost.derived is not None and cost.derived.is_worth():
                return cost.derived.curvature(x[free])
            return np.asarray(hessian_operator(cost, x[free]).todense(), float)


def _ended(value: Any) -> Any:
    """The result where nothing is left to vary."""
    return SimpleNamespace(
        fun=float(np.reshape(value, ())),
        success=True,
        status=int(Status.CONVERGED),
        message=WORDS[Status.CONVERGED],
        nit=0,
        nfev=1,
        njev=0,
    )
