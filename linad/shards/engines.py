"""Who computes: this process, executors of `concurrent.futures`, or a cluster of Dask."""

import itertools
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

from linad.core.showing import shown
from linad.errors import ArgumentError, ShardError
from linad.shards.summation import united
from linad.shards.worker import Order, Result, work

Progress = Callable[[int, int], Any] | None

TASKS_PER_WORKER = 4
"""So many tasks a worker gets at most; where there are more shards, a task takes several."""

WORTHWHILE = 0.1
"""Seconds of work from which a Dask cluster is given a task more: one costs it milliseconds."""

TRUSTED = 1.0
"""Seconds for which it is taken as known who works in a cluster, and where the shards are."""

LARGE = 2**20
"""Bytes of a point that are sent to a Dask cluster once, not with every task."""


class Engine:
    """Runs orders.

    Attributes
    ----------
    words : str
        For reports.
    local : bool
        Whether all runs in this process, so that functions need not be pickled.
    """

    words = "one after the other, in this process"
    local = True

    def place(self, shards: list[Any]) -> list[Any]:
        """What tasks get in place of the shards."""
        return shards

    def groups(
        self, shards: Sequence[Any], tasks: int | None, seconds: float | None
    ) -> list[list[int]]:
        """Which shards, by number, each task takes.

        Parameters
        ----------
        shards : list
        tasks : int or None
            How many there are to be at most.
        seconds : float or None
            What one shard took the last time.
        """
        return [[k] for k in range(len(shards))]

    def run(
        self, order: Order, groups: list[list[int]], shards: Sequence[Any], progress: Progress
    ) -> Result:
        """Compute, and add up what the tasks return."""
        results = []
        for done, group in enumerate(groups, 1):
            results.append(work(order, group, [shards[k] for k in group]))
            if progress is not None:
                progress(done, len(groups))
            results = [_united(results, order)]
        return results[0]


class Pool(Engine):
    """Executors of `concurrent.futures`; with several of them, a shard stays with one."""

    def __init__(self, executors: Sequence[Executor]) -> None:
        self.executors = executors
        kinds = sorted({type(executor).__name__ for executor in executors})
        self.words = f"{len(executors)} x {', '.join(kinds)}"
        self.local = all(isinstance(executor, ThreadPoolExecutor) for executor in executors)

    def groups(
        self, shards: Sequence[Any], tasks: int | None, seconds: float | None
    ) -> list[list[int]]:
        several = len(self.executors)
        wanted = tasks or (several if several > 1 else TASKS_PER_WORKER * (os.cpu_count() or 1))
        return divided(range(len(shards)), wanted)

    def run(
        self, order: Order, groups: list[list[int]], shards: Sequence[Any], progress: Progress
    ) -> Result:
        several = len(self.executors)
        futures: list[Any] = []
        try:
            for task, group in enumerate(groups):
                executor = self.executors[task * several // len(groups)]
                futures.append(executor.submit(work, order, group, [shards[k] for k in group]))
        except RuntimeError as error:  # it is shut down, or broken
            cancel(futures)
            raise _lost(order, groups[len(futures)], error) from error
        return _united(gathered(order, groups, futures, progress), order)


class Dask(Engine):
    """A cluster, by its client: shards live on workers, and partial sums are added there."""

    local = False
    fan_in = 8

    def __init__(self, client: Any) -> None:
        if client.asynchronous:
            raise ArgumentError(
                "executor: the Dask client is asynchronous; make it without asynchronous=True"
            )
        self.client = client
        self.words = "Dask"
        self.trusted = 0.0
        self.workers, self.holders = 1, list[Any]()

    def place(self, shards: list[Any]) -> list[Any]:
        return [self._future(shard) for shard in shards]

    def _future(self, shard: Any) -> Any:
        from distributed import Future

        if isinstance(shard, Future):
            return shard
        if hasattr(shard, "__dask_graph__"):
            return self.client.compute(shard)
        if callable(shard):
            return self.client.submit(shard, pure=False)
        if type(shard) is tuple:
            parts = [self._future(p) if is_dask(p) else p for p in shard]
            return self.client.submit(_together, *parts, pure=False)
        return self.client.submit(_same, shard, pure=False)

    def groups(
        self, shards: Sequence[Any], tasks: int | None, seconds: float | None
    ) -> list[list[int]]:
        self._look(shards)
        each = TASKS_PER_WORKER
        if seconds is not None:
            share = seconds * len(shards) / self.workers
            each = min(max(int(share / WORTHWHILE), 1), TASKS_PER_WORKER)
        wanted = tasks or each * self.workers
        if len(shards) <= wanted:
            return [[k] for k in range(len(shards))]
        # Those of one worker together; shards that nobody has at the moment are one more lot.
        lots: dict[Any, list[int]] = {}
        for k, holder in enumerate(self.holders):
            lots.setdefault(holder, []).append(k)
        each = wanted // len(lots)
        if each == 0:
            return divided([k for numbers in lots.values() for k in numbers], wanted)
        return [group for numbers in lots.values() for group in divided(numbers, each)]

    def _look(self, shards: Sequence[Any]) -> None:
        """Ask the scheduler how many workers there are, and who has each shard."""
        from distributed import wait

        now = time.monotonic()
        if now < self.trusted:
            return
        # Else those of one task would be made by several workers, and travel. A shard that is
        # cancelled is told of by the task that is to read it.
        with suppress(CancelledError):
            wait(shards)
        self.workers = max(len(self.client.scheduler_info(n_workers=-1)["workers"]), 1)
        self.holders = shared_out(list(self.client.who_has(shards).values()))
        self.trusted = now + TRUSTED

    def run(
        self, order: Order, groups: list[list[int]], shards: Sequence[Any], progress: Progress
    ) -> Result:
        submit = self.client.submit
        if sum(getattr(a, "nbytes", 0) for a in order.args) + len(order.function or b"") > LARGE:
            lasting = submit(_same, order, pure=False)  # with its lineage, unlike scattered data
        else:
            lasting = order
        futures = [
            submit(work, lasting, group, [shards[k] for k in group], pure=False) for group in groups
        ]
        about = replace(order, function=b"", args=())
        while len(futures) > self.fan_in:
            lots = [slice(k, k + self.fan_in) for k in range(0, len(futures), self.fan_in)]
            groups = [[k for group in groups[lot] for k in group] for lot in lots]
            futures = [submit(_united, futures[lot], about, pure=False) for lot in lots]
        return _united(gathered(order, groups, futures, progress), order)


def _same(shard: Any) -> Any:
    return shard


def _together(*parts: Any) -> tuple[Any, ...]:
    return parts


def is_dask(x: Any) -> bool:
    """Whether it is a future or a delayed value of Dask's."""
    distributed = sys.modules.get("distributed")
    return hasattr(x, "__dask_graph__") or (
        distributed is not None and isinstance(x, distributed.Future)
    )


def shared_out(held: Sequence[Sequence[Any]]) -> list[Any]:
    """One holder of each shard, all with about as many; None for those that nobody has."""
    count = dict.fromkeys(sorted({h for holders in held for h in holders}), 0)
    chosen: list[Any] = [None] * len(held)
    for k in sorted(range(len(held)), key=lambda k: len(held[k])):
        if held[k]:
            chosen[k] = min(sorted(held[k]), key=count.__getitem__)
            count[chosen[k]] += 1
    return chosen


def divided(numbers: Sequence[int], count: int) -> list[list[int]]:
    """Numbers in at most ``count`` runs of about one length."""
    count = min(count, len(numbers))
    ends = [len(numbers) * k // count for k in range(count + 1)]
    return [list(numbers[a:b]) for a, b in itertools.pairwise(ends)]


def _united(results: Iterable[Result], order: Order) -> Result:
    results = list(results)
    told: dict[str, Any] = {}
    for _, counts in results:
        for worker, c in counts.items():
            if worker not in told or c.shards >= told[worker].shards:
                told[worker] = c
    return united([nodes for nodes, _ in results], order.count, order.name), told


def gathered(
    order: Order, groups: list[list[int]], futures: list[Any], progress: Progress
) -> list[Result]:
    """The results of tasks, in their order; the first failure, if one fails."""
    results = []
    try:
        for done, (group, future) in enumerate(zip(groups, futures, strict=True), 1):
            try:
                results.append(future.result())
            except ShardError:
                raise
            except Exception as error:
                raise _lost(order, group, error) from error
            if progress is not None:
                progress(done, len(futures))
    except BaseException:
        cancel(futures)
        raise
    return results


def cancel(futures: Iterable[Any]) -> None:
    """Give up tasks that have not begun."""
    for future in futures:
        future.cancel()


def _lost(order: Order, group: list[int], error: Exception) -> ShardError:
    which = f"shard {group[0]}" if len(group) == 1 else f"shards {group[0]} to {group[-1]}"
    return ShardError(
        f"{order.name}: the executor did not compute {which}: {type(error).__name__}: {error}",
        shard=group[0],
    )


def engine_of(executor: Any, name: str) -> Engine:
    """The engine for what a user gave as ``executor``."""
    if executor is None:
        return Engine()
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(executor, distributed.Client):
        return Dask(executor)
    executors = [executor] if isinstance(executor, Executor) else executor
    if (
        isinstance(executors, (list, tuple))
        and executors
        and all(isinstance(e, Executor) for e in executors)
    ):
        return Pool(executors)
    raise ArgumentError(
        f"{name}: executor must be None, a concurrent.futures.Executor, a list of them or a "
        f"dask.distributed.Client, got {shown(executor)}"
    )


def pickled(f: Callable[..., Any], name: str) -> bytes:
    """A function as bytes: by cloudpickle, which takes any, or by pickle."""
    try:
        from cloudpickle import dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        return dumps(f)  # type: ignore[no-any-return]
    except Exception as error:
        raise ArgumentError(
            f"{name}: {shown(f)} cannot be sent to other processes: {error}. Define it at the top "
            f"of a module, or install cloudpickle: pip install 'linad[dask]'"
        ) from error
