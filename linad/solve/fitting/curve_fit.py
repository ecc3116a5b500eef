"""`curve_fit` and `fit`: nonlinear regression as SciPy and lmfit have it, with exact Jacobians."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import FLAG, FUNCTION, POSITIVE, takes
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import OptionError
from linad.solve.bounds import sides
from linad.solve.described_starts import of_described
from linad.solve.fitting.data import Data
from linad.solve.fitting.data_places import OfJoinedPlaces, as_places, holds_integers, is_single
from linad.solve.fitting.deviations import Deviations
from linad.solve.fitting.doubts import handed_over
from linad.solve.fitting.fit_options import ABSOLUTE, NAN_POLICY, POSITIVES, START, VERBOSE, WEIGHTS
from linad.solve.fitting.fit_result import FitResult
from linad.solve.fitting.model_bindings import binding, parameter_names, with_fixed
from linad.solve.fitting.parameters import Parameters
from linad.solve.fitting.solving import solved
from linad.solve.fitting.taken_parameters import taking
from linad.solve.fitting.with_arguments import WithArguments
from linad.solve.losses import LOSS
from linad.solve.problems import refuse_traced
from linad.solve.waiting import Waiting


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
        or columns of one length, ``[t, T]``, one array with a row ``X[0]`` for each; integers are
        floats. They
        stay integers where ``f`` indexes by them, as by labels of groups, ``offset[group]``, and
        in a dict, which is given as it is; so are tables, and columns of them with their index.
    ydata : array or container of arrays
        What ``f`` should return; a container fits several data sets at once, and a parameter that
        the model uses in each of them is shared.
    p0 : sequence of numbers, dict or container, optional
        Where to start: a number for each parameter, by position or by name; a list of numbers
        within is an array, and so is an array of one number alone. Ones by default, or a point
        between the bounds. Parameters of lmfit are a dict of their values, with bounds and what
        is fixed; of another fit, or another result with an ``x``, it is that.
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
        If what was given does not fit. A fit that does not converge says so in ``success`` and
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
    if _has_labels(p0) and isinstance(bounds, (tuple, list)):
        bounds = tuple(map(_unlabelled, bounds))
    p0 = with_fixed(f, _unlabelled(p0), fixed)
    model, start, names = binding(f, p0)
    _refuse_starts(f, options)
    if p0 is None:
        start = _between(bounds, names or [], start)
    parameters = Parameters("curve_fit", start, names, fixed)
    if is_single(ydata):
        model = OfJoinedPlaces(model)

    def data_of(labels: bool) -> Data:
        places = as_places(xdata, labels)
        return Data(f, places, ydata, sigma, weights, check_finite, nan_policy)

    deviations = Deviations(model, data_of, holds_integers(xdata))

    found = solved(
        curve_fit,
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
    if p0 is None and not found.success:
        found.message += "; it started where nobody has said, with p0 = 1 or between the bounds"
    found.model, found.xdata, found.data = deviations.model, data.xdata, data
    found.title = name_of(f)
    found.labels = deviations.labels
    return handed_over("curve_fit", found, verbose)


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
        ``f(x, *args)`` in plain NumPy, or ``f(a, b, *args)`` with parameters by name or one by
        one: residuals, divided by their standard deviations if these are known; an array or a
        container of arrays.
    x0 : array or container of arrays
        Where to start. ``Parameters`` of lmfit are taken as a dict of their values here, too, and
        another result by its ``x``.
    args : tuple or list
        Further arguments of ``f``.
    absolute_sigma : bool
        Whether residuals have standard deviation 1; by default it is estimated.
    bounds, fixed, loss, f_scale, verbose, **options
        As for `curve_fit`.

    Returns
    -------
    FitResult
        As from `curve_fit`.

    Raises
    ------
    ArgumentError, OptionError, ShapeError, TreeError
        As for `curve_fit`.

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
    x0, bounds, fixed = of_described("fit", x0, bounds, fixed)
    way, args = taking(f, x0, args, "fit")
    parameters = Parameters("fit", x0, way.names, fixed)

    found = solved(
        fit,
        Waiting("fit", name_of(f), f, WithArguments("fit", f, args, way)),
        parameters,
        bounds,
        loss,
        f_scale,
        absolute_sigma,
        verbose,
        options,
    )
    found.title = name_of(f)
    return handed_over("fit", found, verbose)


def _has_labels(given: Any) -> bool:
    return hasattr(given, "to_numpy") and hasattr(given, "index")


def _unlabelled(p0: Any) -> Any:
    """A column of a table as a dict, if its entries have names, or as an array."""
    if not _has_labels(p0):
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


def _between(bounds: Any, names: list[str], start: Array) -> Any:
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
