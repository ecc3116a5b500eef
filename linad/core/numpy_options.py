"""What the options of NumPy's functions may be, for calls with traced arguments.

NumPy refuses most of these where it computes, in C: a traced form would take ``keepdims="x"`` for
true, and leave ``device="x"`` unread.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from linad.core.options import COUNT, FLAG, Kind, choice, is_integer, is_number
from linad.core.primitive import Traced


def _holds(value: Any, kinds: str, axes: range = range(65)) -> bool:
    """Whether a value is an array, or may be made one, of such a kind and number of axes."""
    if isinstance(value, Traced):
        return value.dtype.kind in kinds and value.ndim in axes
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # of traced numbers, or rows of several lengths
        return True
    return array.dtype.kind in kinds and array.ndim in axes


def _are_axes(value: tuple[Any, ...]) -> bool:
    return is_integer(value) or (isinstance(value, tuple) and all(map(is_integer, value)))


NUMBER = Kind("a number", is_number)
NUMBERS = Kind("a number, or an array of them", lambda v: _holds(v, "biufc"))
WEIGHTS = Kind("an array of one axis", lambda v: _holds(v, "biuf", range(1, 2)))
AXES = Kind("an integer, a tuple of integers or None", lambda v: v is None or _are_axes(v))
ORDER = Kind("'C', 'F', 'A' or 'K'", lambda v: isinstance(v, str) and v.upper() in tuple("CFAK"))


def _is_copy_mode(value: Any) -> bool:
    """Flags, or the members of NumPy's own enumeration, which packages pass on."""
    modes: Any = np._CopyMode  # type: ignore[attr-defined]
    return isinstance(value, modes) or bool(FLAG.optional.fits(value))


KINDS = {
    **dict.fromkeys(("bias", "keepdims", "rowvar", "subok"), FLAG),
    **dict.fromkeys(("correction", "ddof"), NUMBER),
    **dict.fromkeys(("aweights", "fweights"), WEIGHTS.optional),
    **dict.fromkeys(("neginf", "posinf", "to_begin", "to_end"), NUMBERS.optional),
    "casting": choice("no", "equiv", "safe", "same_kind", "same_value", "unsafe"),
    "copy": Kind(FLAG.optional.words, _is_copy_mode),
    "device": choice("cpu").optional,
    "initial": Kind("a number", lambda v: _holds(v, "biufc", range(1))).optional,
    "where": Kind("an array of booleans", lambda v: _holds(v, "b")),
}
"""By their names, which mean the same in all functions."""

REDUCTIONS = (
    *("amax", "amin", "max", "mean", "min", "prod", "ptp", "squeeze", "std", "sum", "var"),
    *("nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"),
)

OF_ONE = {
    **{(name, "axis"): AXES for name in REDUCTIONS},
    **{(name, "ddof"): NUMBER.optional for name in ("corrcoef", "cov")},
    **{(name, "order"): ORDER.optional for name in ("full", "full_like")},
    ("nan_to_num", "nan"): NUMBERS,
    ("polyfit", "w"): WEIGHTS.optional,
    ("vander", "N"): COUNT.optional,
    ("vector_norm", "axis"): AXES,
}
"""By the names of a function and of its option, where the name alone does not tell."""


def check_options(function: Any, given: Mapping[str, Any]) -> None:
    """Raise OptionError for options of a NumPy function that cannot be."""
    for option, value in given.items():
        if value is True or value is False or value is np._NoValue:  # type: ignore[attr-defined]
            continue
        name = function.__name__
        kind = OF_ONE.get((name, option)) or KINDS.get(option)
        if kind is not None and not (kind is AXES and type(value) is int):  # as it is mostly
            kind.check(name, option, value)
