"""`curve_fit` and `fit`: nonlinear regression as SciPy and lmfit have it, with exact Jacobians."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from linad.core import tree
from linad.core.options import FLAG, FUNCTION, POSITIVE, Kind, check_names, is_integer, takes
from linad.core.shapes import name_of
from linad.errors import ArgumentError, OptionError, ShapeError, TreeError
from linad.solve.bounds import as_box, sides
from linad.solve.fitting.fit_result import FitResult
from linad.solve.fitting.parameters import Parameters, binding
from linad.solve.fitting.waiting import Waiting
from linad.solve.least_squares import levenberg_marquardt
from linad.solve.losses import LOSS

VERBOSE = Kind("0, 1 or 2", lambda value: is_integer(value) and value in (0, 1, 2))


def _holds_numbers(value: Any) -> bool:
    leaves = tree.flatten(value)[0]
    return bool(leaves) and all(np.asarray(leaf).dtype.kind in "biuf" for leaf in leaves)


def _holds_finite(value: Any) -> bool:
    return _holds_numbers(value) and all(
        np.isfinite(np.asarray(leaf)).all() for leaf in tree.flatten(value)[0]
    )


START = Kind("finite real numbers, an array or a container of such", _holds_finite)
POSITIVES = Kind("positive numbers like ydata, or a covariance matrix", _holds_finite).optional
WEIGHTS = Kind(
    "numbers >= 0 like ydata",
    lambda value: (
        _holds_finite(value)
        and all((np.asarray(leaf) >= 0).all() for leaf in tree.flatten(value)[0])
    ),
).optional


@takes(
    f=FUNCTION,
    p0=START.optional,
    sigma=POSITIVES,
    weights=WEIGHTS,
    absolute_sigma=FLAG,
    check_finite=FLAG,
    loss=LOSS,
    f_scale=POSITIVE,
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
        Passed on to ``f``.
    ydata : array or container of arrays
        What ``f`` should return; a container fits several data sets at once, and a parameter that
        the model uses in each of them is shared.
    p0 : sequence of numbers, dict or container, optional
        Where to start: a number for each parameter, by position or by name. Ones by default, or
        a point between the bounds.
    sigma : number, array or container like ydata, optional
        Standard deviations of ydata; a square matrix is its covariance.
    absolute_sigma : bool
        Whether sigma is meant in the units of ydata. By default only the ratios count, and the
        scale is estimated from the residuals, as in `scipy.optimize.curve_fit`.
    check_finite : bool
        Whether to refuse infinities and NaNs in the data.
    bounds : (lower, upper), scipy.optimize.Bounds or dict
        Of the parameters: numbers, arrays or containers like p0; or for some parameters, by name,
        ``{"a": (0, None)}``.
    weights : number, array or container like ydata, optional
        In place of sigma: what residuals are multiplied by, 1 / sigma.
    fixed : names, dict or flags, optional
        Parameters that keep their start, ``["a"]``, or a value, ``{"a": 3.0}``; or booleans.
    loss, f_scale
        A robust loss, as for `levenberg_marquardt`, of residuals divided by sigma.
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
    model, start, names = binding(f, p0)
    if p0 is None:
        start = _between(bounds, names or [], start)
    parameters = Parameters("curve_fit", start, names, fixed)
    data = Data(f, xdata, ydata, sigma, weights, check_finite)

    def residual(p: Any) -> Any:
        return data.residual(model(xdata, p))

    found = _solve(
        Waiting("curve_fit", name_of(f), f, residual),
        parameters,
        bounds,
        loss,
        f_scale,
        absolute_sigma,
        verbose,
        options,
    )
    found.model, found.xdata, found.data, found.title = model, xdata, data, name_of(f)
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
        Where to start.
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
    args = args if isinstance(args, tuple) else (args,)
    parameters = Parameters("fit", x0, None, fixed)

    def residual(p: Any) -> Any:
        return f(p, *args)

    found = _solve(
        Waiting("fit", name_of(f), f, residual),
        parameters,
        bounds,
        loss,
        f_scale,
        absolute_sigma,
        verbose,
        options,
    )
    found.title = name_of(f)
    if verbose:
        print(found.report())
    return found


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
    check_names(name, options, levenberg_marquardt)
    unknown = parameters.unknown
    unknown.start = parameters.start
    box = as_box(name, parameters.bounds(bounds), unknown, parameters.names)
    lower = np.full(parameters.start.shape, -np.inf) if box is None else box.lower
    upper = np.full(parameters.start.shape, np.inf) if box is None else box.upper
    options = {"disp": verbose == 2, "loss": loss, "f_scale": f_scale, **options}

    def solve(start: Any, held: Any) -> Any:
        """A minimum with some parameters held at their start."""
        low, high = np.where(held, start, lower), np.where(held, start, upper)
        limits = parameters.container(low), parameters.container(high)
        return levenberg_marquardt(residual, parameters.container(start), bounds=limits, **options)

    result = solve(parameters.start, ~parameters.free)
    result.message = result.message.replace("levenberg_marquardt", name, 1)
    return FitResult(result, parameters, (lower, upper), loss, f_scale, absolute_sigma, solve)


class Data:
    """Observations and their weights.

    Parameters
    ----------
    f : callable
        The model, for messages.
    xdata, ydata, sigma, weights, check_finite
        As of `curve_fit`.
    """

    def __init__(
        self, f: Any, xdata: Any, ydata: Any, sigma: Any, weights: Any, check_finite: bool
    ) -> None:
        self.f = f
        leaves, self.structure = tree.flatten(_plain(ydata))
        self.leaves = [np.asarray(leaf) for leaf in leaves]
        if not sum(y.size for y in self.leaves):
            raise ArgumentError("curve_fit: ydata holds no numbers")
        if any(y.dtype.kind not in "biufc" for y in self.leaves):
            raise ArgumentError(
                f"curve_fit: ydata must hold numbers, got {[str(y.dtype) for y in self.leaves]}"
            )
        if check_finite:
            _require_finite("ydata", self.leaves)
            _require_finite("xdata", tree.flatten(xdata)[0])
        if sigma is not None and weights is not None:
            raise OptionError("curve_fit: sigma and weights say the same; give one of them")
        self.whiten: Any = None
        self.weights = [np.float64(1.0) for _ in self.leaves]
        self.weighted = sigma is not None or weights is not None
        if sigma is not None and tree.is_leaf(self.structure) and np.ndim(sigma) == 2:
            self._take_covariance(np.asarray(sigma, float))
        elif sigma is not None:
            sigmas = self._like_data("sigma", sigma)
            if not all((s > 0).all() for s in sigmas):
                raise OptionError("curve_fit: sigma must be positive everywhere")
            self.weights = [1.0 / s for s in sigmas]
        elif weights is not None:
            self.weights = self._like_data("weights", weights)

    def _take_covariance(self, sigma: Any) -> None:
        (y,) = self.leaves
        if y.ndim != 1:
            if sigma.shape != y.shape:
                raise OptionError(f"curve_fit: sigma must have shape {y.shape}, got {sigma.shape}")
            self.weights = [1.0 / sigma]
            return
        if sigma.shape != (y.size, y.size):
            raise OptionError(
                f"curve_fit: sigma must have shape {y.shape} or {(y.size, y.size)}, got "
                f"{sigma.shape}"
            )
        try:
            factor = scipy.linalg.cholesky(sigma, lower=True)
        except np.linalg.LinAlgError as error:
            raise OptionError(
                "curve_fit: a matrix given as sigma must be positive definite"
            ) from error
        self.whiten = scipy.linalg.solve_triangular(factor, np.eye(y.size), lower=True)

    def _like_data(self, option: str, given: Any) -> list[Any]:
        if isinstance(given, (int, float, np.number)):
            values = [given for _ in self.leaves]
        else:
            try:
                values = tree.flatten_like(_plain(given), self.structure, f"curve_fit: {option}")
            except TreeError as error:
                raise OptionError(str(error)) from error
        for value, y in zip(values, self.leaves, strict=True):
            if np.ndim(value) and np.shape(value) != y.shape:
                raise OptionError(
                    f"curve_fit: {option} must have the shape {y.shape} of ydata, or be a "
                    f"number; got {np.shape(value)}"
                )
        arrays = [np.asarray(v, float) for v in values]
        _require_finite(option, arrays)
        return arrays

    def residual(self, predicted: Any) -> Any:
        """(prediction - data) / sigma, in the form of the data."""
        if tree.is_leaf(self.structure):
            leaves = [predicted]
        else:
            leaves = tree.flatten_like(
                predicted, self.structure, f"curve_fit: what {name_of(self.f)} returns"
            )
        parts = []
        for value, y, weight in zip(leaves, self.leaves, self.weights, strict=True):
            shape = np.shape(value)
            if shape not in ((), y.shape):
                raise ShapeError(
                    f"curve_fit: {name_of(self.f)} must return the shape {y.shape} of ydata, it "
                    f"returned {shape}"
                )
            difference = value - y
            if self.whiten is not None:
                parts.append(self.whiten @ difference)
            else:
                parts.append(weight * difference if self.weighted else difference)
        return parts[0] if tree.is_leaf(self.structure) else tree.unflatten(self.structure, parts)


def _plain(data: Any) -> Any:
    """Data, with a list of numbers as an array; pandas and the like as arrays."""
    if hasattr(data, "to_numpy"):
        return data.to_numpy()
    if isinstance(data, (list, tuple)) and not any(
        isinstance(part, (dict, np.ndarray)) for part in data
    ):
        return np.asarray(data)
    return data


def _require_finite(option: str, arrays: Any) -> None:
    for array in arrays:
        values = np.asarray(array)
        if values.dtype.kind in "fc" and not np.isfinite(values).all():
            bad = int(np.count_nonzero(~np.isfinite(values)))
            raise ArgumentError(
                f"curve_fit: {option} holds {bad} infinities or NaNs; leave these points out"
            )
