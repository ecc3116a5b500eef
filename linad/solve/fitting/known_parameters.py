"""Parameters with their covariance: what fits and likelihoods have in common.

Derivatives at ``x`` and ``values`` have the order of ``covariance``, which is that of the start.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from linad.core import tree
from linad.core.options import FUNCTION, NAMES, TOLERANCE
from linad.errors import ConvergenceError
from linad.solve.fitting.fit_options import LEVEL, LEVEL_OF_SOME
from linad.solve.fitting.names_elsewhere import ELSEWHERE
from linad.solve.fitting.parameters import Parameters, SaidByName, as_given
from linad.solve.fitting.propagation import OfParameters, Propagated
from linad.solve.fitting.reports import html, text
from linad.solve.fitting.seen_directions import SeenDirections


class KnownParameters:
    """The parameters that a solver found, and how well they are known.

    Attributes
    ----------
    found : container
        The parameters, in ordered dicts; ``x`` is what is like the start.
    parameters : Parameters
    bounds : pair of ndarray (n,)
    cost : float
        What the parameters minimise, half a sum of squares or minus the logarithm of a likelihood.
    solve : callable
        ``solve(start, held)`` minimises it with some parameters held.
    """

    elsewhere = ELSEWHERE
    data: Any = None
    started_anywhere = False
    """Whether nobody has said where to start."""

    def __init__(
        self,
        result: Any,
        parameters: Parameters,
        bounds: tuple[Any, Any],
        solve: Callable[[Any, Any], Any],
    ) -> None:
        self.result, self.parameters, self.bounds = result, parameters, bounds
        self.solve, self.cost, self.found = solve, float(result.cost), result.x
        self.x = result.x = as_given(result.x, parameters.form)
        self.success, self.status, self.message = result.success, result.status, result.message
        self.nit, self.nfev, self.njev = result.nit, result.nfev, result.njev
        self.names = parameters.names

    @property
    def _directions(self) -> SeenDirections:
        """What is known of the free parameters, but for a factor."""
        raise NotImplementedError

    @property
    def _variance(self) -> float:
        """That factor; infinite where it is not known."""
        raise NotImplementedError

    def _quantile(self, level: float) -> float:
        """How many standard errors an interval has to either side."""
        raise NotImplementedError

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            elsewhere = type(self).elsewhere
            hint = f"; {elsewhere[name]}" if name in elsewhere else ""
            if name in self.__dict__.get("names", ()):
                hint = f"; it is a parameter, whose value is found[{name!r}]"
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}{hint}",
                name=name,
                obj=self,
            )

    # What was found.

    @cached_property
    def vector(self) -> Any:
        """The parameters one after the other, as ``names`` names them."""
        return tree.vector(self.found)

    @property
    def values(self) -> dict[str, float]:
        """The parameters by name, in an ordered dict where names are not sorted: derivatives at it
        have the order of ``covariance``."""
        return self._by_name(self.vector)

    @property
    def standard_errors(self) -> dict[str, float]:
        """Those of ``errors``, by name, in the order of ``values``."""
        return SaidByName(self._by_name(self._errors))

    def _by_name(self, numbers: Any) -> dict[str, float]:
        named = dict(zip(self.names, numbers.tolist(), strict=True))
        return cast(dict[str, float], as_given(named, named))

    def __getitem__(self, name: Any) -> Any:
        """A parameter by its name; an array, or a container, of them by its own.

        Numbers count what there is to unpack, as in ``curve_fit(...)[0]`` of SciPy's: 0 the
        parameters, 1 their covariance; a key of the mapping that p0 is is a name, though.
        """
        if isinstance(name, int | np.integer) and not self.parameters.has_label(name):
            return tuple(self)[name]
        return self.parameters.named(name, self.found)

    def __iter__(self) -> Iterator[Any]:
        """Parameters and covariance, as SciPy's curve_fit returns them."""
        if not self.success:
            raise ConvergenceError(f"{self.message}; the result, not unpacked, tells more", self)
        return iter((self.x, self.covariance))

    def rows(self) -> list[tuple[str, float, float]]:
        """Name, value and standard error of each parameter."""
        return list(zip(self.names, self.vector.tolist(), self._errors.tolist(), strict=True))

    @property
    def free_parameters(self) -> int:
        """Number of parameters that are not fixed."""
        return int(np.count_nonzero(self.parameters.free))

    @cached_property
    def covariance(self) -> Any:
        """Of the parameters: zero for fixed ones, infinite where the data leave them open."""
        return self._covariance_of(np.eye(self.vector.size))

    @property
    def _are_known(self) -> bool:
        """Whether there are a Jacobian, and observations left to tell errors by."""
        return self._directions.known and bool(np.isfinite(self._variance))

    @property
    def undetermined(self) -> list[dict[str, float]]:
        """Directions in which the parameters can move without a change of any residual.

        Each with as few parameters as possible, by Gauss-Jordan elimination; the first has 1.
        """
        names = [self.names[i] for i in np.flatnonzero(self.parameters.free)]
        return [
            dict(zip([names[i] for i in moved], steps.tolist(), strict=True))
            for moved, steps in self._directions.unseen()
        ]

    @cached_property
    def _errors(self) -> Any:
        return np.sqrt(np.diagonal(self.covariance))

    @property
    def errors(self) -> Any:
        """Standard errors, in the form of the parameters."""
        return as_given(self.parameters.container(self._errors), self.parameters.form)

    @cached_property
    def correlation(self) -> Any:
        """Of the parameters; NaN where one is fixed or open."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.covariance / np.outer(self._errors, self._errors)

    # Intervals, and functions of parameters.

    def confidence_intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Intervals from standard errors, by name.

        Parameters
        ----------
        level : float
            Probability that an interval covers the parameter.

        Returns
        -------
        dict of (lower, upper)
            An interval ends at a bound that it would pass.
        """
        LEVEL.check("confidence_intervals", "level", level)
        t = self._quantile(level)
        lower, upper = self.bounds
        return SaidByName(
            (name, (max(value - t * error, float(low)), min(value + t * error, float(high))))
            if error
            else (name, (value, value))
            for (name, value, error), low, high in zip(self.rows(), lower, upper, strict=True)
        )

    def profile_intervals(
        self, level: float = 0.95, names: Any = None
    ) -> dict[str, tuple[float, float]]:
        """Intervals from fits with one parameter held; right for models that are not linear, too.

        Parameters
        ----------
        level : float
            As for `confidence_intervals`.
        names : str or sequence of str, optional
            Parameters; all free ones by default.

        Returns
        -------
        dict of (lower, upper)
            A bound, or an infinity, where the data do not end the interval.

        Raises
        ------
        ConvergenceError
            If the fit itself has not ended well.

        Notes
        -----
        Each end takes some three to ten fits of the other parameters, so all take some tens of
        times as long as the fit: compile a slow model by `linad.jit`, or ask for few ``names``.
        """
        from linad.solve.fitting.profiles import profiles

        LEVEL_OF_SOME.check("profile_intervals", "level", level)
        if not self.success:
            raise ConvergenceError(f"profile_intervals: {self.message}", self)
        free: list[int] = np.flatnonzero(self.parameters.free).tolist()
        NAMES.optional.check("profile_intervals", "names", names)
        if names is not None:
            keys, label = [names] if isinstance(names, str) else names, "profile_intervals"
            free = [i for key in keys for i in self.parameters.positions("names", key, label)]
        t = self._quantile(level)
        return SaidByName(profiles(self, free, t))

    def propagate(self, g: Callable[..., Any]) -> Propagated:
        """A function of the parameters with its errors, propagated from theirs.

        Parameters
        ----------
        g : callable
            In plain NumPy, of parameters by their names, as the model calls them,
            ``lambda rate: np.log(2) / rate``; or of one argument like ``x``, called ``p``. It may
            return a number, an array or a container.

        Returns
        -------
        Propagated
            ``value``, ``errors``, ``covariance`` and ``interval(level)``;
            ``value, error = found.propagate(g)``.

        Raises
        ------
        ArgumentError
            If it takes an argument that is no parameter.

        Notes
        -----
        The covariance is J Σ J^T with the exact Jacobian J of ``g``: right where ``g`` is as good
        as linear over the errors of the parameters, whose correlations count.

        Examples
        --------
        >>> import numpy as np, linad
        >>> t = np.linspace(0.0, 4.0, 9)
        >>> y = np.array([2.51, 1.93, 1.5, 1.2, 1.01, 0.84, 0.75, 0.68, 0.61])
        >>> found = linad.solve.curve_fit(lambda t, a, rate, c: a * np.exp(-rate * t) + c, t, y)
        >>> found.propagate(lambda rate: np.log(2) / rate)
        1.004 ± 0.017
        """
        FUNCTION.check("propagate", "g", g)
        return Propagated.of(OfParameters(g, self.parameters), self)

    def _spread(self, J: Any) -> Any:
        """Standard errors of what has the Jacobian J: of what the data leave open, infinite."""
        J = J[:, self.parameters.free]
        if not self._are_known:
            return np.where(J.any(axis=1), np.inf, 0.0)
        return self._directions.spread(J, self._variance)

    def _covariance_of(self, J: Any) -> Any:
        """The covariance J Σ J^T of what has the Jacobian J."""
        J = J[:, self.parameters.free]
        if not self._are_known:
            moved = J.any(axis=1)
            return np.where(moved[:, None] & moved, np.inf, 0.0)
        return self._directions.covariance(self._variance, J)

    # How it is told.

    unchanged = "nothing changes"
    title = ""
    measure, factor = "the cost", 1.0

    def _statistics(self) -> list[tuple[str, str]]:
        """What there is to say beside the parameters."""
        raise NotImplementedError

    def _doubt(self) -> str:
        """What else is to be said of a result that has been found."""
        return ""

    def _why_unknown(self) -> str:
        """Why there is no error of a parameter that the data determine."""
        raise NotImplementedError

    def _cautions(self) -> list[str]:
        """What is wrong as a whole."""
        return []

    def _acts_by_steps(self, name: str) -> bool:
        """Whether what is minimised depends on a parameter by steps alone."""
        return False

    def _without_effect(self, name: str) -> str:
        """What there is to say of a parameter whose derivatives are zero."""
        raise NotImplementedError

    def report(self, correlations: float = 0.1) -> str:
        """The fit in words and tables.

        Parameters
        ----------
        correlations : float
            Those below it, in size, are not shown.
        """
        TOLERANCE.check("report", "correlations", correlations)
        return text(self, correlations)

    def __repr__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        return html(self)
