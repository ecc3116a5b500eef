"""A function of flat arrays, and its derivatives as such functions again.

    y = f(x)          pushed: (x, t) -> J t          pulled: (x, w) -> J^H w

Both are programs like f, so each can be pushed and pulled in turn: this gives every order of
derivative in a library that knows nothing of operators.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.api.derivatives import jvp, vjp
from linad.arrays.tracer import Tracer
from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import is_inexact, name_of
from linad.core.showing import shown
from linad.errors import OutputError

Arrays = tuple[Any, ...]
Positions = tuple[int, ...]


class Program:
    """A function of arrays that returns a tuple of arrays, and keeps its last linearization.

    Parameters
    ----------
    function : callable
        ``function(*arrays) -> tuple of arrays``, in plain NumPy.

    Notes
    -----
    A library asks for values and for derivatives in separate calls. Where a pullback was asked
    for after the last value, the next value is linearized at once, so that f runs once for both;
    values alone cost no more than f.
    """

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function
        self.wanted: Positions = ()
        self._kept: _Linearization | None = None
        self._derived: dict[Any, Program] = {}

    def __call__(self, *arrays: Any) -> Arrays:
        """The results, of plain or traced arrays."""
        return self.function(*arrays)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"wanted": (), "_kept": None, "_derived": {}}

    def value(self, *arrays: Any) -> list[np.ndarray]:
        """The results at plain arrays, which stay as they are."""
        wanted, self.wanted = self.wanted, ()
        results = (
            self.linearized(arrays, wanted).results
            if wanted
            else self(*[np.array(a) for a in arrays])
        )
        return [np.array(y) for y in results]

    def linearized(self, arrays: Sequence[Any], wrt: Positions) -> "_Linearization":
        """The linearization at a point; the last one, if it was there."""
        kept = self._kept
        if kept is None or not kept.is_at(arrays, wrt):
            kept = self._kept = _Linearization(self, arrays, wrt)
        return kept

    def selected(self, arrays: Sequence[Any], wrt: Positions) -> Callable[..., Any]:
        """The function of some of the arrays: ``(floating results, all results)``."""

        def of_some(*chosen: Any) -> tuple[Arrays, Arrays]:
            given = list(arrays)
            for i, x in zip(wrt, chosen, strict=True):
                given[i] = x
            results = self(*given)
            return tuple([y for y in results if is_inexact(y.dtype)]) or results, results

        return functools.update_wrapper(of_some, self.function)

    def pushed(self, wrt: Positions, count: int) -> "Pushed":
        """The program ``(*arrays, *tangents of those in wrt) -> tangents of floating results``.

        ``count`` is the number of arrays of this program.
        """
        return self._once(Pushed, wrt, count)

    def pulled(self, wrt: Positions, count: int, conjugate: bool = True) -> "Pulled":
        """The program ``(*arrays, *cotangents of floating results) -> cotangents in wrt``.

        Of the adjoint J^H; of the transpose J^T unless ``conjugate``.
        """
        return self._once(Pulled, wrt, count, conjugate)

    def _once(self, kind: Any, *key: Any) -> Any:
        found = self._derived.get((kind, *key))
        if found is None:
            found = self._derived[kind, *key] = kind(self, *key)
        return found


class Pushed(Program):
    """The pushforward of a program, as a program."""

    def __init__(self, parent: Program, wrt: Positions, count: int) -> None:
        super().__init__(parent.function)
        self.parent, self.wrt, self.count = parent, wrt, count

    def __call__(self, *arrays: Any) -> Arrays:
        point, tangents = arrays[: self.count], arrays[self.count :]
        f = self.parent.selected(point, self.wrt)
        _, pushed, _ = jvp(f, [point[i] for i in self.wrt], tangents, has_aux=True)
        return pushed

    def transposed(self) -> "Pulled":
        """The program of the transposed map."""
        return self.parent.pulled(self.wrt, self.count, conjugate=False)


class Pulled(Program):
    """The pullback of a program, as a program."""

    def __init__(self, parent: Program, wrt: Positions, count: int, conjugate: bool = True) -> None:
        super().__init__(parent.function)
        self.parent, self.wrt, self.count, self.conjugate = parent, wrt, count, conjugate

    def __call__(self, *arrays: Any) -> Arrays:
        point, cotangents = arrays[: self.count], arrays[self.count :]
        f = self.parent.selected(point, self.wrt)
        _, pullback, _ = vjp(f, *[point[i] for i in self.wrt], has_aux=True)
        return self._pull(pullback, cotangents)

    def _pull(self, pullback: Callable[..., Arrays], cotangents: Sequence[Any]) -> Arrays:
        if self.conjugate:
            return pullback(tuple(cotangents))
        return tuple([_conj(x) for x in pullback(tuple([_conj(w) for w in cotangents]))])

    def value(self, *arrays: Any) -> list[np.ndarray]:
        """By the linearization that the program keeps."""
        if self.wanted:
            return super().value(*arrays)
        point, cotangents = arrays[: self.count], arrays[self.count :]
        pullback = self.parent.linearized(point, self.wrt).pullback
        self.parent.wanted = self.wrt
        return [np.array(x) for x in self._pull(pullback, cotangents)]

    def transposed(self) -> Pushed:
        """The program of the transposed map."""
        return self.parent.pushed(self.wrt, self.count)


class _Linearization:
    """A program at a point: its results and its pullback."""

    def __init__(self, program: Program, arrays: Sequence[Any], wrt: Positions) -> None:
        self.arrays, self.wrt = [np.array(a) for a in arrays], wrt
        f = program.selected([np.array(a) for a in arrays], wrt)
        _, self.pullback, results = vjp(f, *[self.arrays[i] for i in wrt], has_aux=True)
        self.results = [np.array(y) for y in results]

    def is_at(self, arrays: Sequence[Any], wrt: Positions) -> bool:
        """Whether it was taken here: at the same bits, so that 0.0 is not -0.0."""
        return wrt == self.wrt and all(map(_same_bits, arrays, self.arrays))


def _conj(x: Array) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


def _same_bits(a: Array, b: np.ndarray) -> bool:
    a = np.asarray(a)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    left, right = (np.ascontiguousarray(x).reshape(-1).view(np.uint8) for x in (a, b))
    return np.array_equal(left, right)


class FlatFunction:
    """A function of containers as one of some of their leaves, which gives leaves.

    Parameters
    ----------
    f : callable
    library : str
        For messages.
    leaves, structure
        Of ``(args, kwargs)``.
    places : sequence of int
        Which leaves are arguments; the others stay.

    Attributes
    ----------
    out_tree
        Of what ``f`` returned last.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        library: str,
        leaves: Sequence[Any],
        structure: Any,
        places: Sequence[int],
    ) -> None:
        self.f, self.library = f, library
        self.leaves, self.structure, self.places = leaves, structure, places
        self.out_tree: Any = None
        functools.update_wrapper(self, f)

    def __call__(self, *arrays: Any) -> Arrays:
        given = list(self.leaves)
        for k, array in zip(self.places, arrays, strict=True):
            given[k] = array
        args, kwargs = tree.unflatten(self.structure, given)
        results, self.out_tree = tree.flatten(self.f(*args, **kwargs))
        return tuple([check_result(y, self.f, self.library) for y in results])


def check_result(value: Any, f: Callable[..., Any], library: str) -> Any:
    """Return a leaf of what ``f`` returned; raise if it is not an array of numbers."""
    if isinstance(value, (np.ndarray, np.generic, Tracer)) and value.dtype.kind in "biufc":
        return value
    raise OutputError(
        f"interop.{library}: {name_of(f)} returned a {type(value).__name__}, {shown(value)}; "
        f"expected arrays of numbers, or containers of such"
    )


def stand_in(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Numbers to find the shapes of results with, where none are known yet.

    Between 1/2 and 1, so that logarithms and roots exist; square matrices positive definite, so
    that they can be inverted and factored; integers 0, which is an index of any axis.
    """
    dtype = np.dtype(dtype)
    if not is_inexact(dtype):
        return np.zeros(shape, dtype)
    values = np.random.default_rng(0).uniform(0.5, 1.0, tuple(shape))
    if len(shape) >= 2 and shape[-1] == shape[-2]:
        values = (values + np.swapaxes(values, -1, -2)) / 2 + shape[-1] * np.eye(shape[-1])
    return values.astype(dtype)
