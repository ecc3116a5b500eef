"""What is adopted at present, and what happens when a trace starts and ends."""

import os
import sys
import types
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

from linad.adoption.automatic import (
    Touches,
    is_in_arithmetic,
    packages_on,
    raisers,
    refusals,
)
from linad.adoption.caches import forget_keys
from linad.adoption.exchanges import LOCK, SWITCH
from linad.adoption.forms import refresh
from linad.adoption.promotion import give_back
from linad.adoption.source import Names, names_in
from linad.adoption.subclasses import forget
from linad.adoption.sweep import Changes, functions_of, sweep, sweep_definitions
from linad.core.adopted import CODES, SPACES, WATCHERS, RunAgain
from linad.core.callers import warn_user
from linad.core.codes import codes_in
from linad.core.installed import is_installed, package_of_file
from linad.core.interrupts import uninterrupted
from linad.errors import AdoptionWarning

_FEW = 64
"""Modules met at once up to which those of the user's own are compiled anew."""


class Watcher:
    """What is adopted, and what to do when a trace starts and ends.

    Attributes
    ----------
    packages : Counter
        How often each package or module was adopted, by name.
    codes : Counter
        How often each code object of single functions was, by its id.
    modules : dict
        What was changed for each module, by the id of its globals.
    alone : list
        The functions that were adopted alone, and what was changed for each.
    automatic : int
        How often the automatic mode was switched on.
    """

    def __init__(self) -> None:
        self.packages: Counter[str] = Counter()
        self.codes: Counter[int] = Counter()
        self.modules: dict[int, Changes] = {}
        self.alone: list[tuple[types.FunctionType, Changes]] = []
        self.automatic = 0
        self.own: set[int] = set()  # of modules, those that are the user's own
        self.deepened: dict[tuple[int, str], Names] = {}  # modules compiled anew, by file
        self.unnamed: dict[int, str] = {}  # packages of globals that ``exec`` was given
        self.users = 0
        self._seen = 0

    def hold(self) -> None:
        """Count one more adoption; traces are watched while there is any."""
        self.users += 1
        WATCHERS[:] = [self]

    def let_go(self) -> None:
        """Count one adoption fewer."""
        self.users -= 1
        if not self.users:
            WATCHERS.clear()

    # Packages.

    def adopt(self, name: str) -> None:
        """Adopt a package, or a module, by its name."""
        self.packages[name] += 1
        self._seen = 0
        self.look_for_new()

    def leave_package(self, name: str) -> None:
        """Undo one adoption of a package."""
        self.packages[name] -= 1
        if self.packages[name]:
            return
        del self.packages[name]
        for key, space in list(SPACES.items()):
            if key in self.modules and not self._belongs(self._owner_of(space)):
                self.unnamed.pop(key, None)
                self.modules.pop(key).undo()
                forget()
                del SPACES[key]
                self.own.discard(key)
                self.deepened = {at: n for at, n in self.deepened.items() if at[0] != key}

    def _belongs(self, module: str) -> bool:
        return any(module == name or module.startswith(f"{name}.") for name in self.packages)

    def _folders(self) -> dict[str, str]:
        """The packages that are adopted, by their folders."""
        packages = [(name, sys.modules.get(name)) for name in self.packages]
        paths = [(name, getattr(module, "__path__", ())) for name, module in packages]
        return {folder.rstrip(os.sep) + os.sep: name for name, path in paths for folder in path}

    def look_for_new(self) -> bool:
        """Adopt modules that were imported since; whether there were any."""
        if len(sys.modules) == self._seen:
            return False
        refresh()
        fresh, folders = {}, self._folders()
        modules: list[tuple[str, Any]] = list(sys.modules.items())
        for name, module in modules:
            if not isinstance(module, types.ModuleType):
                continue
            space = vars(module)
            if id(space) in SPACES or space.get("__name__") != name:
                continue
            if not self._belongs(name):
                package = _package_around(space.get("__file__"), folders)
                if package is None:
                    continue
                self.unnamed[id(space)] = package
            fresh[id(space)] = space
        self._seen = len(sys.modules)
        if not fresh:
            return False
        SPACES.update(fresh)
        self.modules.update(sweep(fresh))
        for key, space in fresh.items():
            if _is_own(space) and len(fresh) <= _FEW:
                self.own.add(key)
                for own in {f.__code__.co_filename for f in _functions(space)}:
                    self._deepen(key, own)
        return True

    def _deepen(self, key: int, file: str) -> bool:
        """Compile the functions of a module anew; whether that changed any.

        Once, and again where the module has other names by now of what has forms.
        """
        names = names_in(SPACES[key])
        if self.deepened.get((key, file)) == names:
            return False
        self.deepened[key, file] = names
        forget()
        changes = self.modules[key]
        return any([changes.deepen(f, names=names) for f in functions_of(SPACES[key], file)])

    def _deepen_everywhere(self, frame: FrameType) -> bool:
        """Compile the function that a frame runs anew, with all of its arithmetic looked at."""
        changes, code = self.modules.get(id(frame.f_globals)), frame.f_code
        known = self.alone
        if changes is not None:
            known = [(f, changes) for f in functions_of(frame.f_globals, code.co_filename)]
        running = [(f, own) for f, own in known if code in codes_in(f.__code__)]
        changed = [own.deepen(f, everywhere=True) for f, own in running]
        if changes is None:
            for f, alone in running:
                self.know(f, alone)
        return any(changed)

    def know(self, f: Any, changes: Changes) -> None:
        """Count the code objects of a function that is adopted alone."""
        for code in codes_in(f.__code__) if isinstance(f, types.FunctionType) else ():
            if id(code) not in changes.counted:
                CODES[id(code)] = code
                self.codes[id(code)] += 1
                changes.counted.add(id(code))

    def forget_alone(self, changes: Changes) -> None:
        """Undo one adoption of a function alone."""
        changes.undo()
        self.alone = [(f, c) for f, c in self.alone if c is not changes]
        for key in changes.counted:
            self.codes[key] -= 1
            if not self.codes[key]:
                del self.codes[key], CODES[key]

    def _adopt_unnamed(self, frame: FrameType) -> bool:
        """Adopt what adopted code makes by ``exec``, of a file or a text; whether a frame does."""
        space, package = frame.f_globals, package_of_file(frame.f_code.co_filename)
        if space.get("__name__"):
            return False
        if not package and frame.f_back is not None and id(frame.f_back.f_globals) in SPACES:
            package = self._owner_of(frame.f_back.f_globals)  # which calls what it has made
        if not self._belongs(package):
            return False
        self.unnamed[id(space)] = package
        SPACES[id(space)] = space
        self.modules.update(sweep({id(space): space}))
        return True

    def _owner_of(self, space: dict[str, Any]) -> str:
        """The module, or the package, that adopted code belongs to."""
        return self.unnamed.get(id(space)) or space.get("__name__", "")

    def _adopt_late(self, key: int) -> bool:
        """Adopt what a module of the user's own has defined since; whether there was anything."""
        changes = self.modules[key]
        late = sweep_definitions({key: SPACES[key]}, {key: changes})
        names = names_in(SPACES[key])
        for f in late:
            changes.deepen(f, names=names)
        return bool(late)

    def _has_late(self, key: int) -> bool:
        """Whether functions stand in a module that were not there before."""
        knows = self.modules[key].knows
        return not all([knows(f) for f in _functions(SPACES[key])])

    # Traces.

    def enter(self, trace: Any) -> None:
        """A trace starts."""
        with uninterrupted(), LOCK:
            self.look_for_new()
            for key in self.own:
                if self._has_late(key):
                    self._adopt_late(key)
            trace.watcher = self
            SWITCH.start()
        if self.automatic:
            trace.touches = Touches(trace, _entered_by(sys._getframe(1)), self._belongs)

    def leave(self, trace: Any, error: Any) -> None:
        """A trace has ended; raises `RunAgain` where more code is adopted now."""
        with uninterrupted():
            SWITCH.stop()
            trace.watcher = None
            give_back(trace)
            trace.__dict__.pop("results", None)
            if trace.keys:
                forget_keys(trace)
        touches = trace.__dict__.pop("touches", None)
        if touches is not None:
            touches.end()
        if not self.users or isinstance(error, RunAgain):
            return
        with uninterrupted(), LOCK:
            new_forms = len(sys.modules) != self._seen and refresh()  # of what it has imported
            again = self.look_for_new()
            refused = list(refusals(trace, error))
            again |= new_forms and bool(refused)
            if self.automatic:
                again |= self._adopt_met(touches, refused or list(raisers(error)))
            for place in refused:
                frame = place.tb_frame
                key = id(frame.f_globals)
                if key in self.own and self._adopt_late(key):  # a lambda, or what it decorates
                    again = True
                elif key in self.modules:
                    again |= self._deepen(key, frame.f_code.co_filename)
                elif self._adopt_unnamed(frame):
                    self._deepen(key, frame.f_code.co_filename)
                    again = True
                if not again and is_in_arithmetic(place):
                    again = self._deepen_everywhere(frame)
        if again:
            trace.marks.clear()
            raise RunAgain(error) from None

    def _adopt_met(self, touches: Touches | None, refused: list[Any]) -> bool:
        """Adopt the installed packages that a run met; whether there were new ones."""
        met = dict(touches.met) if touches is not None else {}
        for package, where in packages_on(refused):
            met.setdefault(package, where)
        new = {package: where for package, where in met.items() if not self._belongs(package)}
        for package, where in new.items():
            self.adopt(package)
            warn_user(f"linad adopted {package} ({where})", AdoptionWarning)
        return bool(new)


def _entered_by(frame: Any) -> FrameType:
    """The function that enters a trace, whose class may enter it in several steps."""
    while frame.f_code.co_name == "__enter__":
        frame = frame.f_back
    return frame  # type: ignore[no-any-return]


def _package_around(file: Any, folders: dict[str, str]) -> str | None:
    """The package in whose folder a module lies that was imported without its name."""
    if not isinstance(file, str):
        return None
    return next((name for folder, name in folders.items() if file.startswith(folder)), None)


def _is_own(space: dict[str, Any]) -> bool:
    return not is_installed(space.get("__file__") or "")


def _functions(space: dict[str, Any]) -> Iterator[types.FunctionType]:
    for value in list(space.values()):
        members = [value, *vars(value).values()] if isinstance(value, type) else [value]
        for f in members:
            if isinstance(f, types.FunctionType) and f.__globals__ is space:
                yield f
