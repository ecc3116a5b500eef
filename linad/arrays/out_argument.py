"""``out=``: what NumPy functions and ufuncs write into an array that is given to them.

The result is computed as if it were new, then written: traced functions know nothing of
``out``. A traced result can be written into a traced array only; in a plain one its derivative
would be lost.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete, overwrite
from linad.core.primitive import Traced
from linad.core.ufunc_keywords import refuse_out
from linad.errors import TracerError

NOWHERE = 1 << 30


@functools.cache
def output_position(numpy_function: Any, function: Callable[..., Any]) -> int:
    """Position of the argument ``out`` of a NumPy function; beyond all if it has none."""
    for source in (numpy_function, function):
        try:
            parameters = inspect.signature(source).parameters.values()
        except ValueError:  # a function in C that tells no signature
            continue
        for k, parameter in enumerate(parameters):
            if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                break
            if parameter.name == "out":
                return k
    return NOWHERE


def call_into(
    numpy_function: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a traced function and write its result into the array given as ``out``."""
    k = output_position(numpy_function, function)
    if len(args) > k:
        out, args = args[k], (*args[:k], None, *args[k + 1 :])
    else:
        out = kwargs["out"]
    kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    result = function(*args, **kwargs)
    if out is None:
        return result
    target = out[0] if isinstance(out, tuple) else out
    _deliver(numpy_function.__name__, target, result, exact=True)
    return target


def ufunc_into(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a ufunc or of one of its methods, with ``out`` (a tuple) among the keywords."""
    targets = kwargs["out"]
    kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    casting = kwargs.get("casting", "same_kind")
    where = kwargs.get("where", True)
    if not any([isinstance(x, Traced) for x in (*inputs, where)]):
        # Plain numbers: NumPy computes them, in an array of the target's kind.
        results = tuple([None if t is None else np.array(concrete(t)) for t in targets])
        result = getattr(ufunc, method)(*inputs, **kwargs, out=results)
        where = True
    else:
        result = getattr(ufunc, method)(*inputs, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    elementwise = method == "__call__" and ufunc.signature is None
    for target, value in zip(targets, results, strict=True):
        if target is not None:
            mask = where if elementwise else True
            _deliver(ufunc.__name__, target, value, casting, mask, exact=not elementwise)
    if elementwise and len(results) > 1:
        # One output gives the others its shape.
        shape = np.broadcast_shapes(*[t.shape for t in targets if t is not None])
        results = tuple([_spread(v, shape) for v in results])
    delivered = [v if t is None else t for t, v in zip(targets, results, strict=True)]
    return delivered[0] if len(delivered) == 1 else tuple(delivered)


def _spread(value: Any, shape: Any) -> Any:
    return value if value.shape == shape else np.copy(np.broadcast_to(value, shape))


def _deliver(
    name: str,
    target: Any,
    value: Any,
    casting: Any = "same_kind",
    where: Any = True,
    *,
    exact: bool,
) -> None:
    """Write a result into an output array, under NumPy's rules for shapes and casts."""
    if not isinstance(concrete(target), np.ndarray):
        raise TypeError(f"{name}: out= must be an array, got {type(target).__name__}")
    if not isinstance(value, Traced):
        value = np.asarray(value)
    elif not isinstance(target, Traced):
        refuse_out(name, (target,))
    while not exact and value.ndim > target.ndim and value.shape[0] == 1:
        value = value[0]  # as assignments do
    shape = np.broadcast_shapes(value.shape, target.shape)
    if shape != target.shape or (exact and value.shape != target.shape):
        raise ValueError(
            f"{name}: out= has shape {target.shape}, the result has shape {value.shape}"
        )
    if not np.can_cast(value.dtype, target.dtype, casting):
        raise TypeError(f"{name}: cannot cast the result, {value.dtype}, to {target.dtype} of out=")
    if where is not True:
        value = np.where(where, value, target)
    if isinstance(target, Traced):
        value = value if value.dtype == target.dtype else value.astype(target.dtype)
        overwrite(target, value)
    else:
        np.copyto(target, value, casting=casting)


def copy_to(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """``np.copyto``."""
    if isinstance(src, Traced) and not isinstance(dst, Traced):
        raise TracerError(
            "copyto would write a traced value into a plain NumPy array and lose its derivative; "
            "make the array with np.zeros_like(x) or linad.numpy.zeros"
        )
    _deliver("copyto", dst, src, casting, where, exact=False)
