"""A walk through what is neither a variable nor a user's object: holders, sparse matrices, modules
of packages, and what the process answers."""

import builtins
import contextvars
import functools
import logging
import math
import operator
import sys
import threading
import types
import weakref
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from typing import Any

import numpy as np

from linad.core.callers import defining_package, warn_user
from linad.core.frames import defining_module
from linad.core.installed import file_of, is_installed
from linad.jit.code_reads import ANY_MODULE, CATCHES, LoadedName, module_named
from linad.jit.process_state import (
    LASTING,
    LOOKED_AT,
    MISSING,
    answer,
    is_data,
    is_environment,
    is_given_once,
    qualified,
    steps_of,
)
from linad.jit.static_values import OPAQUE, SMALL, Itself, contents, digest
from linad.jit.told_apart import shown_entries
from linad.jit.written_attributes import Attributes

VIEWS: tuple[type[Any], ...] = (type({}.keys()), type({}.values()), type({}.items()))

HOLDERS = (
    *(types.MappingProxyType, logging.Logger, *VIEWS),
    *(contextvars.ContextVar, weakref.ref, threading.local, np.vectorize),
    *(operator.attrgetter, operator.itemgetter, operator.methodcaller),
)

EMPTY: Any = object()

MOST = 20_000
"""Places that a walk looks into before it asks whose they are: about a second."""

TAKEN_AS_INSTALLED: set[str] = set()
"""Packages of the user's that hold more than is compared at each call."""


def content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


@functools.lru_cache(4096)
def is_users_module(name: str, file: str) -> bool:
    package = name.partition(".")[0]
    if package in OPAQUE or package in TAKEN_AS_INSTALLED:
        return False
    return not is_installed(file)


def take_as_installed(package: str) -> None:
    """Look no further into a package's modules than into those of an installed one."""
    TAKEN_AS_INSTALLED.add(package)
    is_users_module.cache_clear()
    warn_user(
        f"linad.jit: package {package} reaches more than {MOST:,} values that a call might find "
        f"changed; it is taken for an installed one, of which only what your own code names is "
        f"compared. Pass as an argument what changes in it"
    )


def is_users_class(kind: type) -> bool:
    name = defining_module(kind)
    return is_users_module(name, file_of(sys.modules.get(name)))


def is_sparse(x: Any) -> bool:
    """Whether it is one of SciPy's sparse arrays, which nobody has before they are imported."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and isinstance(x, (sparse.sparray, sparse.spmatrix))


def is_array_like(kind: type) -> bool:
    """Whether objects of a package's class are arrays to NumPy: data frames, tensors."""
    return hasattr(kind, "__array__") and not is_users_class(kind)


def entries_of(value: Any) -> bytes:
    """What stands in such memory; of a large one, a hash."""
    with memoryview(value) as memory:
        if memory.nbytes <= SMALL:
            return memory.tobytes()
        return digest(memory if memory.c_contiguous else memory.tobytes())


def same_entries(value: Any, before: tuple[Any, ...]) -> bool:
    if not isinstance(value, np.ndarray):
        return False
    return bool((type(value), value.dtype, value.shape, contents(value)) == before)


def _numpy_contents(value: Any) -> Any:
    """What NumPy sees of an object, small for a large one."""
    array = shown_entries(value)
    if array is None:
        return None
    found = contents(array)
    if array.dtype.hasobject:
        _, found = found  # NumPy may have made this array now, as of the columns of a table
    return array.dtype, array.shape, found


def _is_lasting(owner: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a variable of a package's module is a number that belongs to it."""
    package = owner.__name__.partition(".")[0]
    public = getattr(owner, "__all__", ()) if package != "math" else (name,)
    return package in LASTING and name in public and isinstance(value, (int, float, type(None)))


class StateWalk(ABC):
    """One walk: what it has found so far, and its part for all that is neither variable nor object.

    Parameters
    ----------
    names : set of str
        Attributes that some of the functions read, as far as is known.
    whole : bool
        Whether attributes are read that nobody names.

    Attributes
    ----------
    matrices : dict
        Sparse matrices and the names of the places where they stand, by their ids.
    owners : list of set
        The ids of the sparse matrices that each array is part of; 0 where it stands elsewhere.
    unread : dict
        Attributes that the function writes before it reads them.
    users : list
        The objects whose attributes are looked at.
    """

    def __init__(self, names: set[str], whole: bool, prefix: str = "k") -> None:
        self.prefix = prefix
        self.first: Any = None  # where the walk begins
        self.known, self.names, self.whole = names, set(names), whole
        self.given_once: list[str] = []
        self.generators: list[Any] = []
        self.cached = self.hidden = 0
        self.compared: set[int] = set()
        self.unseen_matrices: set[int] = set()
        self.matrices: dict[int, tuple[Any, set[str]]] = {}
        self.owners: list[set[int]] = []
        self.owner = 0
        self.any = whole
        self.parts: list[Any] = []
        self.arrays: list[np.ndarray] = []
        self.array_names: list[str] = []
        self.texts: list[str] = []
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {
            "same": same_entries,
            "all": all,
            "map": map,
            "is_": operator.is_,
        }
        self.scope["entries_of"] = entries_of
        self.met: dict[int, int] = {}
        self.slots: set[str] = set()
        self.most: float = math.inf
        self.volatile = False
        self.functions: list[types.FunctionType] = []
        self.objects: set[int] = set()
        self.unread: Attributes = {}
        self.users: list[Any] = []
        self.alive: list[Any] = []
        self.depth = 0
        self.later: deque[tuple[Any, str, tuple[int, int, int]]] = deque()
        self._bound: dict[int, str] = {}

    def bind(self, value: Any) -> str:
        """A name for a value in the lines."""
        name = self._bound.get(id(value))
        if name is None:
            name = self._bound[id(value)] = f"{self.prefix}{len(self._bound)}"
            self.scope[name] = value
        return name

    def largest_package(self) -> str:
        """The package most of whose functions were met, but that of the first; "" for none."""
        own = {"__main__", defining_package(self.first)}
        met = Counter([defining_package(f) for f in self.functions])
        return next((name for name, _ in met.most_common() if name and name not in own), "")

    @abstractmethod
    def slot(self, name: str, value: Any, text: str, fixed: bool = False) -> None:
        """What stands in a place that ``text`` reads; ``fixed`` if nothing else ever will."""

    @abstractmethod
    def inside(self, value: Any, name: str) -> None:
        """What is read of a value, or of what it holds."""

    @abstractmethod
    def of_dict(self, name: str, value: Any) -> None:
        """The keys and values of a dictionary."""

    @abstractmethod
    def of_object(
        self, name: str, value: Any, classes: bool = True, every: bool = False
    ) -> None:
        """The attributes of an object, ``every`` one or those that somebody reads, and of its
        class."""

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """What is met here is not told from the code that reads it: arrays are compared."""
        self.hidden += 1
        yield
        self.hidden -= 1

    def missing(
        self, there: Mapping[str, Any], hooked: bool = False, but: Set[str] = frozenset()
    ) -> None:
        """Names that somebody reads and that are not there, but for some: it counts that they
        still are not, where an error is caught or a ``__getattr__`` answers for them."""
        if not (CATCHES in self.known or hooked):
            return
        text = self.bind(there)
        if not there:  # as in most functions: that is told sooner
            self.lines.append(f"len({text}) == 0")
        elif absent := frozenset(self.known - there.keys() - but - {CATCHES}):
            self.lines.append(f"{text}.keys().isdisjoint({self.bind(absent)})")

    def held(self, name: str, value: Any) -> None:
        """What stands behind an object whose only task is to hold it."""
        text = self.bind(value)
        if is_sparse(value):
            self.of_sparse(name, value)
        elif isinstance(value, types.MappingProxyType):
            self.of_dict(name, value)
        elif isinstance(value, VIEWS):
            self.of_dict(name, value.mapping)
        elif is_data(type(value)):
            self.of_object(name, value, classes=False)
        elif isinstance(value, contextvars.ContextVar):
            self.slot(name, value.get(MISSING), f"{text}.get({self.bind(MISSING)})")
        elif isinstance(value, weakref.ref):
            alive = value() is not None  # a line that holds on to the object would keep it so
            self.parts.append((name, alive))
            self.lines.append(f"({text}() is not None) is {alive}")
            if alive:
                self.inside(value(), name)
        elif isinstance(value, threading.local):
            for n in sorted(self.known):
                self.slot(f"{name}.{n}", getattr(value, n, MISSING), self._or_missing(value, n))
        elif isinstance(value, np.vectorize):
            self.slot(name, value.pyfunc, f"{text}.pyfunc")
        elif isinstance(value, logging.Logger):
            self.parts.append((name, value.level))
            self.lines.append(f"{text}.level == {value.level}")
        else:  # attrgetter, itemgetter, methodcaller
            given = value.__reduce__()[1]
            parts = [part for item in given if isinstance(item, str) for part in item.split(".")]
            self.names |= set(parts)

    def _or_missing(self, value: Any, name: str) -> str:
        return f"{self.bind(getattr)}({self.bind(value)}, {name!r}, {self.bind(MISSING)})"

    def of_sparse(self, name: str, value: Any) -> None:
        """The entries of a sparse matrix. What a program has made of them, it keeps."""
        self.lines.append(f"{self.bind(value)}.shape == {value.shape!r}")
        self.owner = id(value)
        for n in ("data", "indices", "indptr", "offsets", "coords", "rows"):
            if n in vars(value):
                self.slot(f"{name}.{n}", vars(value)[n], f"{self.bind(vars(value))}[{n!r}]")
        self.owner = 0
        if isinstance(getattr(value, "_dict", None), dict):
            self.of_dict(name, value._dict)

    def as_array(self, name: str, value: Any) -> None:
        """An object of a package whose entries only NumPy's view of it tells."""
        now = _numpy_contents(value)
        self.parts.append((name, now))
        self.lines.append(f"{self.bind(_numpy_contents)}({self.bind(value)}) == {self.bind(now)}")

    def of_environment(self) -> None:
        """The variables of the environment."""
        self.looked_at("os.environ._data.copy()")

    def looked_at(self, expression: str) -> None:
        """An answer of the process that is looked at again at each call."""
        now = answer(expression)
        line = f"{self.bind(answer)}({expression!r}) == {self.bind(now)}"
        if expression not in self.slots:
            self.slots.add(expression)
            self.parts.append((expression, repr(now)))
            self.lines.append(line)

    def of_chains(self, f: types.FunctionType, chains: tuple[LoadedName, ...]) -> None:
        """What a function reads of modules and classes that are not the user's."""
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        for chain in chains:
            value = self.root_of(f, chain, cells)
            self.answered(value, chain)
            steps = steps_of(value, chain.attributes)
            last, missing = steps[-1][2] if steps else value, chain.attributes[len(steps) :]
            named = (types.FunctionType, types.ModuleType)
            if isinstance(last, named) and missing and not hasattr(last, missing[0]):
                self.lines.append(f"{missing[0]!r} not in {self.bind(last.__dict__)}")
            for owner, name, found in steps:
                self.answered(found, chain)
                if not isinstance(owner, types.ModuleType) or isinstance(found, types.ModuleType):
                    continue
                if _is_lasting(owner, name, found) or callable(found):
                    continue
                if is_environment(found):
                    self.of_environment()
                elif not is_users_module(owner.__name__, file_of(owner)):
                    with self.unseen():
                        self.slot(name, found, f"{self.bind(vars(owner))}[{name!r}]")

    def imported(self, name: str, f: types.FunctionType) -> None:
        """A module that a function imports, perhaps for the first time."""
        if name == ANY_MODULE:
            self.imported_by_any_name()
            return
        module = module_named(name, f)
        if module is not None:
            if not name.startswith("."):
                self.lines.append(f"{self.bind(sys.modules)}.get({name!r}) is {self.bind(module)}")
                self.parts.append((name, Itself(module)))
            self.inside(module, name)
        elif not name.startswith("."):
            self.parts.append((name, "not imported"))
            self.lines.append(f"{name!r} not in {self.bind(sys.modules)}")

    def imported_by_any_name(self) -> None:
        """Which module it is nobody can tell: one of those that are there."""
        for module in list(sys.modules.values()):
            if isinstance(module, types.ModuleType):
                self.inside(module, module.__name__)

    def root_of(self, f: types.FunctionType, chain: LoadedName, cells: dict[str, Any]) -> Any:
        """What the variable at the beginning of a chain is."""
        if chain.imported:
            module = module_named(chain.root, f)
            return MISSING if module is None else module
        if chain.root in cells:
            return content(cells[chain.root])
        return f.__globals__.get(chain.root, getattr(builtins, chain.root, MISSING))

    def answered(self, found: Any, chain: LoadedName) -> None:
        """Take note of a function that has another answer at each call, or whenever it changes."""
        if is_environment(found):
            self.of_environment()
            return
        expression = LOOKED_AT.get(qualified(found))
        if expression is not None:
            self.looked_at(expression)
        elif is_given_once(found, chain.bare) and not self.cached:
            self.given_once.append(".".join((chain.root, *chain.attributes)))
