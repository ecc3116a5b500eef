"""Arrays entry by entry: `numpy.vectorize` and `numpy.ndenumerate` of traced entries."""

from typing import Any

import numpy as np

from linad.arrays.traces import running_trace
from linad.core.primitive import Traced
from linad.core.shapes import size_of
from linad.numpy.array_makers import asarray
from linad.rules.joining import stack as _stack
from linad.rules.shaping import astype


class vectorize(np.vectorize):
    """As `numpy.vectorize`; entries may be traced, and so may what the function closes over.

    Notes
    -----
    A convenience, as in NumPy: one call of the function an entry. Write the function in NumPy
    to have one operation for all.
    """

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        decorating = not callable(getattr(self, "pyfunc", None))
        if running_trace() is None or decorating:
            return super().__call__(*args, **kwargs)
        excluded = self.excluded or set()
        names = [n for n in kwargs if n not in excluded]
        places = [i for i in range(len(args)) if i not in excluded]
        arrays = [asarray(args[i]) for i in places] + [asarray(kwargs[n]) for n in names]
        cores, outputs = _cores(self.signature, len(arrays))
        lengths: dict[str, int] = {}
        for a, axes in zip(arrays, cores, strict=True):
            _read_lengths(a.shape, axes, lengths)
        loop = np.broadcast_shapes(
            *[a.shape[: a.ndim - len(axes)] for a, axes in zip(arrays, cores, strict=True)]
        )
        arrays = [
            np.broadcast_to(a, loop + a.shape[a.ndim - len(axes) :])
            for a, axes in zip(arrays, cores, strict=True)
        ]
        if not size_of(loop):
            return super().__call__(*args, **kwargs)
        results = []
        for index in np.ndindex(*loop):
            given = list(args)
            for i, a in zip(places, arrays, strict=False):
                given[i] = a[index]
            named = {n: a[index] for n, a in zip(names, arrays[len(places) :], strict=True)}
            results.append(self.pyfunc(*given, **{**kwargs, **named}))
        several = isinstance(results[0], tuple)
        columns = list(zip(*results, strict=True)) if several else [results]
        axes_of = [[]] * len(columns) if outputs is None else outputs
        if len(columns) != len(axes_of):
            raise ValueError(
                f"vectorize: {self.signature} has {len(axes_of)} results, the function gives "
                f"{len(columns)}"
            )
        found = []
        for k, (column, axes) in enumerate(zip(columns, axes_of, strict=True)):
            values = [asarray(v) for v in column]
            _read_lengths(values[0].shape, axes, lengths)
            core = tuple([lengths[name] for name in axes])
            found.append(self._column(k, [_as_core(v, core) for v in values], loop))
        return tuple(found) if several else found[0]

    def _column(self, k: int, values: Any, loop: tuple[int, ...]) -> Any:
        """Result ``k`` of all calls, in the type of the first, as NumPy has it."""
        column = _stack(values)
        dtype = values[0].dtype if self.otypes is None else np.dtype(self.otypes[k])
        return astype(column, dtype, copy=False).reshape(loop + column.shape[1:])


class ndenumerate(np.ndenumerate):  # type: ignore[type-arg]
    """As `numpy.ndenumerate`: pairs of an index and an entry, which may be traced."""

    def __init__(self, arr: Any) -> None:
        held: Any = asarray(arr)
        self._pairs: Any = None
        if isinstance(held, Traced):
            self._pairs = zip(np.ndindex(*held.shape), held.flat, strict=True)
        else:
            super().__init__(held)

    def __next__(self) -> Any:
        return super().__next__() if self._pairs is None else next(self._pairs)


def _as_core(value: Any, core: tuple[int, ...]) -> Any:
    """A result of one call, as NumPy writes it into the result of all."""
    if value.ndim > len(core) or np.broadcast_shapes(value.shape, core) != core:
        raise ValueError(
            f"vectorize: the function gives an array of shape {value.shape}, where {core} is needed"
        )
    return np.broadcast_to(value, core)


Axes = list[str]


def _cores(signature: str | None, n: int) -> tuple[list[Axes], list[Axes] | None]:
    """The names of the core axes of each argument and of each result, from "(m,n),(n)->(m)"."""
    if signature is None:
        return [[]] * n, None
    inputs, outputs = [
        [core.strip("() ").replace(",", " ").split() for core in side.split("),")]
        for side in signature.split("->")
    ]
    if len(inputs) != n:
        raise TypeError(f"vectorize: {signature} has {len(inputs)} arguments, {n} were given")
    return inputs, outputs


def _read_lengths(shape: tuple[int, ...], axes: Axes, lengths: dict[str, int]) -> None:
    """Note how long the core axes are; raise where one of a name has another length."""
    if len(shape) < len(axes):
        raise ValueError(f"vectorize: an array of shape {shape} has not the axes {tuple(axes)}")
    for name, length in zip(axes, shape[len(shape) - len(axes) :], strict=True):
        if lengths.setdefault(name, length) != length:
            raise ValueError(
                f"vectorize: the axis {name!r} has the lengths {lengths[name]} and {length}"
            )
