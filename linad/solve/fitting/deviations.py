"""Residuals of `curve_fit`: how far a model is from the data, each beside its error."""

import copy
from collections.abc import Callable
from typing import Any

from linad.core.shapes import name_of
from linad.core.tolerances import watched_tolerances
from linad.solve.fitting.asked_of_parameters import MISREAD, refuse_misread
from linad.solve.fitting.data import Data
from linad.solve.fitting.data_places import OfJoinedPlaces, bare_model, joined_places
from linad.solve.fitting.domains import tell_of_domain
from linad.solve.fitting.misread_places import refuse_places
from linad.solve.fitting.model_bindings import by_name, call_by_name, refuse_further_names
from linad.solve.fitting.written_data import OnCopies, copied, is_written
from linad.solve.shaken import shaken_data

INTEGRATORS = ("solve_ivp", "odeint", "ode")
"""Routines that return fewer numbers where they fail."""


class Deviations:
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
                return self._at_later_point(p)
            given = copied(xdata)
            with watched_tolerances() as found:
                predicted = self.model(given, p)
        except (TypeError, ValueError, *MISREAD) as error:
            if self.may_index and isinstance(error, (TypeError, IndexError)):
                return self._with_labels(p)
            shapes = [y.shape for y in data.leaves]
            refuse_places(self.f, error, xdata, shapes, self.joined)
            if isinstance(error, MISREAD):
                refuse_misread("curve_fit", self, p, error)
            elif isinstance(error, TypeError):
                refuse_further_names("curve_fit", bare_model(self.model), p, error)
            if not data.fitted:
                tell_of_domain("curve_fit", name_of(self.f), p, error, first=True)
            raise
        self.may_index = False
        if is_written(given, xdata):
            self.model = OnCopies(self.model)
        data.integrator = next((one.routine for one in found if one.routine in INTEGRATORS), "")
        return predicted

    def _at_later_point(self, p: Any) -> Any:
        try:
            return self.model(self.data.xdata, p)
        except (ValueError, ArithmeticError) as error:
            tell_of_domain("curve_fit", name_of(self.f), p, error)
            raise

    def shaken(self, whole: bool) -> "Deviations":
        """The same where the last digits of xdata are changed."""
        other = copy.copy(self)
        other.data = copy.copy(self.data)
        other.data.xdata = shaken_data(self.data.xdata, whole)
        return other

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
