"""`numpy.matrix` around traced values: NumPy's own code over `Held` (`linad.adoption.executed`).

Two axes always, and ``*`` and ``**`` are products of matrices:

    np.asmatrix(x) * v    A.todense()    A.sum(axis=1)    of a ``csr_matrix`` of traced entries

What a function of NumPy's makes of a matrix, a matrix or an array and of which shape, is asked of
NumPy with the plain values.
"""

import functools
import opcode
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.matrixlib import defmatrix

# Packages set np.matrix to a class of their own.
from numpy.matrixlib.defmatrix import asmatrix, bmat, matrix
from scipy.sparse import isspmatrix

from linad.adoption import promotion
from linad.adoption.executed import executed
from linad.adoption.form_table import form_of
from linad.adoption.module_forms import FormOfModule
from linad.adoption.results import holds_array
from linad.adoption.subclasses import (
    MADE_ELSEWHERE,
    Held,
    remade,
    unwrapped,
    view_as,
)
from linad.arrays import python_operators
from linad.arrays.conversions import concrete_parts, is_instance
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.dispatch import FOREIGN
from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.core.tree import bare
from linad.errors import UnsupportedError
from linad.rules.creation import asarray


class HeldMatrix(Held):
    """What stands for ndarray among the bases of the matrix."""

    original = matrix
    __class__ = property(lambda self: matrix)  # type: ignore[assignment]

    def __new__(cls, shape: Shape, dtype: Any, buffer: Array, order: Any = None) -> Any:
        """As `numpy.ndarray.__new__`, of what a matrix is made of."""
        return view_as(asarray(buffer).reshape(shape), matrix)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        # An ndarray's own operator comes first here, which it does not beside a subclass of it.
        if ufunc is np.multiply and type(inputs[0]) is np.ndarray and _is_operator():
            return self.__rmul__(inputs[0])
        return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    def __array_function__(
        self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        return array_function(func, args, kwargs)

    def _of_sparse(self, product: Array, other: Any) -> Any:
        return as_matrix(product) if isspmatrix(other) else product


def array_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function of matrices, traced or not, beside traced values."""
    plain = func(*_plain(args), **_plain(kwargs))
    result = func(*_arrays(args), **_arrays(kwargs))
    return _as_numpy_has_it(func.__name__, result, plain)


def _is_operator() -> bool:
    """Whether the code that has called NumPy is at an operator, and does not call ``multiply``."""
    frame = sys._getframe(2)
    module = frame.f_globals.get("__name__") or ""
    if module == promotion.__name__:  # which calls operators in the place of adopted code
        return True
    code = frame.f_code
    if code.co_code[frame.f_lasti] == opcode.opmap["BINARY_OP"]:
        return True
    if module.startswith("linad.") or "multiply" in code.co_names:
        return False
    raise UnsupportedError(
        "A * M of an array and a numpy.matrix of traced values, by operator.mul or a function of "
        "another name: write A @ M for the product, np.multiply(A, M) for that of the entries"
    )


def _plain(x: Any) -> Any:
    """The NumPy matrices, arrays and numbers that arguments stand for."""
    if holds_array(x) and issubclass(type(x).original, matrix):
        return np.asarray(concrete_parts(x._held)).view(matrix)
    if type(x) in (list, tuple):
        return type(x)(map(_plain, x))
    if type(x) is dict:
        return {key: _plain(part) for key, part in x.items()}
    return concrete_parts(bare(x))


def _arrays(x: Any) -> Any:
    """What matrices hold, in containers as well."""
    if type(x) in (list, tuple):
        return type(x)(map(_arrays, x))
    if type(x) is dict:
        return {key: _arrays(part) for key, part in x.items()}
    return x.view(np.ndarray) if issubclass(type(x), matrix) else unwrapped(x)


def _as_numpy_has_it(name: str, result: Any, plain: Any) -> Any:
    """A result, or several, as matrices where NumPy has such, and in NumPy's shape."""
    if isinstance(plain, tuple):
        parts = [_as_numpy_has_it(name, *both) for both in zip(result, plain, strict=True)]
        return type(plain)(*parts) if hasattr(plain, "_fields") else tuple(parts)
    if not isinstance(plain, (np.ndarray, np.generic)):
        return result
    concrete = np.asarray(concrete_parts(result))
    same = concrete.size == plain.size and np.array_equal(
        concrete.ravel(), np.asarray(plain).ravel(), equal_nan=plain.dtype.kind in "fc"
    )
    if not same:
        raise UnsupportedError(
            f"{name} of a numpy.matrix of traced values: NumPy has another result than of an "
            f"array; use np.asarray(M), and @ for products"
        )
    if np.shape(result) != plain.shape:
        result = np.reshape(result, plain.shape)
    return as_matrix(result) if isinstance(plain, matrix) else result


def _view(x: Any, cls: type) -> Any:
    """``x.view(cls)``, of an array."""
    return view_as(bare(x), matrix) if issubclass(cls, HeldMatrix) else x.view(cls)


def _is_instance(x: Any, kind: Any, /) -> bool:
    kinds = kind if type(kind) is tuple else (kind,)
    return is_instance(x, tuple(map(_original_of, kinds)))


def _original_of(kind: Any) -> Any:
    if isinstance(kind, type) and issubclass(kind, HeldMatrix):
        return np.ndarray if kind is HeldMatrix else matrix
    return kind


@functools.cache
def _module() -> types.ModuleType:
    traced = FormOfModule(np, vars(form_of(np)) | {"ndarray": HeldMatrix})
    names = {"N": traced, "isinstance": _is_instance, "_linad_view": _view}
    for name in ("concatenate", "isscalar"):
        names[name] = getattr(traced, name)
    module = executed(defmatrix, names | {"matrix_power": form_of(np.linalg.matrix_power)})
    for name, product in (("__mul__", "__matmul__"), ("__rmul__", "__rmatmul__")):
        setattr(module.matrix, name, _also_of_sparse(getattr(module.matrix, name), product))
    module.matrix.__rpow__ = _power_of_array
    return module


def _power_of_array(self: Any, other: Any) -> Any:
    """``a ** M`` of an array, entry by entry: NumPy's array does it without asking the matrix."""
    return np.power(other, self) if isinstance(other, (np.ndarray, Traced)) else NotImplemented


def _also_of_sparse(own: Callable[..., Any], product: str) -> Callable[..., Any]:
    """``*``, which beside a sparse SciPy matrix is the product as well."""

    @functools.wraps(own)
    def times(self: Any, other: Any) -> Any:
        return getattr(self, product)(other) if isspmatrix(other) else own(self, other)

    return times


MADE_ELSEWHERE[matrix] = lambda: _module().matrix  # type: ignore[no-any-return]


def _beside(ufunc: Any, *operands: Any) -> Any:
    """A ufunc, or the operator, of a traced array and of a plain matrix.

    ``a * M`` is the product of matrices, the ufunc is not; ``a ** M`` is the ufunc.
    """
    by_operator = sys._getframe(2).f_globals["__name__"] == python_operators.__name__
    operands = tuple([remade(x) if issubclass(type(x), matrix) else x for x in operands])
    return (operator.mul if by_operator and ufunc is np.multiply else ufunc)(*operands)


FOREIGN[matrix] = _beside


def as_matrix(x: Array) -> Any:
    """An array of one or two axes as a matrix: a plain one of plain numbers."""
    if type(x) is not Tracer:
        return np.asarray(x).view(matrix)
    return view_as(x.reshape((1, -1)) if x.ndim < 2 else x, matrix)


def _form(original: Callable[..., Any]) -> Callable[..., Any]:
    """A maker of matrices: while a trace runs that over `Held`, of plain values as well."""

    @functools.wraps(original, updated=())
    def form(data: Any, *args: Any, **kwargs: Any) -> Any:
        if running_trace() is None:
            return original(data, *args, **kwargs)
        data = remade(data) if issubclass(type(data), matrix) else data
        return getattr(_module(), original.__name__)(data, *args, **kwargs)

    return form


MATRICES = {original.__name__: _form(original) for original in (matrix, asmatrix, bmat)}
"""The functions of NumPy that make matrices."""
