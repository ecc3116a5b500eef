"""What stands for originals while no trace runs, and for their forms while one does.

Hidden names are globals of every module at once: they live among the built-ins. Data of adopted
modules that holds originals (class attributes, defaults, tables, partials) is exchanged with them.
"""

import builtins
import threading
from collections.abc import Callable
from typing import Any

from linad.adoption.form_table import form_of

LOCK = threading.RLock()

PLAIN = "_linad_plain"
"""Name of what is true while no trace runs, for code that is compiled anew."""


class Exchange:
    """Something that holds an original, and is to hold its form.

    Parameters
    ----------
    put : callable
        Called with what is to be held.
    original, form : object
    """

    __slots__ = ("form", "original", "put")

    def __init__(self, put: Callable[[Any], Any], original: Any, form: Any) -> None:
        self.put, self.original, self.form = put, original, form


class Switch:
    """Turns exchanges, while at least one trace runs.

    Attributes
    ----------
    running : int
        How many traces run that began with code adopted.
    """

    def __init__(self) -> None:
        self.running = 0
        self._hidden: dict[int, tuple[str, Any]] = {}  # id of an original -> its name, itself
        self._names: list[tuple[str, Any, Any]] = []
        self._exchanges: list[Exchange] = []
        builtins.__dict__[PLAIN] = True

    def start(self) -> None:
        """A trace starts."""
        with LOCK:
            self.running += 1
            if self.running == 1:
                self._turn(True)

    def stop(self) -> None:
        """A trace has ended."""
        with LOCK:
            self.running -= 1
            if not self.running:
                self._turn(False)

    def _turn(self, on: bool) -> None:
        space = builtins.__dict__
        space[PLAIN] = not on
        for name, original, form in self._names:
            space[name] = form if on else original
        for exchange in self._exchanges:
            exchange.put(exchange.form if on else exchange.original)

    def hidden_name(self, original: Any) -> str:
        """The name that adopted code calls an original by."""
        known = self._hidden.get(id(original))
        if known is not None:
            return known[0]
        label = getattr(original, "__name__", type(original).__name__).replace(".", "_")
        name = f"_linad_{label}_{len(self._hidden)}"
        form = form_of(original)
        with LOCK:
            builtins.__dict__[name] = form if self.running else original
            self._hidden[id(original)] = name, original
            self._names.append((name, original, form))
        return name

    def add(self, exchanges: list[Exchange]) -> None:
        """Exchange these as well."""
        self._exchanges += exchanges
        if self.running:
            for exchange in exchanges:
                exchange.put(exchange.form)

    def remove(self, exchanges: list[Exchange]) -> None:
        """Exchange these no more: they hold their originals."""
        gone = set(map(id, exchanges))
        self._exchanges = [e for e in self._exchanges if id(e) not in gone]
        for exchange in exchanges:
            exchange.put(exchange.original)


SWITCH = Switch()
