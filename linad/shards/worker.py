"""In the process that computes: terms, shards and linearizations that are kept for the next call.

All of it is a cache: what is not there is made again, wherever a task runs.
"""

import os
import pickle
import socket
import threading
import time
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Primitive, Traced
from linad.errors import LeakedTracerError, ShardError
from linad.operators.base import JacobianOperator
from linad.shards.packing import Layout, digest
from linad.shards.report import Counts
from linad.shards.summation import Nodes, merged
from linad.shards.terms import Path, applied, arity, linearized, term

MOST_TERMS = 256
"""Functions that a process keeps, with what was compiled of them."""


@dataclass
class Order:
    """What is to be computed of some shards.

    Attributes
    ----------
    token : str
        Names the sum that its derivatives, and its calls, have in common.
    name : str
        For messages.
    function : bytes or None
        The pickled function; None in the process that knows it.
    count : int
        How many shards there are in all.
    layout, path, args
        The point, packed, and the steps to the derivative.
    kept_bytes : int
        What this process may keep.
    jitted : bool
    """

    token: str
    name: str
    function: bytes | None
    count: int
    layout: Layout
    path: Path
    args: Sequence[Any]
    kept_bytes: int
    jitted: bool


Result = tuple[Nodes, dict[str, Counts]]
"""Sums by their nodes, and what the workers have counted so far."""


class LatelyUsed:
    """Objects by keys ``(token, ...)``: the ones used last, up to a number of bytes."""

    def __init__(self) -> None:
        self.entries: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self.bytes = 0
        self.lock = threading.Lock()
        self.forgotten: deque[str] = deque()

    def get(self, key: tuple[Any, ...]) -> Any:
        """The object, or None."""
        with self.lock:
            self._drop_forgotten()
            if key not in self.entries:
                return None
            self.entries.move_to_end(key)
            return self.entries[key][0]

    def put(self, key: tuple[Any, ...], value: Any, size: int, limit: int) -> None:
        """Keep an object of ``size`` bytes; what was not used for longest makes room."""
        with self.lock:
            self._drop_forgotten()
            self._drop(key)
            self.entries[key] = value, size
            self.bytes += size
            while self.bytes > limit:
                self._drop(next(iter(self.entries)))

    def forget(self, token: str) -> None:
        """Drop what is of one sum.

        A collection of garbage may call this in the midst of any other method, with the lock held:
        then the next one drops it.
        """
        self.forgotten.append(token)
        if self.lock.acquire(blocking=False):
            try:
                self._drop_forgotten()
            finally:
                self.lock.release()

    def bytes_of(self, token: str) -> int:
        """What is kept for one sum."""
        with self.lock:
            self._drop_forgotten()
            return sum(size for key, (_, size) in self.entries.items() if key[0] == token)

    def _drop_forgotten(self) -> None:
        while self.forgotten:
            token = self.forgotten.popleft()
            for key in [key for key in self.entries if key[0] == token]:
                self._drop(key)

    def _drop(self, key: tuple[Any, ...]) -> None:
        self.bytes -= self.entries.pop(key, (None, 0))[1]


kept = LatelyUsed()
terms = LatelyUsed()
functions: dict[str, Callable[..., Any]] = {}
"""The functions of this process's own sums."""
_counts: dict[tuple[int, str], Counts] = {}


def forget(token: str) -> None:
    """Drop all that this process knows of a sum."""
    kept.forget(token)
    terms.forget(token)
    functions.pop(token, None)
    _counts.pop((os.getpid(), token), None)


def work(order: Order, numbers: Sequence[int], shards: Sequence[Any]) -> Result:
    """What some shards add to a sum.

    Parameters
    ----------
    order : Order
    numbers : list of int
        Of the shards, in the sum.
    shards : list
        Tuples of arguments, or functions that make them.
    """
    # Not those of another process, which a fork would have left here.
    counts = _counts.setdefault((os.getpid(), order.token), Counts())
    begun = time.perf_counter()
    nodes: Nodes = {}
    for number, shard in zip(numbers, shards, strict=True):
        try:
            nodes[0, number] = _part(order, number, shard, counts)
        except Exception as error:
            raise _failure(order, number, error) from error
        nodes = merged(nodes, order.count, order.name)
    counts.seconds += time.perf_counter() - begun
    counts.shards += len(numbers)
    counts.kept_bytes = kept.bytes_of(order.token)
    return nodes, {f"{socket.gethostname()}:{os.getpid()}": counts.copy()}


def _part(order: Order, number: int, shard: Array, counts: Counts) -> Any:
    given = _loaded(order, number, shard, counts)
    path, args = order.path, order.args
    if not path:
        y = _term(order, path)(*args, *given)
    else:
        n = arity(order.layout, path[:-1])
        i = path[-1][1]
        key = order.token, number, order.layout, path[:-1], i, digest(args[:n])
        J = kept.get(key)
        if J is None:
            counts.linearized += 1
            J = linearized(_term(order, path[:-1]), i, args[:n], given)
            kept.put(key, J, bytes_held(J, but=given), order.kept_bytes)
        else:
            counts.found += 1
        y = applied(J, path[-1][0], *args[n:])
    if isinstance(y, Traced):
        raise LeakedTracerError(
            "the function refers to a traced value; a derivative in it would be lost. Make it an "
            "argument of the sum: F(w, c) adds up f(w, c, *shard)"
        )
    return np.asarray(y)


def _loaded(order: Order, number: int, shard: Array, counts: Counts) -> tuple[Any, ...]:
    """The arguments that a shard stands for."""
    if callable(shard):
        key = order.token, number
        found = kept.get(key)
        if found is None:
            counts.loaded += 1
            found = shard()
            kept.put(key, found, bytes_held(found), order.kept_bytes)
        shard = found
    return shard if type(shard) is tuple else (shard,)


def _term(order: Order, path: Path) -> Callable[..., Any]:
    key = order.token, order.layout, path
    found = terms.get(key)
    if found is None:
        f = functions.get(order.token)
        if f is None:
            assert order.function is not None, "only other processes are sent what to do"
            f = functions_sent(order.token, order.function)
        found = term(f, order.layout, path, order.jitted)
        terms.put(key, found, 1, MOST_TERMS)
    return found  # type: ignore[no-any-return]


def functions_sent(token: str, function: bytes) -> Callable[..., Any]:
    """A function that was sent here; unpickled once, so that what it compiles is kept."""
    found = terms.get((token,))
    if found is None:
        found = pickle.loads(function)
        terms.put((token,), found, 1, MOST_TERMS)
    return found  # type: ignore[no-any-return]


def _failure(order: Order, number: int, error: Exception) -> ShardError:
    text = f"{order.name}: shard {number} of {order.count}: {type(error).__name__}: {error}"
    failure = ShardError(text, shard=number)
    if order.function is not None:  # the cause itself stays in this process
        failure.add_note(traceback.format_exc())
    return failure


def bytes_held(held: Any, but: tuple[Any, ...] = ()) -> int:
    """The bytes of the arrays that an object holds, each counted once.

    Parameters
    ----------
    held : object
        An operator, or a container of arrays and other data.
    but : object
        Whose arrays are not counted.
    """
    return sum(_arrays(held, seen=set(_arrays(but, seen=set()))).values())


def is_code(x: Any) -> bool:
    """Whether an object is a function, a class or a program, and holds no residuals."""
    return isinstance(x, Primitive) or (callable(x) and not isinstance(x, JacobianOperator))


def _arrays(held: Any, seen: set[int]) -> dict[int, int]:
    """The sizes of the arrays in an object, by their ids."""
    found: dict[int, int] = {}
    seen = set(seen)
    waiting = [held]
    while waiting:
        x = waiting.pop()
        if isinstance(x, np.ndarray):
            while isinstance(x.base, np.ndarray):
                x = x.base
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, np.ndarray):
            found[id(x)] = x.nbytes
        elif isinstance(x, (bytes, str)):
            found[id(x)] = len(x)
        elif isinstance(x, (tuple, list, set, frozenset)):
            waiting.extend(x)
        elif isinstance(x, dict):
            waiting.extend(x.values())
        elif is_code(x):
            pass  # compiled programs are kept for themselves
        else:
            waiting.extend(vars(x).values() if hasattr(x, "__dict__") else ())
            slots = [name for cls in type(x).__mro__ for name in getattr(cls, "__slots__", ())]
            waiting.extend(getattr(x, name) for name in slots if hasattr(x, name))
    return found
