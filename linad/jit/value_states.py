"""What is known of a value that a function computes with, before the function runs."""

from typing import Any

TRACED: Any = "traced"
OTHER: Any = "other"
UNKNOWN: Any = "not yet known"
NULL: Any = "null"


class KnownValue:
    """A value that stands outside, or a constant."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class HeldContainer:
    """A container among the arguments, with what it holds."""

    __slots__ = ("parts",)

    def __init__(self, parts: dict[Any, Any]) -> None:
        self.parts = parts
