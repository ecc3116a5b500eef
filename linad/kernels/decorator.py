"""`linad.kernel`, the decorator."""

import functools
from typing import Any

from linad.errors import ArgumentError
from linad.kernels.function_source import is_mapped
from linad.kernels.kernel import Kernel
from linad.kernels.mapped import MappedKernel


def kernel(function: Any = None, *, checkpoints: int = 0, **options: Any) -> Any:
    """Compile a function with Numba, and make it differentiable.

    Parameters
    ----------
    function : callable
        A function in the language of kernels: loops over entries that are read and overwritten,
        branches, scalars, `math` and NumPy functions of numbers. Also one that
        ``numba.njit``, ``numba.vectorize`` or ``numba.guvectorize`` has compiled.
    checkpoints : int, optional
        For loops over a range at the top of the function, such as over time: how many states
        the adjoint keeps; the iterations between two of them are run again. For n iterations
        sqrt(n) needs least memory. 0 keeps all that is overwritten.
    **options
        For ``numba.njit``.

    Returns
    -------
    Kernel or MappedKernel
        Called with plain arguments it is Numba's function. With traced ones it is one operation,
        which linad differentiates in both modes, any number of times forward and twice in
        reverse.

    Raises
    ------
    KernelError
        If the source is not in the language of kernels.

    Examples
    --------
    >>> import linad, numpy as np
    >>> @linad.kernel
    ... def total(x):
    ...     s = 0.0
    ...     for i in range(len(x)):
    ...         s += x[i] ** 2
    ...     return s
    >>> linad.grad(total)(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    if not isinstance(checkpoints, int) or checkpoints < 0:
        raise ArgumentError(f"kernel: checkpoints={checkpoints!r}; expected an integer from 0 on")
    if function is None:
        return functools.partial(kernel, checkpoints=checkpoints, **options)
    if is_mapped(function):
        return MappedKernel(function)
    return Kernel(function, options, checkpoints)
