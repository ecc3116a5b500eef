"""A context variable that holds a value for the length of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def during(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable in here, and put back what it held before."""
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)
