"""Routines of BLAS and LAPACK, whose names are a letter for the type of number and a word."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.errors import DTypeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import astype
from linad.scipy.mirror import holds_traced

PREFIXES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


def forms_of(module: Any, table: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    """The forms of the routines of a module, by their names there."""
    made = {}
    for word, form in table.items():
        for prefix, dtype in PREFIXES.items():
            original = getattr(module, prefix + word, None)
            if original is not None:
                made[prefix + word] = _form(original, prefix + word, form, dtype)
    return made


def _form(original: Any, name: str, form: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    """The form of a routine for one type of number, to which its arrays are converted."""

    def call(*args: Any, **options: Any) -> Any:
        if running_trace() is None or not holds_traced((args, options)):
            return original(*args, **options)
        converted = [_converted(name, value, dtype) for value in args]
        given = {key: _converted(name, value, dtype) for key, value in options.items()}
        given = {key: value for key, value in given.items() if not key.startswith("overwrite_")}
        try:
            return form(*converted, **given)
        except TypeError as error:
            if "argument" not in str(error):
                raise
            raise UnsupportedError(
                f"{name}: with these arguments it is not traced by linad ({error}); slices, "
                f"x[offset::increment], stand for offsets and increments"
            ) from error

    call.__name__ = call.__qualname__ = name
    call.__doc__ = original.__doc__
    vars(call)["typecode"] = name[0]
    return call


def _converted(name: str, value: Array, dtype: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, complex)):
        return value
    value = asarray(value)
    if value.dtype.kind in "iu" and name.endswith("getrs") and value.ndim == 1:
        return value  # pivots
    if value.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        raise DTypeError(f"{name}: expected real numbers, got {value.dtype}")
    return astype(value, dtype, copy=False)


def chosen(
    forms: dict[str, Any], names: Any, arrays: Any, dtype: Any, original: Callable[..., Any]
) -> Any:
    """What `get_blas_funcs` and its kind give, with forms where arrays may be traced."""
    if running_trace() is None:
        return original(names, arrays, dtype)
    if holds_traced(arrays):
        np.dtype(dtype)  # the arrays decide, but it has to be one
        arrays, dtype = (), np.result_type(*[asarray(a).dtype for a in arrays], np.float32)
    words = (names,) if isinstance(names, str) else names
    found = []
    for word, theirs in zip(words, original(words, arrays, dtype), strict=True):
        word = {"dot": "dotu"}.get(word, word) if theirs.typecode in "cz" else word
        found.append(forms.get(theirs.typecode + word, theirs))
    return found[0] if isinstance(names, str) else found
