"""Finds what belongs to the modules that are adopted, changes it, and changes it back."""

import builtins
import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from linad.adoption.caches import uncached
from linad.adoption.dispatchers import (
    exchange,
    exchange_of_python,
    is_dispatcher,
    is_kind_of_dispatchers,
    python_of,
)
from linad.adoption.exchanges import SWITCH, Exchange
from linad.adoption.form_table import form_of, has_form, register
from linad.adoption.forms import ASKING, INDEXED, picked
from linad.adoption.live_objects import live_objects_of
from linad.adoption.source import Names, deeper, functions_in
from linad.adoption.vectorized import exchange as exchange_of_vectorized, is_vectorized
from linad.core.adopted import SPACES, WRITTEN
from linad.core.codes import codes_in
from linad.core.renaming import Use, renamed

Space = dict[str, Any]


class Changes:
    """What was changed for one module, or for one function."""

    def __init__(self) -> None:
        self.functions: dict[int, types.FunctionType] = {}
        self.exchanges: list[Exchange] = []
        self.left: set[int] = set()  # functions that Numba compiles, who run others in a trace
        self.codes: dict[int, types.CodeType] = {}  # adopted, with those inside them
        self.classes: weakref.WeakSet[type] = weakref.WeakSet()
        self.counted: set[int] = set()  # codes of a function alone, by which its frames are known
        self.everywhere: set[int] = set()  # functions all of whose arithmetic is looked at
        self.vectorized: weakref.WeakSet[Any] = weakref.WeakSet()

    def rename(self, function: types.FunctionType) -> None:
        """Let a function call forms."""
        self.replace(function, rename_code(function.__code__, function.__globals__))

    def deepen(
        self, function: types.FunctionType, everywhere: bool = False, names: Names | None = None
    ) -> bool:
        """Give a function the code compiled anew from its source; whether there is such code.

        ``everywhere``: both sides of all its arithmetic are looked at. ``names``: `names_in` of
        its globals, if that is known.
        """
        known = id(function) in self.everywhere
        if id(function) in self.left or (everywhere and known):
            return False
        new = deeper(code_before(function), function.__globals__, everywhere or known, names)
        if new is None:
            return False
        if everywhere:
            self.everywhere.add(id(function))
        self.replace(function, rename_code(new, function.__globals__))
        return True

    def knows(self, function: types.FunctionType) -> bool:
        """Whether a function runs adopted code."""
        return id(function.__code__) in self.codes

    def replace(self, function: types.FunctionType, code: types.CodeType) -> None:
        """Give a function other code."""
        self.codes.update({id(inner): inner for inner in codes_in(code)})
        if code is function.__code__ and id(function) not in _BEFORE:
            return
        # Another adoption may have changed it: this one holds the change as well.
        if id(function) not in self.functions:
            self.functions[id(function)] = function
            before = _BEFORE.setdefault(id(function), [function.__code__, 0])
            before[1] += 1
        _write_down(code, code_before(function))
        function.__code__ = code

    def leave(self, function: types.FunctionType, dispatchers: list[Any]) -> None:
        """Give a function that Numba compiles other code while a trace runs alone."""
        self.left.add(id(function))
        code = traced_code(function)
        for held in (function.__code__, code):
            self.codes.update({id(inner): inner for inner in codes_in(held)})
        made = exchange_of_python(function, dispatchers, code)
        self.exchange([made] if made else [])

    def exchange(self, made: Iterable[Exchange]) -> None:
        """Exchange what holds originals."""
        new = list(made)
        self.exchanges += new
        SWITCH.add(new)

    def undo(self) -> None:
        """Change everything back, but for what other changes hold as well."""
        for key, function in self.functions.items():
            before = _BEFORE[key]
            before[1] -= 1
            if not before[1]:
                function.__code__ = before[0]
                del _BEFORE[key]
        SWITCH.remove(self.exchanges)
        self.functions, self.exchanges = {}, []


def _write_down(code: types.CodeType, before: types.CodeType) -> None:
    """Know a function's code, and that of those inside it, by what it was before."""
    if code == before:
        return
    WRITTEN[code] = before
    new, old = functions_in(code), functions_in(before)
    for key in new.keys() & old.keys():
        if len(new[key]) == len(old[key]):
            WRITTEN.update(zip(new[key], old[key], strict=True))


_BEFORE: dict[int, list[Any]] = {}
"""The code that a function had, by the function's id, and how many changes hold another."""


def code_before(function: types.FunctionType) -> types.CodeType:
    """The code that a function had before anything was changed."""
    code: types.CodeType = _BEFORE.get(id(function), (function.__code__,))[0]
    return code


def _names_for(space: Space) -> Callable[[Use], str | None]:
    nothing = object()

    def name_for(use: Use) -> str | None:
        if use.name.startswith("_linad_"):  # of code that is compiled anew
            return None
        value = space.get(use.name, nothing)
        if value is nothing:
            value = builtins.__dict__.get(use.name, nothing)
        if type(value) is functools.partial and (form := picked(value)) is not value:
            register(value, form)
        if value is nothing or not has_form(value):
            return None
        if isinstance(value, types.ModuleType):
            wanted = use.called or _is_indexed(value, use.attributes)
        else:
            wanted = (use.called and not use.attributes) or id(value) in INDEXED
            wanted = wanted or (use.called and _has_attributes(value, use.attributes))
        return SWITCH.hidden_name(value) if wanted else None

    return name_for


def _has_attributes(value: Any, attributes: tuple[str, ...]) -> bool:
    """Whether the form of a value has what is read off it: that of a class may be a function."""
    if not isinstance(value, type):
        return True
    form = form_of(value)
    return isinstance(form, type) and hasattr(form, attributes[0])


def _is_indexed(module: Any, attributes: tuple[str, ...]) -> bool:
    """Whether attributes of a module lead to what makes arrays by an index."""
    for attribute in attributes:
        module = getattr(module, attribute, None)
        if id(module) in INDEXED:
            return True
    return False


def rename_code(code: types.CodeType, space: Space) -> types.CodeType:
    """Code for functions of a module, with the calls renamed that have forms."""
    return renamed(code, _names_for(space))


def traced_code(function: types.FunctionType) -> types.CodeType:
    """The code of a function that is left as it is, for a copy that takes traced values."""
    space = function.__globals__
    return rename_code(deeper(function.__code__, space) or function.__code__, space)


# Data: what it holds is compared as well as called, and calls are looked up.


def _held(value: Any) -> Any:
    """What is to be held in place of a value while a trace runs: the value itself, most often.

    The forms of functions that ask for types, and cached functions without what they keep.
    """
    if id(value) in ASKING:
        return form_of(value)
    if type(value) is functools._lru_cache_wrapper and _is_adopted(value):
        return uncached(value)
    return value


def _all_held(values: Iterable[Any]) -> tuple[Any, ...] | None:
    """The values as they are to be held; None if that is as they are."""
    given = tuple(values)
    new = tuple(map(_held, given))
    return new if any(a is not b for a, b in zip(given, new, strict=True)) else None


def _of_attribute(owner: Any, name: str, original: Any, form: Any) -> Exchange:
    return Exchange(functools.partial(setattr, owner, name), original, form)


def _of_entries(owner: Any, items: Iterable[tuple[Any, Any]]) -> Iterator[Exchange]:
    """What is held in a table, in tuples there as well."""
    for key, value in items:
        new = _all_held(value) or value if type(value) is tuple else _held(value)
        if new is not value:
            yield Exchange(functools.partial(owner.__setitem__, key), value, new)


def _of_function(f: types.FunctionType) -> Iterator[Exchange]:
    """Defaults, and what its closure holds."""
    if f.__defaults__ and (new := _all_held(f.__defaults__)):
        yield _of_attribute(f, "__defaults__", f.__defaults__, new)
    yield from _of_entries(f.__kwdefaults__, (f.__kwdefaults__ or {}).items())
    for cell in f.__closure__ or ():
        value = _content(cell)
        if (form := _held(value)) is not value:
            yield _of_attribute(cell, "cell_contents", value, form)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is in it yet
        return None


def _of_class(cls: type) -> Iterator[Exchange]:
    for name, value in list(vars(cls).items()):
        inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if type(inner) in (dict, list):
            yield from _of_table(inner)
        elif type(inner) is functools._lru_cache_wrapper:
            form = uncached(inner)
            yield _of_attribute(cls, name, value, form if inner is value else type(value)(form))
        elif (form := _held(inner)) is not inner:
            # Built-in functions are no methods.
            wrap = staticmethod if inner is value else type(value)
            yield _of_attribute(cls, name, value, wrap(form))


def _of_table(table: Any) -> Iterator[Exchange]:
    items = table.items() if isinstance(table, dict) else enumerate(table)
    return _of_entries(table, list(items))


def _of_space(space: Space, spaces: set[int]) -> Iterator[Exchange]:
    """Cached functions among the globals of a module, and what its tables hold."""
    for name, value in list(space.items()):
        if name.startswith("__"):  # __builtins__ looks like a table as well
            continue
        if type(value) in (dict, list) and id(value) not in spaces:
            yield from _of_table(value)
        elif type(value) is tuple or type(value) is functools._lru_cache_wrapper:
            yield from _of_entries(space, [(name, value)])
        elif is_vectorized(value) and has_form(value.pyfunc):
            yield from exchange_of_vectorized(value)


def _is_adopted(cached: Any) -> bool:
    """Whether the function that is cached is adopted; other modules may have imported it."""
    return id(getattr(cached.__wrapped__, "__globals__", None)) in SPACES


# The sweep.


def sweep(spaces: dict[int, Space]) -> dict[int, Changes]:
    """Adopt modules.

    Parameters
    ----------
    spaces : dict
        Their globals, by id.

    Returns
    -------
    dict
        What was changed for each.
    """
    changes = {key: Changes() for key in spaces}
    modules = {id(getattr(m, "__dict__", None)) for m in list(sys.modules.values())}
    for key, space in spaces.items():
        changes[key].exchange(_of_space(space, modules))
    sweep_definitions(spaces, changes)
    return changes


def sweep_definitions(
    spaces: dict[int, Space], changes: dict[int, Changes]
) -> list[types.FunctionType]:
    """Adopt the functions and classes of modules that are not known yet; return the functions."""
    names = {space.get("__name__"): key for key, space in spaces.items()}
    functions, dispatchers, classes, vectorized = _new_definitions(spaces, names, changes)
    compiled: dict[int, list[Any]] = {}  # by the function that Numba compiles
    for d in dispatchers:
        compiled.setdefault(id(python_of(d)), []).append(d)
    for d in dispatchers:
        key = id(python_of(d).__globals__)
        if key in spaces and not changes[key].knows(python_of(d)):
            changes[key].exchange([exchange(d, traced_code)])
    for f in functions:
        mine = changes[id(f.__globals__)]
        if id(f) in compiled:
            mine.leave(f, compiled[id(f)])
            continue
        mine.rename(f)
        mine.exchange(_of_function(f))
    for cls in classes:
        mine = changes[names[cls.__dict__["__module__"]]]
        mine.classes.add(cls)
        mine.exchange(_of_class(cls))
    for v in vectorized:
        key = id(getattr(getattr(v, "pyfunc", None), "__globals__", None))
        if key in spaces and v not in changes[key].vectorized:
            changes[key].vectorized.add(v)
            changes[key].exchange(exchange_of_vectorized(v))
    return functions


def _new_definitions(
    spaces: dict[int, Space], names: dict[Any, int], changes: dict[int, Changes]
) -> tuple[list[types.FunctionType], list[Any], list[type], list[Any]]:
    """Functions and classes of these modules that are not known; all that Numba and NumPy made."""
    functions, dispatchers, classes, vectorized = [], [], [], []
    for o in live_objects_of(_is_swept):
        kind = type(o)
        if kind is types.FunctionType:
            key = id(o.__globals__)
            if key in spaces and not _is_body(o.__code__) and not changes[key].knows(o):
                functions.append(o)
        elif is_dispatcher(o):
            dispatchers.append(o)
        elif is_vectorized(o):
            vectorized.append(o)
        elif issubclass(kind, type):
            key = names.get(o.__dict__.get("__module__"), 0)
            if key and o not in changes[key].classes:
                classes.append(o)
    return functions, dispatchers, classes, vectorized


def _is_body(code: types.CodeType) -> bool:
    """Whether code is that of a module, a cell or a class, which Python runs as a function too.

    It runs once, and what it goes on to define is to be seen when it is there.
    """
    return not code.co_flags & inspect.CO_OPTIMIZED


def _is_swept(kind: type) -> bool:
    return (
        kind in (types.FunctionType, np.vectorize)
        or issubclass(kind, type)
        or is_kind_of_dispatchers(kind)
    )


def functions_of(space: Space, file: str) -> list[types.FunctionType]:
    """The functions that run code of a file in a module."""
    return [
        f
        for f in live_objects_of(lambda kind: kind is types.FunctionType)
        if f.__globals__ is space and f.__code__.co_filename == file and not _is_body(f.__code__)
    ]


def adopt_function(f: Any) -> Changes:
    """Adopt one function, with those defined inside it, or one that Numba or NumPy call."""
    changes = Changes()
    if is_dispatcher(f):
        changes.exchange([exchange(f, traced_code)])
        return changes
    if is_vectorized(f):
        changes.exchange(exchange_of_vectorized(f))
        return changes
    if not changes.deepen(f):
        changes.rename(f)
    changes.exchange(_of_function(f))
    return changes
