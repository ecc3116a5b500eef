"""Starts as lmfit describes them, ``{"a": {"value": 1, "min": 0}}``: three options here."""

from collections.abc import Mapping
from typing import Any

from linad.core.showing import shown
from linad.errors import OptionError

_WORDS = {"value", "min", "max", "vary"}


def refuse_described(name: str, start: Any) -> None:
    """Raise, with what to write, where a start holds bounds or flags beside its values."""
    if not isinstance(start, Mapping):
        return
    told = {key: entry for key, entry in start.items() if _describes(entry)}
    if not any(len(entry) > 1 for entry in told.values()):  # a container like any other
        return
    values = {key: told[key]["value"] if key in told else start[key] for key in start}
    bounds = {
        key: (entry.get("min"), entry.get("max"))
        for key, entry in told.items()
        if "min" in entry or "max" in entry
    }
    fixed = [key for key, entry in told.items() if not entry.get("vary", True)]
    option = "p0" if name == "curve_fit" else "x0"
    parts = [f"{option}={shown(values)}"]
    parts += [f"bounds={shown(bounds)}"] if bounds else []
    parts += [f"fixed={shown(fixed)}"] if fixed else []
    raise OptionError(
        f"{name}: {option} holds values, and bounds and fixed are options of their own; write "
        f"{', '.join(parts)}"
    )


def _describes(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "value" in entry and set(entry) <= _WORDS
