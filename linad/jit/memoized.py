"""Functions that keep their results (`functools.cache`), and whether they have been told to forget.

What such a function has read it does not read again, until ``cache_clear`` is called. Nothing says
that it was, but that results are gone which were there. One that others have pushed out of a cache
of limited size is not looked for.
"""

import gc
import weakref
from typing import Any

from linad.core.compiler_lock import books


class KeptResults:
    """What was last seen of the results that a function keeps.

    Attributes
    ----------
    generation : int
        How often it was found to have forgotten.
    """

    def __init__(self, f: Any) -> None:
        held = [r for r in gc.get_referents(f) if type(r) is dict and r is not f.__dict__]
        self._results = held[0] if held else {}
        self._info = f.cache_info
        self._made = 0
        self._last: Any = None
        self.generation = 0

    def looked_at(self) -> int:
        """The generation now."""
        info, last = self._info(), self._last
        with books:
            gone = last is not None and self._results.get(last[0]) is not last[1]
            pushed_out = info.currsize == info.maxsize and info.misses > self._made
            if info.misses < self._made or (gone and not pushed_out):
                self.generation += 1
            self._made = info.misses
            self._last = next(reversed(self._results.items()), None)
            return self.generation


_memories: "weakref.WeakKeyDictionary[Any, KeptResults]" = weakref.WeakKeyDictionary()


def generation_of(f: Any) -> int:
    """A number that is another one after a function has forgotten its results."""
    memory = _memories.get(f)
    if memory is None:
        memory = _memories.setdefault(f, KeptResults(f))
    return memory.looked_at()
