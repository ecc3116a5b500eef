"""Telling that a function is recorded at each call, and runs no program ever.

Integers, objects and what stands outside are part of a program: where one of them is another at
each call, so is the program. Where shapes or containers differ, nobody can help it; and where
Python decides otherwise, `linad.jit.known_paths` says so.
"""

import inspect
from collections.abc import Callable
from typing import Any

from linad.core import tree
from linad.core.patience import say
from linad.core.settings import settings
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.jit.signature import Signature
from linad.jit.specializations import Variant

SUCCESSIVE = 8
"""Calls one after the other that were recorded, at which it is told."""


class Recordings:
    """The recordings of a jitted function one after the other."""

    def __init__(self) -> None:
        self.count, self.told = 0, False
        self._last: tuple[Signature, Variant] | None = None

    def add(self, f: Callable[..., Any], arguments: Signature, path: Variant) -> None:
        """One more recording; at the eighth that no run of a program came between, say why."""
        if self.told:
            return
        before, self._last = self._last, (arguments, path)
        what = None if before is None or before[1].met_again else _difference(f, *before, arguments)
        self.count = self.count + 1 if what else 1
        if self.count < SUCCESSIVE or not settings().progress:
            return
        self.told, self._last = True, None
        say(
            f"{name_of(f)} has been recorded at each of its last {SUCCESSIVE} calls, which takes "
            f"longer than running it: {what}, and part of the program. Pass what changes as a "
            f"float or an array, or leave linad.jit out"
        )


def _difference(
    f: Callable[..., Any], before: Signature, path: Variant, now: Signature
) -> str | None:
    """What sends two calls through different programs; None where that has to be."""
    (structure, orders, kinds, *outside), others = before.key, now.key
    if (structure, orders) != others[:2] or before.dynamic != now.dynamic:
        return None
    moving = set(now.dynamic)
    for k, (a, b) in enumerate(zip(kinds, others[2], strict=True)):
        if a == b:
            continue
        if k in moving or k in now.fixed or isinstance(now.leaves[k], (str, bool, type(None))):
            return None
        if changed := _read_and_changed(now, now.leaves[k]):
            names = ", ".join(changed)
            return f"attribute {names} of {_argument(f, now, k)}, {ITS_OWN}, is another at each"
        values = f"{shown(before.leaves[k])}, then {shown(now.leaves[k])}"
        return f"{_argument(f, now, k)} has another value at each ({values})"
    if outside != list(others[3:]):
        place = others[3] if len(others) > 3 else ()
        return _outside(outside[0] if outside else (), place, _read_and_changed(now))
    if path.is_stale(now.outside):
        return "an array that it reads from outside has other entries at each"
    return None


def _argument(f: Callable[..., Any], call: Signature, k: int) -> str:
    """What the argument is called that holds a leaf."""
    args, kwargs = tree.unflatten(call.structure, list(range(len(call.leaves))))
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):  # a function of C may not tell
        names = []
    names += [str(i) for i in range(len(names), len(args))]
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if k in tree.flatten(value)[0]:
            return f"argument {name}" if value == k else f"what argument {name} holds"
    return "an argument"


ITS_OWN = "which it writes itself (return that, or keep it in a local variable)"


def _read_and_changed(now: Signature, owner: Any = None) -> list[str]:
    """Attributes, of one object or any, that the function changes and a program cannot write."""
    found = set() if now.place is None else now.place.read_first
    return sorted([name for k, name in found if owner is None or k == id(owner)])


def _outside(before: tuple[Any, ...], now: tuple[Any, ...], changed: list[str]) -> str:
    """What differs of what was found outside; ``changed`` are attributes that it writes itself."""
    for a, b in zip(before, now, strict=False):
        if a != b and isinstance(b, tuple) and isinstance(b[0], str) and b[0]:
            attribute = b[0].rpartition(".")[2].partition("[")[0]
            if attribute in changed:
                return f"attribute {attribute}, {ITS_OWN}, is another at each"
            name = f"attribute {b[0][1:]}" if b[0].startswith(".") else b[0]
            return f"{name}, which it reads from outside, is another at each"
    return "what it reads from outside is another at each"
