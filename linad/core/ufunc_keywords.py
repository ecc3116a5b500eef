"""The keywords of a ufunc call: ``where``, ``dtype``, ``casting``, written in traced NumPy.

NumPy hands a ufunc call with its keywords to the traced argument; a primitive has none of
them, so they are taken apart here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import Kind, is_integer
from linad.errors import TracerError, UnsupportedError

PYTHONS = (bool, int, float, complex)

_HARMLESS = {"order", "subok"}
"""Keywords that change no number: NumPy looks at their values, and they are left out."""


_SEEN_BY_NUMPY = {*_HARMLESS, "casting", "dtype"}
"""Keywords whose values NumPy checks in the same way for every array."""

_OF_PRODUCTS = {
    "axes": Kind("a list of axes", lambda v: isinstance(v, list)),
    "axis": Kind("an integer", is_integer),
    "keepdims": Kind("True or False", lambda v: isinstance(v, bool)),
}
"""What the keywords of matmul, vecdot, matvec and vecmat may be."""

_STRICT = {"no", "equiv", "safe"}
"""Casts that may forbid what the operands need; the others only count beside a dtype."""


def call_with_keywords(
    ufunc: Any, function: Callable[..., Any], inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Call the traced form of a ufunc with NumPy's keywords.

    Parameters
    ----------
    ufunc : numpy.ufunc
    function : callable
        Its traced form, positional arguments only.
    inputs : tuple
    keywords : dict
        As in ``__array_ufunc__``, without ``out``.

    Raises
    ------
    UnsupportedError
        For keywords with no traced meaning.
    """
    asked = {k: v for k, v in keywords.items() if k in _SEEN_BY_NUMPY}
    if asked:
        _ask_numpy(ufunc, inputs, asked)
    keywords = {k: v for k, v in keywords.items() if k not in _HARMLESS}
    where = keywords.pop("where", True)
    dtype = keywords.pop("dtype", None)
    casting = keywords.pop("casting", "same_kind")
    if ufunc.signature is not None:
        for option in _OF_PRODUCTS.keys() & keywords:
            _OF_PRODUCTS[option].check(ufunc.__name__, option, keywords[option])
    elif keywords:
        raise UnsupportedError(
            f"{ufunc.__name__}: the keyword {sorted(keywords)[0]!r} is not traced by linad"
        )
    if dtype is not None or casting in _STRICT:
        inputs = _cast(ufunc, inputs, dtype, casting)
    if where is True:
        return function(*inputs, **keywords)
    return _where(function, inputs, where, ufunc.__name__)


def refuse_out(name: str, out: tuple[Any, ...]) -> None:
    """Raise: a traced result cannot be written into a plain array."""
    del out
    raise TracerError(
        f"{name}: out= (or an in-place operator) would write a traced value into a plain "
        f"NumPy array and lose its derivative; write y = {name}(...) instead of an in-place "
        f"update, or make the array with np.zeros_like(x) or np.array(values, like=x) of a traced "
        f"x, or with linad.numpy.zeros; or linad.adopt(__name__) lets code of your module trace "
        f"as it is"
    )


def check_loop(ufunc: Any, x: Array, dtype: Any) -> None:
    """Raise TypeError where NumPy has no loop that reduces in a dtype: divide, say, in integers."""
    given = np.result_type(x)
    signature = (np.dtype(dtype), None, None)
    ufunc.resolve_dtypes((None, given, None), signature=signature, casting="unsafe", reduction=True)


def scatter(values: Array, mask: Array) -> Any:
    """Put ``values``, one for each true entry of ``mask`` in C order, in their places.

    The other entries repeat some value; select with `np.where`. At least one entry of
    ``mask`` is true. A single value serves all entries.
    """
    if not getattr(values, "shape", ()):
        return values
    position = np.cumsum(mask.ravel()).reshape(mask.shape) - 1
    return values[np.maximum(position, 0)]


def _ask_numpy(ufunc: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Raise what NumPy raises for keywords of a call; nothing is computed.

    ``resolve_dtypes`` knows only some of them, and crashes where it refuses a Python number.
    """
    like = [np.empty((0, 0), x.dtype) if hasattr(x, "dtype") else x for x in inputs]
    ufunc(*like, **keywords)


def _cast(ufunc: Any, inputs: tuple[Any, ...], dtype: Any, casting: Any) -> tuple[Any, ...]:
    """The inputs in the types of the loop that computes in ``dtype``, as NumPy casts them."""
    given = tuple([getattr(x, "dtype", type(x)) for x in inputs])
    result = None if dtype is None else np.dtype(dtype)
    signature = (None,) * ufunc.nin + (result,) * ufunc.nout
    wanted = ufunc.resolve_dtypes(
        given + (None,) * ufunc.nout, signature=signature, casting=casting
    )
    return tuple(
        [
            x.astype(t) if hasattr(x, "dtype") else t.type(x)
            for x, t in zip(inputs, wanted, strict=False)
        ]
    )


def _where(function: Callable[..., Any], inputs: tuple[Any, ...], where: Any, name: str) -> Any:
    """Apply ``function`` where the mask is true; elsewhere the result is 0.

    NumPy leaves those entries uninitialised. Only the selected entries are computed, so a
    singular point that the mask excludes harms neither the value nor the derivative.
    """
    is_array = hasattr(where, "dtype") and not isinstance(where, np.generic)
    mask = where if is_array else np.asarray(where, bool)  # lists hold truth values of any kind
    if mask.dtype.kind != "b":
        raise TypeError(f"{name}: where= must be boolean, got {mask.dtype}")
    shape = np.broadcast_shapes(mask.shape, *[getattr(x, "shape", ()) for x in inputs])
    mask = np.broadcast_to(mask, shape)
    # NumPy takes a traced mask without entries for a list of no integers.
    chosen = np.asarray(mask)
    # Beside arrays a number of Python stays one: it takes their dtype.
    weak = PYTHONS if any([hasattr(x, "dtype") for x in inputs]) else ()
    selected = [x if type(x) in weak else np.broadcast_to(x, shape)[chosen] for x in inputs]
    result = function(*selected)
    if isinstance(result, tuple):
        return tuple([_placed(part, mask) for part in result])
    return _placed(result, mask)


def _placed(values: Array, mask: Array) -> Any:
    """``values`` where the mask is true, 0 elsewhere."""
    if not values.size:
        # The mask, not the function, leaves the result without a derivative: no warning.
        nothing = np.sum(values) if values.dtype.kind in "fc" else False
        return np.where(mask, nothing, values.dtype.type(0))
    return np.where(mask, scatter(values, mask), values.dtype.type(0))
