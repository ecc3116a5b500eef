"""What would take a value out of its trace: a plain array, a float, a text that is read again.

What has no derivative to lose leaves as it is. All else is refused, with what to do instead.
"""

import sys
from types import FrameType
from typing import Any

import numpy as np

from linad.arrays.lending import handed_out, lent
from linad.arrays.memory import constant_under, escape, whole
from linad.arrays.refusing import COUNT, WRITE
from linad.core.adopted import WATCHERS, is_adopted
from linad.core.reasons import because, reason

TABLE = (
    "What a plain array holds at positions that are computed is read by NumPy, once, and holds for "
    "these positions; np.asarray(table, like=x)[positions] reads the table at those of each call, "
    "and so does a table that is an argument"
)
"""Why integers that leave a recorded program are a decision."""

as_float = escape(
    "float() or a math function, or writing it into a plain array,",
    f"use NumPy functions (np.sin for math.sin), and {WRITE}",
    float,
    "float",
    by_caller=True,
)
as_complex = escape("complex()", "use x + 1j * y", complex, "complex", by_caller=True)
refuse_int = escape("int()", COUNT, int, "int", by_caller=True, decides=whole)
float_of_text = escape(
    "float() of its text",
    "round it with np.round, or use the number itself",
    kind="float",
)
refuse_repr = escape(
    "repr() of it, which differs for Python's and for NumPy's number of the same value,",
    "use str(x) or f'{x}', whose texts are the same",
    kind="float",
)
_refuse_array = escape(
    "making a plain NumPy array, of a list or by writing into one,",
    "use np.stack([...]) for a list, write into np.zeros_like(x), drop np.asarray, or "
    "import linad.numpy as np, whose array() and zeros() trace and whose functions take lists; "
    "linad.adopt(__name__) lets code of this module, and the Series of pandas that it makes, "
    "trace as they are",
    kind="array",
    by_caller=True,
)
_refuse_scipy = escape(
    "making a plain NumPy array, as this SciPy function does,",
    "linad.scipy has traced forms of many functions, and @linad.primitive wraps any; of a "
    "sparse array A the product with a vector is A @ x, and A * x, entry by entry, is x * A",
    kind="array",
    by_caller=True,
)
_refuse_masked = escape(
    "the arithmetic of a masked array",
    "keep the mask apart, np.where(m.mask, 0.0, m.data) * x or m.data[~m.mask] * x[~m.mask]; "
    "or linad.adopt(__name__) lets masked arrays of this module trace, where they are made "
    "while a derivative is taken",
    kind="array",
    by_caller=True,
)
_ADOPT = (
    "linad.adopt(name) of the package that calls pandas, or of your own module, lets a Series "
    "or DataFrame hold traced values"
)
_refuse_pandas = escape(
    "making a plain NumPy array, as pandas does,",
    f"{_ADOPT}; or use the numbers, s.to_numpy(), and NumPy functions",
    kind="array",
    by_caller=True,
)
_refuse_in_place = escape(
    "the arithmetic in place of pandas, as s *= x,",
    f"write s = s * x, which is a Series of traced values; or {_ADOPT}",
    kind="array",
)


def _in_package(frame: FrameType, package: str) -> bool:
    return frame.f_globals.get("__name__", "").startswith(package + ".")


def _asking(caller: FrameType) -> FrameType:
    """The frame that calls NumPy, whose own code asks."""
    while _in_package(caller, "numpy") and caller.f_back is not None:
        caller = caller.f_back
    return caller


def _wants_to_write(caller: FrameType) -> bool:
    """Whether it is ``np.require`` that asks, for an array to write into: it would copy another,
    and what is written into the copy nobody would see."""
    if caller.f_code.co_name != "require" or not _in_package(caller, "numpy"):
        return False
    asked = caller.f_locals.get("requirements") or ()
    return not {"W", "WRITEABLE"}.isdisjoint([word.upper() for word in asked])


def priority_for_pandas(x: Any) -> int:
    """`Tracer.__pandas_priority__`: plain objects of pandas leave their operators to the traced
    value, other than those in place, which take it that they have a result themselves."""
    caller = sys._getframe(2)
    in_place = caller.f_code.co_name == "_inplace_method"
    if in_place and not getattr(type(caller.f_locals["self"]), "holds_array", False):
        _refuse_in_place(x)
    return 5000


def as_plain_array(x: Any, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Any:
    """`Tracer.__array__`, which NumPy calls: the plain array of a traced value, if it has one."""
    if x.dtype.kind in "biu":
        caller = sys._getframe(1)
        by_linad = _in_package(_asking(caller), "linad")
        if by_linad or x.dtype.kind == "b":
            found = x._trace.answer(x, np.array)
        else:
            with because(reason() or TABLE):
                found = x._trace.answer(x, np.array)
        if copy:
            return found.copy("K")
        if not by_linad:  # whose own code reads it at once
            return handed_out(x, found, writeable=_wants_to_write(caller))
        found.flags.writeable = False
        return found
    if x._trace.finished:
        return np.array(x._trace.lasting(x), dtype)
    caller = sys._getframe(1)
    if caller.f_code.co_name == "_matmul_dispatch":
        # SciPy's sparse arrays ask whether an operand is an array before they multiply.
        # A 0-d object array says no, and Python goes on to __rmatmul__.
        shell = np.empty((), object)
        shell[()] = x
        return shell
    masked = False
    while _in_package(caller, "numpy") and caller.f_back is not None:
        masked = masked or _in_package(caller, "numpy.ma")
        caller = caller.f_back
    by_scipy = _in_package(caller, "scipy")
    if by_scipy or (WATCHERS and is_adopted(caller)):
        plain = constant_under(x)
        if plain is not None:
            return lent(x, plain, dtype, copy)
    if by_scipy:
        return _refuse_scipy(x)
    if _in_package(caller, "pandas"):
        return _refuse_pandas(x)
    return _refuse_masked(x) if masked else _refuse_array(x)
