"""What a fit has found: parameters, how well they are known, and how it is told.

    covariance      s² (J^T J)^-1         s² = |r|² / (m - n), or 1 where sigma is absolute
    interval        x ± t s_x             t of Student's distribution with m - n degrees of freedom

with m residuals, n free parameters and the exact Jacobian J of weighted residuals. With a robust
loss, s² is what `linad.solve.losses` has there; if sigma is absolute, the loss is taken for minus
the logarithm of a likelihood, and the covariance is the inverse of its Hessian, the weighted J^T J.
Parameters that the data do not determine have infinite errors.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import takes
from linad.errors import ArgumentError, OptionError
from linad.rules.creation import asarray
from linad.solve.fits import cleaned_jacobian
from linad.solve.fitting import reports
from linad.solve.fitting.bands import at_places, observed_at
from linad.solve.fitting.data_places import (
    as_places,
    as_those_of_data,
    has_labels,
    without_labels,
)
from linad.solve.fitting.fit_options import LEVEL
from linad.solve.fitting.known_parameters import KnownParameters
from linad.solve.fitting.other_places import OtherPlaces
from linad.solve.fitting.parameters import Parameters, as_given
from linad.solve.fitting.prediction_shapes import refuse_ignored
from linad.solve.fitting.propagation import Propagated
from linad.solve.fitting.seen_directions import SeenDirections
from linad.solve.fitting.stepwise_residuals import depends_by_steps
from linad.solve.losses import Loss
from linad.solve.problems import quiet

LOOSE, FAINT = 100.0, 1e-4
"""The error of a parameter, beside itself and its start, that no interval is made of; and how much
less residuals change in its direction than in others, lest parameters that are about zero count."""

MOST = 6
"""Names in a sentence."""


class FitResult(KnownParameters):
    """Parameters with their uncertainties; prints as a report.

    Attributes
    ----------
    x, errors : containers like p0
        The parameters, and their standard errors: 0 for a fixed parameter, infinite for one that
        the data leave open. ``x`` and ``covariance`` are what the result unpacks to.
    names : list of str
        Of the parameters, one a number.
    values, standard_errors : dict
        Their values by name, and the standard errors of these.
    covariance, correlation : ndarray (n, n)
        In the order of ``names``.
    residuals : array or container
        (model - data) / sigma.
    cost, chi_square, reduced_chi_square, aic, bic, r_squared : float
        ``chi_square`` = 2 ``cost``, the sum of squared residuals (or of losses).
    undetermined : list of dict
        Directions in which the parameters can move and no residual changes: components by name.
    observations, free_parameters, degrees_of_freedom : int
    success, status, message, nit, nfev, njev
        As from `levenberg_marquardt`; ``result`` is what it returned.
    """

    model: Callable[..., Any] | None = None
    xdata: Any = None
    labels = False
    title = "fit"
    unchanged = "no residual changes"
    measure, factor = "chi-square", 2.0

    def __init__(
        self,
        result: Any,
        parameters: Parameters,
        bounds: tuple[Any, Any],
        loss: Any,
        f_scale: float,
        absolute_sigma: bool,
        solve: Callable[[Any, Any], Any],
    ) -> None:
        super().__init__(result, parameters, bounds, solve)
        self.residuals, self.absolute_sigma = result.fun, absolute_sigma
        self.loss = None if loss == "linear" else Loss(loss, f_scale)
        result.grad = as_given(result.grad, parameters.form)

    # How well.

    @cached_property
    def _model(self) -> tuple[Any, Any]:
        """Jacobian, with the weights of a robust loss where sigma is absolute; and residuals."""
        parts = [np.ravel(np.asarray(leaf)) for leaf in tree.flatten(self.residuals)[0]]
        J = np.asarray(cleaned_jacobian(self.result), float)
        split: list[Any] = []  # J has real parts before imaginary ones
        for part in parts:
            split += [part.real, part.imag] if np.iscomplexobj(part) else [part]
        r = np.concatenate(split)
        if self.loss is not None and self.absolute_sigma:
            J = self.loss.model(r)[0][:, None] * J
        return J, r

    @property
    def observations(self) -> int:
        """Number of residuals, without those of data whose weight is 0."""
        count = int(self.result.jac.shape[0])
        return count if self.data is None else count - self.data.left_out

    @property
    def degrees_of_freedom(self) -> int:
        """Observations less free parameters."""
        return self.observations - self.free_parameters

    @property
    def chi_square(self) -> float:
        """Sum of squared residuals."""
        return 2.0 * self.cost

    @property
    def reduced_chi_square(self) -> float:
        """Per degree of freedom; infinite where there is none."""
        dof = self.degrees_of_freedom
        return self.chi_square / dof if dof > 0 else np.inf

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return self._log_likelihood + 2.0 * self.free_parameters

    @property
    def bic(self) -> float:
        """The Bayesian information criterion."""
        return self._log_likelihood + np.log(self.observations) * self.free_parameters

    @property
    def _log_likelihood(self) -> float:
        m = self.observations
        return m * np.log(self.chi_square / m) if self.chi_square > 0 else -np.inf

    @property
    def r_squared(self) -> float:
        """Part of the weighted variance of ydata that the model explains; NaN without data."""
        if self.data is None:
            return np.nan
        total = 0.0
        for y, weight in zip(self.data.leaves, self.data.weights, strict=True):
            if self.data.whiten is None:
                w = np.broadcast_to(weight, y.shape)
                one, value = np.ravel(w), np.ravel(w * y)
            else:
                one, value = self.data.whiten @ np.ones_like(y), self.data.whiten @ y
            size = one @ one
            mean = one @ value / size if size else 0.0  # the best of all constants
            total += float(np.sum(np.abs(value - mean * one) ** 2))
        with quiet():
            left = float(np.sum(self._model[1] ** 2))
        return 1.0 - left / total if total > 0 else np.nan

    @cached_property
    def _scales(self) -> tuple[float, float]:
        """s², of which the covariance is a multiple, and what 2 (cost - least cost) is told by:
        the same, but for a robust loss."""
        if not np.isfinite(self.cost):
            return np.inf, np.inf
        if self.absolute_sigma:
            return 1.0, 1.0
        if self.loss is None:
            return self.reduced_chi_square, self.reduced_chi_square
        r = self._model[1]
        counted = r if self.data is None else r[self.data.counted]
        return self.loss.spread(counted, self.free_parameters)

    @property
    def _variance(self) -> float:
        return self._scales[0]

    @cached_property
    def _directions(self) -> SeenDirections:
        free = self.parameters.free
        J, r = self._model
        J = J[:, free]
        if not self.success:
            # Where a fit is stuck on flat ground, what is left of a slope tells nothing.
            size = np.maximum(np.abs(self.vector), np.abs(self.parameters.start))[free]
            with quiet():
                response = np.linalg.norm(J, axis=0) * size
                flat = response <= np.finfo(float).eps * np.linalg.norm(r)
            J = np.where(flat & (size > 0), 0.0, J)
        return SeenDirections(J)

    def _doubt(self) -> str:
        """That residuals hardly change along some direction in which parameters can go far: where
        a start was far off, the fit may have gone down a valley without end."""
        free = np.flatnonzero(self.parameters.free)
        size = np.maximum(np.abs(self.vector), np.abs(self.parameters.start))
        loose = [i for i in free if self._errors[i] > LOOSE * size[i]]
        change, moved = self._directions.weakest()
        if not loose or change > FAINT:
            return ""
        i = max(loose, key=lambda i: self._errors[i] / (size[i] or 1.0))
        names = [self.names[i] for i in sorted({*loose, *free[moved].tolist()})]
        return (
            f"the data hardly determine {', '.join(names[:MOST])}: the error of {self.names[i]} is "
            f"{self._errors[i]:.1e}, its value {self.vector[i]:.1e}; start elsewhere, keep them "
            f"near by bounds=, or fix {'one' if len(names) > 1 else 'it'}, "
            f"fixed=[{self.names[i]!r}]"
        )

    # Intervals.

    def _quantile(self, level: float) -> float:
        from scipy.stats import norm, t

        tail = 0.5 * (1.0 + level)
        if self.absolute_sigma:
            return float(norm.ppf(tail))
        dof = self.degrees_of_freedom
        return float(t.ppf(tail, dof)) if dof > 0 else np.inf

    # Predictions.

    def predict(self, xdata: Array | None = None) -> Any:
        """The model at the parameters found.

        Parameters
        ----------
        xdata : optional
            Where to predict, in the forms that `curve_fit` takes; by default where the data are.

        Returns
        -------
        array or container
            Like ydata; columns of pandas only where xdata has labels.
        """
        model, places = self._of_model(), self._places(xdata)
        predicted = self._elsewhere.run(
            self.title, places, lambda: self._array(model(places, self.found))
        )
        bare = xdata is not None and not has_labels(xdata)
        return without_labels(predicted) if bare else predicted

    def prediction_errors(self, xdata: Any = None) -> Any:
        """Standard errors of the model, from those of the parameters.

        Parameters
        ----------
        xdata : optional
            Where to predict; by default where the data are.

        Returns
        -------
        ndarray or container
            Like what the model returns there; of a complex number, that of its real part and that
            of its imaginary part as one. Infinite where it depends on what the data leave open.
        """
        return self._at(xdata).errors

    @takes(level=LEVEL)
    def confidence_band(self, xdata: Any = None, level: float = 0.95) -> tuple[Any, Any]:
        """The band in which the model lies with a probability, by the errors of the parameters.

        Parameters
        ----------
        xdata : optional
            Where to predict; by default where the data are.
        level : float
            The probability, at each x by itself.

        Returns
        -------
        (lower, upper)
            Arrays, or containers of such, like ydata.
        """
        return at_places(self, xdata).interval(level)

    @takes(level=LEVEL)
    def prediction_band(
        self, xdata: Any = None, level: float = 0.95, sigma: Any = None
    ) -> tuple[Any, Any]:
        """The band in which a further observation lies with a probability.

        It is wider than `confidence_band` by the scatter of observations.

        Parameters
        ----------
        xdata, level
            As for `confidence_band`.
        sigma : number, array or container, optional
            Standard deviation of the observation, in the units of the sigma of the fit; by default
            that of the data, where it is the same for all of them.

        Returns
        -------
        (lower, upper)
            Arrays, or containers of such, like ydata.

        Raises
        ------
        OptionError
            If sigma of the data differs from point to point, and is not given here.
        """
        return observed_at(self, xdata, sigma).interval(level)

    def _at(self, xdata: Any) -> Propagated:
        """The model somewhere, and its errors."""
        model, xdata = self._of_model(), self._places(xdata)

        def known() -> Propagated:
            return Propagated.of(lambda p: self._array(model(xdata, p)), self)

        found: Propagated = self._elsewhere.run(self.title, xdata, known)
        return found

    def _array(self, predicted: Any) -> Any:
        """What a model returns; numbers of one data set in a list as an array."""
        listed = type(predicted) in (list, tuple) and self.data is not None
        return asarray(predicted) if listed and tree.is_leaf(self.data.structure) else predicted

    @cached_property
    def _elsewhere(self) -> OtherPlaces:
        return OtherPlaces()

    def _places(self, xdata: Array) -> Any:
        if xdata is None:
            return self.xdata
        return as_those_of_data(as_places(xdata, self.labels), self.xdata)

    def _of_model(self) -> Callable[..., Any]:
        if self.model is None:
            raise ArgumentError(
                "a fit of residuals has no model to predict with; call "
                "linad.solve.curve_fit(f, xdata, ydata, p0)"
            )
        return self._model_at

    def _model_at(self, places: Any, p: Any) -> Any:
        """The model, but where it takes no notice of the places that it is given."""
        assert self.model is not None
        predicted = self.model(places, p)
        refuse_ignored(self.data, self.title, places, predicted)
        return predicted

    # How it is told.

    def _statistics(self) -> list[tuple[str, str]]:
        return reports.statistics(self)

    def _why_unknown(self) -> str:
        return reports.unknown(self)

    def _cautions(self) -> list[str]:
        return reports.cautions(self)

    def _acts_by_steps(self, name: str) -> bool:
        return depends_by_steps(self, self.names.index(name))

    def _without_effect(self, name: str) -> str:
        return reports.without_effect(self, name)

    @takes(level=LEVEL)
    def plot(
        self,
        axes: Any = None,
        level: float = 0.95,
        *,
        ax: Any = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
        title: str | None = None,
    ) -> Any:
        """Draw data, model with its confidence band, and residuals.

        Parameters
        ----------
        axes : pair of matplotlib axes, optional
            For the model and for residuals; a new figure by default. One alone is for the model,
            without residuals.
        level : float
            Of the band.
        ax : matplotlib axes, optional
            Another name of ``axes``.
        xlabel, ylabel, title : str, optional
            Written beside the picture.

        Returns
        -------
        array of matplotlib.axes.Axes, or what was given
        """
        from linad.solve.fitting.plots import Captions, plot

        if axes is not None and ax is not None:
            raise OptionError("plot: ax and axes say the same; give one of them")
        axes = ax if axes is None else axes
        return plot(self, axes, self._quantile(level), Captions(xlabel, ylabel, title))
