"""What may stand beside a traced array in an operation, and what comes of it.

Numbers, arrays and lists of them are operands. Objects of other packages are asked for the array
that they can be, are left their own arithmetic, or are refused where that is not differentiated.
"""

import contextlib
import importlib
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.arrays.written_values import stacked
from linad.core.callers import defining_package
from linad.core.dispatch import FOREIGN, MATRIX, ROOMS_OF, matrix_room
from linad.core.primitive import Traced
from linad.core.showing import shown
from linad.errors import UnsupportedError

_PLAIN = (Traced, np.ndarray, np.generic, int, float, complex)
OTHER_ARITHMETIC = (MATRIX, np.ma.MaskedArray)
_OF_ARITHMETIC = ("__array_ufunc__", "__array_wrap__", "__mul__", "__rmul__", "__add__")
COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}

_OWN: dict[type, bool] = {}  # what was found of a class before


def has_own_arithmetic(kind: type) -> bool:
    """Whether a subclass of ndarray calculates otherwise: with units, masks, or as matrices do."""
    known = _OWN.get(kind)
    if known is None:
        is_subclass = issubclass(kind, np.ndarray) and not issubclass(kind, np.memmap)
        known = _OWN[kind] = is_subclass and any(
            [getattr(kind, name) is not getattr(np.ndarray, name) for name in _OF_ARITHMETIC]
        )
    return known


def refuse_arithmetic(value: Any, name: str) -> None:
    """Raise: an array does not calculate as `numpy.ndarray` does."""
    kind = type(value)
    package = defining_package(kind)
    if isinstance(value, np.ma.MaskedArray):
        remedy = "use a plain array: np.where(m.mask, 0.0, m.data)"
    elif isinstance(value, MATRIX):
        remedy = "use a plain array: np.asarray(A), and @"
    else:
        remedy = f"linad.adopt({package!r}) keeps what it carries; or use np.asarray of it"
    raise UnsupportedError(
        f"{name} is a {kind.__name__}, whose arithmetic linad does not differentiate; {remedy}"
    )


def operand(other: Any) -> Any:
    """An operand of a binary operator; NotImplemented for types with operators of their own."""
    if getattr(type(other), "holds_array", False):
        return NotImplemented  # a subclass of ndarray around a traced value: `linad.adoption`
    if isinstance(other, _PLAIN):
        return NotImplemented if has_own_arithmetic(type(other)) else other
    if isinstance(other, (list, tuple, range)):
        return stacked(other)
    if isinstance(other, numbers.Rational):  # a Fraction, as NumPy's numbers take it
        return float(other)
    if is_pandas(other):
        return NotImplemented if _keeps_labels(type(other)) else other.to_numpy()
    return NotImplemented


def as_array_of(holder: Any) -> Any:
    """The array that an object can be."""
    made = holder.__array__()  # NumPy takes no traced one
    return made if isinstance(made, Traced) else np.asarray(holder)


def is_of_pandas(kind: type) -> bool:
    """Whether it is a class of pandas, or one that inherits from such a class."""
    return any([defining_package(base) == "pandas" for base in kind.__mro__])


def is_pandas(x: Any) -> bool:
    """Whether it is a Series, a DataFrame or an Index; pandas is not imported to know."""
    return hasattr(x, "to_numpy") and is_of_pandas(type(x))


def _keeps_labels(kind: type) -> bool:
    """Whether it is a Series or a DataFrame: an Index is an array like others."""
    room = ROOMS_OF.pop("pandas", None)
    if room is not None:
        importlib.import_module(room)
    return any([cls in FOREIGN for cls in kind.__mro__])


def foreign(ufunc: Any, foreign: Any, *operands: Any) -> Any:
    """``ufunc(*operands)``, of which ``foreign`` is neither an array nor a number."""
    if issubclass(type(foreign), MATRIX):
        matrix_room()
    for cls in type(foreign).__mro__:
        if cls in FOREIGN:
            return FOREIGN[cls](ufunc, *operands)
    if issubclass(type(foreign), np.ndarray):  # and does not only say so
        refuse_arithmetic(foreign, "an operand")
    if hasattr(type(foreign), "__array__") and not hasattr(type(foreign), "__array_ufunc__"):
        return ufunc(*[as_array_of(foreign) if x is foreign else x for x in operands])
    if isinstance(foreign, (str, bytes)) and ufunc not in COMPARISONS:
        refuse_text(ufunc, foreign, operands)
    array = _shown_array(foreign)
    if array is None:
        return NotImplemented
    return ufunc(*[array if x is foreign else x for x in operands])


def _shown_array(x: Any) -> Any:
    """The array of an object that says where its numbers lie, or is a sequence of them, as a
    `memoryview`, an `array.array` and a `deque`; None of others, and of texts."""
    if isinstance(x, (str, bytes)):
        return None
    if isinstance(x, Sequence):
        return stacked([*x])
    shows = hasattr(x, "__array_interface__") or hasattr(x, "__array_struct__")
    with contextlib.suppress(TypeError, ValueError):  # where the numbers are traced: adopted code
        return np.asarray(x if shows else memoryview(x))
    return None


def refuse_text(ufunc: Any, text: Any, operands: Any) -> None:
    """Raise: a text beside a number, which Python would take for a sequence to be repeated."""
    if any([isinstance(x, Traced) and x.dtype.kind not in "fc" for x in operands]):
        return
    raise TypeError(
        f"np.{ufunc.__name__} of a traced number and a text, {shown(text)}: float(text) is the "
        f"number that is written there"
    )
