"""Masked arrays around traced values, in adopted code: NumPy's own, over `Held` for ndarray.

`numpy.ma` is Python code over ndarray, which is executed once more (`linad.adoption.executed`).
So a mask goes where NumPy takes it. Outside of a trace NumPy's module runs.

Inside of one what `numpy.ma` makes in adopted code is of the class made here, of plain values as
well: a masked array of NumPy's own takes no traced operand on its right.
"""

import functools
import types
from typing import Any

import numpy as np

from linad.adoption.executed import executed
from linad.adoption.form_table import form_of
from linad.adoption.results import holds_array
from linad.adoption.subclasses import MADE_ELSEWHERE, Held, unwrapped
from linad.arrays.conversions import is_instance
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.tree import bare
from linad.errors import UnsupportedError
from linad.scipy.twins import same_code


class HeldData(Held):
    """What stands for ndarray among the bases of the masked array."""

    original = np.ma.MaskedArray
    __class__ = property(lambda self: np.ma.MaskedArray)  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or "out" in kwargs or "where" in kwargs:
            raise UnsupportedError(
                f"{ufunc.__name__}: of a masked array around a traced value plain calls are traced "
                f"only, not {method}, out= and where=; use the function of numpy.ma"
            )
        owner = next(x for x in inputs if holds_array(x))
        result = ufunc(*[_unmasked(x) for x in inputs], **kwargs)
        return owner.__array_wrap__(_constant(result), (ufunc, inputs, 0))

    def __array_function__(
        self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        written: Any = getattr(func, "_implementation", None)
        name, of = func.__name__, getattr(written, "__globals__", {}).get("__name__")
        if of == "numpy._core.fromnumeric" or name == "take_along_axis":
            return written(*args, **kwargs)  # which calls the method of that name, or indexes
        if name in _OF_THE_TYPE or not _hides((args, tuple(kwargs.values()))):
            return func(*unwrapped(args), **unwrapped(kwargs))
        remedy = f"numpy.ma.{name}" if hasattr(np.ma, name) else "the numbers, m.filled(0.0),"
        raise UnsupportedError(
            f"numpy.{name} of a masked array around a traced value would not see the mask; use "
            f"{remedy} instead"
        )


_OF_THE_TYPE = ("iscomplexobj", "isrealobj", "result_type", "can_cast", "common_type")


def _hides(x: Any) -> bool:
    """Whether an entry of a masked array, or of several in containers, is masked."""
    if isinstance(x, (list, tuple)):
        return any(map(_hides, x))
    return isinstance(x, np.ma.MaskedArray) and bool(np.any(x.mask))


def _unmasked(x: Any) -> Any:
    return x.data if type(x) is np.ma.MaskedArray else unwrapped(x)


def _constant(x: Array) -> Any:
    """A plain array as a traced one: NumPy's own cannot be viewed as what is made here."""
    trace = running_trace()
    return trace.constant(x) if type(x) is np.ndarray and trace is not None else x


def _view(x: Any, *kinds: Any) -> Any:
    """``x.view(cls)``, of arrays of any kind."""
    kind = kinds[0] if kinds else None
    array = bare(x)
    if len(kinds) > 1 or not isinstance(kind, type) or issubclass(kind, np.generic):
        return x.view(*kinds)
    if kind in (Tracer, np.ndarray) or not issubclass(kind, (HeldData, np.ma.MaskedArray)):
        return array.view()
    if kind is HeldData:
        return array.view()
    if not issubclass(kind, HeldData):
        kind = masked_arrays().MaskedArray
    masked = issubclass(type(x), np.ma.MaskedArray)  # NumPy's own, as the constant `masked` is
    array = x.data if masked else array
    made = object.__new__(kind)
    made.__dict__["_held"] = _constant(array.view() if array.shape else array)
    made.__array_finalize__(x if masked or holds_array(x) else None)
    return made


_SHARED = {"masked", "masked_singleton", "MaskedConstant", "MaskError", "MAError", "mvoid"}
"""What is one and the same for all: ``x is np.ma.masked`` holds."""


def _over_held(original: types.ModuleType, names: dict[str, Any]) -> types.ModuleType:
    made = executed(original, names)
    for name in _SHARED & vars(made).keys():
        setattr(made, name, vars(original)[name])
    return made


@functools.cache
def masked_arrays() -> types.ModuleType:
    """`numpy.ma`, executed again."""
    traced, reduce = form_of(np), vars(np.ma.extras)["_ureduce"]
    names = {
        "np": traced,
        "ndarray": HeldData,
        "isinstance": _is_instance,
        "_ureduce": same_code(reduce, {**reduce.__globals__, "np": traced}),
        "_linad_view": _view,
    }
    core = _over_held(np.ma.core, names)
    ours, theirs = vars(core), vars(np.ma.core)
    imported = {name for name, value in vars(np.ma.extras).items() if theirs.get(name) is value}
    extras = _over_held(np.ma.extras, {**names, **{n: ours[n] for n in imported}, "ma": core})
    made = types.ModuleType("numpy.ma")
    vars(made).update({name: ours[name] for name in np.ma.core.__all__})
    vars(made).update({name: vars(extras)[name] for name in np.ma.extras.__all__})
    return made


MADE_ELSEWHERE[np.ma.MaskedArray] = lambda: masked_arrays().MaskedArray  # type: ignore[no-any-return]


def _is_instance(x: Any, kind: Any, /) -> bool:
    kinds = kind if type(kind) is tuple else (kind,)
    return is_instance(x, tuple([_original_of(k) for k in kinds]))


def _original_of(kind: Any) -> Any:
    kind = kind if isinstance(kind, type) else getattr(kind, "__wrapped__", kind)  # a form's
    if isinstance(kind, type) and issubclass(kind, HeldData):
        return np.ndarray if kind is HeldData else np.ma.MaskedArray
    return kind
