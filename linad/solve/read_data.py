"""Data that a user's function reads, beside its arguments: by names, by helpers, by an object's
attributes. Where what it returns is NaN, or shapes do not fit, they are the likely cause."""

import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linad.core.codes import codes_in
from linad.core.installed import is_installed
from linad.core.shapes import name_of

NUMBERS = ({int}, {float}, {int, float})
"""Types of the entries of a list that is an array in all but name."""

MOST = 6
"""Data of one shape that are named."""


class ReadArray(NamedTuple):
    """An array, how the user's code calls it, and the function that reads it."""

    name: str
    reader: str
    array: Any


def data_read(f: Callable[..., Any], args: tuple[Any, ...] = ()) -> list[ReadArray]:
    """The arrays that a function is given, and those that it and its helpers name."""
    seen: set[int] = set()
    found = [
        ReadArray(name, name_of(f), array)
        for i, value in enumerate(args)
        for name, array in _arrays(f"args[{i}]", value)
    ]
    found += _of_function(f, seen)
    return found


def _of_function(f: Any, seen: set[int]) -> Iterator[ReadArray]:
    """What a function reads from outside, in the user's own code."""
    while isinstance(f, functools.partial):
        for name, value in f.keywords.items():
            yield from _of_value(name, name_of(f), value, seen)
        for i, value in enumerate(f.args):
            yield from _of_value(f"argument {i}", name_of(f), value, seen)
        f = f.func
    f = inspect.unwrap(f)
    if inspect.ismethod(f):
        yield from _of_object("self", name_of(f), f.__self__, seen)
        f = f.__func__
    if not inspect.isfunction(f):
        yield from _of_object("self", name_of(f), f, seen)
        return
    if id(f) in seen or is_installed(f.__code__.co_filename):
        return
    seen.add(id(f))
    names = dict.fromkeys(_global_names(f.__code__))
    read = {name: f.__globals__[name] for name in names if name in f.__globals__}
    read |= inspect.getclosurevars(f).nonlocals
    for name, value in read.items():
        yield from _of_value(name, name_of(f), value, seen)


def _of_value(name: str, reader: str, value: Any, seen: set[int]) -> Iterator[ReadArray]:
    if callable(value) and not isinstance(value, type):
        yield from _of_function(value, seen)
    for inner, array in _arrays(name, value):
        yield ReadArray(inner, reader, array)
    if not isinstance(value, types.ModuleType):
        yield from _of_object(name, reader, value, seen)


def _of_object(name: str, reader: str, value: Any, seen: set[int]) -> Iterator[ReadArray]:
    """The arrays among the attributes of an object of the user's own class."""
    kind = type(value)
    methods = [
        f
        for name, f in vars(kind).items()
        if inspect.isfunction(f) and (name == "__call__" or not name.startswith("__"))
    ]
    if id(value) in seen or not methods or is_installed(methods[0].__code__.co_filename):
        return
    seen.add(id(value))
    for key, part in getattr(value, "__dict__", {}).items():
        for inner, array in _arrays(f"{name}.{key}", part):
            yield ReadArray(inner, reader, array)
    for method in methods:  # which it may call
        yield from _of_function(method, seen)


def _arrays(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays, columns and lists of numbers of a value, each with its name."""
    if isinstance(value, np.ndarray) or hasattr(value, "iloc"):
        yield name, np.asarray(value)
    elif isinstance(value, list | tuple) and {*map(type, value)} in NUMBERS:
        yield name, np.asarray(value, float)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _arrays(f"{name}[{key!r}]", part)
    elif isinstance(value, list | tuple):
        fields = getattr(value, "_fields", None)
        for i, part in enumerate(value):
            yield from _arrays(f"{name}.{fields[i]}" if fields else f"{name}[{i}]", part)


def _global_names(code: types.CodeType) -> Iterator[str]:
    """The globals that code names, and the functions within it."""
    for inner in codes_in(code):
        for instruction in dis.get_instructions(inner):
            if instruction.opname == "LOAD_GLOBAL":
                yield instruction.argval


def words_of_nan(f: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """That data which a function reads hold NaN, and what to do; "" where none do."""
    found: dict[str, str] = {}
    readers: list[str] = []
    for name, reader, array in data_read(f, args):
        if array.dtype.kind == "f" and (bad := np.argwhere(np.isnan(array))).size:
            first = bad[0].tolist()
            found.setdefault(name, str(first[0] if len(first) == 1 else tuple(first)))
            readers.append(reader)
    if not found:
        return ""
    who = " and ".join(dict.fromkeys(readers))
    where = " and ".join(f"{name} at index {first}" for name, first in found.items())
    return (
        f"data that {who} read{'s' * (len(set(readers)) == 1)} hold NaN, {where}: leave such "
        f"points out"
    )


def words_of_shapes(error: Exception, f: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """Which data have the shapes that an error says do not fit; "" for another error, or none."""
    if "broadcast" not in str(error):
        return ""
    told: dict[str, list[str]] = {}
    for name, reader, array in data_read(f, args):
        if str(array.shape) in str(error):
            told.setdefault(str(array.shape), []).append(f"{name} (in {reader})")
    named = [f"of shape {shape} {', '.join(names[:MOST])}" for shape, names in told.items()]
    return f"of the data that are read, {' and '.join(named)}" if named else ""
