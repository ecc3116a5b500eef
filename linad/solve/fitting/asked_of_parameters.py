"""What a function asks of its parameters: keys and indices that they lack, and those never read.

Where a model fails it runs once more, on plain parameters that remember what they were asked. An
error counts as theirs if it is the one that they raised.
"""

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from linad.core import tree
from linad.core.frames import place
from linad.core.primitive import Traced
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import ArgumentError
from linad.solve.problems import quiet

MISREAD = (KeyError, IndexError, AttributeError)
"""What parameters raise that lack what they are asked for."""

COPIES = ("valuesdict", "copy_values", "to_dict", "asdict")
"""Methods by which others make a dict of their parameters, which are one here."""


@dataclass
class _Asked:
    """What parameters were asked, in the words of a message; and the error that they raised."""

    words: str = ""
    error: BaseException | None = None

    def refuse(self, words: str, error: Exception) -> NoReturn:
        at = place()
        self.words, self.error = f"{words}" + (f" (at {at})" if at else ""), error
        raise error


class _RememberingDict(dict[Any, Any]):
    """A dict of parameters that remembers its keys that were read, and those it does not have."""

    def __init__(self, parts: dict[Any, Any], name: str, log: _Asked) -> None:
        super().__init__(parts)
        self._name, self._log, self._read = name, log, set[Any]()

    def __getitem__(self, key: Any) -> Any:
        self._read.add(key)
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self._read.add(key)
        return super().get(key, default)

    def __missing__(self, key: Any) -> NoReturn:
        keys, name = list(super().__iter__()), self._name
        plain = {str(known).lower(): known for known in keys}
        near = difflib.get_close_matches(str(key).lower(), plain, 1)
        said = f"did you mean {name}[{plain[near[0]]!r}]?" if near else f"give {key!r} a start too"
        known = ", ".join(map(repr, keys))
        self._log.refuse(f"{name}[{key!r}], and {name} has {known}; {said}", KeyError(key))

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        name = self._name
        said = f"entries are {name}[{attribute!r}]"
        if attribute in COPIES:
            said = f"leave {attribute}() out"
        self._log.refuse(
            f"{name}.{attribute}, and {name} is a dict of numbers; {said}",
            AttributeError(attribute),
        )

    def __iter__(self) -> Any:
        self._read.update(super().__iter__())
        return super().__iter__()

    def keys(self) -> Any:
        self._read.update(super().__iter__())
        return super().keys()

    def values(self) -> Any:
        self._read.update(super().__iter__())
        return super().values()

    def items(self) -> Any:
        self._read.update(super().__iter__())
        return super().items()

    @property
    def unread(self) -> list[Any]:
        return [key for key in super().__iter__() if key not in self._read]


class _RememberingArray(np.ndarray):
    """An array of parameters that remembers an index which it does not have."""

    _name: str = ""
    _log: _Asked | None = None

    def __getitem__(self, index: Any) -> Any:
        try:
            found = super().__getitem__(index)
        except IndexError as error:
            words = "" if self._log is None else _of_index(self._name, self.shape, index)
            if self._log is None or not words:
                raise
            self._log.refuse(words, error)
        return found.view(np.ndarray) if isinstance(found, np.ndarray) else found


class _RememberingNumber(np.float64):
    """One number, given by its name or key, that remembers an index: it has none."""

    _name: str = ""
    _key: str = ""
    _log: _Asked

    def __getitem__(self, index: Any) -> NoReturn:
        name, value = self._name, float(self)
        self._log.refuse(
            f"{name}[...], and {name} started as one number; give its start as many as are read, "
            f"{self._key!r}: [{value:g}, {value:g}, ...]",
            IndexError("invalid index to scalar variable."),
        )


def _is_one(part: Any) -> bool:
    """Whether a parameter is one real number, traced or not."""
    kind = part.dtype.kind if isinstance(part, (np.number, np.ndarray, Traced)) else ""
    return isinstance(part, (int, float)) or (kind in ("i", "u", "f") and part.ndim == 0)


def _number(value: Any, name: str, key: Any, log: _Asked) -> _RememberingNumber:
    number = _RememberingNumber(value.concrete if isinstance(value, Traced) else value)
    number._name, number._key, number._log = name, key, log
    return number


def _of_index(name: str, shape: tuple[int, ...], index: Any) -> str:
    """What is wrong with an index, or with labels, of an array of parameters; "" for others."""
    if isinstance(index, str):
        return (
            f"{name}[{index!r}], and {name} is an array of shape {shape}; give the start as a "
            f"dict, {{{index!r}: ..., ...}}, or index by numbers"
        )
    labels = np.asarray(index)
    kind = labels.dtype.kind
    if not labels.ndim or isinstance(index, tuple):
        return (
            f"{name}[{shown(index)}], and {name} is an array of shape {shape}; give the start as "
            f"many numbers as are read"
            if kind in "iu"
            else ""
        )
    if kind in "iu":
        first, last, count = int(labels.min()), int(labels.max()), shape[0]
        said = (
            "labels that count from 1 index by one less, labels - 1"
            if first == 1 and last == count
            else "give the start as many numbers as are read"
        )
        return (
            f"{name}[labels] of labels from {first} to {last}, and {name} has {count} entries, "
            f"which count from 0 to {count - 1}; {said}"
        )
    if kind == "f":
        return (
            f"{name}[labels] of labels that are floats; they must be integers that count from 0, "
            f"labels.astype(int)"
        )
    if kind in "OSUT":
        return (
            f"{name}[labels] of labels that are texts or objects; they must be integers that count "
            f"from 0, np.unique(labels, return_inverse=True)[1]"
        )
    return ""


class Asking(Protocol):
    """A function of parameters, as a fit calls it."""

    @property
    def f(self) -> Callable[..., Any]:
        """The user's function, compiled or not."""

    def named(self, p: Any) -> dict[str, Any]:
        """Parameters by what the function calls them."""

    def call(self, f: Callable[..., Any], named: dict[str, Any]) -> Any:
        """Run a function in the place of the user's, its other arguments as they are."""


def refuse_misread(solver: str, asking: Asking, p: Any, error: Exception) -> None:
    """Raise where a function failed by asking its parameters, traced or not, for what they lack."""
    log = _Asked()
    asked = {name: _remembering(part, name, log) for name, part in asking.named(p).items()}
    if isinstance(p, dict):
        asked = {key: _number(v, key, key, log) if _is_one(v) else v for key, v in asked.items()}
    try:
        with quiet():
            asking.call(inspect.unwrap(asking.f), asked)
    except Exception as raised:  # what it raised first is told by the caller
        if log.error is raised:
            raise ArgumentError(f"{solver}: {name_of(asking.f)} reads {log.words}") from error


def unread(asking: Asking, p: Any) -> list[str]:
    """The parameters, by key, that a function does not read where they are p."""
    asked = {name: _remembering(part, name, _Asked()) for name, part in asking.named(p).items()}
    try:
        with quiet():
            asking.call(inspect.unwrap(asking.f), asked)
    except Exception:  # it takes no other kind of dict: then nothing is known
        return []
    return [
        str(key)
        for part in asked.values()
        if isinstance(part, _RememberingDict)
        for key in part.unread
    ]


def _remembering(p: Any, name: str, log: _Asked) -> Any:
    """Parameters as plain numbers that remember, with what a message calls them."""
    if isinstance(p, dict):
        parts = {
            key: _number(part, f"{name}[{key!r}]", key, log)
            if _is_one(part)
            else _remembering(part, f"{name}[{key!r}]", log)
            for key, part in p.items()
        }
        return _RememberingDict(parts, name, log)
    if type(p) in (list, tuple):
        return type(p)(_remembering(part, f"{name}[{k}]", log) for k, part in enumerate(p))
    value = p.concrete if isinstance(p, Traced) else p
    if not tree.is_leaf(tree.flatten(value)[1]) or np.ndim(value) == 0:
        return value
    entries = np.array(value).view(_RememberingArray)  # of its own: the function may write
    entries._name, entries._log = name, log
    return entries
