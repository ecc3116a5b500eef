"""A user's function of parameters alone: its further arguments are as they were given."""

import copy
from collections.abc import Callable
from typing import Any

from linad.core.shapes import name_of
from linad.errors import ArgumentError
from linad.solve.fitting.asked_of_parameters import MISREAD, refuse_misread
from linad.solve.fitting.domains import tell_of_domain
from linad.solve.fitting.predictions import of_rows
from linad.solve.fitting.tables import is_column
from linad.solve.fitting.taken_parameters import Whole, as_all_and_args
from linad.solve.fitting.written_data import copied, is_written
from linad.solve.read_data import words_of_shapes
from linad.solve.shaken import shaken_data, shaken_function

_READ_AS_SEVERAL = (
    "invalid index to scalar variable",
    "array is 0-dimensional",
    "'float' object is not subscriptable",
)
"""What Python and NumPy say of one number that is indexed."""


class WithArguments:
    """``f(p, *args)`` of p; a class, to be pickled.

    Parameters
    ----------
    solver : str
        For messages.
    f : callable
    args : tuple
        Copies are given, where ``f`` writes into them.
    taking : Whole
        How ``f`` takes the parameters.
    """

    def __init__(
        self, solver: str, f: Callable[..., Any], args: tuple[Any, ...], taking: Whole
    ) -> None:
        self.solver, self.f, self.args, self.taking = solver, f, args, taking
        self.writes: bool | None = None  # not known before it has run

    def __call__(self, p: Any) -> Any:
        args = self.args if self.writes is False else copied(self.args)
        try:
            y = self.taking.call(self.f, self.named(p), args)
        except MISREAD as error:
            refuse_misread(self.solver, self, p, error)
            self._tell(error)
            raise
        except TypeError as error:
            self._tell(error)
            raise
        except (ValueError, ArithmeticError) as error:
            tell_of_domain(self.solver, name_of(self.f), p, error)
            if words := words_of_shapes(error, self.f, self.args):
                error.add_note(f"{self.solver}: {words}")
            raise
        if self.writes is None:
            self.writes = is_written(args, self.args)
        if is_column(y) and y.dtype == object:
            return of_rows(y, f"{self.solver}: {name_of(self.f)} must return numbers")
        return y

    def shaken(self, whole: bool) -> "WithArguments":
        """The same where the last digits of the arguments are changed."""
        other = copy.copy(self)
        other.f = shaken_function(self.f, whole)
        other.args = shaken_data(self.args, whole)
        return other

    def _tell(self, error: Exception) -> None:
        """Say how the function was called, which may not be as it is meant.

        Raises
        ------
        ArgumentError
            If one number is read as all parameters would be: what comes behind are data.
        """
        names = self.taking.names
        as_several = any(words in str(error) for words in _READ_AS_SEVERAL)
        remedy = as_all_and_args(self.f) if names and as_several else ""
        if names and remedy:
            raise ArgumentError(
                f"{self.solver}: {name_of(self.f)} was called with its {len(names)} starts one by "
                f"one, {', '.join(names)}, and one number is read by an index ({error}); "
                f"{remedy}"
            ) from error
        if names:
            error.add_note(
                f"{self.solver}: {name_of(self.f)} was called with {', '.join(names)} "
                f"as single parameters, since it does not take all of them as one with the "
                f"{len(self.args)} of args"
            )

    def named(self, p: Any) -> dict[str, Any]:
        return self.taking.named(self.f, p)

    def call(self, f: Callable[..., Any], named: dict[str, Any]) -> Any:
        return self.taking.call(f, named, copied(self.args))
