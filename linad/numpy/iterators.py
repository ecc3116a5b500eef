"""`numpy.nditer` of traced arrays: entries as views without axes, which may be written into."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.numpy.array_makers import asarray, zeros

TRACKS = {"multi_index", "c_index", "f_index", "zerosize_ok", "refs_ok"}
"""Flags that say what an iterator tells of its place. Others say how memory is handed out."""


class nditer:
    """As `numpy.nditer`; of plain arrays it is NumPy's.

    Parameters
    ----------
    op : array_like or sequence of array_like
        What is iterated over; several arrays are broadcast. None makes an array of zeros.
    flags : sequence of str
        Of "multi_index", "c_index" and "f_index".
    op_flags : sequence
        Whether entries are read or written; None may be written.
    op_dtypes : type of number or sequence of them, optional
        Of the arrays that are made.
    order : str
        "C", "F", or "K", as the arrays lie in memory.

    Notes
    -----
    A convenience, as in NumPy: one step of Python an entry. Write for whole arrays to have one
    operation for all.
    """

    def __new__(cls, op: Any, *args: Any, **options: Any) -> Any:
        several = op if isinstance(op, (tuple, list)) else (op,)
        if not any([isinstance(asarray(o), Traced) for o in several if o is not None]):
            return np.nditer(op, *args, **options)
        return super().__new__(cls)

    def __init__(
        self,
        op: Any,
        flags: Sequence[str] | None = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: Any = "K",
        **options: Any,
    ) -> None:
        unknown = sorted({*(flags or ())} - TRACKS) + sorted(options)
        if unknown:
            raise UnsupportedError(
                f"nditer: of traced arrays {unknown[0]!r} is not traced by linad; write for whole "
                "arrays, or index with np.ndindex"
            )
        several = op if isinstance(op, (tuple, list)) else (op,)
        given = [None if o is None else asarray(o) for o in several]
        shape = np.broadcast_shapes(*[o.shape for o in given if o is not None])
        dtypes = [*op_dtypes] if isinstance(op_dtypes, (tuple, list)) else [op_dtypes] * len(given)
        made = np.result_type(*[o.dtype for o in given if o is not None])
        #: The arrays.
        self.operands = tuple(
            [
                zeros(shape, made if t is None else t) if o is None else o
                for o, t in zip(given, dtypes, strict=True)
            ]
        )
        self._flags = {*(flags or ())}
        laid = [o.laid if isinstance(o, Traced) else o for o in self.operands]
        asked: Any = ["multi_index", *({"zerosize_ok", "refs_ok"} & self._flags)]
        places = np.nditer(laid, asked, order=order)
        self._places = [places.multi_index for _ in places]
        self._views = [o if o.shape == shape else np.broadcast_to(o, shape) for o in self.operands]
        self.shape, self.ndim = shape, len(shape)
        self.nop, self.itersize = len(self.operands), len(self._places)
        self.reset()

    def reset(self) -> None:
        """Go to the first entry."""
        self.iterindex, self._started = 0, False

    @property
    def finished(self) -> bool:
        """Whether the last entry was passed."""
        return self.iterindex >= self.itersize

    def iternext(self) -> bool:
        """Go to the next entry, and say whether there is one."""
        self.iterindex += 1
        return not self.finished

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._started:
            self.iternext()
        self._started = True
        if self.finished:
            raise StopIteration
        return self.value

    @property
    def multi_index(self) -> tuple[int, ...]:
        """The index of the entry, along each axis."""
        if "multi_index" not in self._flags:
            raise ValueError("Iterator is not tracking a multi-index")
        return self._places[self.iterindex]

    @property
    def index(self) -> int:
        """The index of the entry, in the order of C or Fortran."""
        tracked = {"c_index", "f_index"} & self._flags
        if not tracked:
            raise ValueError("Iterator does not have an index")
        order: Any = tracked.pop()[0].upper()
        return int(np.ravel_multi_index(self._places[self.iterindex], self.shape, order=order))

    @property
    def value(self) -> Any:
        """The entry of the array, or the entries of the arrays, as views."""
        entries = tuple([self[k] for k in range(self.nop)])
        return entries if self.nop > 1 else entries[0]

    def __len__(self) -> int:
        return self.nop

    def __getitem__(self, k: int) -> Any:
        place: Any = (*self._places[self.iterindex], ...)
        return self._views[k][place]

    def __setitem__(self, k: int, value: Any) -> None:
        self[k][...] = value

    def close(self) -> None:
        """Nothing is held back that would have to be written."""

    def __enter__(self) -> "nditer":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
