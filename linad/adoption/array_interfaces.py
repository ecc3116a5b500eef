"""``x.__array_interface__`` of traced arrays, which adopted code reads and hands to NumPy.

    np.asarray(Holder({**x.__array_interface__, "shape": ..., "strides": ...}))

Where the memory of an array begins is an `Address`, which is not a number: of compiled code NumPy's
is refused by it, and ``np.asarray`` of adopted code finds the array by it.
"""

from typing import Any

import numpy as np

from linad.arrays.buffers import root_of
from linad.core.adopted import ATTRIBUTES
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.errors import UnsupportedError
from linad.numpy.strides import as_strided
from linad.rules.shaping import INTERFACES

_NUMBERS_AND_LISTS = (int, float, complex, str, list, tuple, dict)


class Address:
    """Where the first entry of a traced array lies, and so many bytes behind it.

    Parameters
    ----------
    array : Tracer
    offset : int
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Array, offset: int = 0) -> None:
        self.array, self.offset = array, offset

    def __add__(self, offset: Any) -> "Address":
        return Address(self.array, self.offset + int(offset))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, Address):
            return self + -other
        self._check(other, "the distance")
        return self.offset - other.offset

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Address) or root_of(self.array) is not root_of(other.array):
            return False
        self._check(other, "the equality")
        return self.offset == other.offset

    def _check(self, other: "Address", what: str) -> None:
        if self.array is not other.array:
            raise UnsupportedError(
                f"__array_interface__: {what} of addresses of two traced arrays is not known; "
                f"np.shares_memory tells whether they share entries"
            )


def interface_of(x: Any) -> dict[str, Any]:
    """What a NumPy array has under this name."""
    like = np.empty(0, x.dtype).__array_interface__
    return {
        **{key: like[key] for key in ("typestr", "descr", "version")},
        "data": (Address(x), False),
        "shape": x.shape,
        "strides": None if x.flags.c_contiguous else x.strides,
    }


def array_of(interface: Any) -> Any:
    """The traced array that an interface leads to; None where it leads to plain memory."""
    data = interface.get("data") if isinstance(interface, dict) else None
    address = data[0] if isinstance(data, tuple) and data else None
    if not isinstance(address, Address):
        return None
    x: Any = address.array
    if np.dtype(interface["typestr"]) != x.dtype:
        raise UnsupportedError(
            f"__array_interface__: the memory of a traced array of {x.dtype} is not read as one "
            f"of {np.dtype(interface['typestr'])}"
        )
    offset = address.offset + interface.get("offset", 0)
    if offset:
        begin, odd = divmod(offset, x.dtype.itemsize)
        if odd or begin < 0 or not x.flags.c_contiguous:
            raise UnsupportedError(
                f"__array_interface__: {offset} bytes behind the first entry of a traced array "
                f"(shape {x.shape}, strides {x.strides}) is not traced by linad; use an index"
            )
        x = x.reshape(-1)[begin:]
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    return as_strided(x, shape, strides or _contiguous(shape, x.dtype.itemsize))


def _contiguous(shape: Shape, itemsize: int) -> tuple[int, ...]:
    return tuple(itemsize * int(np.prod(shape[k + 1 :])) for k in range(len(shape)))


def _of_holder(x: Any) -> Any:
    """What an object that describes memory gives in place of itself."""
    if isinstance(x, _NUMBERS_AND_LISTS):
        return x
    found = getattr(x, "__array_interface__", None)
    made = None if found is None else array_of(found)
    return x if not isinstance(made, Traced) else made


ATTRIBUTES["__array_interface__"] = interface_of
INTERFACES.append(_of_holder)
