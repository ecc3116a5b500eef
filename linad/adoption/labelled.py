"""Series and DataFrames of pandas around traced values.

Their arrays are `linad.adoption.labelled_arrays`. What pandas computes of plain arrays alone,
`TracedSeries` and `TracedFrame` do: subclasses, as pandas wants them made. This is imported where
somebody has imported pandas.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from linad.adoption.labelled_arrays import TracedArray, TracedDtype, bare_array
from linad.adoption.labelled_bounds import clipped
from linad.adoption.labelled_classes import FormOfClass, columns_of, names_of
from linad.adoption.labelled_texts import printed
from linad.adoption.labelled_windows import (
    ExponentialWindows,
    LabelledWindows,
    checked_size,
    decay,
)
from linad.arrays.out_argument import LABELS
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.core.unmatched import note
from linad.errors import UnsupportedError
from linad.rules.creation import asarray

_METHOD_NAMES = {"amax": "max", "amin": "min"}
"""Methods that NumPy's functions of other names call."""


class Labelled:
    """What `TracedSeries` and `TracedFrame` have in common."""

    holds_array = True
    _held: Any
    _plain: Callable[[], Any]
    _by_column: Callable[[Callable[[Any], Any]], Any]

    def __array_function__(
        self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        written: Any = getattr(func, "_implementation", None)
        of_methods = (
            getattr(written, "__globals__", {}).get("__name__") == "numpy._core.fromnumeric"
        )
        if of_methods and hasattr(self, _METHOD_NAMES.get(func.__name__, func.__name__)):
            return written(*args, **kwargs)  # which calls the method of that name
        return func(*values_of(args), **values_of(kwargs))

    def _like(self, array: Any) -> Any:
        return array

    def rolling(
        self, window: Any, min_periods: int | None = None, center: bool = False, **options: Any
    ) -> Any:
        """The windows of a number of entries."""
        size = checked_size(window, options)
        least = size if min_periods is None else min_periods
        return LabelledWindows(self._by_column, size, least, center)

    def ewm(
        self,
        com: Any = None,
        span: Any = None,
        halflife: Any = None,
        alpha: Any = None,
        min_periods: int | None = 0,
        adjust: bool = True,
        ignore_na: bool = False,
        axis: Any = 0,
        times: Any = None,
        method: str = "single",
    ) -> Any:
        """All entries up to each, with weights that decay."""
        if times is not None or (halflife is not None and not isinstance(halflife, (int, float))):
            raise UnsupportedError(
                "ewm: times= of traced values is not traced by linad; use alpha=, span=, com= or "
                "a number for halflife="
            )
        given = decay(com, span, halflife, alpha)
        return ExponentialWindows(self._by_column, given, min_periods or 0, adjust, ignore_na)

    def dot(self, other: Any) -> Any:
        """The product of matrices and vectors, whose labels must be the same where they meet."""
        own: Any = self
        inner = own.columns if own.ndim == 2 else own.index
        if isinstance(other, (pd.Series, pd.DataFrame)):
            if not other.index.equals(inner):
                if len(inner) != len(other.index) or not other.index.isin(inner).all():
                    raise ValueError("matrices are not aligned")
                other = other.reindex(inner)
            values = other.to_numpy()
        else:
            values = asarray(other)
        y = own.to_numpy() @ values
        if not y.ndim:
            return y
        columns = getattr(other, "columns", None)
        if own.ndim == 1:
            return series(y, columns) if columns is not None else y
        return frame(y, own.index, columns) if y.ndim == 2 else series(y, own.index)

    def clip(self, lower: Any = None, upper: Any = None, **options: Any) -> Any:
        """Entries within bounds."""
        return self._by_column(clipped(self, lower, upper, options))

    def __repr__(self) -> str:
        return repr(self._plain())

    def to_string(self, *args: Any, **kwargs: Any) -> Any:
        """The text of the plain values."""
        return self._plain().to_string(*args, **kwargs)

    def _repr_html_(self) -> Any:
        plain = self._plain()
        return plain._repr_html_() if isinstance(plain, pd.DataFrame) else None

    def expanding(self, min_periods: int = 1, method: str = "single") -> Any:
        """The windows of all entries up to each."""
        return LabelledWindows(self._by_column, None, min_periods)

    @property
    def _constructor(self) -> Callable[..., Any]:
        return frame if isinstance(self, pd.DataFrame) else series

    @property
    def _constructor_sliced(self) -> Callable[..., Any]:
        return series

    @property
    def _constructor_expanddim(self) -> Callable[..., Any]:
        return frame


class TracedSeries(Labelled, pd.Series):
    """A Series around a traced array."""

    __pandas_priority__ = 6000  # above traced arrays
    original = pd.Series

    @property
    def _held(self) -> Any:
        return self.array.array

    def _arith_method(self, other: Any, op: Any) -> Any:
        if isinstance(other, pd.Series):
            note(self.index, other.index)
        return super()._arith_method(other, op)

    def _by_column(self, function: Callable[[Any], Any]) -> Any:
        return series(function(self.array.array), index=self.index, name=self.name)

    def cov(self, other: Any, min_periods: Any = None, ddof: int | None = 1) -> Any:
        """Covariance with another Series, of the entries of the same labels."""
        return _both(self, other).cov(min_periods, ddof).iloc[0, 1]

    def corr(self, other: Any, method: Any = "pearson", min_periods: Any = None) -> Any:
        """Correlation with another Series, by the method of Pearson."""
        return _both(self, other).corr(method).iloc[0, 1]

    @property
    def values(self) -> Any:
        """The traced array."""
        return self.array.array

    def _plain(self) -> Any:
        """As a Series of plain numbers, for people."""
        return pd.Series(printed(self.array), self.index, name=self.name)


class TracedFrame(Labelled, pd.DataFrame):
    """A DataFrame some of whose columns are traced."""

    __pandas_priority__ = 7000
    original = pd.DataFrame

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Of several operands as of one, where pandas would make plain arrays of them."""
        lone = not any(isinstance(x, (pd.Series, pd.DataFrame)) for x in inputs if x is not self)
        if method != "__call__" or kwargs or ufunc.nout > 1 or len(inputs) == 1 or not lone:
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        y = ufunc(*[self.to_numpy() if x is self else x for x in inputs])
        return frame(y, self.index, self.columns)

    def __setitem__(self, key: Any, value: Any) -> None:
        """A column may be a traced array."""
        one_axis = type(value) is Tracer and value.ndim == 1
        super().__setitem__(key, TracedArray(value) if one_axis else value)

    @property
    def _held(self) -> Any:
        return self.to_numpy()

    def _by_column(self, function: Callable[[Any], Any]) -> Any:
        x = self.to_numpy()
        made = frame({j: function(x[:, j]) for j in range(x.shape[1])}, index=self.index)
        made.columns = self.columns
        return made

    @property
    def values(self) -> Any:
        """The columns side by side, a traced array."""
        return self.to_numpy()

    def _plain(self) -> Any:
        """As a DataFrame of plain numbers, for people."""
        columns = {j: printed(self.iloc[:, j].array) for j in range(self.shape[1])}
        plain = pd.DataFrame(columns, self.index)
        plain.columns = self.columns
        return plain

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> Any:
        """The columns side by side, a traced array."""
        columns = [bare_array(self.iloc[:, j].array) for j in range(self.shape[1])]
        return np.stack([asarray(column, dtype=float) for column in columns], axis=1)

    @property
    def T(self) -> Any:
        """The transposed DataFrame."""
        return frame(self.to_numpy().T, index=self.columns, columns=self.index)

    def _arith_method(self, other: Any, op: Any) -> Any:
        if isinstance(other, pd.DataFrame):
            note(self.index, other.index)
        return super()._arith_method(self._beside(other), op)

    def _cmp_method(self, other: Any, op: Any) -> Any:
        return super()._cmp_method(self._beside(other), op)

    def _beside(self, other: Any) -> Any:
        """A traced array as what has the labels that its entries meet."""
        if type(other) is not Tracer or not other.ndim:
            return other
        if other.ndim == 1:
            return series(other, index=self.columns)
        return frame(other, index=self.index, columns=self.columns)

    def apply(
        self,
        func: Any,
        axis: Any = 0,
        raw: bool = False,
        result_type: str | None = None,
        args: tuple[Any, ...] = (),
        **kwargs: Any,
    ) -> Any:
        """The results of a function of each column, or of each row, which pandas would copy."""
        if axis not in (1, "columns") or not callable(func) or result_type or not len(self):
            return super().apply(func, axis, raw, result_type, args, **kwargs)
        entries = list(self.to_numpy()) if raw else [self.iloc[i] for i in range(len(self))]
        results = [func(entry, *args, **kwargs) for entry in entries]
        if not all(isinstance(result, pd.Series) for result in results):
            return series(results, index=self.index)
        made = frame(results)
        made.index = self.index
        return made

    def _reduce(self, op: Any, name: str, *, axis: Any = 0, **kwargs: Any) -> Any:
        if axis in (1, "columns"):
            return self.T._reduce(op, name, axis=0, **kwargs)
        return super()._reduce(op, name, axis=axis, **kwargs)

    def transpose(self, *args: Any, copy: Any = None) -> Any:
        """The transposed DataFrame."""
        return self.T

    def cov(self, min_periods: Any = None, ddof: int | None = 1, numeric_only: bool = False) -> Any:
        """Covariances of the columns."""
        found = np.cov(self._complete("cov"), rowvar=False, ddof=ddof)
        return self._of_columns(found)

    def corr(
        self, method: Any = "pearson", min_periods: int = 1, numeric_only: bool = False
    ) -> Any:
        """Correlations of the columns, by the method of Pearson."""
        if method != "pearson":
            raise UnsupportedError(
                f"corr: method={method!r} of a DataFrame around traced values is not traced by "
                f"linad; use method='pearson', or scipy.stats of the columns"
            )
        return self._of_columns(np.corrcoef(self._complete("corr"), rowvar=False))

    def _of_columns(self, matrix: Any) -> Any:
        matrix = np.reshape(matrix, (self.shape[1],) * 2)
        return frame(matrix, index=self.columns, columns=self.columns)

    def _complete(self, name: str) -> Any:
        values = self.to_numpy()
        if np.any(np.isnan(values)):
            raise UnsupportedError(
                f"{name} of a DataFrame around traced values with missing entries is not traced "
                f"by linad; drop them, df.dropna().{name}()"
            )
        return values


def _both(x: Any, y: Any) -> Any:
    """Two Series as columns, of the labels that both have."""
    return frame(dict(enumerate(x.align(y, join="inner"))))


def values_of(x: Any) -> Any:
    """Arrays in the place of what has labels, in containers as well."""
    if isinstance(x, (pd.Series, pd.DataFrame)):
        return x._held if isinstance(x, Labelled) else x.to_numpy()
    if type(x) in (list, tuple):
        return type(x)([values_of(part) for part in x])
    if type(x) is dict:
        return {key: values_of(part) for key, part in x.items()}
    return x


def holds_traced_values(x: Any) -> bool:
    if isinstance(x, (TracedArray, Tracer, Labelled)):
        return True
    if isinstance(x, pd.Series):
        return isinstance(x.dtype, TracedDtype)
    if isinstance(x, pd.DataFrame):
        return any(isinstance(dtype, TracedDtype) for dtype in x.dtypes)
    if isinstance(x, dict):
        return any(map(holds_traced_values, x.values()))
    return isinstance(x, (list, tuple)) and any(map(holds_traced_values, x))


def series(data: Any = None, index: Any = None, dtype: Any = None, *args: Any, **kw: Any) -> Any:
    """As `pandas.Series`, of values that may be traced."""
    if not holds_traced_values(data):
        return pd.Series(data, index, dtype, *args, **kw)
    if isinstance(data, dict):
        index = list(data) if index is None else index
        data = [data.get(key, np.nan) for key in index]
    if isinstance(data, (list, tuple)):
        if dtype is object or not all(map(_is_number, data)):
            return pd.Series(_objects(data), index, object, *args, **kw)
        data = asarray(data)
    if isinstance(data, Tracer):
        if not data.ndim and index is not None:
            data = np.broadcast_to(data, len(index))
        data = TracedArray(np.atleast_1d(data))
    dtype = dtype if isinstance(dtype, TracedDtype) else None
    return TracedSeries(data, index, dtype, *args, **kw)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.number, Tracer))


def _objects(values: Sequence[Any]) -> Any:
    """Values of all kinds side by side, as Python's objects."""
    made = np.empty(len(values), object)
    for k, value in enumerate(values):
        made[k] = value
    return made


def _is_missing(x: Any) -> Any:
    """As `pandas.isna`."""
    return np.isnan(x.decided) if type(x) is Tracer else pd.isna(x)


def _is_known(x: Any) -> Any:
    """As `pandas.notna`."""
    return ~np.isnan(x.decided) if type(x) is Tracer else pd.notna(x)


def frame(
    data: Array | None = None, index: Any = None, columns: Any = None, *args: Any, **kw: Any
) -> Any:
    """As `pandas.DataFrame`, of values that may be traced."""
    if not holds_traced_values(data):
        return pd.DataFrame(data, index, columns, *args, **kw)
    if isinstance(data, (pd.Series, pd.DataFrame)):
        return TracedFrame(data, index, columns, *args, **kw)
    if isinstance(data, (list, tuple)) and isinstance(data[0], (dict, pd.Series)):
        index = names_of(data) if index is None else index
        data = columns_of(data, columns)
    if isinstance(data, dict):
        labels = list(data) if columns is None else columns
        data = {k: series(part) if isinstance(part, dict) else part for k, part in data.items()}
        sizes = [len(part) for part in (index, *data.values()) if _is_several(part)]
        made = {key: _column(part, max(sizes, default=1)) for key, part in data.items()}
        return TracedFrame(made, index, labels, *args, **kw)
    matrix = asarray(data)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    made = TracedFrame(
        {j: TracedArray(matrix[:, j]) for j in range(matrix.shape[1])}, index, *args, **kw
    )
    if columns is not None:
        made.columns = columns
    return made


def _is_several(part: Any) -> bool:
    """Whether it is the entries of a column, and no number for each."""
    return pd.api.types.is_list_like(part) and getattr(part, "ndim", 1) > 0


def _column(part: Any, size: int) -> Any:
    if not holds_traced_values(part) or isinstance(part, (pd.Series, TracedArray)):
        return part
    part = asarray(part)
    return TracedArray(part if part.ndim else np.broadcast_to(part, size))


def labelled_as(x: Any, array: Array) -> Any:
    """An array with the labels of a Series or DataFrame."""
    if array.ndim == 2:
        return frame(array, x.index, x.columns)
    return series(array, x.index, name=getattr(x, "name", None))


LABELS[:] = [labelled_as]


FORMS = {
    "Series": FormOfClass(pd.Series, series, TracedSeries),
    "DataFrame": FormOfClass(pd.DataFrame, frame, TracedFrame),
    "isna": _is_missing,
    "isnull": _is_missing,
    "notna": _is_known,
    "notnull": _is_known,
}
"""What adopted code calls in place of pandas's own."""
