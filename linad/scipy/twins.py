"""Functions of SciPy that are Python code over NumPy, run with traced names.

Much of SciPy is Python: formulas in NumPy, in `scipy.special` and in other functions of SciPy. The
twin of such a function has the same code and other globals, in which

    numpy           is `linad.numpy`, as is the namespace that SciPy asks its arrays for
    scipy.*         are the traced forms of `linad.scipy`, and the twins of all else
    math            computes with traced numbers, as do ``float`` and ``isinstance`` where they are
                    called

SciPy itself is never changed. Nothing is written twice, and a traced value is SciPy's to the last
step. What the code hands to compiled code leaves the trace there, and raises; so a name is entered
in a module of `linad.scipy` when its twin has been tried.

Twins are made when they are first asked for, by one thread at a time: functions and classes name
each other in circles, so a twin in a table is half made until its maker has come to the end.
"""

import builtins
import enum
import functools
import importlib
import math
import operator
import os
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy._lib import _array_api

import linad.numpy as traced_numpy
from linad.arrays.conversions import BUILTINS, MATH, is_instance
from linad.core.renaming import Use, is_known, renamed
from linad.scipy.atoperator import at

Function = Callable[..., Any]


_making = threading.RLock()
"""Held while a twin is looked for, and made. A maker may wait for an import, for no module makes
twins while it is imported."""

if hasattr(os, "register_at_fork"):
    # A fork waits for it; see `linad.core.compiler_lock`.
    os.register_at_fork(
        before=_making.acquire, after_in_parent=_making.release, after_in_child=_making.release
    )


def _is_scipy(name: Any) -> bool:
    return isinstance(name, str) and (name == "scipy" or name.startswith("scipy."))


def same_code(function: Any, names: dict[str, Any], cells: Any = None, code: Any = None) -> Any:
    """A Python function with other global names; with other cells and code where given."""
    made = types.FunctionType(
        code or function.__code__,
        names,
        function.__name__,
        function.__defaults__,
        cells or function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


# What a name leads to.


class Names(dict[str, Any]):
    """The globals of a module of SciPy, with the twins of what they hold; made as they are read."""

    def __init__(self, original: dict[str, Any]) -> None:
        super().__init__({"__name__": original["__name__"], "__builtins__": _BUILTINS})
        self.original = original

    def __missing__(self, name: str) -> Any:
        made = self[name] = twin_of(self.original[name])
        return made


class ModuleTwin(types.ModuleType):
    """A module of SciPy, each of whose attributes is a twin."""

    def __init__(self, original: types.ModuleType) -> None:
        super().__init__(original.__name__)
        self._original = original

    def __getattr__(self, name: str) -> Any:
        made = twin_of(getattr(self._original, name))
        setattr(self, name, made)
        return made


_TWINS: dict[int, tuple[Any, Any]] = {}
"""Each original, by its id, and what stands for it; of an object of SciPy's a weak reference."""

_SPACES: dict[int, Names] = {}
"""The globals of twins, by the id of those of SciPy."""


def stands_for(original: Any, form: Any) -> None:
    """Let a form stand for something that SciPy's code names."""
    _TWINS[id(original)] = original, form


def twin_of(value: Any) -> Any:
    """What stands for a value of SciPy's in a twin; the value itself where nothing has to."""
    with _making:
        known = _TWINS.get(id(value))
        if known is not None:
            return known[1]
        made = _form(value)
        if made is None:
            made = _made(value)
        if made is not value and id(value) not in _TWINS:
            stands_for(value, made)
        return made


def _form(value: Any) -> Any:
    """The traced form that `linad.scipy` has of a function, a class or a distribution."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if hasattr(value, "_parse_args_rvs"):  # a distribution says its name
        module, name = type(value).__module__, value.name
    if not _is_scipy(module) or not isinstance(name, str):
        return None
    for room in _rooms(str(module)):
        theirs = getattr(importlib.import_module(room), name, None)
        if theirs is value:
            ours = getattr(importlib.import_module(f"linad.{room}"), name)
            if ours is not value and not hasattr(ours, "is_twin"):
                return ours
    return None


def _rooms(module: str) -> list[str]:
    """The rooms that may hold a public name of a module of SciPy, the innermost first."""
    known = importlib.import_module("linad.scipy")
    parts = module.split(".")
    names = [".".join(parts[1:k]) for k in range(len(parts), 1, -1)]
    return [f"scipy.{name}" for name in names if name in (*known.ROOMS, *known.INNER_ROOMS)]


def _made(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, types.ModuleType):
        return ModuleTwin(value) if _is_scipy(value.__name__) else value
    if kind is types.FunctionType:
        return function_twin(value) if _is_scipy(value.__globals__.get("__name__")) else value
    if isinstance(value, type):
        return class_twin(value)
    if kind is functools.partial:
        return functools.partial(twin_of(value.func), *value.args, **value.keywords)
    if kind in (list, tuple):
        parts = [twin_of(part) for part in value]
        return value if all(map(operator.is_, parts, value)) else kind(parts)
    if kind is dict:
        parts = [twin_of(part) for part in value.values()]
        same = all(map(operator.is_, parts, value.values()))
        return value if same else dict(zip(value, parts, strict=True))
    return instance_twin(value, shared=True) if _is_scipy(kind.__module__) else value


# Functions.

_CALLED = {f.__name__: (f"_linad_{f.__name__}", form) for f, form in BUILTINS.items()}
"""Built-in functions by name, and what is called in their place, by another name."""

_BUILTINS: dict[str, Any] = {**vars(builtins), **dict(_CALLED.values())}


def _renamed(code: types.CodeType) -> types.CodeType:
    def name_for(use: Use) -> str | None:
        return _CALLED[use.name][0] if use.called and use.name in _CALLED else None

    return renamed(code, name_for) if is_known() else code


_FUNCTIONS: dict[int, tuple[Any, Function]] = {}
"""Each function that has a twin, by its id, and the twin."""


def function_twin(function: Any, inner: bool = False) -> Function:
    """The same code, with twins in the place of its globals and of what it closes over.

    ``inner`` ones, which others close over, are the function and nothing around it.
    """
    with _making:
        known = _FUNCTIONS.get(id(function))
        made = _with_cells(function) if known is None else known[1]
    of_module = "." not in function.__qualname__ and not function.__closure__
    return _or_original(function, made) if of_module and not inner else made


def _with_cells(function: Callable[..., Any]) -> Function:
    space = function.__globals__
    names = _SPACES.get(id(space))
    if names is None:
        names = _SPACES[id(space)] = Names(space)
    theirs = function.__closure__ or ()
    cells = tuple([types.CellType() for _ in theirs])
    made = same_code(function, names, cells, _renamed(function.__code__))
    made.__dict__.update(vars(function))
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    _FUNCTIONS[id(function)] = function, made
    for cell, their in zip(cells, theirs, strict=True):
        value = their.cell_contents
        is_inner = type(value) is types.FunctionType and _is_scipy(value.__module__)
        cell.cell_contents = function_twin(value, inner=True) if is_inner else twin_of(value)
    return made


def _or_original(function: Function, made: Function) -> Function:
    """A function of a module: SciPy's own where nothing that it is given can be traced."""

    @functools.wraps(made)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not _is_plain((*args, *kwargs.values())):
            return made(*args, **kwargs)
        plain = function(*_exchanged(args), **_exchanged(kwargs))
        return _exchanged(plain, back=True)

    return run


_PLAIN = (int, float, complex, str, type(None), np.generic, np.dtype, type, slice, range)


def _is_plain(value: Any) -> bool:
    """Whether a value holds nothing traced, nor a function or an object, which might."""
    if type(value) is np.ndarray:
        return not value.dtype.hasobject
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return isinstance(value, _PLAIN) or value is _traced_namespace()


def _exchanged(value: Any, back: bool = False) -> Any:
    """SciPy's namespace in the place of the traced one, in what a function is given; or back."""
    if type(value) is tuple:
        return tuple([_exchanged(part, back) for part in value])
    if type(value) is dict:
        made = {name: _exchanged(part, back) for name, part in value.items()}
        # Itself where nothing is exchanged: SciPy takes options out of what it is given.
        return made if any(made[name] is not part for name, part in value.items()) else value
    ours = _traced_namespace()
    old, new = (_compat(), ours) if back else (ours, _compat())
    return new if value is old else value


@functools.cache
def _compat() -> Any:
    """What SciPy calls the namespace of NumPy."""
    return _array_api.array_namespace(np.zeros(0))


def _in_order(x: Any, /, *, axis: int = -1, **options: Any) -> Any:
    """The standard's argsort, which leaves equal entries in order where NumPy's need not."""
    return traced_numpy.argsort(x, axis=axis, **{"stable": True, **options})


@functools.cache
def _traced_namespace() -> Any:
    """What stands for `_compat`: `linad.numpy`, by the array API standard where they differ."""
    made = types.ModuleType(traced_numpy.__name__, traced_numpy.__doc__)
    made.__dict__.update(__getattr__=lambda name: getattr(traced_numpy, name), argsort=_in_order)
    return made


# Classes.

_CLASSES: dict[type, type] = {}
"""Each class that has a twin, and the twin."""

_ORIGINALS: dict[type, type] = {}
"""Each twin of a class, and the class."""


def class_twin(kind: type) -> type:
    """A class with twins of its bases and methods; the class itself if it is not Python code."""
    if not _is_scipy(kind.__module__) or not _is_statement(kind):
        return kind
    with _making:
        return _CLASSES.get(kind) or _class_with_members(kind)


def _class_with_members(kind: type) -> type:
    members = {n: part for n, part in vars(kind).items() if n not in ("__dict__", "__weakref__")}
    bases = tuple([twin_of(base) for base in kind.__bases__])
    # Its objects are made while a trace runs, and may hold what is traced: see `holds_traced`.
    body = {"__module__": kind.__module__, "holds_traced": True, "stands_for": kind}
    made = type(kind)(kind.__name__, bases, body)
    _CLASSES[kind], _ORIGINALS[made] = made, kind
    for name, member in members.items():
        twin_member = _member_twin(member)
        setattr(made, name, twin_member)
        if isinstance(member, functools.cached_property):
            twin_member.__set_name__(made, name)
    return made


def _is_statement(kind: type) -> bool:
    """Whether a class is made by a ``class`` statement, for other than to raise or to count."""
    on_the_heap = bool(kind.__flags__ & 1 << 9)
    return (
        on_the_heap
        and "__slots__" not in vars(kind)
        and not issubclass(kind, (BaseException, enum.Enum))
    )


def _member_twin(member: Any) -> Any:
    if isinstance(member, property):
        theirs = (member.fget, member.fset, member.fdel)
        get, put, delete = [part and twin_of(part) for part in theirs]
        return property(get, put, delete, member.__doc__)
    if isinstance(member, (staticmethod, classmethod)):
        return type(member)(twin_of(member.__func__))
    if isinstance(member, functools.cached_property):
        return functools.cached_property(twin_of(member.func))
    return twin_of(member)


def instance_twin(value: Any, kind: type | None = None, shared: bool = False) -> Any:
    """A SciPy object as one of the twin of its class; itself where there is none.

    ``kind`` is that twin where it is known. ``shared`` ones, which modules and other objects hold,
    are made once.
    """
    kind = kind or class_twin(type(value))
    if kind is type(value) or not hasattr(value, "__dict__"):
        return value
    made: Any = object.__new__(kind)
    if shared:
        key = id(value)

        def forget(_: Any, twins: dict[int, Any] = _TWINS) -> None:
            twins.pop(key, None)

        # What others hold, a frozen distribution for one, goes with them.
        _TWINS[key] = weakref.ref(value, forget), made
    made.__dict__.update({name: _bound(part, value, made) for name, part in vars(value).items()})
    for name in (n for cls in type(value).__mro__ for n in getattr(cls, "__slots__", ())):
        if hasattr(value, name):
            setattr(made, name, _bound(getattr(value, name), value, made))
    return made


def _bound(part: Any, owner: Any, made: Any) -> Any:
    """What an object holds, for its twin: a method of its own as the twin's method."""
    if isinstance(part, types.MethodType) and part.__self__ is owner:
        f = part.__func__
        of_class = getattr(type(owner), f.__name__, None) is f
        return types.MethodType(getattr(type(made), f.__name__) if of_class else twin_of(f), made)
    if isinstance(part, np.vectorize):
        inner = _bound(part.pyfunc, owner, made)
        new: Any = traced_numpy.vectorize(inner, part.otypes, excluded=part.excluded)
        if hasattr(part, "nin"):  # which SciPy sets
            new.nin = part.nin
        return new
    return twin_of(part)


def _kinds(kind: Any) -> tuple[Any, ...]:
    """The classes of what ``isinstance`` takes: one, a union, or a tuple of such."""
    if isinstance(kind, types.UnionType):
        return kind.__args__
    return tuple([one for part in kind for one in _kinds(part)] if type(kind) is tuple else [kind])


def _is_instance(x: Any, kind: Any, /) -> bool:
    kinds = _kinds(kind)
    return is_instance(x, (*kinds, *[_ORIGINALS[k] for k in kinds if k in _ORIGINALS]))


# What is given: NumPy, math, and what SciPy asks its arrays.

_ASKED: dict[str, Function] = {
    "array_namespace": lambda *arrays, **options: _traced_namespace(),
    "is_numpy": lambda xp: True,
    "is_numpy_namespace": lambda xp: True,
}


def _enter() -> None:
    _BUILTINS[_CALLED["isinstance"][0]] = _is_instance
    for name in dir(np):
        theirs, ours = getattr(np, name), getattr(traced_numpy, name)
        if not isinstance(theirs, types.ModuleType) and ours is not theirs:
            stands_for(theirs, ours)
    traced_math = types.ModuleType("math")
    traced_math.__dict__.update({**vars(math), **MATH})
    for name, form in MATH.items():
        stands_for(getattr(math, name), form)
    stands_for(math, traced_math)
    stands_for(np, traced_numpy)
    stands_for(_compat(), _traced_namespace())
    extra = getattr(_array_api, "xpx", None)  # older versions write in place
    if extra is not None:
        stands_for(extra.at, at)
    # Where SciPy keeps its copies of what it asks differs from version to version.
    for module, names in list(sys.modules.items()):
        if _is_scipy(module) and "array_api" in module:
            for name in _ASKED.keys() & vars(names).keys():
                stands_for(getattr(names, name), _ASKED[name])


_enter()
