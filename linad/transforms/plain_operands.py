"""Plain arrays beside traced values: what an operator keeps of them must not change.

The rule of a product refers to the plain array in it. When the function overwrites that array
afterwards (a workspace, say), the operator would be silently wrong. So an array is copied when it
is met, and the copy is shared as long as the array is equal to it, bit by bit. Only a large array,
whose copy would cost as much as the operation, is kept by reference; it is watched: its contents
are summed up when it is met and again when the function returns. Where no code says anything that
could write into it (`linad.transforms.stores`), a sample of its entries has to do.
"""

import functools
import hashlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.memory_layouts import copy_in_layout
from linad.core.settings import settings
from linad.errors import OverwrittenError
from linad.operators.stored_matrices import parts_of
from linad.transforms.stores import may_write

_TINY = 2**12  # bytes that are copied faster than they are compared
_STRIDE = 509  # entries between two of a sample: about a page of memory
_WORDS = (np.uint64, np.uint32, np.uint8)


class PlainOperands:
    """The plain arrays that the operations of one trace refer to."""

    __slots__ = ("_copies", "watched")

    def __init__(self) -> None:
        self._copies: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.watched: dict[int, tuple[np.ndarray, Callable[[Any], bytes], bytes]] = {}

    def keep(self, a: np.ndarray) -> np.ndarray:
        """The array as an operator may keep it."""
        if a.nbytes <= _TINY:
            return a.copy("K") if a.flags.forc else copy_in_layout(a)
        if is_frozen(a):
            return a
        if a.nbytes > settings().snapshot_bytes:
            if id(a) not in self.watched:
                self._watch(a)
            return a
        known = self._copies.get(id(a))
        if known is None or not same_bits(a, known[1]):
            known = self._copies[id(a)] = (a, copy_in_layout(a))
        return known[1]

    def keep_sparse(self, A: Any, large: bool = False) -> Any:
        """A sparse matrix as an operator may keep it; a copy of a large one, too, if asked for."""
        known = _matrices.get(id(A))
        if known is not None and known.is_of(A):
            return known.own
        parts = parts_of(A)
        if not parts:
            return A.tocsr(copy=True)  # lists and dictionaries: products convert them anyway
        if not large and sum([a.nbytes for a in parts]) > settings().snapshot_bytes:
            for a in parts:
                if id(a) not in self.watched:
                    self._watch(a)
            return A
        known = _matrices[id(A)] = KeptMatrix(A)
        return known.own

    def _watch(self, a: np.ndarray) -> None:
        state = fingerprint if may_write() else sample
        self.watched[id(a)] = (a, state, state(a))

    def check(self) -> None:
        """Raise OverwrittenError if one of the large arrays has changed since it was met."""
        for a, state, before in self.watched.values():
            if state(a) != before:
                raise OverwrittenError(
                    f"a plain array of shape {a.shape} was used beside traced values and "
                    f"overwritten before the function returned, which would make the derivative "
                    f"wrong; use a copy of it (w.copy()), or make it with np.zeros_like(x) so "
                    f"that linad sees the writes"
                )


class Snapshots:
    """Copies of a row of arrays that many traces meet, each made again where an entry differs.

    Nobody can write into them, so that operators keep them as they are. Large arrays, which are
    watched, and tiny ones stay themselves.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def of(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [self._snapshot_of(k, a) for k, a in enumerate(arrays)]

    def _snapshot_of(self, k: int, a: np.ndarray) -> np.ndarray:
        if a.nbytes <= _TINY or a.nbytes > settings().snapshot_bytes or is_frozen(a):
            return a
        known = self._known.get(k)
        if known is None or known[0] is not a or not same_bits(a, known[1]):
            copy = copy_in_layout(a)
            copy.flags.writeable = False
            known = self._known[k] = a, copy
        return known[1]


class KeptMatrix:
    """A sparse matrix and its copy, and how they are compared in as few steps as can be."""

    __slots__ = ("compared", "own", "reference")

    def __init__(self, A: Any) -> None:
        self.own: Any = A.copy()
        self.reference = weakref.ref(A, functools.partial(_forget, id(A)))
        parts, copies = parts_of(A), parts_of(self.own)
        self.compared: list[tuple[Any, Any, Any]] | None = None
        if all([a.flags.c_contiguous for a in (*parts, *copies)]):
            pairs = zip(parts, copies, strict=True)
            self.compared = [(a, _words_of(a), _words_of(b)) for a, b in pairs]

    def is_of(self, A: Any) -> bool:
        """Whether the matrix is what it was when it was copied."""
        same = self.reference() is A
        if not same or self.compared is None:
            return False
        parts = parts_of(A)
        if len(parts) != len(self.compared) or A.shape != self.own.shape:
            return False
        for part, (a, now, then) in zip(parts, self.compared, strict=True):
            if part is not a or not (now == then).all():
                return False
        return True


_matrices: dict[int, KeptMatrix] = {}
"""Copies of sparse matrices: a copy costs as much as several products, so all traces share it."""


def _forget(key: int, reference: Any) -> None:
    known = _matrices.get(key)
    if known is not None and known.reference is reference:
        del _matrices[key]


def is_frozen(a: Array) -> bool:
    """Whether nobody can write into an array: neither it nor what it is a view of."""
    while isinstance(a, np.ndarray):
        if a.flags.writeable:
            return False
        a = a.base
    # Other owners of memory (a bytearray, a file mapped into memory) may change what is there.
    return a is None or isinstance(a, bytes)


def same_bits(a: np.ndarray, copy: np.ndarray) -> bool:
    """Whether an array is what it was when it was copied; NaN is the same as itself."""
    if a.shape != copy.shape or a.dtype != copy.dtype:
        return False
    if a.nbytes <= _TINY or not (a.flags.c_contiguous and copy.flags.c_contiguous):
        return a.tobytes() == copy.tobytes()
    return bool((_words_of(a) == _words_of(copy)).all())


def is_uniform(a: np.ndarray) -> bool:
    """Whether all entries of an array are the same number, bit by bit."""
    if not a.size or a.dtype.kind not in "biufc":
        return False
    words = _words_of(np.ascontiguousarray(a)).reshape(a.size, -1)
    return bool((words == words[0]).all())


def _words_of(a: np.ndarray) -> np.ndarray:
    """The bytes of an array in C order, in the largest words there are."""
    flat = a.reshape(-1)
    return flat.view(next(t for t in _WORDS if flat.itemsize % np.dtype(t).itemsize == 0))


def fingerprint(a: np.ndarray) -> bytes:
    """A hash of the entries in their logical order, and of shape, strides and dtype.

    Each word of memory counts with a weight of its own, modulo 2**64, and so does each word with
    its bytes reversed: a product forgets high bits, and those are all that round numbers have.
    Costs as much as copying the array three times.
    """
    words = _words_of(np.ascontiguousarray(a))
    weights = _weights()
    sums = []
    for start in range(0, words.size, weights.size):
        block = words[start : start + weights.size].astype(np.uint64, copy=False)
        some = weights[: block.size]
        sums.append((int(np.dot(some, block)), int(np.dot(some, block.byteswap()))))
    text = repr((a.shape, a.strides, a.dtype.str, sums))
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


@functools.cache
def _weights() -> np.ndarray:
    """Odd numbers, so that no change of one word alone goes unnoticed."""
    return np.random.default_rng(0).integers(2**63, size=2**15, dtype=np.uint64) * 2 + 1


def sample(a: np.ndarray) -> bytes:
    """Every 509th entry: sees an array overwritten as a whole or in runs, not a single entry."""
    flat = a.reshape(-1) if a.flags.c_contiguous else a.flat
    return flat[::_STRIDE].tobytes()
