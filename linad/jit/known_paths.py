"""The paths that a jitted function is known to take, by the kind of its arguments."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from linad.core.callers import warn_user
from linad.core.compiler_lock import books
from linad.core.settings import settings
from linad.core.tape import GUARDS, Reasoned, Source, Var, guards_in
from linad.jit.signature import Signature
from linad.jit.specializations import Variant
from linad.jit.static_values import StaticValue
from linad.transforms.rewriting import value_key
from linad.transforms.spoilt_zeros import REASON

SIGNATURES = 256
"""Kinds of arguments that a jitted function remembers; the longest unused goes."""


class KnownPaths(Sequence[Variant]):
    """Paths in the order in which they were found; threads may look and add at any time."""

    def __init__(self) -> None:
        self._known: tuple[Variant, ...] = ()

    def __len__(self) -> int:
        return len(self._known)

    def __getitem__(self, k: Any) -> Any:
        return self._known[k]

    def fitting(self, arrays: Sequence[Any]) -> Iterator[Variant]:
        """Those that were recorded with arguments that lie in memory as these do."""
        return (path for path in self._known if path.fits(arrays))

    def has_room(self, outside: Sequence[np.ndarray]) -> bool:
        """Whether one more may be kept: one for arrays that were different outside goes."""
        with books:
            if len(self) < settings().variants:
                return True
            stale = [path for path in self._known if path.is_stale(outside)]
            if stale:
                self._known = tuple([path for path in self._known if path is not stale[0]])
            return bool(stale)

    def add(self, path: Variant) -> Variant:
        """Keep a path, unless another thread has found it meanwhile; the one that is kept."""
        with books:
            for known in self._known:
                if _are_one(known, path):
                    return known
            self._known += (path,)
        return path

    def last_decision(self) -> Source | None:
        """The line of the decision by which the last path leaves the one before it; of a single
        path one that a routine explains, if there is any, else the last."""
        if not self._known:
            return None
        equations = self._known[-1].tape.equations
        first = 0
        if len(self._known) > 1:
            pairs = zip(_course(self._known[-2]), _course(self._known[-1]), strict=False)
            first = next((k for k, (a, b) in enumerate(pairs) if a != b), 0)
        asked = [e.source for e in guards_in(equations[first:])]
        if first or not asked:
            return asked[0] if asked else None
        # Which one it is, nobody knows; that of NaN is rarely it.
        others = [source for source in asked if getattr(source, "reason", None) != REASON] or asked
        explained = [source for source in others if isinstance(source, Reasoned)]
        return (explained or others)[-1]


DECIDE = (
    "np.where decides entry by entry, linad.while_loop repeats for as long as values say, "
    "linad.scipy.optimize.newton does so for a root, and linad.kernel compiles loops and ifs over "
    "numbers as they stand"
)
"""Instead of decisions that send a program through many paths."""


class KnownCalls(OrderedDict[Any, KnownPaths]):
    """The paths that are known for each kind of arguments, and settings."""

    warned = False
    """Whether the user has been told that some kind takes more paths than are kept."""

    def of(self, arguments: Signature) -> KnownPaths:
        """Those for arguments of this kind, under the settings in force."""
        chosen = settings()
        key = (arguments.key, chosen.vector_math, chosen.fast_math)
        with books:
            paths = self.get(key)
            if paths is None:
                paths = self[key] = KnownPaths()
            self.move_to_end(key)
            if len(self) > SIGNATURES:
                self.popitem(last=False)
        return paths

    def warn(self, name: str, paths: KnownPaths) -> None:
        """Say once that other paths of a function run uncompiled."""
        if self.warned:
            return
        self.warned = True
        source = paths.last_decision()
        place = f" at {source}" if source else ""
        remedy = source.reason if isinstance(source, Reasoned) else DECIDE
        warn_user(
            f"linad.jit: {name} took a new path through its Python decisions {len(paths)} "
            f"times{place}; from now on other paths run uncompiled. {remedy}; "
            f"linad.config(variants=...) keeps more paths"
        )


def _are_one(a: Variant, b: Variant) -> bool:
    """Whether two recordings are of one path: two threads may find it at the same time."""
    asked = [(v.layouts, v.memory, v.python_numbers) for v in (a, b)]
    return asked[0] == asked[1] and _course(a) == _course(b)


def _course(variant: Variant) -> list[Any]:
    return [
        (
            e.primitive,
            [value_key(a) for a in e.inputs if not isinstance(a, Var)],
            [(v.shape, v.dtype) for v in e.outputs],
            StaticValue(e.params["expected"]) if e.primitive in GUARDS else None,
        )
        for e in variant.tape.equations
    ]
