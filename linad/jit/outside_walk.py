"""A walk through all that a function reaches outside its arguments, and notes of what it meets.

Code says which names are read; what stands under them is told apart by what a program may make of
it: numbers by value, functions and objects by themselves, containers by their items, arrays by
dtype, shape and layout. Each note comes with a line of Python that tells whether it still holds.
"""

import abc
import builtins
import enum
import functools
import importlib
import types
import typing
from collections import deque
from io import IOBase
from typing import Any

import numpy as np

from linad.arrays.foreign_operands import is_of_pandas
from linad.core.installed import file_of
from linad.core.memory_layouts import layout_of
from linad.core.showing import shown
from linad.core.transformed_functions import Transformed
from linad.jit.carried_along import FOLLOWED, called_by, has_memory, is_bound, moves
from linad.jit.code_reads import CATCHES, IMPORTERS, NOTES, reads_of
from linad.jit.memoized import generation_of
from linad.jit.process_state import MISSING, is_data, is_environment
from linad.jit.random_draws import is_generator
from linad.jit.state_walk import (
    EMPTY,
    HOLDERS,
    StateWalk,
    content,
    entries_of,
    is_array_like,
    is_sparse,
    is_users_class,
    is_users_module,
)
from linad.jit.static_values import (
    MACHINERY,
    Itself,
    StaticValue,
    attributes,
    class_attributes,
    contents,
    is_users,
    slots_of,
)
from linad.jit.told_apart import FLAGS, beside, has_more
from linad.jit.traced_results import is_jitted
from linad.transforms.plain_operands import is_frozen

SILENT = {
    *("__init__", "__new__", "__init_subclass__", "__repr__", "__str__", "__reduce__"),
    *("__getstate__", "__setstate__", "__del__", "__replace__", "__format__", "__copy__"),
    *MACHINERY,
}
"""Methods that Python does not call on an object that is there already, or for texts only."""

GENERATED = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__hash__"}
LONG = 32
"""Items of a list from which it is compared as a whole."""

NUMBERS = (bool, int, float, complex, str, bytes, types.NoneType, np.generic)

DEEP = 40
"""Values inside of values that are looked into at once: some five calls of Python's each, and the
rest waits, so that no depth of what is walked comes near Python's limit."""


def _innermost(f: Any) -> Any:
    """The function that a derivative, or a jitted function, is of."""
    while isinstance(f, Transformed) or is_jitted(f):
        f = f.function
    return f


def _is_users_function(f: types.FunctionType) -> bool:
    name = f.__globals__.get("__name__") or ""
    return is_users_module(str(name), f.__code__.co_filename)


class OutsideWalk(StateWalk):
    """One walk through all that a function reaches."""

    def root(self, value: Any, name: str = "", contents: bool = True) -> None:
        """Begin at a function, or at an object with methods."""
        if contents:
            self.first = _innermost(value)
        if is_environment(value):
            self.of_environment()
        elif contents or isinstance(value, FOLLOWED) or not is_users(type(value)):
            self.volatile = self.volatile or moves(value)
            if is_sparse(value):
                self.matrix(name, value)
            self.labels(value)
            self.inside(value, name)
        else:
            self.of_class(type(value))
        self.rest()

    def hold_first(self) -> None:
        """The code of the function itself counts too, if there is anything to look at."""
        if self.lines or self.arrays:
            code = self.first.__code__ if type(self.first) is types.FunctionType else None
            if code is not None:
                self.lines.append(f"{self.bind(self.first)}.__code__ is {self.bind(code)}")

    def slot(self, name: str, value: Any, text: str, fixed: bool = False) -> None:
        """What stands in a place that ``text`` reads; ``fixed`` if nothing else ever will."""
        if text in self.slots or len(self.slots) > self.most:
            return
        self.slots.add(text)
        kind = type(value)
        if kind is np.ndarray and value.dtype.kind in "biufc" and value.dtype.isnative:
            self.array(name, value, text)
            return
        if isinstance(value, NUMBERS):
            self.parts.append((name, StaticValue(value)))
        elif isinstance(value, np.ndarray):
            self.parts.append((name, kind, value.dtype, value.shape, contents(value)))
            whole = kind, value.dtype, value.shape, contents(value)
            self.lines.append(f"same({text}, {self.bind(whole)})")
            return
        elif isinstance(value, (list, dict, set, tuple, frozenset, deque, bytearray)):
            self.parts.append((name, kind, len(value)))
        else:
            self.parts.append((name, Itself(value)))
            if is_sparse(value):
                self.matrix(name, value)
            self.labels(value)
            self.volatile = self.volatile or moves(value) or self._is_read(value)
        if not fixed:
            self.lines.append(f"{text} is {self.bind(value)}")
        if not isinstance(value, NUMBERS) or is_users(kind):
            self.inside(value, name)

    def labels(self, value: Any) -> None:
        """Those of a Series or DataFrame of pandas, by which it is aligned with others; and what
        it has beside them, as far as somebody reads it."""
        if not is_of_pandas(type(value)):
            return
        held = self.bind(value)
        for axis in ("index", "columns"):
            if (labels := getattr(value, axis, None)) is not None:
                self.parts.append((axis, Itself(labels)))
                self.lines.append(f"{held}.{axis} is {self.bind(labels)}")
                names = list(labels.names)  # which change in place, as nothing else of labels
                self.parts.append((axis, StaticValue(names)))
                self.lines.append(f"{held}.{axis}.names == {self.bind(names)}")
        for name, now in beside(value).items() if hasattr(value, "attrs") else ():
            if self._counts(name, made=False):
                place = f"flags.{name}" if name in FLAGS else name
                self.slot(name, now, f"{held}.{place}")

    def _is_read(self, value: Any) -> bool:
        """Whether it is a file that the code reads from, and does not only write into."""
        return isinstance(value, IOBase) and not READERS.isdisjoint(self.known)

    def array(self, name: str, value: np.ndarray, text: str) -> None:
        if is_frozen(value):
            self.parts.append((name, Itself(value)))
            self.lines.append(f"{text} is {self.bind(value)} and {self.bind(is_frozen)}({text})")
            return
        if self.any or "flags" in self.known:
            flags = value.flags.num
            self.parts.append((name, "flags", flags))
            self.lines.append(f"{text}.flags.num == {flags}")
        for k, known in enumerate(self.arrays):
            if known is value:
                self.compared |= {k} if self.hidden else set()
                self.owners[k].add(self.owner)
                self.parts.append((name, "again", k))
                self.lines.append(f"{text} is {self.texts[k]}")
                return
        if self.hidden:
            self.compared.add(len(self.arrays))
        self.parts.append((name, "array", value.dtype, value.shape, layout_of(value)))
        self.arrays.append(value)
        self.owners.append({self.owner})
        self.array_names.append(name)
        self.texts.append(text)

    def matrix(self, name: str, value: Any) -> None:
        """A place where a sparse matrix stands."""
        if self.hidden:
            self.unseen_matrices.add(id(value))
        self.matrices.setdefault(id(value), (value, set()))[1].add(name)

    def inside(self, value: Any, name: str) -> None:
        """What is read of a value, or of what it holds."""
        if id(value) in self.met:
            self.parts.append(("again", self.met[id(value)]))
            return
        self.met[id(value)] = len(self.met)
        self.alive.append(value)
        if self.depth == DEEP:
            self.later.append((value, name, (self.hidden, self.owner, self.cached)))
            return
        self.depth += 1
        self._look_into(value, name)
        self.depth -= 1

    def rest(self) -> None:
        """What stood too deep to be looked into from where it was met, as in a linked list."""
        around = self.hidden, self.owner, self.cached
        while self.later:
            value, name, (self.hidden, self.owner, self.cached) = self.later.popleft()
            self._look_into(value, name)
        self.hidden, self.owner, self.cached = around

    def _look_into(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind is types.FunctionType:
            self.of_function(value)
        elif kind is types.MethodType:
            self.inside(value.__func__, name)
            self.inside(value.__self__, name)
        elif isinstance(value, Transformed):
            self.inside(value.function, name)
        elif isinstance(value, functools.partial):
            held = self.bind(value)
            self.slot(name, value.func, f"{held}.func", fixed=True)
            self.items(name, value.args, f"{held}.args")
            self.slot(name, value.keywords, f"{held}.keywords", fixed=True)
        elif isinstance(value, types.ModuleType):
            self.of_module(value)
        elif isinstance(value, type):
            self.of_class(value, made=True)
        elif isinstance(value, (property, classmethod, staticmethod)):
            parts = (value.fget, value.fset) if isinstance(value, property) else (value.__func__,)
            for part in parts:
                if part is not None:
                    self.inside(part, name)
        elif isinstance(value, (list, tuple, deque)):
            self.items(name, value, self.bind(value))
        elif isinstance(value, dict):
            self.of_dict(name, value)
        elif isinstance(value, (set, frozenset)):
            self.of_set(name, value)
        elif kind not in NUMBERS and has_memory(value):
            now = entries_of(value)
            self.parts.append((name, now))
            self.lines.append(f"entries_of({self.bind(value)}) == {self.bind(now)}")
        elif is_jitted(value):
            self.inside(value.function, name)
        elif kind.__module__ == "functools" and hasattr(value, "__wrapped__"):
            self.of_cached(name, value)
        elif is_bound(value) and value.__name__ not in NOTES:
            with self.unseen():
                self.slot(name, value.__self__, f"{self.bind(value)}.__self__", fixed=True)
        elif (function := called_by(value)) is not None:
            self.inside(function, name)
        elif is_generator(value):
            self.generators.append(value)
        self.of_its_own(name, value)

    def of_its_own(self, name: str, value: Any) -> None:
        """What a value holds as an object, whatever else it is."""
        kind: Any = type(value)
        if isinstance(value, enum.Enum):
            with self.unseen():
                self.slot(f"{name}.value", value._value_, f"{self.bind(value)}._value_")
        elif is_users(kind) and not isinstance(value, type):
            if is_array_like(kind):
                self.as_array(name, value)
                if has_more(kind):
                    with self.unseen():
                        self.of_object(name, value, classes=False, every=True)
            else:
                self.of_object(name, value)
        elif isinstance(value, HOLDERS) or is_sparse(value) or is_data(kind):
            with self.unseen():
                self.held(name, value)

    def of_set(self, name: str, value: Any) -> None:
        copy = frozenset(value)
        self.parts.append((name, StaticValue(copy)))
        if isinstance(value, set):
            self.lines.append(f"{self.bind(value)} == {self.bind(copy)}")
        for item in copy:
            if not isinstance(item, NUMBERS):
                self.inside(item, name)

    def of_cached(self, name: str, value: Any) -> None:
        """A function that `functools` keeps the results of: what it reads once, it keeps."""
        self.cached += 1
        generation = generation_of(value)
        self.parts.append((name, "generation", generation))
        self.lines.append(f"{self.bind(generation_of)}({self.bind(value)}) == {generation}")
        self.inside(value.__wrapped__, name)
        self.cached -= 1

    def items(self, name: str, value: Any, text: str) -> None:
        if not isinstance(value, tuple):
            self.lines.append(f"len({text}) == {len(value)}")
        if len(value) > LONG and all([isinstance(v, NUMBERS) for v in value]):
            now = tuple(value)
            self.parts.append((name, StaticValue(now)))
            if not isinstance(value, tuple):
                self.lines.append(f"all(map(is_, {text}, {self.bind(now)}))")
            return
        for k, item in enumerate(value):
            self.slot(name, item, f"{text}[{k}]", fixed=isinstance(value, tuple))

    def of_dict(self, name: str, value: Any) -> None:
        text = self.bind(value)
        keys = tuple(value)
        self.parts.append((name, StaticValue(keys)))
        self.lines.append(f"tuple({text}) == {self.bind(keys)}")
        for k, item in list(value.items()):
            key = repr(k) if type(k) in (str, int) else self.bind(k)
            self.slot(f"{name}[{shown(k)}]", item, f"{text}[{key}]")

    def of_function(self, f: types.FunctionType) -> None:
        if not _is_users_function(f):
            self.of_installed(f)
            return
        code = f.__code__
        self.functions.append(f)
        self.parts.append(Itself(code))
        if f is not self.first:
            self.lines.append(f"{self.bind(f)}.__code__ is {self.bind(code)}")  # reloaded in place
        reads = reads_of(code)
        self.names |= reads.attributes | ({"super"} & set(reads.names))
        self.names |= {CATCHES} if reads.catches else set()
        self.whole |= reads.whole
        self.of_chains(f, reads.chains)
        for name in sorted(reads.imports):
            self.imported(name, f)
        scope, known = f.__globals__, self.bind(f.__globals__)
        for name in reads.names:
            if name in scope:
                self.named(name, scope[name], f"{known}[{name!r}]")
            elif not hasattr(builtins, name):
                self.parts.append((name, "missing"))
                self.lines.append(f"{name!r} not in {self.bind(vars(builtins))}")
            elif vars(builtins)[name] is not PYTHONS_OWN.get(name, MISSING):
                self.named(name, vars(builtins)[name], f"{self.bind(vars(builtins))}[{name!r}]")
        if missing := frozenset(reads.names) - scope.keys():  # Python's own, too
            self.lines.append(f"{known}.keys().isdisjoint({self.bind(missing)})")
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            if name in reads.cells and content(cell) is not EMPTY:
                self.named(name, cell.cell_contents, f"{self.bind(cell)}.cell_contents")
            elif name in reads.cells:
                self.parts.append((name, "empty"))
                self.lines.append(f"{self.bind(content)}({self.bind(cell)}) is {self.bind(EMPTY)}")
        self.of_defaults(f)
        if self.any:
            self.lines.append(f"len({self.bind(f.__dict__)}) == {len(f.__dict__)}")
        self.missing(f.__dict__)
        for name in sorted(self.known & f.__dict__.keys()):
            self.slot(name, f.__dict__[name], f"{self.bind(f.__dict__)}[{name!r}]")

    def of_installed(self, f: types.FunctionType) -> None:
        """What a function of an installed package holds on to: linad's transforms, a decorator."""
        for cell in f.__closure__ or ():
            value = content(cell)
            kind = type(value)
            if issubclass(kind, FOLLOWED) or is_users(kind) or is_jitted(value):
                self.inside(value, "")
        if isinstance(registry := getattr(f, "registry", None), types.MappingProxyType):
            self.inside(registry, f.__name__)  # of functools.singledispatch

    def of_defaults(self, f: types.FunctionType) -> None:
        if f.__defaults__:
            held = self.bind(f.__defaults__)
            self.lines.append(f"{self.bind(f)}.__defaults__ is {held}")
            self.items("", f.__defaults__, held)
        if f.__kwdefaults__:
            held = self.bind(f.__kwdefaults__)
            self.lines.append(f"{self.bind(f)}.__kwdefaults__ is {held}")
            for name, value in f.__kwdefaults__.items():
                self.slot(name, value, f"{held}[{name!r}]")

    def named(self, name: str, value: Any, text: str) -> None:
        """A variable of a function's; a module is looked into, if it is the user's."""
        if isinstance(value, types.ModuleType):
            self.inside(value, name)
            return
        if name not in IMPORTERS and (value is importlib.import_module or value is __import__):
            self.imported_by_any_name()
        self.slot(name, value, text)

    def of_module(self, module: types.ModuleType) -> None:
        if not is_users_module(module.__name__, file_of(module)):
            return
        scope, known = vars(module), self.bind(vars(module))
        if self.any:
            self.lines.append(f"len({known}) == {len(scope)}")
        for name in sorted(self.known & scope.keys()):
            if not name.startswith("__"):
                self.named(f"{module.__name__}.{name}", scope[name], f"{known}[{name!r}]")
        if callable(hook := scope.get("__getattr__")):
            self.slot(f"{module.__name__}.__getattr__", hook, f"{known}['__getattr__']")
        self.missing(scope, hook is not None)

    def of_object(
        self, name: str, value: Any, classes: bool = True, every: bool = False
    ) -> None:
        kind = type(value)
        self.objects.add(id(value))
        self.users.append(value)
        self.lines.append(f"{self.bind(value)}.__class__ is {self.bind(kind)}")
        others = [b for b in kind.__mro__ if not is_users(b) and b not in NEUTRAL]
        every = every or self.any or bool(others)
        held = getattr(value, "__dict__", None)
        found = attributes(value)
        mentioned = found if every else [n for n in found if n in self.known]
        if isinstance(held, dict):
            text = self.bind(held)
            if every:
                self.lines.append(f"len({text}) == {len(held)}")
        _, unread = self.unread.get(id(value), (value, frozenset()))
        self.parts += [(n, "written first") for n in sorted(unread)]
        for n in [n for n in mentioned if n not in unread]:
            inner = isinstance(held, dict) and n in held
            place = f"{text}[{n!r}]" if inner else f"{self.bind(value)}.{n}"
            self.slot(f"{name}.{n}", found[n], place)
        hooked = hasattr(kind, "__getattr__")
        if CATCHES in self.known:
            for n in [n for n in slots_of(kind) if n in self.known and n not in found]:
                self.parts.append((n, "not set"))
                self.lines.append(f"not {self.bind(hasattr)}({self.bind(value)}, {n!r})")
        if isinstance(held, dict):
            self.missing(held, hooked, unread)
            for n, other in class_attributes(kind).items():
                if n in unread or n not in self.known or n in held:
                    continue
                if not hasattr(type(other), "__set__"):
                    self.parts.append((n, "of the class"))
                    self.lines.append(f"{n!r} not in {text}")
        if classes:
            self.of_class(kind)

    def of_class(self, kind: type, made: bool = False) -> None:
        """The attributes of a class; ``made``: objects of it may be made, too."""
        meta = type(kind)
        if _is_users_metaclass(meta) and id(meta) not in self.met:
            self.met[id(meta)] = len(self.met)
            self.of_class(meta)
        bases = [base for base in kind.__mro__ if is_users(base) or _is_users_metaclass(base)]
        if len(bases) > 1:  # a class without bases of its own cannot be given others
            self.parts.append(Itself(kind.__mro__))
            self.lines.append(f"{self.bind(kind)}.__mro__ is {self.bind(kind.__mro__)}")
        found = dict.fromkeys([n for base in bases for n in vars(base) if self._counts(n, made)])
        texts = {base: self.bind(vars(base)) for base in bases} if found else {}
        if self.any:
            self.lines += [f"len({self.bind(vars(base))}) == {len(vars(base))}" for base in bases]
        hooked = any([hasattr(k, "__getattr__") for k in (kind, meta)])
        for base in bases:
            self.missing(vars(base), hooked, found.keys())
        for name in found:
            for base in bases:
                if name not in vars(base):
                    self.lines.append(f"{name!r} not in {texts[base]}")
                    continue
                value = vars(base)[name]
                if not (name in GENERATED and _is_generated(value)):
                    self.slot(f"{base.__name__}.{name}", value, f"{texts[base]}[{name!r}]")
                if "super" not in self.known:
                    break  # nobody asks for what stands behind it

    def _counts(self, name: str, made: bool) -> bool:
        """Whether somebody reads an attribute of a class."""
        if name.startswith("__") and name.endswith("__"):
            return name not in MACHINERY and (made or name not in SILENT)
        return self.any or name in self.known


PYTHONS_OWN = dict(vars(builtins))
"""Python's functions, by their names; who puts others beside them, or in their places, has
variables there."""

NEUTRAL = {object, list, dict, tuple, set, frozenset, int, float, str, bytes, complex}
NEUTRAL |= {abc.ABC, typing.Generic, typing.Protocol, enum.Enum, types.SimpleNamespace}
"""Bases that read no attributes of those who inherit from them."""


READERS = {"read", "readline", "readlines", "readinto", "read1", "getline", "next", "__next__"}
"""Methods that take something from a file."""


def _is_users_metaclass(kind: type) -> bool:
    return kind is not type and issubclass(kind, type) and is_users_class(kind)


def _is_generated(f: Any) -> bool:
    """Whether a method was written by `dataclasses`: it reads all fields, for nobody."""
    f = getattr(f, "__wrapped__", f)
    return type(f) is types.FunctionType and f.__code__.co_filename == "<string>"
