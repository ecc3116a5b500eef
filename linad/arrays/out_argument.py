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

from linad.arrays.buffers import concrete
from linad.arrays.memory import constant_under
from linad.arrays.refusing import WRITE, refuse
from linad.arrays.writes import count_as_written, overwrite
from linad.arrays.written_values import stacked
from linad.core.array_type import Array
from linad.core.frames import asked
from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.core.ufunc_keywords import refuse_out
from linad.errors import TracerError, UnsupportedError

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
    name = numpy_function.__name__
    target = out[0] if isinstance(out, tuple) else out
    if numpy_function in ADDING and len(args) < 3:
        _take_dtype(args[0], target, kwargs)
    if numpy_function in DIVIDING and getattr(target, "dtype", float) in INTEGERS:
        raise UnsupportedError(
            f"{name}: NumPy rounds the sum to {target.dtype}, as out= has it, before it divides; "
            f"use an array of floating numbers"
        )
    result = function(*args, **kwargs)
    if target is None:
        return result
    casting = kwargs.get("casting", "safe" if numpy_function is np.einsum else "same_kind")
    if numpy_function is np.dot:
        _check_for_blas(target, result, args)
    if numpy_function in BY_COPY:
        _check_copied_back(name, target, np.asarray(concrete(result)))
    if numpy_function in BY_COPY or numpy_function in CASTING:
        casting = "unsafe"
    _deliver(name, target, result, casting, core=0 if numpy_function is np.clip else None)
    return target


ADDING = {np.sum, np.prod, np.cumsum, np.cumprod}
"""Functions that calculate in a dtype which ``out`` has a say in unless they are given another."""

DIVIDING = {np.mean, np.var}
INTEGERS = {np.dtype(letter) for letter in np.typecodes["AllInteger"] + "?"}

PICKING = {np.take, np.compress}
COPIES = np.lib.NumpyVersion(np.__version__) < "2.5.0"
"""Whether these two fill a copy of ``out``, as NumPy's did until 2.5."""

CASTING = {
    *ADDING,
    *(() if COPIES else PICKING),
    *(np.max, np.min, np.mean, np.var, np.trace, np.median, np.choose),
    *(np.nansum, np.nanprod, np.nanmax, np.nanmin),
}
"""Functions whose result NumPy casts to whatever ``out`` holds."""

BY_COPY = {np.argmax, np.argmin, *(PICKING if COPIES else ())}
"""Functions for which NumPy makes a copy of ``out``, in the dtype of the result."""


def _take_dtype(x: Array, target: Array, kwargs: dict[str, Any]) -> None:
    """Calculate in a dtype that holds those of ``x`` and of the output array, as sums do."""
    given, made = (getattr(a, "dtype", None) for a in (x, target))
    if kwargs.get("dtype") is not None or given is None or made is None:
        return
    if given != made or given.kind in "biu":  # of small integers sums are wider otherwise
        kwargs["dtype"] = np.result_type(given, made)


def _check_copied_back(name: str, target: Array, result: Array) -> None:
    """Raise where NumPy cannot copy what is in ``out`` into an array like the result."""
    if not isinstance(concrete(target), np.ndarray) or target.shape != result.shape:
        return
    if not np.can_cast(target.dtype, result.dtype, "safe"):
        raise TypeError(
            f"{name}: cannot cast out=, {target.dtype}, to {result.dtype}, the dtype of the "
            f"result, by NumPy's rule 'safe'"
        )


def _check_for_blas(target: Array, result: Array, operands: tuple[Any, ...]) -> None:
    """Raise where NumPy does, which multiplies by a number entry by entry where BLAS does not.

    BLAS scales arrays of one and two axes of floating numbers; the rest of such products has no
    order to keep to.
    """
    array, dtype = concrete(target), getattr(result, "dtype", None)
    if not isinstance(array, np.ndarray):
        return
    scaled = len(operands) > 1 and not all([np.ndim(concrete(x)) for x in operands[:2]])
    any_order = scaled and (array.ndim > 2 or array.dtype.char not in "fdFD")
    if array.dtype != dtype or not (any_order or array.flags.c_contiguous):
        raise ValueError(
            f"dot: out= must be an array in C order of the dtype of the result, {dtype}, got one "
            f"of {array.dtype}"
        )


def ufunc_into(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of a ufunc or of one of its methods, with ``out`` (a tuple) among the keywords."""
    targets = kwargs["out"]
    kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    labelled = [x for x in (*inputs, kwargs.get("where")) if hasattr(type(x), "to_numpy")]
    if labelled:
        return _into_labelled(ufunc, method, inputs, targets, kwargs, labelled)
    casting = kwargs.get("casting", "same_kind")
    if method in ("reduce", "accumulate", "reduceat"):
        casting = "unsafe"
        if ufunc not in LOGICAL:
            _take_dtype(inputs[0], targets[0], kwargs)
        if method == "reduce" and ufunc.identity is None and ufunc not in EXTREMA:
            _check_kept(ufunc, inputs[0], targets[0], kwargs)
    where = kwargs.get("where", True)
    if not any([isinstance(x, Traced) for x in (*inputs, where)]):
        # Plain numbers: NumPy computes them, in an array of the target's kind. What a mask leaves
        # in it as it was stays that of the target, with its derivative.
        results = tuple([None if t is None else np.array(concrete(t)) for t in targets])
        result = getattr(ufunc, method)(*inputs, **kwargs, out=results)
    else:
        result = getattr(ufunc, method)(*inputs, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    elementwise = method == "__call__" and ufunc.signature is None
    core = 0 if elementwise else _core_axes(ufunc, method, inputs)
    for target, value in zip(targets, results, strict=True):
        if target is not None:
            mask = where if elementwise else True
            _deliver(ufunc.__name__, target, value, casting, mask, core=core)
    if elementwise and len(results) > 1:
        # One output gives the others its shape.
        shape = np.broadcast_shapes(*[t.shape for t in targets if t is not None])
        results = tuple([_spread(v, shape) for v in results])
    delivered = [v if t is None else t for t, v in zip(targets, results, strict=True)]
    return delivered[0] if len(delivered) == 1 else tuple(delivered)


LABELS: list[Callable[[Any, Any], Any]] = []
"""What gives an array the labels of a Series or DataFrame: `linad.adoption.labelled` enters it."""


def _into_labelled(
    ufunc: Any, method: str, inputs: Any, targets: Any, kwargs: Any, labelled: list[Any]
) -> Any:
    """As `ufunc_into`, where Series or DataFrames are among the operands: pandas fills the array,
    and returns what has their labels.
    """
    first = labelled[0]
    if not LABELS or any(not x.index.equals(first.index) for x in labelled) or len(targets) > 1:
        raise UnsupportedError(
            f"{ufunc.__name__}: out= with operands of these labels is not traced by linad; give "
            f"the numbers, s.to_numpy()"
        )
    plain = [x.to_numpy() if hasattr(type(x), "to_numpy") else x for x in inputs]
    if hasattr(type(kwargs.get("where")), "to_numpy"):
        kwargs["where"] = kwargs["where"].to_numpy()
    return LABELS[0](first, ufunc_into(ufunc, method, tuple(plain), {**kwargs, "out": targets}))


EXTREMA = {np.maximum, np.minimum, np.fmax, np.fmin}
"""Ufuncs whose reductions are rounded to the same numbers at the end as on the way."""


def _check_kept(ufunc: Any, x: Array, target: Array, kwargs: dict[str, Any]) -> None:
    """Raise where NumPy keeps what it has so far in an array that rounds it.

    How often it does depends on its buffers.
    """
    given, made = kwargs.get("dtype") or getattr(x, "dtype", None), getattr(target, "dtype", None)
    if given is not None and made is not None and not np.can_cast(given, made, "safe"):
        raise UnsupportedError(
            f"{ufunc.__name__}.reduce: out= of {made} rounds what is computed in "
            f"{np.dtype(given)}, some of it on the way; expected an array of "
            f"{np.dtype(given)}, or write y[...] = {ufunc.__name__}.reduce(...)"
        )


LOGICAL = {np.logical_and, np.logical_or, np.logical_xor}
"""Ufuncs whose reductions compute truth values, whatever ``out`` holds."""


def _core_axes(ufunc: Any, method: str, inputs: tuple[Any, ...]) -> int | None:
    """How many axes of a result are not repeated to fill ``out``; None for all of them."""
    if method != "__call__":
        return None
    if ufunc is np.matmul:
        return sum([np.ndim(x) > 1 for x in inputs])
    made = ufunc.signature.partition("->")[2].strip("()")
    return len(made.split(",")) if made else 0


def _spread(value: Array, shape: Shape) -> Any:
    return value if value.shape == shape else np.copy(np.broadcast_to(value, shape))


def _deliver(
    name: str,
    target: Array,
    value: Array,
    casting: Any = "same_kind",
    where: Array = True,
    *,
    core: int | None = 0,
) -> None:
    """Write a result into an output array, under NumPy's rules for shapes and casts.

    Its last ``core`` axes, all if that is None, have to be as they are there.
    """
    if not isinstance(concrete(target), np.ndarray):
        raise TypeError(f"{name}: out= must be an array, got {type(target).__name__}")
    if not isinstance(value, Traced):
        value = np.asarray(value)
    elif not isinstance(target, Traced):
        plain = constant_under(value)
        if plain is None:
            refuse_out(name, (target,))
        value = plain
    fits = value.shape == target.shape
    if core is not None and not fits:
        inner = value.ndim - core, target.ndim - core
        fits = min(inner) >= 0 and value.shape[inner[0] :] == target.shape[inner[1] :]
        fits = fits and np.broadcast_shapes(value.shape, target.shape) == target.shape
    if not fits:
        raise ValueError(
            f"{name}: out= has shape {target.shape}, the result has shape {value.shape}"
        )
    if not np.can_cast(value.dtype, target.dtype, casting):
        raise TypeError(f"{name}: cannot cast the result, {value.dtype}, to {target.dtype} of out=")
    if where is not True:
        if value.dtype != target.dtype:  # only what is written is cast; what stays is not
            written = np.where(where, value, np.zeros((), value.dtype))
            value = written.astype(target.dtype)
        value = np.where(where, value, target)
    if isinstance(target, Traced):
        value = value if value.dtype == target.dtype else value.astype(target.dtype)
        overwrite(target, value)
    else:
        np.copyto(target, value, casting=casting)


def copy_to(dst: Array, src: Any, casting: Any = "same_kind", where: Array = True) -> None:
    """``np.copyto``."""
    src = stacked(src) if isinstance(src, (list, tuple)) else src
    if isinstance(src, Traced) and not isinstance(dst, Traced):
        if asked().name.startswith("numpy.full"):  # which fills by it
            refuse(src, "copyto", WRITE, by_caller=True, kind="array")
        raise TracerError(
            "copyto would write a traced value into a plain NumPy array and lose its derivative; "
            "make the array with np.zeros_like(x) or linad.numpy.zeros"
        )
    if type(src) in (bool, int, float, complex) and hasattr(dst, "dtype"):
        src = np.asarray(src, np.result_type(dst.dtype, src))  # of the array's kind where it fits
    while np.ndim(src) > np.ndim(dst) and np.shape(src)[0] == 1:
        src = src[0]  # as assignments do
    _deliver("copyto", dst, src, casting, where)
    if isinstance(dst, Traced) and not np.ndim(dst):
        count_as_written(dst)  # an array with axes NumPy does not write to itself
