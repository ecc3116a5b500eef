"""The sum of a function over shards, and its derivative.

    F(x_1 .. x_n) = Σ_k f(x_1 .. x_n, *shard_k)
    ∂F/∂x_i v = Σ_k J_k v        (∂F/∂x_i)^H v = Σ_k J_k^H v

Both are sums over the same shards of other functions, so one primitive serves all of them.
"""

import time
import uuid
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import COUNT, FLAG, FUNCTION, POSITIVE_COUNT, takes
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import ArgumentError, OutputError
from linad.operators.base import JacobianOperator
from linad.operators.facts import EVERYTHING
from linad.operators.typed import Typed
from linad.shards import worker
from linad.shards.engines import Engine, Progress, engine_of, is_dask, pickled
from linad.shards.packing import Layout, pack
from linad.shards.report import Report
from linad.shards.summation import total
from linad.shards.terms import Path
from linad.transforms.plain_operands import is_frozen


class Shards:
    """A function, its shards and who computes: what a sum and its derivatives share."""

    def __init__(
        self,
        function: Callable[..., Any],
        shards: Iterable[Any],
        executor: Any,
        options: dict[str, Any],
        name: str,
    ) -> None:
        self.name = f"{name}({name_of(function)})"
        self.options = options
        self.engine: Engine = engine_of(executor, name)
        self.shards = self.engine.place(listed(shards, name))
        self.token = uuid.uuid4().hex
        self.function = None if self.engine.local else pickled(function, name)
        if self.engine.local:
            worker.functions[self.token] = function
        self.forget = weakref.finalize(self, worker.forget, self.token)
        self.report = Report(self.name, len(self.shards), self.engine.words)
        self._sums: dict[Path, Primitive] = {}

    def sum(self, path: Path) -> Primitive:
        """The sum, or the derivative of it that a path leads to, of packed arguments."""
        found = self._sums.get(path)
        if found is None:

            def impl(*args: Any, layout: Layout) -> Any:
                return self._compute(path, args, layout)

            def rule(i: int, y: Array, *args: Any, layout: Layout) -> JacobianOperator:
                if y.dtype.kind not in "fc":
                    raise OutputError(f"{self.name}: a sum of {y.dtype} has no derivative")
                return SumJacobian(self, path, i, y, args, layout)

            found = Primitive(self.name, impl, register=False)
            found.jacobian("each")(rule)
            self._sums[path] = found
        return found

    def _compute(self, path: Path, args: tuple[Any, ...], layout: Layout) -> Any:
        begun = time.perf_counter()
        # Copies: linearizations at this point are kept, and compiled programs lend their memory.
        given = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
        order = worker.Order(
            self.token,
            self.name,
            self.function,
            len(self.shards),
            layout,
            path,
            given,
            self.options["kept_bytes"],
            self.options["jit"],
        )
        report = self.report
        groups = self.engine.groups(self.shards, self.options["tasks"], report.latest)
        nodes, told = self.engine.run(order, groups, self.shards, self.options["progress"])
        report.calls += 1
        report.tasks += len(groups)
        report.note(told)
        report.seconds += time.perf_counter() - begun
        return total(nodes, len(self.shards))[()]


class SumJacobian(Typed):
    """The derivative of a sum over shards in one packed argument: Σ_k J_k.

    Parameters
    ----------
    shards : Shards
    path : tuple
        The steps to the sum that is differentiated.
    i : int
    y, args, layout
        Its value, and the point.

    Notes
    -----
    A product is one call of the workers, which keep the J_k of the points they were last asked
    for.
    """

    unknown = EVERYTHING

    owns_result = True

    def __init__(
        self, shards: Shards, path: Path, i: int, y: Array, args: tuple[Any, ...], layout: Layout
    ) -> None:
        self.shards, self.path, self.i, self.args, self.layout = shards, path, i, args, layout
        self._in_dtype, self._out_dtype = args[i].dtype, y.dtype
        super().__init__(
            np.shape(y), np.shape(args[i]), np.promote_types(self._in_dtype, self._out_dtype)
        )

    @property
    def clinear(self) -> bool:  # type: ignore[override]
        """Whether the map is linear over the complex numbers, which the workers are asked."""
        if self._in_dtype.kind != "c":
            return True
        if self._out_dtype.kind != "c":
            return False
        if "_clinear" not in self.__dict__:
            self._clinear = is_clinear(self.shards, self.path, self.i, self.args, self.layout)
        return self._clinear

    def pushforward(self, tangent: Array) -> Any:
        derived = self.shards.sum((*self.path, ("push", self.i)))
        return derived(*self.args, tangent, layout=self.layout)

    def pullback(self, cotangent: Array) -> Any:
        derived = self.shards.sum((*self.path, ("pull", self.i)))
        return derived(*self.args, cotangent, layout=self.layout)


def is_clinear(shards: Shards, path: Path, i: int, args: tuple[Any, ...], layout: Layout) -> bool:
    """Whether the derivatives of all terms are linear over the complex numbers."""
    point = [a.concrete if isinstance(a, Traced) else a for a in args]
    return bool(shards.sum((*path, ("complex", i)))(*point, layout=layout) == 0)


def listed(shards: Iterable[Any], name: str) -> list[Any]:
    """The shards as a list of their own; arrays that could change are copied."""
    if isinstance(shards, (str, bytes, dict, np.ndarray)) or not isinstance(shards, Iterable):
        raise ArgumentError(
            f"{name}: shards must be a list, with a tuple of arguments, one argument, or a "
            f"function that makes them for each shard, got {shown(shards)}"
        )
    found = [_snapshot(shard, name) for shard in shards]
    if not found:
        raise ArgumentError(f"{name}: there are no shards, so the sum has neither shape nor dtype")
    return found


def _snapshot(shard: Any, name: str) -> Any:
    if callable(shard) or is_dask(shard):
        return shard
    leaves, structure = tree.flatten(shard)
    if any(isinstance(leaf, Traced) for leaf in leaves):
        raise ArgumentError(
            f"{name}: a shard holds a traced value; a derivative in it would be lost. Shards are "
            f"data: make what is differentiated an argument"
        )
    return tree.unflatten(structure, [_copied(leaf) for leaf in leaves])


def _copied(leaf: Array) -> Any:
    if isinstance(leaf, np.memmap) and leaf.mode == "r":
        return leaf
    if issparse(leaf) or (isinstance(leaf, np.ndarray) and not is_frozen(leaf)):
        return leaf.copy()
    return leaf


class OverShards:
    """A function of arguments and shards, as a function of the arguments.

    Notes
    -----
    What is compiled and kept is dropped with it.
    """

    def __init__(self, shards: Shards) -> None:
        self._shards = shards
        self.__name__ = self.__qualname__ = shards.name

    def report(self) -> Report:
        """What has been computed so far, by whom, and what is kept; ``print`` shows it."""
        return self._shards.report

    def __repr__(self) -> str:
        return f"<{self.__name__} over {len(self._shards.shards)} shards>"


class SumOf(OverShards):
    """A function that adds another one up over shards; made by `sum_of`."""

    def __call__(self, *args: Any) -> Any:
        """The sum of ``f(*args, *shard)`` over the shards."""
        packed, layout = pack(args, self._shards.name)
        return self._shards.sum(())(*packed, layout=layout)


OPTIONS = {
    "kept_bytes": COUNT,
    "jit": FLAG,
    "tasks": POSITIVE_COUNT.optional,
    "progress": FUNCTION.optional,
}
"""What the options of `sum_of` and `linad.normal_of` may be."""


@takes(loss=FUNCTION, **OPTIONS)
def sum_of(
    loss: Callable[..., Any],
    shards: Iterable[Any],
    *,
    executor: Any = None,
    kept_bytes: int = 2**30,
    jit: bool = True,
    tasks: int | None = None,
    progress: Progress = None,
) -> SumOf:
    """Return ``F(*args)``, the sum of ``loss(*args, *shard)`` over shards of data.

    Parameters
    ----------
    loss : callable
        In plain NumPy; returns a number, or an array of one shape for all shards.
    shards : iterable
        For each shard a tuple of the last arguments of ``loss``, or a single one; or a function
        without arguments that makes them where they are needed, as ``functools.partial(load,
        "part-3.npz")``. With Dask also futures and delayed values.
    executor : optional
        Who computes: a `concurrent.futures.Executor`, a list of them (each shard then stays
        with one), or a `dask.distributed.Client`. None: this process, one shard after another.
    kept_bytes : int
        What each process may keep for the next call: shards that a function made, and
        derivatives at recent points. What has gone unused for longest is dropped first.
    jit : bool
        Whether ``loss`` and its derivatives are compiled.
    tasks : int, optional
        In how many tasks a call is divided at most; by default 4 for each worker, or core, and
        fewer on a Dask cluster that is done with all of them in less than 0.1 s each.
    progress : callable, optional
        Called as ``progress(done, total)`` after each task of a call.

    Returns
    -------
    SumOf
        A function like any other: `grad`, `hvp`, `linearize`, `jit` and `linad.solve` take it,
        and it is part of larger ones. ``F.report()`` tells what was computed, and where.

    Raises
    ------
    ShardError
        When called, if a shard fails; ``error.shard`` is its number.
    ArgumentError
        If the arguments do not fit, or ``loss`` cannot be sent to other processes.

    Notes
    -----
    The terms are added in a fixed order. The result is the same, bit for bit, for any executor
    and number of workers, and after the loss of one, as long as NumPy itself computes the same
    there: on like processors, with one setting of the threads of BLAS.

    Writable arrays among the shards are copied when the sum is made.

    Examples
    --------
    >>> import numpy as np, linad
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> X, y = np.arange(12.0).reshape(6, 2), np.ones(6)
    >>> shards = [(X[:3], y[:3]), (X[3:], y[3:])]
    >>> F = linad.sum_of(lambda w, X, y: np.sum((X @ w - y) ** 2), shards,
    ...                  executor=ThreadPoolExecutor(2))
    >>> F(np.ones(2)), linad.grad(F)(np.ones(2))
    (np.float64(1006.0), array([1088.,  1228.]))
    """
    options = {"kept_bytes": kept_bytes, "jit": jit, "tasks": tasks, "progress": progress}
    return SumOf(Shards(loss, shards, executor, options, "sum_of"))
