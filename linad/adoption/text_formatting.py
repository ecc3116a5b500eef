"""``text % values`` of traced numbers, as an f-string writes them.

A text of one number knows it (`linad.arrays.number_texts`): ``float("%.18f" % x)`` is traced.
"""

from typing import Any

from linad.arrays.conversions import held
from linad.arrays.number_texts import text_of
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array


def modulo(text: Any, values: Any) -> Any:
    """``text % values``, of a text or of numbers."""
    if not isinstance(text, (str, bytes)):
        return text % values
    lone = values[0] if type(values) is tuple and len(values) == 1 else values
    if type(lone) is Tracer and not lone.ndim and isinstance(text, str):
        return text_of(lone, lambda value: text % (value,))
    if type(values) is tuple and held(values):
        return text % tuple(map(_printed, values))
    if type(values) is dict and held(values.values()):
        return text % {name: _printed(value) for name, value in values.items()}
    return text % values


def _printed(value: Array) -> Any:
    return value.printed() if type(value) is Tracer else value
