"""Arrays in the memory of a GPU: `asarray` moves them there, `Array` is what they are.

`linad.jit` and `linad.linearize` take them, and those of CuPy, PyTorch, JAX and Numba.
"""

from typing import Any

import numpy as np

from linad.core.device_arrays import is_on_device
from linad.errors import DTypeError
from linad.sweeps.cuda.gpu_arrays import Array, copied, moved_in, taken_in
from linad.sweeps.cuda.opening import target_here
from linad.sweeps.kernel_dtypes import name_of_dtype

__all__ = ["Array", "asarray"]


def asarray(x: Any) -> Array:
    """An array in the memory of the GPU.

    Parameters
    ----------
    x : array_like
        NumPy's array is copied there. One that is there already is shared if its library says
        which stream it works on (``__cuda_array_interface__``), and otherwise copied.

    Returns
    -------
    Array

    Raises
    ------
    DeviceError
        If there is no GPU, or ``x`` is there and not in C order.
    DTypeError
        If kernels do not compute in the dtype.

    See Also
    --------
    linad.jit : a function of such an array runs on the GPU.

    Notes
    -----
    Has never run on a GPU.
    """
    target = target_here()
    device, door = target.device, target.door
    device.activate()
    if is_on_device(x):
        shared = taken_in(device, x, door, "asarray: x")
        if type(x) is Array or hasattr(x, "__cuda_array_interface__"):
            return shared
        copy = copied(shared, door)
        device.synchronize(door)
        return copy
    a = np.asarray(x)
    if name_of_dtype(a.dtype) is None:
        raise DTypeError(
            f"asarray: expected an array of floats, complex numbers, integers of 32 or 64 bits or "
            f"booleans, got dtype {a.dtype}"
        )
    return moved_in(device, a, door)
