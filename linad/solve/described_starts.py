"""Starts of other kinds: where another search has ended, and what lmfit describes.

lmfit has `Parameters`, and some write dicts ``{"a": {"value": 1, "min": 0}}``. Each entry there has
a value with its bounds, and whether it is held; here these are three options.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from linad.core.showing import shown
from linad.errors import OptionError

_WORDS = {"value", "min", "max", "vary"}


class DescribedStart(NamedTuple):
    """What a start of described parameters comes to."""

    values: dict[str, float]
    bounds: dict[str, tuple[Any, Any]]
    fixed: list[str]

    def written(self, option: str) -> str:
        """As one writes it."""
        parts = [f"{option}={shown(self.values)}"]
        parts += [f"bounds={shown(self.bounds)}"] if self.bounds else []
        parts += [f"fixed={shown(self.fixed)}"] if self.fixed else []
        return ", ".join(parts)


def of_described(name: str, start: Any, bounds: Any, fixed: Any) -> tuple[Any, Any, Any]:
    """A start, bounds and what is held, read from lmfit's Parameters if the start is that, and the
    parameters of the result of another search.

    Raises
    ------
    OptionError
        With what to write, where the Parameters hold expressions, bounds and flags are given twice,
        or a dict holds them beside its values.
    """
    start = start.x if is_result(start) else start
    refuse_described(name, start)
    if not holds_parameters(start):
        return start, bounds, fixed
    told = of_parameters(name, start)
    if told.bounds and not _is_open(bounds):
        raise OptionError(
            f"{name}: bounds are given, and {_option(name)} has bounds of its own; write "
            f"{told.written(_option(name))}, with those that are meant"
        )
    if told.fixed and fixed is not None:
        raise OptionError(
            f"{name}: fixed is given, and {_option(name)} holds {', '.join(told.fixed)} by "
            f"vary=False; write {told.written(_option(name))}, with those that are meant"
        )
    return told.values, told.bounds or bounds, told.fixed or fixed


def refuse_described(name: str, start: Any) -> None:
    """Raise, with what to write, where a dict holds bounds or flags beside its values."""
    if not isinstance(start, Mapping) or holds_parameters(start):
        return
    told = {key: entry for key, entry in start.items() if _describes(entry)}
    if not any(len(entry) > 1 for entry in told.values()):  # a container like any other
        return
    found = DescribedStart(
        {key: told[key]["value"] if key in told else start[key] for key in start},
        {
            key: (entry.get("min"), entry.get("max"))
            for key, entry in told.items()
            if "min" in entry or "max" in entry
        },
        [key for key, entry in told.items() if not entry.get("vary", True)],
    )
    raise OptionError(
        f"{name}: {_option(name)} holds values, and bounds and fixed are options of their own; "
        f"write {found.written(_option(name))}"
    )


def refuse_parameters(start: Any) -> None:
    """Raise, with the dict to write, where a solver that holds nothing is given Parameters."""
    if holds_parameters(start):
        told = of_parameters("linad.solve", start)
        raise OptionError(
            f"the start is {type(start).__name__} of lmfit, which linad.solve.fit and curve_fit "
            f"take; start other solvers from a dict of numbers, {shown(told.values)}, of which "
            f"p['{next(iter(told.values))}'] is one"
        )


def of_parameters(name: str, start: Any) -> DescribedStart:
    """What lmfit's Parameters say.

    Raises
    ------
    OptionError
        Where a parameter is an expression of others.
    """
    values: dict[str, float] = {}
    bounds: dict[str, tuple[Any, Any]] = {}
    fixed: list[str] = []
    for key, entry in start.items():
        if getattr(entry, "expr", None):
            free = {k: float(e.value) for k, e in start.items() if not getattr(e, "expr", None)}
            raise OptionError(
                f"{name}: {key} is the expression {entry.expr!r}; write it in the function, "
                f"{key} = {entry.expr}, and leave {key} out of {_option(name)}={shown(free)}"
            )
        values[key] = float(entry.value)
        if not np.isfinite(values[key]):
            raise OptionError(f"{name}: {key} in {_option(name)} has no value to start from")
        low, high = (side if np.isfinite(side) else None for side in (entry.min, entry.max))
        if low is not None or high is not None:
            bounds[key] = (low, high)
        if not entry.vary:
            fixed.append(key)
    return DescribedStart(values, bounds, fixed)


def _option(name: str) -> str:
    return "x0" if name == "fit" else "p0"


def _is_open(bounds: Any) -> bool:
    """Whether bounds are those of a fit that has none."""
    return isinstance(bounds, tuple) and all(np.ndim(b) == 0 and np.isinf(b) for b in bounds)


def holds_parameters(start: Any) -> bool:
    """Whether it is a mapping of objects such as lmfit's, known by what they have."""
    return (
        isinstance(start, Mapping)
        and len(start) > 0
        and all(
            all(hasattr(entry, word) for word in _WORDS) and not isinstance(entry, Mapping)
            for entry in start.values()
        )
    )


def is_result(start: Any) -> bool:
    """Whether it is what a search has returned, linad's or SciPy's, and says where that ended."""
    return isinstance(getattr(start, "success", None), (bool, np.bool_)) and hasattr(start, "x")


def _describes(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "value" in entry and set(entry) <= _WORDS
