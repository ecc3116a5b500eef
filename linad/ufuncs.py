"""The keywords of a ufunc call: ``out``, ``where``, ``dtype``, written in traced NumPy.

NumPy hands a ufunc call with its keywords to the traced argument; a primitive has none of
them, so they are taken apart here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.errors import TracerError, UnsupportedError

_HARMLESS = {"casting", "order", "subok"}


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
        As in ``__array_ufunc__``; ``out`` is a tuple.

    Raises
    ------
    TracerError
        If the result would be written into a plain array.
    UnsupportedError
        For keywords with no traced meaning.
    """
    keywords = {k: v for k, v in keywords.items() if k not in _HARMLESS}
    out = keywords.pop("out", None)
    if out is not None:
        refuse_out(ufunc.__name__, out)
    where = keywords.pop("where", True)
    dtype = keywords.pop("dtype", None)
    if ufunc.signature is None and keywords:
        raise UnsupportedError(
            f"{ufunc.__name__}: the keyword {sorted(keywords)[0]!r} is not traced by linad"
        )
    if dtype is not None:
        inputs = tuple(np.astype(np.asarray(x, like=_like(inputs)), dtype) for x in inputs)
    if where is True:
        return function(*inputs, **keywords)
    return _where(function, inputs, where)


def refuse_out(name: str, out: Any) -> None:
    """Raise: a traced result cannot be written into a plain array."""
    if any(isinstance(target, np.ndarray) for target in out):
        raise TracerError(
            f"{name}: out= (or an in-place operator) would write a traced value into a plain "
            f"NumPy array and lose its derivative; write y = {name}(...) instead of an in-place "
            f"update, or make the array with np.zeros_like(x) or linad.numpy.zeros"
        )
    raise UnsupportedError(f"{name}: out= a traced array is not supported; use the result")


def _like(inputs: tuple[Any, ...]) -> Any:
    """One of the traced inputs, to build arrays like."""
    return next(x for x in inputs if hasattr(x, "_trace"))


def _where(function: Callable[..., Any], inputs: tuple[Any, ...], where: Any) -> Any:
    """Apply ``function`` where the mask is true; elsewhere the result is 0.

    NumPy leaves those entries uninitialised. Only the selected entries are computed, so a
    singular point that the mask excludes harms neither the value nor the derivative.
    """
    shape = np.broadcast_shapes(np.shape(where), *[np.shape(x) for x in inputs])
    mask = np.broadcast_to(where, shape)
    selected = [np.broadcast_to(x, shape)[mask] for x in inputs]
    result = function(*selected)
    base = np.zeros_like(result, shape=shape)
    position = np.cumsum(mask.ravel()).reshape(shape) - 1
    return np.where(mask, result[np.maximum(position, 0)], base) if result.size else base
