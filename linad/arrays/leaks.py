"""Where a traced value is kept after its function has returned.

    KEPT[n] = np.ones(n)      of adopted code, is a constant of the trace: plain again afterwards
    KEPT[n] = n * x           depends on an argument: the message says where it was kept

Asked when such a value is used again, so the garbage collector may be searched.
"""

import gc
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from linad.arrays.buffers import root_of
from linad.arrays.memory import constant_under
from linad.core.callers import defining_package
from linad.core.primitive import Traced


def give_back_constants(trace: Any) -> None:
    """Put plain copies in the place of constants of an ended trace that containers hold."""
    for value in gc.get_referrers(trace):
        if not isinstance(value, Traced) or value._trace is not trace:
            continue
        plain = constant_under(value)  # type: ignore[arg-type]
        if plain is None or _shares_memory(value):
            continue
        plain = plain.copy()
        for holder in gc.get_referrers(value):
            if type(holder) is list:
                holder[:] = [plain if part is value else part for part in holder]
                continue
            held = holder if isinstance(holder, dict) else _attributes(holder)
            for key in [k for k, part in list(held.items()) if part is value]:
                dict.__setitem__(held, key, plain)


def _shares_memory(x: Any) -> bool:
    """Whether what is written into another array is seen in this one: plain copies are apart."""
    return root_of(x) is not x or getattr(x._buffer, "viewed", False)


DEEP = 4
"""Containers, one in another, between a value and the object or module that keeps it."""


def kept_in(trace: Any) -> str:
    """The attributes and global names that hold values of a trace, as a reader knows them."""
    found = {
        place
        for value in gc.get_referrers(trace)
        if isinstance(value, Traced) and value._trace is trace
        for place in _places(value, "", DEEP)
    }
    return ", ".join(sorted(found)[:3])


def _places(value: Any, suffix: str, depth: int) -> Iterator[str]:
    """Names under which objects and modules hold a value; ``suffix`` is what follows the name."""
    if not depth:
        return
    for holder in gc.get_referrers(value):
        if isinstance(holder, (list, tuple)):
            keys: list[Any] = [i for i, part in enumerate(holder) if part is value]
        elif isinstance(holder, dict):
            keys = [key for key, part in list(holder.items()) if part is value]
            yield from _of_owner(holder, keys, suffix)
        else:
            held = _attributes(holder)
            yield from _named(holder, [k for k, v in held.items() if v is value], suffix)
            continue
        for key in keys:
            yield from _places(holder, f"[{key!r}]{suffix}", depth - 1)


def _of_owner(held: Any, keys: list[Any], suffix: str) -> Iterator[str]:
    """Names in a dictionary that is the namespace of an object or a module."""
    for owner in gc.get_referrers(held):
        if _attributes(owner) is held:
            yield from _named(owner, keys, suffix)


def _attributes(owner: Any) -> dict[str, Any]:
    try:
        found = object.__getattribute__(owner, "__dict__")
    except (AttributeError, TypeError):
        return {}
    return found if type(found) is dict else {}


def _named(owner: Any, names: list[Any], suffix: str) -> Iterator[str]:
    """Names of an object's attributes, but not of linad's own."""
    kind = type(owner)
    if defining_package(kind) == "linad":
        return
    for name in names:
        if isinstance(owner, ModuleType):
            yield f"the global name {name}{suffix}"
        else:
            yield f"the attribute {name}{suffix} of a {kind.__name__}"
