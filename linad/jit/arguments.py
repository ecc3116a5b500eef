"""The arguments of a jitted function: what is data, and what is part of the program.

Arrays, floats and complex numbers are data: another value is another run of the same program.
All else (containers, integers, booleans, strings, other objects; shapes and dtypes) makes
another program when it changes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import root_of
from linad.arrays.python_operators import OTHER_ARITHMETIC, refuse_arithmetic
from linad.arrays.tracer import Tracer
from linad.arrays.zero_dim import is_number
from linad.core import tree
from linad.core.regions import repeats
from linad.errors import DTypeError
from linad.jit.random_draws import refuse_generator
from linad.jit.static import Static


class Arguments:
    """The arguments of a call, taken apart: arrays, and what is part of the program.

    Parameters
    ----------
    leaves, structure
        Of the container ``(args, kwargs)``.
    fixed : set of int
        Leaves that are part of the program by request.
    orders : tuple
        The orders of keys in it, as `linad.core.tree.key_orders`.
    narrow : bool
        Whether Python numbers are part of it; see `is_dynamic`.

    Attributes
    ----------
    arrays : list
        Arrays, numbers and traced values, in order.
    key : tuple
        Containers, orders of their keys, static values, and dtypes and shapes of the arrays.
    """

    __slots__ = ("arrays", "dynamic", "key", "leaves", "structure")

    def __init__(
        self,
        leaves: list[Any],
        structure: Any,
        fixed: set[int],
        orders: tuple[Any, ...] = (),
        narrow: bool = False,
    ) -> None:
        self.leaves, self.structure = leaves, structure
        narrow = narrow or any([getattr(x, "dtype", None) in NARROW for x in leaves])
        self.dynamic = [k for k, x in enumerate(leaves) if k not in fixed and is_dynamic(x, narrow)]
        moving = set(self.dynamic)
        self.arrays = [leaves[k] for k in self.dynamic]
        self.key = (
            structure,
            orders,
            tuple([_type_of(x) if k in moving else Static(x) for k, x in enumerate(leaves)]),
        )

    def call(self, f: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """Call a function with other arrays in the same places."""
        leaves = list(self.leaves)
        for k, a in zip(self.dynamic, arrays, strict=True):
            leaves[k] = a
        args, kwargs = tree.unflatten(self.structure, leaves)
        return f(*args, **kwargs)

    def hold_python_numbers(self) -> bool:
        """Whether a Python number is among the data."""
        return any([isinstance(x, (float, complex)) for x in self.arrays])


NARROW = (np.dtype("float32"), np.dtype("complex64"), np.dtype("float16"))
"""Dtypes that a Python number, but no array of one, leaves as they are."""


def is_dynamic(x: Any, narrow: bool) -> bool:
    """Whether a leaf may change from call to call without another program.

    A Python float beside arrays of single precision is static: NumPy would compute in single
    precision with it, and in double precision with an array of one.

    Raises
    ------
    UnsupportedError
        For matrices and masked arrays, which calculate by other rules, and for generators of
        random numbers.
    DTypeError
        For arrays of objects.
    """
    if isinstance(x, Tracer):
        return True
    if isinstance(x, np.ndarray):
        if isinstance(x, OTHER_ARITHMETIC):
            refuse_arithmetic(x, "jit: an argument")
        if x.dtype.hasobject:
            raise DTypeError(
                f"jit: an array among the arguments must hold numbers, strings or dates, got dtype "
                f"{x.dtype}"
            )
        return x.dtype.kind in "biufc"
    if isinstance(x, np.generic):
        return x.dtype.kind in "fc"
    if isinstance(x, (float, complex)):
        return not narrow
    refuse_generator(x)
    return False


def native(x: Any) -> Any:
    """An array in the byte order of the machine, and NumPy's own dtype of that name."""
    dtype = np.dtype(x.dtype.newbyteorder("=").str)
    return x if x.dtype is dtype else x.astype(dtype)


def as_recorded(x: Any) -> Any:
    """What a program is recorded on: an array or NumPy's number as `native`, else NumPy's number.

    ``s += 1`` changes a 0-d array, and gives another number: a number is no 0-d array here.
    """
    if isinstance(x, (np.ndarray, np.generic)):
        return native(x)
    return np.dtype(type(x)).type(x)


def _type_of(x: Any) -> tuple[Any, Any]:
    """Dtype and shape; of a number, which is no array without axes, its dtype alone."""
    if is_number(x):
        return getattr(x, "dtype", None) or np.dtype(type(x)), None
    return x.dtype, x.shape


def share_memory(arrays: Sequence[Any], written: Sequence[int]) -> bool:
    """Whether one of the arrays that are written into is in another argument as well, or has
    an entry twice itself (a broadcast one, or overlapping windows), or is read-only."""
    for k in written:
        x = arrays[k]
        if isinstance(x, np.ndarray) and (not x.flags.writeable or repeats(x)):
            return True
        for j, other in enumerate(arrays):
            if j != k and _overlap(arrays[k], other):
                return True
    return False


def _overlap(a: Any, b: Any) -> bool:
    if isinstance(a, Tracer) and isinstance(b, Tracer):
        return root_of(a) is root_of(b)
    plain = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    return plain and np.may_share_memory(a, b) and np.shares_memory(a, b)
