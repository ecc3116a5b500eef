"""Texts of traced numbers.

``float(f"{x:.18f}")`` takes the value out of the trace as ``float(x)`` does, by way of a text. So
the text of a traced number knows the number: ``float`` of it is refused, and gives the traced
number in adopted code. A text of few digits stands for a rounded number, whose derivative is 0, as
that of ``np.round`` is.
"""

from collections.abc import Callable
from typing import Any

from linad.core.array_type import Array
from linad.core.texts import is_for_people

_RESOLVED = 1e-10
"""What a text of a number is read back as it was tells apart, relative to the number."""


class NumberText(str):
    """The text of a traced number; to all but ``float`` it is a string.

    Parameters
    ----------
    number : Tracer
        The traced number, without axes.
    value : floating
        Its value.
    write : callable
        What makes the text of a value.
    """

    __slots__ = ("number", "resolves")

    number: Any
    resolves: bool

    def __new__(cls, number: Array, value: Array, write: Callable[[Any], str]) -> "NumberText":
        new = super().__new__(cls, write(value))
        new.number = number
        new.resolves = str(new) != write(value * (1 + _RESOLVED))
        return new

    def __float__(self) -> float:
        if self.is_traced():
            return self.number.float_of_text()  # type: ignore[no-any-return]
        return float(str(self))

    def is_traced(self) -> bool:
        """Whether the number can be read back from the text, and a trace knows it."""
        return self.resolves and not self.number._trace.finished

    def read(self) -> Any:
        """The traced number, with the digits of the text; a plain one where it is rounded."""
        plain = float(str(self))
        return self.number + (plain - self.number.concrete) if self.is_traced() else plain

    def __reduce__(self) -> Any:
        return str, (str(self),)


def text_of(x: Any, write: Callable[[Any], str]) -> str:
    """The text of a traced value; that of a number knows it."""
    value = x.printed()
    if x.ndim or x.dtype.kind != "f" or type(value) is int:
        return write(value)
    return NumberText(x, value, write)


def number_repr(x: Any) -> str:
    """The representation of a traced value, which for a Python number is another.

    Whether a number that operators made of Python's is one of Python's as well, or a function of
    NumPy's made it, is not known: such is refused, unless it is only shown to people.
    """
    value = x.printed()
    if x.ndim or x.dtype.kind not in "fc" or type(value) is int:
        return repr(value)
    recorded = x
    while not recorded._trace.records:
        recorded = recorded._value
    of_python = recorded._trace.is_of_python(recorded)
    if of_python is None and not is_for_people():
        return x.refuse_repr()  # type: ignore[no-any-return]
    return repr(value.item() if of_python else value)
