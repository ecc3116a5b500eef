"""Functions that refer to traced values around them, as functions of these values too.

What solves for x with g(x) = 0 is told what the solution depends on by arguments. `with_captured`
finds out what else a function reads, and gives the function that takes it as arguments.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.control.closures import ClosureTrace, plain
from linad.control.recorded_bodies import leaf_of
from linad.core import tree
from linad.core.marks import Attempt
from linad.core.shapes import name_of
from linad.core.tape import Tape, needed, tape_of
from linad.errors import GuardError, LinadError, TracerError
from linad.transforms.record import node_of


def with_captured(
    f: Callable[..., Any], x: Any, theta: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function of x and of parameters that captures nothing traced.

    Parameters
    ----------
    f : callable
        ``f(x, *theta)``, which may refer to traced values.
    x : container of arrays
        Where it is asked what it refers to.
    theta : tuple
        Its parameters.

    Returns
    -------
    g, parameters
        With ``g(x, *parameters) == f(x, *theta)``: these very ones if ``f`` refers to nothing
        that is traced.

    Notes
    -----
    Runs ``f`` once, if a function is being traced, and once more for each path that Python's
    decisions in it take. A function that cannot be traced comes back as it is.
    """
    if running_trace() is None:
        return f, theta
    with Attempt(LinadError):  # a solver without derivatives may run what cannot be traced
        made = Closed(f, theta, x)
        if len(made.captured) != made.given:
            return made, tuple(made.captured)
    return f, theta


class Closed:
    """``g(x, *captured)`` by the programs that were recorded of ``f(x, *theta)``.

    Captured are the traced leaves of theta, and after these what else there is. There is a program
    for each of the `paths` that Python's decisions have taken. A copy, pickled or not, has these
    programs alone: what ``f`` refers to belongs to the trace.
    """

    def __init__(self, f: Callable[..., Any], theta: tuple[Any, ...], x: Any) -> None:
        self.f = f
        self.theta, self.theta_tree = tree.flatten(theta)
        self.__name__ = name_of(f)
        self.captured = [v for v in self.theta if isinstance(v, Tracer)]
        self.given = len(self.captured)
        self._places: dict[Any, int] = {}
        self.paths: list[ClosedPath] = []
        self.known_at(x)

    def __call__(self, x: Any, *captured: Any) -> Any:
        leaves, structure = tree.flatten(x)
        failed: Exception | None = None
        for path in self.paths:
            if path.fits(leaves, structure):
                try:
                    return path.run(leaves, captured)
                except GuardError as error:
                    failed = error
        if any(not _equal(a, b) for a, b in zip(captured, self.captured, strict=True)):
            raise failed or GuardError(f"{self.__name__} was recorded with other arguments")
        return self.known_at(x).run(leaves, captured)

    def __getstate__(self) -> dict[str, Any]:
        own = {"f": None, "theta": None, "captured": [plain(v) for v in self.captured]}
        return self.__dict__ | own

    def known_at(self, x: Any) -> "ClosedPath":
        if self.f is None:
            raise GuardError(
                f"{self.__name__} takes another path here than it took when its derivative was "
                f"made, and it refers to traced values, so a copy of the derivative does not have "
                f"it; pass what it refers to as arguments, behind x0"
            )
        leaves, structure = tree.flatten(x)
        path = ClosedPath(self, [plain(v) for v in leaves], structure)
        self.paths.append(path)
        return path

    def place(self, held: Any, key: Any) -> int:
        """The number of a captured value."""
        if key not in self._places:
            if self.paths:
                raise TracerError(
                    f"{self.__name__} refers to a traced value on one path, and not on another; "
                    f"pass it as an argument"
                )
            self._places[key] = len(self.captured)
            self.captured.append(held)
        return self._places[key]


class ClosedPath:
    """One program of a function, and which captured values it reads."""

    def __init__(self, owner: Closed, values: list[Any], structure: Any) -> None:
        self.structure = structure
        values = [v.astype(float) if v.dtype.kind in "biu" else v for v in values]
        self.types = [(v.shape, v.dtype) for v in values]
        recorder = _Recorder()
        ins = [recorder.input(v) for v in values]
        theta = [recorder.input(plain(v)) if isinstance(v, Tracer) else v for v in owner.theta]
        nodes = [t._node for t in (*ins, *theta) if isinstance(t, Tracer)]
        given = tree.unflatten(structure, ins), *tree.unflatten(owner.theta_tree, theta)
        with recorder:
            found, self.out = tree.flatten(owner.f(*given))
            found = [leaf_of(recorder, v) for v in found]
            outputs = [node_of(recorder, v) for v in found]
            recorder.check()
        self.read: list[Any] = list(range(owner.given))  # numbers of captured values, or arrays
        for (held, stands), key in zip(recorder.captured, recorder.names, strict=True):
            self.read.append(owner.place(held, key) if isinstance(held, Tracer) else held)
            nodes.append(stands._node)
        equations = needed(recorder.equations, outputs)
        self.tape: Tape = tape_of(owner.__name__, nodes, equations, outputs)

    def fits(self, leaves: list[Any], structure: Any) -> bool:
        types = [(np.shape(v), getattr(v, "dtype", None)) for v in leaves]
        return structure == self.structure and types == self.types

    def run(self, leaves: list[Any], captured: tuple[Any, ...]) -> Any:
        read = [captured[a] if isinstance(a, int) else a for a in self.read]
        return tree.unflatten(self.out, self.tape.run([*leaves, *read]))


class _Recorder(ClosureTrace):
    """Takes note of the values that it takes up, as the function knows them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[Any] = []

    def lifted(self, a: Any) -> Any:
        count = len(self.captured)
        found = super().lifted(a)
        if len(self.captured) > count:
            self.names.append(next(reversed(self._known)))
        return found


def _equal(a: Any, b: Any) -> bool:
    return np.array_equal(plain(a), plain(b), equal_nan=plain(a).dtype.kind in "fc")
