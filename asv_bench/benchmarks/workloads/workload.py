"""A workload, and what linad does with it: the tasks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import linad

TASKS = ("value", "jvp", "vjp", "gradient", "value_and_grad", "hvp", "blocks")
"""What can be asked of a workload.

The inputs of a task are the workload's arguments; then tangents of the active ones (``jvp``,
``hvp``) or a cotangent of the result (``vjp``). ``blocks`` is for functions whose last axis of
results depends on the same row of the first argument only: one pullback with as many seeds as
that axis is long gives all derivative blocks.
"""

OF_SCALARS = ("gradient", "value_and_grad", "hvp")


@dataclass(frozen=True)
class Workload:
    """A function and its arguments.

    Attributes
    ----------
    name : str
    topic : str
        The benchmark file that times it.
    function : callable
        ``function(*arguments, numpy=np)``: plain NumPy, or a peer's module in its place.
    make : callable
        From a random generator to the arguments.
    tasks : tuple of str
        What the table measures; all others that the function allows are timed by asv, unless
        it is long.
    active : int
        How many arguments, from the first, are differentiated.
    by_hand : mapping
        From a task to the limit of what it may take (`limit`): a function of the task's inputs,
        then of the arrays that the results go into.
    forms : mapping
        From a peer to the function as that peer needs it, where its module does not do.
    without : tuple of str
        Peers that are left out: they cannot, or take minutes to compile.
    published : float or None
        The best ratio of gradient to function that Mooncake, Enzyme and Zygote publish for it.
    target : float or None
        Wanted: time over that by hand.
    by_blas : bool
        Whether products of BLAS, or factorisations of LAPACK, take more than half of the limit.
    long : bool
        Whether the first call takes many seconds; left out of quick runs.
    """

    name: str
    topic: str
    function: Callable[..., Any]
    make: Callable[[np.random.Generator], tuple[Any, ...]]
    tasks: tuple[str, ...] = ("gradient",)
    active: int = 1
    by_hand: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    forms: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    published: float | None = None
    target: float | None = None
    by_blas: bool = False
    long: bool = False

    @property
    def scalar(self) -> bool:
        return self.tasks[0] in OF_SCALARS

    def allows(self, task: str) -> bool:
        """Whether a task makes sense for the function."""
        if task in ("value", "jvp"):
            return True
        if task == "blocks":
            return task in self.tasks
        return (task in OF_SCALARS) == self.scalar

    def inputs(self, task: str) -> tuple[Any, ...]:
        """The inputs of a task; the same at every call."""
        arguments = self.make(np.random.default_rng(0))
        rng = np.random.default_rng(1)
        if task in ("jvp", "hvp"):
            return (*arguments, *[_like(a, rng) for a in arguments[: self.active]])
        if task == "vjp":
            return (*arguments, _like(self.function(*arguments), rng))
        if task == "blocks":
            return (*arguments, seeds_of(self.function(*arguments)))
        return arguments

    def eager(self, task: str) -> Callable[..., Any]:
        """The task as a function of its inputs."""
        f, k = self.function, self.active
        if task == "value":
            return f
        if task == "gradient":
            return linad.grad(f, argnums=tuple(range(k)))
        if task == "value_and_grad":
            return linad.value_and_grad(f, argnums=tuple(range(k)))
        count = f.__code__.co_argcount - 1  # all but numpy

        def of_active(inputs: tuple[Any, ...]) -> Callable[..., Any]:
            data = inputs[k:count]
            return lambda *active: f(*active, *data)

        if task == "jvp":
            return lambda *inputs: linad.jvp(of_active(inputs), inputs[:k], inputs[count:])[1]
        if task == "hvp":
            return lambda *inputs: linad.hvp(of_active(inputs), inputs[:k], inputs[count:])
        if task == "vjp":
            return lambda *inputs: linad.vjp(of_active(inputs), *inputs[:k])[1](inputs[count])

        def blocks(*inputs: Any) -> Any:
            _, J = linad.linearize(of_active(inputs), *inputs[:k])
            return J.pullback(inputs[count])

        return blocks

    def compiled(self, task: str) -> Callable[..., Any]:
        """The task, jitted."""
        return linad.jit(self.eager(task))

    def written_by_hand(self, task: str, wanted: Any, rtol: float = 1e-8) -> Any:
        """A call of the derivative by hand, or None; ``wanted`` is the result that it must have."""
        written = self.by_hand.get(task)
        if written is None:
            return None
        wanted = leaves(wanted)
        out = [np.empty_like(x) for x in wanted if x.ndim]
        given = (*self.inputs(task), *out)
        value = written(*given)
        same([value, *out] if len(out) < len(wanted) else out, wanted, rtol)
        return lambda: written(*given)


@dataclass(frozen=True)
class Family:
    """A workload over sizes: ``make(n)`` is what `Workload.make` is, the rest as there."""

    name: str
    topic: str
    function: Callable[..., Any]
    make: Callable[[int], Callable[[np.random.Generator], tuple[Any, ...]]]
    tasks: tuple[str, ...] = ("gradient",)
    active: int = 1
    sizes: tuple[int, ...] = ()

    def of_size(self, n: int) -> Workload:
        name = f"{self.name}, n={n}"
        return Workload(name, self.topic, self.function, self.make(n), self.tasks, self.active)


def _like(x: Any, rng: np.random.Generator) -> Any:
    x = np.asarray(x)
    return rng.standard_normal(x.shape).astype(x.dtype)


def seeds_of(y: np.ndarray) -> np.ndarray:
    """One seed for each position on the last axis, the same in all rows."""
    seeds = np.zeros((y.shape[-1], *y.shape))
    for k in range(y.shape[-1]):
        seeds[k, ..., k] = 1.0
    return seeds


def leaves(x: Any) -> list[np.ndarray]:
    """The arrays of a result, whatever containers it comes in."""
    return [np.asarray(leaf) for leaf in linad.core.tree.flatten(_lists(x))[0]]


def same(found: Any, wanted: Any, rtol: float) -> None:
    """Raise AssertionError unless two results agree, whatever containers they come in."""
    flat = [leaves(x) for x in (found, wanted)]
    assert len(flat[0]) == len(flat[1]), f"{len(flat[0])} results, not {len(flat[1])}"
    for a, b in zip(*flat, strict=True):
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        np.testing.assert_allclose(a.reshape(b.shape), b, rtol=rtol, atol=rtol * scale)


def _lists(x: Any) -> Any:
    return [_lists(v) for v in x] if isinstance(x, (tuple, list)) else np.asarray(x)
