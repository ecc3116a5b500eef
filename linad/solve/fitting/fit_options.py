"""What the options of a fit may be."""

import numbers
from collections.abc import Iterator, KeysView, Set, ValuesView
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.options import FLAG, Kind, choice, is_integer, is_number
from linad.core.showing import shown
from linad.solve.described_starts import holds_parameters, is_result

VERBOSE = Kind(
    "0, 1 or 2",
    lambda value: isinstance(value, bool) or (is_integer(value) and value in (0, 1, 2)),
)


def _holds_numbers(value: Any) -> bool:
    leaves = tree.flatten(value)[0]
    return bool(leaves) and all(np.asarray(leaf).dtype.kind in "biuf" for leaf in leaves)


def _holds_finite(value: Any) -> bool:
    """Whether all are finite numbers, whatever is behind a mask."""
    return _holds_numbers(value) and all(
        np.isfinite(np.ma.filled(leaf, 1.0)).all() for leaf in tree.flatten(value)[0]
    )


def _holds_data(value: Any) -> bool:
    """Whether there are numbers, or texts, of which `Data` has more to say."""
    leaves = tree.flatten(value)[0]
    return _holds_numbers(value) or any(np.asarray(leaf).dtype.kind in "SU" for leaf in leaves)


def _holds_none(value: Any) -> bool:
    """Whether None is in a container, of which it would be an empty one."""
    parts = value.values() if isinstance(value, dict) else value
    many = isinstance(value, (dict, list, tuple))
    return value is None or (many and any(_holds_none(part) for part in parts))


def _misfit(option: str, value: Any) -> str:
    """The first part of a start that is no finite number, and how it becomes one."""
    if isinstance(value, (Iterator, KeysView, ValuesView)):
        return f"; give a list, list({option})"
    if isinstance(value, Set):
        return "; a set has no order: give a list, or a dict by name"
    if isinstance(value, dict) or type(value) in (list, tuple):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        found = (_misfit(f"{option}[{key!r}]", part) for key, part in parts)
        return next(filter(None, found), "")
    if isinstance(value, str) and option.endswith("]"):
        return f"; {option} is the text {shown(value)}{_number_in(value)}"
    if isinstance(value, np.ndarray) and value.dtype.kind in "SU":
        return f"; np.asarray({option}, float) reads the numbers in its texts"
    if value is None:
        return f"; {option} is None"
    number: Any = value if isinstance(value, numbers.Real) else None
    if number is not None and not np.isfinite(number):
        return f"; {option} is {value}"
    return ""


def _number_in(text: str) -> str:
    """How a text becomes the number that is written there; "" where none is."""
    try:
        float(text)
    except ValueError:
        return ""
    return f", float({shown(text)}) is the number"


START = Kind(
    "finite real numbers, an array or a container of such",
    lambda value: (
        holds_parameters(value)
        or is_result(value)
        or (_holds_finite(value) and not _holds_none(value))
    ),
    _misfit,
)
ABSOLUTE = Kind(f"{FLAG.words} (all starts are in one list, p0=[1, 2])", FLAG.fits)
POSITIVES = Kind(
    "positive numbers, one or like ydata or one for each data set, or a covariance matrix",
    _holds_data,
).optional
WEIGHTS = Kind(
    "numbers >= 0, one or like ydata or one for each data set",
    _holds_data,
).optional
NAN_POLICY = choice("raise", "omit", "propagate", None)
LEVEL = Kind(
    "a number between 0 and 1",
    lambda value: is_number(value) and 0 < value < 1,
    lambda option, value: (
        f"; {value} % is {value / 100:g}" if is_number(value) and 1 < value < 100 else ""
    ),
)
"""Of an interval."""

LEVEL_OF_SOME = Kind(
    LEVEL.words,
    LEVEL.fits,
    lambda option, value: (
        f"; parameters are chosen by names={value!r}"
        if isinstance(value, (str, list, tuple))
        else LEVEL.told(option, value)
    ),
)
"""The same, before the names of those that have one."""
