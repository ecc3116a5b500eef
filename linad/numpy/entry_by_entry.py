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
        loop = np.broadcast_shapes(
            *[a.shape[: a.ndim - k] for a, k in zip(arrays, cores, strict=True)]
        )
        arrays = [
            np.broadcast_to(a, loop + a.shape[a.ndim - k :])
            for a, k in zip(arrays, cores, strict=True)
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
        if isinstance(results[0], tuple) or (outputs is not None and outputs > 1):
            columns = list(zip(*results, strict=True))
            return tuple([self._column(k, c, loop) for k, c in enumerate(columns)])
        return self._column(0, results, loop)

    def _column(self, k: int, values: Any, loop: tuple[int, ...]) -> Any:
        """Result ``k`` of all calls, in the type of the first, as NumPy has it."""
        column = _stack([asarray(v) for v in values])
        dtype = asarray(values[0]).dtype if self.otypes is None else np.dtype(self.otypes[k])
        return astype(column, dtype, copy=False).reshape(loop + column.shape[1:])


class ndenumerate(np.ndenumerate):  # type: ignore[type-arg]
    """As `numpy.ndenumerate`: pairs of an index and an entry, which may be traced."""

    def __init__(self, arr: Any) -> None:
        held: Any = asarray(arr)
        if isinstance(held, Traced):
            self._pairs: Any = ((index, held[index]) for index in np.ndindex(*held.shape))
        else:
            super().__init__(held)
            self._pairs = None

    def __next__(self) -> Any:
        return super().__next__() if self._pairs is None else next(self._pairs)


def _cores(signature: str | None, n: int) -> tuple[list[int], int | None]:
    """Number of core axes of each argument, and how many results, from "(m,n),(n)->(m)"."""
    if signature is None:
        return [0] * n, None
    inputs, outputs = [
        [len([d for d in core.strip("() ").split(",") if d.strip()]) for core in side.split("),")]
        for side in signature.split("->")
    ]
    if len(inputs) != n:
        raise TypeError(f"vectorize: {signature} has {len(inputs)} arguments, {n} were given")
    return inputs, len(outputs)
