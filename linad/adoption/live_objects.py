"""All objects of a process, those included that the garbage collector was told to leave alone.

Functions and classes of a module may be held by anything: a registry, a closure, an object of
another module. So adoption looks at every object that Python's garbage collector knows. After
`gc.freeze`, which servers call before they fork, `gc.get_objects` no longer names those that were
there; they are then reached from what holds them.
"""

import gc
import sys
from collections.abc import Callable
from typing import Any


def live_objects() -> list[Any]:
    """All containers of the process, each once: functions, classes, instances, tables."""
    known = gc.get_objects()
    return _reached(known) if gc.get_freeze_count() else known


def live_objects_of(wanted: Callable[[type], bool]) -> list[Any]:
    """Those of certain types. Each type is asked about once, not each of a million objects."""
    objects = live_objects()
    kinds = {kind for kind in set(map(type, objects)) if wanted(kind)}
    return [o for o in objects if type(o) in kinds]


def _reached(known: list[Any]) -> list[Any]:
    """What is held, at any depth, by given objects, by modules and by calls that are running.

    Notes
    -----
    Costs some 2 s for a million objects. What only an object of C code holds that tells the
    garbage collector nothing is not found, such as the functions that NumPy dispatches to.
    """
    found: list[Any] = []
    seen = {id(known), id(found)}
    layer = [*known, *sys.modules.values(), *sys._current_frames().values()]
    while layer:
        new = []
        for held in layer:
            if id(held) not in seen and (gc.is_tracked(held) or isinstance(held, type)):
                seen.add(id(held))
                new.append(held)
        found += new
        layer = gc.get_referents(*new)
    return found
