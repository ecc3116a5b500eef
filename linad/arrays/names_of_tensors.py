"""What JAX, PyTorch, autograd and pandas call what an array of NumPy does in another way.

A program that comes from there asks a traced array for it; the answer is what to write.
"""

from typing import Any

import numpy as np

from linad.core.primitive import Traced

_ITSELF = (
    "leave it out: x is the number or the array itself, and keeps its derivative "
    "(linad.stop_gradient(x) has none, and a fit does not move it)"
)
_GRADIENT = (
    "derivatives are asked of functions, not of arrays: linad.grad(f)(x), or linad.value_and_grad"
)
_MEMORY = "leave it out: arrays are in the memory of the processor, and are computed at once"

_BY_REMEDY = {
    "write x[i] = v, which is differentiated; y = np.copy(x) first, to keep x as it is": "at set",
    _ITSELF: "detach detach_ primal primals val value values numpy to_numpy array_ _value aval",
    _GRADIENT: "backward grad grad_fn requires_grad requires_grad_ retain_grad zero_grad is_leaf "
    "tangent register_hook",
    _MEMORY: "cpu cuda block_until_ready wait pin_memory contiguous device_buffer addressable_data",
    "use np.copy(x)": "clone",
    "use x.astype(dtype)": "to type double float half long int bool type_as",
    "use x[np.newaxis], or np.expand_dims(x, axis)": "unsqueeze",
    "use x.ndim": "dim",
    "use x.size": "numel nelement",
    "use np.transpose(x, axes)": "permute",
    "use np.swapaxes(x, 0, 1)": "t",
    "use np.linalg.norm(x)": "norm",
    "use x @ y": "mm bmm mv",
    "use np.zeros_like(x)": "new_zeros",
    "use np.ones_like(x)": "new_ones",
    "use np.where(mask, value, x)": "masked_fill",
    "use np.broadcast_to(x, shape)": "expand",
    "use np.tile(x, n)": "repeat_interleave",
    "use np.maximum(x, 0.0)": "relu",
    "use scipy.special.expit(x)": "sigmoid",
    "use linad.scipy.special.softmax(x)": "softmax",
    "use linad.scipy.special.logsumexp(x)": "logsumexp",
    "use np.linalg.inv(x)": "inverse",
    "use np.take_along_axis(x, i, axis)": "gather",
}
_INSTEAD = {name: remedy for remedy, names in _BY_REMEDY.items() for name in names.split()}


def missing_attribute(x: Any, name: str) -> str:
    """What is said of an attribute that a traced array does not have, as arrays have not."""
    value, hint = x, instead_of_attribute(name)
    while isinstance(value, Traced):
        value = value._value
    kind = type(value).__name__
    return f"{kind!r} object, here traced, has no attribute {name!r}{hint and '; '}{hint}"


def say_missing(error: AttributeError) -> None:
    """Speak of the array, in an error of Python's of an attribute that a traced array has not."""
    x, name = error.obj, str(error.name)
    if isinstance(x, Traced) and error.args == (f"'Tracer' object has no attribute {name!r}",):
        error.args = (missing_attribute(x, name),)


def instead_of_attribute(name: str) -> str:
    """What to write instead of an attribute that an array does not have; "" if nothing is known."""
    if name in _INSTEAD:
        return _INSTEAD[name]
    if name.startswith("_"):
        return ""
    room = next((room for room in (np, np.linalg) if callable(getattr(room, name, None))), None)
    return f"use {room.__name__.replace('numpy', 'np')}.{name}(x)" if room else ""
