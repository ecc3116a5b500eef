"""Context variables that hold values for the length of a block."""

from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any


def during(variable: ContextVar[Any], value: Any, *more: Any) -> AbstractContextManager[None]:
    """Set context variables that have a default in here, and put back what they held before.

    Parameters
    ----------
    variable, value, *more
        Each variable, and after it what it is to hold.
    """
    return _Held((variable, *more[::2]), (value, *more[1::2]))


class _Held(AbstractContextManager[None]):
    """No generator, whose end would come late, with its frame, when an interrupt ends the block."""

    __slots__ = ("_before", "_values", "_variables")

    def __init__(self, variables: tuple[ContextVar[Any], ...], values: tuple[Any, ...]) -> None:
        self._variables, self._values = variables, values
        self._before = [variable.get() for variable in variables]

    def __enter__(self) -> None:
        try:  # an interrupt may come between any two calls
            for variable, value in zip(self._variables, self._values, strict=True):
                variable.set(value)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        for variable, before in zip(self._variables, self._before, strict=True):
            variable.set(before)
