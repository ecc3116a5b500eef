"""Searches as loops of a program: what they find holds as long as they end."""

from collections.abc import Callable
from typing import Any

from linad.arrays.buffers import concrete
from linad.control.both_ways import in_any_way
from linad.core.reasons import because
from linad.errors import GuardError, TracerError


def found_in_loop(
    search: Callable[[Callable[..., Any]], tuple[Any, Any]], f: Callable[..., Any], why: str
) -> Any:
    """What a search finds; None where a program cannot hold it, or it finds nothing.

    Parameters
    ----------
    search : callable
        Of a function; gives what is found, and whether it is what was sought, which the program
        makes sure of whenever it runs.
    f : callable
        It may decide in Python.
    why : str
        Why it must be so, for the error of a program where it is not.
    """
    found = in_any_way(search, f, TracerError, GuardError)
    if found is None:
        return None
    x, good = found
    if not concrete(good):
        return None
    with because(why):
        bool(good)
    return x
