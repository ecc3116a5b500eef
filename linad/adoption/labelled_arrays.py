"""The array in a Series or DataFrame of pandas around traced values: `linad.adoption.labelled`.

pandas keeps what it does not know in arrays of others (`pandas.api.extensions`), one a column, and
leaves to them what is computed.
"""

import functools
import itertools
import operator
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype
from pandas.api.indexers import check_array_indexer

from linad.arrays.conversions import held
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core.adopted import is_adopted
from linad.core.array_type import Array
from linad.core.callers import AWARE, package_of
from linad.errors import UnsupportedError
from linad.rules.creation import asarray


class TracedDtype(ExtensionDtype):
    """The dtype of `TracedArray`: to pandas a floating one."""

    name = "traced"
    type = float
    kind = "f"
    na_value = np.nan
    numpy_dtype = np.dtype(np.float64)  # pandas 2 asks where ``s.loc[new] = v`` adds an entry
    _is_numeric = True

    @classmethod
    def construct_array_type(cls) -> Any:
        """The class of arrays of this dtype."""
        return TracedArray

    def _get_common_dtype(self, dtypes: list[Any]) -> Any:
        numbers = all(isinstance(d, TracedDtype) or d.kind in "biufc" for d in dtypes)
        return self if numbers else None


def bare_array(x: Any) -> Any:
    return x.array if isinstance(x, TracedArray) else x


def _runs_adopted_code() -> bool:
    """Whether the innermost code that is none of pandas's and its kind is adopted."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and package_of(frame) in AWARE:
        frame = frame.f_back
    return frame is not None and is_adopted(frame)


class TracedArray(ExtensionArray):
    """An array of pandas's that holds a traced one.

    Parameters
    ----------
    array : Tracer or ndarray
        On one axis.
    """

    __array_priority__ = 1600.0  # above traced arrays

    def __init__(self, array: Array) -> None:
        self.array = array

    @classmethod
    def _from_sequence(cls, scalars: Any, *, dtype: Any = None, copy: bool = False) -> Any:
        return cls(numbers(scalars))

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Any]) -> Any:
        return cls(np.concatenate([part.array for part in to_concat]))

    @classmethod
    def _empty(cls, shape: Any, dtype: Any) -> Any:
        return cls(np.full(shape, np.nan))

    @property
    def dtype(self) -> TracedDtype:
        """See `TracedDtype`."""
        return TracedDtype()

    @property
    def nbytes(self) -> int:
        """As if the numbers were in memory."""
        return int(8 * self.array.size)

    def __len__(self) -> int:
        return int(self.array.shape[0])

    def __getitem__(self, item: Any) -> Any:
        found = self.array[check_array_indexer(self, item)]
        return type(self)(found) if np.ndim(found) else found

    def __setitem__(self, key: Array, value: Any) -> None:
        value, trace = numbers(bare_array(value)), running_trace()
        if held((value,)) and type(self.array) is np.ndarray and trace is not None:
            self.array = trace.constant(self.array.copy())
        self.array[check_array_indexer(self, key)] = value

    def _where(self, mask: Array, value: Any) -> Any:
        """These entries where ``mask`` holds, others elsewhere, which may be complex."""
        return type(self)(np.where(mask, self.array, numbers(bare_array(value))))

    def take(self, indices: Array, *, allow_fill: bool = False, fill_value: Any = None) -> Any:
        """As pandas wants it: -1 stands for the last entry, or for ``fill_value``."""
        indices = np.asarray(indices, dtype=np.intp)
        if not allow_fill:
            return type(self)(self.array[indices])
        missing = indices < 0
        if np.any(indices < -1):
            raise ValueError("take: indices below -1 where -1 stands for a missing entry")
        fill = np.nan if fill_value is None or fill_value is pd.NA else fill_value
        if not len(self):
            return type(self)(np.full(indices.shape, fill))
        found = self.array[np.where(missing, 0, indices)]
        return type(self)(np.where(missing, fill, found) if missing.any() else found)

    def copy(self) -> Any:
        """A copy."""
        return type(self)(self.array.copy())

    def isna(self) -> Any:
        """Where entries are NaN."""
        return np.asarray(np.isnan(self.array))

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> Any:
        """The traced array."""
        return self.array

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Floating dtypes keep the traced array; integers are plain."""
        if isinstance(dtype, TracedDtype):
            return self.copy() if copy else self
        found = self.array.astype(dtype)
        return type(self)(found) if found.dtype.kind in "fc" else np.asarray(found)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        asks = sys._getframe(1).f_code.co_name == "np_can_hold_element"
        if asks and _runs_adopted_code():
            raise TypeError("a plain array does not hold traced values")  # pandas wants to know
        return self.array.__array__(dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, (pd.Series, pd.DataFrame, pd.Index)) for x in inputs):
            return NotImplemented
        operands = [numbers(bare_array(x)) for x in inputs]
        if method == "__call__" and ufunc.nout == 1 and not kwargs:
            return _elementwise(ufunc, *operands)
        return _wrapped(getattr(ufunc, method)(*operands, **kwargs))

    def _hash_pandas_object(self, *, encoding: Any, hash_key: Any, categorize: Any) -> Any:
        # A key that no other array has: a cache must not give what it keeps of plain values.
        return np.arange(len(self), dtype=np.uint64) + np.uint64(next(_keys) << 32)

    def _values_for_argsort(self) -> Any:
        return _plain(self.array)

    def map(self, mapper: Any, na_action: Any = None) -> Any:
        """The results of a function of each number, plain ones of the type that pandas infers."""
        results = [mapper(x) for x in self.array]
        return self._from_sequence(results) if held(results) else pd.Series(results).array

    def round(self, decimals: int = 0, *args: Any, **kwargs: Any) -> Any:
        """As `numpy.round`."""
        return type(self)(np.round(self.array, decimals))

    def interpolate(self, *args: Any, **kwargs: Any) -> Any:
        """Not traced."""
        raise UnsupportedError(
            "interpolate of a Series around traced values is not traced by linad; take the values "
            "y = s.to_numpy() that are known, np.interp(x, x[known], y[known])"
        )

    def _known(self, skipna: bool) -> Any:
        missing = self.isna()
        return self.array[~missing] if skipna and missing.any() else self.array

    def _reduce(
        self, name: str, *, skipna: bool = True, keepdims: bool = False, **kwargs: Any
    ) -> Any:
        if name not in REDUCTIONS:
            raise UnsupportedError(
                f"{name} of a Series around traced values is not traced by linad; compute it of "
                f"s.to_numpy() by functions of NumPy and SciPy"
            )
        known = self._known(skipna)
        least = kwargs.pop("min_count", 0) if name in _OF_NOTHING else 1
        found = REDUCTIONS[name](known, **kwargs) if known.size >= least else np.nan
        return type(self)(np.reshape(found, 1)) if keepdims else found

    def _accumulate(self, name: str, *, skipna: bool = True, **kwargs: Any) -> Any:
        accumulate, neutral = _ACCUMULATIONS[name]
        missing = self.isna()
        if not (skipna and missing.any()):
            return type(self)(accumulate(self.array))
        found = accumulate(np.where(missing, neutral, self.array))
        return type(self)(np.where(missing, np.nan, found))

    def _quantile(self, qs: Any, interpolation: str) -> Any:
        method: Any = interpolation
        return type(self)(np.quantile(self._known(True), qs, method=method))


def _plain(x: Any) -> Any:
    return np.array(x.decided) if type(x) is Tracer else x


def _wrapped(y: Array) -> Any:
    """A result as pandas wants it: decisions are plain."""
    if isinstance(y, tuple):
        return tuple([_wrapped(part) for part in y])
    if y.dtype.kind == "b":
        return np.asarray(y)
    return TracedArray(y) if np.ndim(y) else y


def _elementwise(function: Callable[..., Any], *operands: Any) -> Any:
    """A function of each entry; missing ones stay missing, and have no part in derivatives."""
    missing = functools.reduce(operator.or_, [np.asarray(np.isnan(x)) for x in operands])
    y = function(*operands)
    if function in _OF_MISSING or y.dtype.kind != "f" or not missing.any():
        return _wrapped(y)
    y = function(*[np.where(missing, 1.0, x) for x in operands])
    return TracedArray(np.where(missing, np.nan, y))


_OF_MISSING = (operator.pow, np.power, np.fmax, np.fmin, np.isnan, np.hypot)
"""Functions that may have a value where an operand is missing."""

_keys = itertools.count(1)


def _binary(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def method(self: TracedArray, other: Any) -> Any:
        if isinstance(other, (pd.Series, pd.DataFrame, pd.Index)):
            return NotImplemented
        return _elementwise(function, self.array, numbers(bare_array(other)))

    def mirrored(self: TracedArray, other: Any) -> Any:
        return _elementwise(function, numbers(bare_array(other)), self.array)

    method.__name__ = f"__{name}__"
    setattr(TracedArray, f"__r{name}__", mirrored)
    return method


for _name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv", "matmul"):
    setattr(TracedArray, f"__{_name}__", _binary(_name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(TracedArray, f"__{_name}__", _binary(_name))


def _unary(name: str) -> Callable[[TracedArray], Any]:
    function = getattr(operator, name)
    return lambda self: TracedArray(function(self.array))


for _name in ("neg", "pos", "abs"):
    setattr(TracedArray, f"__{_name}__", _unary(_name))


def _moments(x: Any) -> tuple[Any, Any, Any, int]:
    d = x - np.mean(x)
    return np.sum(d**2), np.sum(d**3), np.sum(d**4), x.size


def _skew(x: Any, **kwargs: Any) -> Any:
    """As pandas has it: the adjusted coefficient of Fisher and Pearson, √(n (n-1)) / (n-2) g."""
    m2, m3, _, n = _moments(x)
    return n * np.sqrt(n - 1.0) / (n - 2) * m3 / m2**1.5


def _kurt(x: Any, **kwargs: Any) -> Any:
    """As pandas has it: the excess, without bias for a normal distribution."""
    m2, _, m4, n = _moments(x)
    share = n * (n + 1) * (n - 1) / ((n - 2) * (n - 3))
    return share * m4 / m2**2 - 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))


def _of_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, **kwargs: function(x)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_numpy(getattr(np, name)) for name in ("sum", "mean", "prod", "median")},
    **{name: _of_numpy(getattr(np, name)) for name in ("min", "max")},
    "any": lambda x, **kwargs: bool(np.any(x != 0)),
    "all": lambda x, **kwargs: bool(np.all(x != 0)),
    "var": lambda x, ddof=1, **kwargs: np.var(x, ddof=ddof),
    "std": lambda x, ddof=1, **kwargs: np.std(x, ddof=ddof),
    "sem": lambda x, ddof=1, **kwargs: np.std(x, ddof=ddof) / np.sqrt(x.size),
    "skew": _skew,
    "kurt": _kurt,
}

_OF_NOTHING = ("sum", "prod", "any", "all")
"""Reductions that have a value where there are no entries; the others are NaN."""

_ACCUMULATIONS: dict[str, tuple[Callable[..., Any], float]] = {
    "cumsum": (np.cumsum, 0.0),
    "cumprod": (np.cumprod, 1.0),
    "cummax": (np.maximum.accumulate, -np.inf),
    "cummin": (np.minimum.accumulate, np.inf),
}


def numbers(x: Any) -> Any:
    """Numbers and traced ones in a list as a traced array; what has labels stays."""
    if isinstance(x, TracedArray):
        return x.array
    if isinstance(x, np.ndarray) and x.dtype == object:  # as pandas gathers entries of columns
        x = list(x)
    return asarray(x, dtype=float) if isinstance(x, (list, tuple)) else x
