"""`curve_fit` and `fit`: nonlinear regression as SciPy and lmfit have it, with exact Jacobians."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.options import (
    FLAG,
    FUNCTION,
    POSITIVE,
    args_of,
    check_names,
    takes,
)
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.core.tolerances import watched_tolerances
from linad.errors import OptionError
from linad.solve.bounds import as_box, sides
from linad.solve.described_starts import of_described
from linad.solve.fits import cleaned_jacobian
from linad.solve.fitting.asked_of_parameters import MISREAD, refuse_misread
from linad.solve.fitting.data import Data
from linad.solve.fitting.data_places import (
    OfJoinedPlaces,
    as_places,
    bare_model,
    holds_integers,
    is_single,
    joined_places,
)
from linad.solve.fitting.doubts import tell_doubts
from linad.solve.fitting.fit_options import ABSOLUTE, NAN_POLICY, POSITIVES, START, VERBOSE, WEIGHTS
from linad.solve.fitting.fit_result import FitResult
from linad.solve.fitting.misread_places import refuse_places
from linad.solve.fitting.parameters import (
    Parameters,
    binding,
    by_name,
    call_by_name,
    parameter_names,
    refuse_further_names,
    refuse_other_signatures,
    told,
)
from linad.solve.fitting.with_arguments import WithArguments
from linad.solve.fitting.written_data import OnCopies, copied, is_written
from linad.solve.least_squares import levenberg_marquardt
from linad.solve.losses import LOSS
from linad.solve.problems import refuse_traced
from linad.solve.status import Status
from linad.solve.waiting import Waiting

INTEGRATORS = ("solve_ivp", "odeint", "ode")
"""Routines that return fewer numbers where they fail."""


@takes(
    f=FUNCTION,
    p0=START.optional,
    sigma=POSITIVES,
    weights=WEIGHTS,
    absolute_sigma=ABSOLUTE,
    check_finite=FLAG,
    loss=LOSS,
    f_scale=POSITIVE,
    nan_policy=NAN_POLICY,
    verbose=VERBOSE,
)
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool = True,
    bounds: Any = (-np.inf, np.inf),
    *,
    weights: Any = None,
    fixed: Any = None,
    loss: Any = "linear",
    f_scale: float = 1.0,
    nan_policy: str | None = None,
    verbose: int = 0,
    **options: Any,
) -> FitResult:
    """Fit a model to data by nonlinear least squares, with uncertainties.

    Parameters
    ----------
    f : callable
        The model ``f(xdata, ...)`` in plain NumPy: ``f(x, a, b)`` with numbers, ``f(x, p)`` with
        an array or a container of arrays.
    xdata : any
        Passed on to ``f`` as SciPy does: ``[1, 2, 3]`` is an array, and a list or tuple of arrays
        of one shape, ``[t, T]``, one array with a row ``X[0]`` for each; integers are floats. They
        stay integers where ``f`` indexes by them, as by labels of groups, ``offset[group]``, and
        in a dict, which is given as it is; so are tables, and columns of them with their index.
    ydata : array or container of arrays
        What ``f`` should return; a container fits several data sets at once, and a parameter that
        the model uses in each of them is shared.
    p0 : sequence of numbers, dict or container, optional
        Where to start: a number for each parameter, by position or by name; a list of numbers
        within is an array, and so is an array of one number alone. Ones by default, or a point
        between the bounds. Parameters of lmfit are a dict of their values, with bounds and what
        is fixed.
    sigma : number, array or container like ydata, optional
        Standard deviations of ydata: one number, an array like ydata, or for each data set one of
        these, ``[0.1, 0.3]``; a square matrix is the covariance of a vector ydata.
    absolute_sigma : bool
        Whether sigma is meant in the units of ydata. By default only the ratios count, and the
        scale is estimated from the residuals, as in `scipy.optimize.curve_fit`.
    check_finite : bool
        Whether to refuse infinities and NaNs in the data.
    bounds : (lower, upper), scipy.optimize.Bounds or dict
        Of the parameters: numbers, arrays or containers like p0; or for some parameters, by name,
        ``{"a": (0, None)}``.
    weights : number, array or container like ydata, optional
        In place of sigma, in its forms: what residuals are multiplied by, 1 / sigma. Data whose
        weight is 0 do not count, whatever is in them; nor do those that are masked.
    fixed : names, dict or flags, optional
        Parameters that keep their start, ``["a"]``, or a value, ``{"a": 3.0}``; or booleans.
    loss, f_scale
        A robust loss, as for `levenberg_marquardt`, of residuals divided by sigma.
    nan_policy : "raise", "omit" or "propagate", optional
        Of data that are NaN: "omit" leaves out the points where ydata, sigma or what belongs to
        them of xdata is NaN. By default ``check_finite`` says.
    verbose : 0, 1 or 2
        1 prints the report, 2 each step as well.
    **options
        For `levenberg_marquardt`: ``maxiter``, ``xtol``, ``callback`` and so on.

    Returns
    -------
    FitResult
        ``x`` like p0, ``errors``, ``covariance``, ``report()``, ``plot()``, intervals. It unpacks
        as SciPy's result does: ``popt, pcov = curve_fit(...)``.

    Raises
    ------
    ArgumentError, OptionError, ShapeError, TreeError
        If what was given cannot be meant. A fit that does not converge says so in ``success`` and
        ``message``, and raises ConvergenceError when it is unpacked.

    See Also
    --------
    fit : the same of residuals.
    least_squares : a solution to differentiate through.

    Notes
    -----
    The Jacobian is exact. The defaults give six digits or more on all of the nonlinear
    regressions of NIST's Statistical Reference Datasets, from both starts.

    Examples
    --------
    >>> import numpy as np, linad
    >>> t = np.linspace(0.0, 4.0, 9)
    >>> y = np.array([2.51, 1.93, 1.5, 1.2, 1.01, 0.84, 0.75, 0.68, 0.61])
    >>> found = linad.solve.curve_fit(lambda t, a, rate, c: a * np.exp(-rate * t) + c, t, y)
    >>> [f"{name} = {v:.2f} ± {e:.2f}" for name, v, e in found.rows()]
    ['a = 1.98 ± 0.02', 'rate = 0.68 ± 0.02', 'c = 0.50 ± 0.02']
    """
    refuse_traced("curve_fit", xdata=xdata, ydata=ydata)
    p0, bounds, fixed = of_described("curve_fit", p0, bounds, fixed)
    model, start, names = binding(f, _unlabelled(p0))
    _refuse_starts(f, options)
    if p0 is None:
        start = _between(bounds, names or [], start)
    parameters = Parameters("curve_fit", start, names, fixed)
    if is_single(ydata):
        model = OfJoinedPlaces(model)

    def data_of(labels: bool) -> Data:
        places = as_places(xdata, labels)
        return Data(f, places, ydata, sigma, weights, check_finite, nan_policy)

    deviations = _Deviations(model, data_of, holds_integers(xdata))

    found = _solve(
        Waiting("curve_fit", name_of(f), f, deviations),
        parameters,
        bounds,
        loss,
        f_scale,
        absolute_sigma,
        verbose,
        options,
    )
    data = deviations.data
    if data.cut_short:
        found.message += (
            f"; {data.cut_short} steps were refused where {name_of(f)} returned fewer numbers"
        )
        if data.integrator:
            found.message += f", as its {data.integrator} does where it fails"
    found.model, found.xdata, found.data = deviations.model, data.xdata, data
    found.title = name_of(f)
    found.labels = deviations.labels
    tell_doubts("curve_fit", found)
    if verbose:
        print(found.report())
    return found


@takes(f=FUNCTION, absolute_sigma=FLAG, loss=LOSS, f_scale=POSITIVE, verbose=VERBOSE)
def fit(
    f: Callable[..., Any],
    x0: Any,
    args: Any = (),
    *,
    bounds: Any = (-np.inf, np.inf),
    fixed: Any = None,
    loss: Any = "linear",
    f_scale: float = 1.0,
    absolute_sigma: bool = False,
    verbose: int = 0,
    **options: Any,
) -> FitResult:
    """Minimise the squares of residuals, with uncertainties: `curve_fit` for any residual.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` in plain NumPy: residuals, divided by their standard deviations if these
        are known; an array or a container of arrays.
    x0 : array or container of arrays
        Where to start; Parameters of lmfit are a dict of their values here too.
    args : tuple
        Further arguments of ``f``.
    absolute_sigma : bool
        Whether residuals have standard deviation 1; by default it is estimated.
    bounds, fixed, loss, f_scale, verbose, **options
        As for `curve_fit`.

    Returns
    -------
    FitResult

    See Also
    --------
    levenberg_marquardt : the solver alone.

    Examples
    --------
    Two data sets that share a rate:

    >>> import numpy as np, linad
    >>> t = np.linspace(0.0, 2.0, 6)
    >>> first, second = 3 * np.exp(-0.7 * t), 5 * np.exp(-0.7 * t)
    >>> def residuals(p):
    ...     decay = np.exp(-p["rate"] * t)
    ...     return [p["heights"][0] * decay - first, p["heights"][1] * decay - second]
    >>> found = linad.solve.fit(residuals, {"rate": 1.0, "heights": np.ones(2)})
    >>> found.names
    ['heights[0]', 'heights[1]', 'rate']
    >>> found.x["heights"].round(6)
    array([3., 5.])
    """
    args = args_of(args)
    x0, bounds, fixed = of_described("fit", x0, bounds, fixed)
    refuse_other_signatures(f, args, "fit")
    parameters = Parameters("fit", x0, None, fixed)

    found = _solve(
        Waiting("fit", name_of(f), f, WithArguments("fit", f, args)),
        parameters,
        bounds,
        loss,
        f_scale,
        absolute_sigma,
        verbose,
        options,
    )
    found.title = name_of(f)
    tell_doubts("fit", found)
    if verbose:
        print(found.report())
    return found


def _unlabelled(p0: Any) -> Any:
    """A column of a table as a dict, if its entries have names, or as an array."""
    if not (hasattr(p0, "to_numpy") and hasattr(p0, "index")):
        return p0
    labels, values = list(p0.index), p0.to_numpy()
    named = all(isinstance(label, str) for label in labels)
    return dict(zip(labels, values.tolist(), strict=True)) if named else values


def _refuse_starts(f: Any, options: Any) -> None:
    """Raise where parameters are given as options, as lmfit has them."""
    given = [name for name in parameter_names(f) if name in options]
    if given:
        starts = ", ".join(f"{name!r}: {shown(options[name])}" for name in given)
        raise OptionError(
            f"curve_fit: {given[0]} is a parameter of {name_of(f)}; starts are given in p0: "
            f"p0={{{starts}}}"
        )


def _between(bounds: Any, names: list[str], start: Any) -> Any:
    """Ones, moved between the bounds."""
    parameters = Parameters("curve_fit", start, names, None)
    lower, upper = sides("curve_fit", parameters.bounds(bounds), parameters.unknown)
    inside = np.clip(np.ones_like(start), lower, upper)
    middle = np.isfinite(lower) & np.isfinite(upper)
    inside[middle] = 0.5 * (lower[middle] + upper[middle])
    below = np.isfinite(lower) & ~middle & (lower >= 1)
    inside[below] = lower[below] + 1.0
    above = np.isfinite(upper) & ~middle & (upper <= 1)
    inside[above] = upper[above] - 1.0
    return inside


class _Deviations:
    """(model - data) / sigma, of the parameters.

    Parameters
    ----------
    model : callable
        ``model(xdata, p)``.
    data_of : callable
        The data, ``data_of(labels)``, with integers of xdata as floats or as labels.
    may_index : bool
        Whether there are integers: a model that indexes by them gets labels from there on.
    """

    def __init__(
        self, model: Callable[..., Any], data_of: Callable[[bool], Data], may_index: bool
    ) -> None:
        self.model, self.data_of, self.may_index = model, data_of, may_index
        self.joined = isinstance(model, OfJoinedPlaces)
        self.data, self.labels = data_of(False), False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "data_of": None}  # a closure, which a fit at its end has no use of

    @property
    def f(self) -> Callable[..., Any]:
        """The model as it was given."""
        return self.data.f

    def __call__(self, p: Any) -> Any:
        return self.data.residual(self._predicted(p))

    def _predicted(self, p: Any) -> Any:
        data, xdata = self.data, self.data.xdata
        try:
            if data.fitted:
                return self.model(xdata, p)
            given = copied(xdata)
            with watched_tolerances() as found:
                predicted = self.model(given, p)
        except (TypeError, ValueError, *MISREAD) as error:
            if self.may_index and isinstance(error, (TypeError, IndexError)):
                return self._with_labels(p)
            refuse_places(self.f, error, xdata)
            if isinstance(error, MISREAD):
                refuse_misread("curve_fit", self, p, error)
            elif isinstance(error, TypeError):
                refuse_further_names("curve_fit", bare_model(self.model), p, error)
            raise
        self.may_index = False
        if is_written(given, xdata):
            self.model = OnCopies(self.model)
        data.integrator = next((one.routine for one in found if one.routine in INTEGRATORS), "")
        return predicted

    def _with_labels(self, p: Any) -> Any:
        """The prediction with integers as they were given, for a model that fails with floats."""
        floats, self.may_index = self.data, False
        self.data = self.data_of(True)
        try:
            predicted = self._predicted(p)
        except Exception as other:
            if isinstance(other, IndexError) or isinstance(other.__cause__, IndexError):
                raise  # of the index, as it was given
            self.data = floats
            return self._predicted(p)  # which raises, in words
        self.labels = True
        return predicted

    def named(self, p: Any) -> dict[str, Any]:
        return by_name(bare_model(self.model), p)

    def call(self, f: Callable[..., Any], named: dict[str, Any]) -> Any:
        x = copied(self.data.xdata)
        return call_by_name(
            bare_model(self.model), f, joined_places(x) if self.joined else x, named
        )


class _Refit:
    """A minimum with some parameters held at their start."""

    def __init__(
        self, residual: Waiting, parameters: Parameters, lower: Any, upper: Any, options: Any
    ) -> None:
        self.residual, self.parameters = residual, parameters
        self.lower, self.upper, self.options = lower, upper, options

    def __call__(self, start: Any, held: Any) -> Any:
        low, high = np.where(held, start, self.lower), np.where(held, start, self.upper)
        container = self.parameters.container
        return levenberg_marquardt(
            self.residual,
            container(start),
            bounds=(container(low), container(high)),
            **self.options,
        )


def _solve(
    residual: Waiting,
    parameters: Parameters,
    bounds: Any,
    loss: Any,
    f_scale: float,
    absolute_sigma: bool,
    verbose: int,
    options: dict[str, Any],
) -> FitResult:
    name = residual.name
    own: Callable[..., Any] = curve_fit if name == "curve_fit" else fit
    check_names(name, options, own, levenberg_marquardt)
    unknown = parameters.unknown
    unknown.start = parameters.start
    box = as_box(name, parameters.bounds(bounds), unknown, parameters.names)
    lower = np.full(parameters.start.shape, -np.inf) if box is None else box.lower
    upper = np.full(parameters.start.shape, np.inf) if box is None else box.upper
    options = {"disp": verbose == 2, "loss": loss, "f_scale": f_scale, **options}

    solve = _Refit(residual, parameters, lower, upper, options)
    result = solve(parameters.start, ~parameters.free)
    result.message = result.message.replace("levenberg_marquardt", name, 1)
    if result.status == Status.NOT_FINITE:
        result.message = _without_slope(name, result) or result.message
    elif result.success and result.optimality == 0.0 and _is_cut_off(result, parameters):
        result.success, result.status = False, Status.SINGULAR
        result.message = (
            f"{name}: the Jacobian is singular: no residual depends on any parameter where the "
            f"fit started, {told(parameters)}; start elsewhere, where the model responds, or, if "
            f"what it returns is cut off from them by comparisons, rounding, or decisions on plain "
            f"numbers as of a bisection by hand, mend that (linad.scipy.optimize.brentq has a "
            f"derivative)"
        )
    count = np.count_nonzero(result.saturated)
    if count:
        words = (
            f"{count} of {result.saturated.size} residuals are constant where their derivative "
            f"overflows"
        )
        said = result.message
        if not result.success:  # then it is the cause
            said = said.removeprefix(f"{name}: ")
            result.message = f"{name}: {words}: {said}"
        else:
            result.message = f"{said}; {words}"
    return FitResult(result, parameters, (lower, upper), loss, f_scale, absolute_sigma, solve)


def _is_cut_off(result: Any, parameters: Parameters) -> bool:
    """Whether residuals that are not zero depend on no parameter that is free."""
    here = any(np.any(leaf) for leaf in tree.flatten(result.fun)[0])
    return here and not cleaned_jacobian(result)[:, parameters.free].any()


def _without_slope(name: str, result: Any) -> str:
    """Where the model is finite and its derivative is not."""
    if not all(np.isfinite(leaf).all() for leaf in tree.flatten(result.fun)[0]):
        return ""
    bad = ~np.isfinite(cleaned_jacobian(result)).all(axis=1)
    if not bad.any():
        return ""
    if bad.all():
        return (
            f"{name}: infinite or NaN: in the derivatives of all {bad.size} residuals, which "
            f"themselves are finite; start elsewhere: the model overflows there, or has no slope"
        )
    return (
        f"{name}: infinite or NaN: in the derivatives of {bad.sum()} of {bad.size} residuals, "
        f"first that of index {np.argmax(bad)}, which itself is finite; start elsewhere, or write "
        f"the model without what has no slope there, as np.sqrt(x) at 0 and np.arccos(x) at 1: "
        f"np.arccos(np.where(abs(x) < 1, x, 0.0)) has one"
    )
