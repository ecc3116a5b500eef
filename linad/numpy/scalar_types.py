"""NumPy's types of numbers, which take traced ones when they are called.

``np.float64(x)`` of a traced value is ``x.astype(float64)``, and ``np.int64(x)`` the integer, on
which the path depends from there. In every other use, as a dtype or in ``isinstance``, each is
NumPy's own type.
"""

from typing import Any

import numpy as np

from linad.core.primitive import Traced
from linad.core.tree import bare


class _OfNumpy(type):
    """The type of a stand-in for one of NumPy's types."""

    _numpy_type: Any

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, cls._numpy_type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls._numpy_type)

    def __eq__(cls, other: object) -> bool:
        if isinstance(other, np.dtype):  # as in ``x.dtype in (np.float32, np.float64)``
            return other == np.dtype(cls._numpy_type)
        return other is cls or other is cls._numpy_type

    def __hash__(cls) -> int:
        return hash(cls._numpy_type)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        kind = cls._numpy_type
        args = tuple(map(bare, args))
        if args and isinstance(args[0], Traced) and args[0].dtype.kind in "fc":
            if np.dtype(kind).kind in "iub":
                return kind(args[0].decided)
            made = args[0].astype(kind)
            return made if made.ndim else made[()]
        if args and isinstance(args[0], (list, tuple)):
            made = np.asarray(args[0], dtype=object)
            if any([isinstance(x, Traced) for x in made.flat]):
                parts = [np.asarray(x) if not isinstance(x, Traced) else x for x in made.flat]
                return np.stack(parts).reshape(made.shape).astype(kind)
        return kind(*args, **kwargs)


def _of_numpy(kind: Any) -> Any:
    body = {"_numpy_type": kind, "__doc__": kind.__doc__, "__module__": "numpy"}
    return _OfNumpy(kind.__name__, (kind,), body)


float64 = double = _of_numpy(np.float64)
float32 = single = _of_numpy(np.float32)
complex128 = cdouble = _of_numpy(np.complex128)
complex64 = csingle = _of_numpy(np.complex64)

_WHOLE = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("byte", "short", "intc", "int_", "long", "longlong", "intp"),
    *("ubyte", "ushort", "uintc", "uint", "ulong", "ulonglong", "uintp"),
)
_OF_WHOLE = {kind: _of_numpy(kind) for kind in [getattr(np, name) for name in _WHOLE]}
INTEGERS = {name: _OF_WHOLE[getattr(np, name)] for name in _WHOLE}
"""The types of integers by name, several of which NumPy has twice."""
