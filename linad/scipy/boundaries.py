"""What lies beyond the ends of an axis, by the names that scipy.ndimage has for it.

reflect, grid-mirror        d c b a | a b c d | d c b a
mirror                        d c b | a b c d | c b a
nearest                     a a a a | a b c d | d d d d
wrap, grid-wrap             a b c d | a b c d | a b c d      (wrap differs where points are sampled)
constant, grid-constant     k k k k | a b c d | k k k k
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import is_inexact, normalize_axes
from linad.errors import DTypeError, ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import astype
from linad.scipy.mirror import Function, arguments_of, taken_by_name, traced_form

MODES = (
    *("reflect", "grid-mirror", "mirror", "nearest", "wrap", "grid-wrap"),
    *("constant", "grid-constant"),
)


def check_mode(name: str, mode: Any) -> None:
    """Raise for a boundary mode that SciPy does not have."""
    if mode not in MODES:
        raise ValueError(f"{name}: mode must be one of {', '.join(MODES)}, got {mode!r}")


def check_border(x: Array, cval: Any) -> None:
    """Raise for a complex number beyond the ends of a real image."""
    if asarray(cval).dtype.kind == "c" and x.dtype.kind != "c":
        raise ValueError("cval= must be real where the image is, got a complex number")


def check_order(name: str, order: Any) -> None:
    """Raise for an order of splines that SciPy does not have."""
    if order not in range(6):
        raise ValueError(f"{name}: order must be an integer from 0 to 5, got {order!r}")


def image(name: str, input: Array) -> Any:
    """The input of a filter, as an array of floats or complex numbers.

    Raises
    ------
    DTypeError
        For integers: SciPy's result would be of integers too, which have no derivative.
    """
    input = asarray(input)
    if not is_inexact(input.dtype):
        raise DTypeError(
            f"{name}: an input of {input.dtype} gives a result of {input.dtype}, which has no "
            f"derivative; pass input.astype(float)"
        )
    return input


def delivered(name: str, y: Array, input: Array, output: Array | None) -> Any:
    """The result in the type that SciPy gives it: that of the input, or what ``output`` says."""
    if output is None:
        kind = "c" if y.dtype.kind == "c" else "f"
        wanted = input.dtype if input.dtype.kind == kind else np.result_type(input, np.complex64)
    elif isinstance(output, Traced):
        return _written(name, y, output)
    elif isinstance(output, np.ndarray):
        raise UnsupportedError(
            f"{name}: output= a plain array cannot hold a traced result; use the returned value, "
            f"or an array of linad.numpy.zeros"
        )
    else:
        wanted = np.dtype(output)
        if not is_inexact(wanted) or (y.dtype.kind == "c" and wanted.kind != "c"):
            raise DTypeError(f"{name}: output={output!r} cannot hold a result of {y.dtype}")
    return astype(y, wanted, copy=False)


def _written(name: str, y: Array, output: Array) -> Any:
    """The traced array that was given for the result, which is written into it."""
    if output.shape != y.shape:
        raise RuntimeError(f"{name}: output= has shape {output.shape}, the result {y.shape}")
    if y.dtype.kind == "c" and output.dtype.kind != "c":
        raise DTypeError(f"{name}: output= of {output.dtype} cannot hold a result of {y.dtype}")
    output[...] = y  # type: ignore[index]
    return output


def filter_form(
    scipy_function: Function, shaped: bool = False, pixelwise: bool = True
) -> Callable[[Function], Function]:
    """As `linad.scipy.mirror.bound_form`, for a function that makes an image of an image.

    The form gets ``input`` as `image` has it; what it returns is `delivered` as ``output`` says,
    which also has a say in its shape if the function is ``shaped`` so. One that is ``pixelwise``
    makes a pixel of each, and nothing of an image without pixels.
    """
    name = scipy_function.__name__

    def decorate(form: Function) -> Function:
        arguments, call = arguments_of(scipy_function), taken_by_name(scipy_function, form)

        @traced_form(scipy_function)
        def function(*args: Any, **kwargs: Any) -> Any:
            given = arguments(*args, **kwargs)
            given["input"] = x = image(name, given["input"])
            output = given.pop("output", None)
            if shaped and given.get("output_shape") is None:
                given["output_shape"] = getattr(output, "shape", None)
            if pixelwise and not x.size:
                is_complex = np.iscomplexobj(given.get("weights", 0.0))
                return delivered(name, x * 1j if is_complex else x, x, output)
            return delivered(name, call(**given), x, output)

        return function

    return decorate


def each(name: str, value: Any, n: int) -> list[Any]:
    """One value for each axis."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * n
    values = list(value)
    if len(values) != n:
        raise ShapeError(f"{name}: a sequence must have one entry for each of {n} axes")
    for value in values:
        if np.size(value) != 1:
            raise ShapeError(
                f"{name}: a sequence must have a number for each axis, and an array of shape "
                f"{np.shape(value)} is among them"
            )
    return values


def chosen_axes(name: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """The axes to work along, in the order given."""
    if axes is None:
        return tuple(range(ndim))
    given = tuple(axes) if isinstance(axes, Iterable) else (axes,)
    normalize_axes(given, ndim, name)  # raises
    return tuple([k % ndim for k in given])


def beyond(places: Array, n: int, mode: str) -> Any:
    """The places in ``range(n)`` that stand for places anywhere on the axis."""
    if mode in ("wrap", "grid-wrap"):
        return places % n
    if mode in ("reflect", "grid-mirror"):
        places = places % (2 * n)
        return np.minimum(places, 2 * n - 1 - places)
    if mode == "mirror" and n > 1:
        places = places % (2 * n - 2)
        return np.minimum(places, 2 * n - 2 - places)
    return np.clip(places, 0, n - 1)


def padded(x: Array, before: int, after: int, mode: str, cval: Any) -> Any:
    """``x`` with what lies beyond both ends of its last axis."""
    n = x.shape[-1]
    if mode in ("constant", "grid-constant"):
        check_border(x, cval)
        first, last = [
            np.broadcast_to(asarray(cval), (*x.shape[:-1], k)).astype(x.dtype)
            for k in (before, after)
        ]
    else:
        first = x[..., beyond(np.arange(-before, 0), n, mode)]
        last = x[..., beyond(np.arange(n, n + after), n, mode)]
    parts = [part for part in (first, x, last) if part.shape[-1]]
    return np.concatenate(parts, axis=-1) if len(parts) > 1 else x
