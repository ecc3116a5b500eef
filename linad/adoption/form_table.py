"""What adopted code calls in place of an original: `linad.adoption.forms` fills the table."""

from typing import Any

FORMS: dict[int, tuple[Any, Any]] = {}
"""Each original, by its id, and its form."""


def form_of(value: Any) -> Any:
    """The form of a value; the value itself where it has none."""
    found = FORMS.get(id(value))
    return value if found is None else found[1]


def has_form(value: Any) -> bool:
    """Whether a value has a form."""
    return id(value) in FORMS


def register(original: Any, form: Any) -> None:
    """Make a form known."""
    FORMS[id(original)] = original, form
