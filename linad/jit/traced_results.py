"""What makes a traced value of a traced one: operators, functions, attributes, linad's transforms.

The rest may take what stands outside for itself, see `linad.jit.direct_arrays`.
"""

import sys
import types
from typing import Any

import numpy as np

from linad.core.transformed_functions import Transformed

MEETING = {"+", "-", "*", "/", "@", "+=", "-=", "*=", "/=", "@="}
"""Operators of two arrays, of which one may come from outside."""

PRODUCTS = {np.dot, np.vdot, np.inner, np.outer}
PAIRS = {
    *(np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.hypot),
    *(np.arctan2, np.logaddexp, np.matmul, *PRODUCTS),
}
"""Functions of two arrays, of which one may come from outside."""

GIVING = {np.sum, np.mean, np.prod, np.where, np.trace, np.transpose, np.clip, abs} | PRODUCTS
"""Functions that give a traced value for a traced one; so do ufuncs."""

OF_ARRAYS = {"T", "mT", "real"}
"""What is traced of a traced value. The imaginary part of a real array is zeros of NumPy's."""

NUMBERS_OF = {"shape", "ndim", "size", "dtype", "itemsize", "nbytes"}
"""What an array from outside is asked that tells nothing of its entries."""

METHODS = {"sum", "mean", "dot", "reshape", "ravel", "copy", "transpose", "conj", "prod"}
"""Methods of a traced value that give another."""

TRANSFORMS = {"grad", "value_and_grad", "jacobian", "hessian", "derivative", "jit"}
"""Functions of linad that return a function of the same arguments."""

AT_POINTS = {"vjp", "linearize", "hessian_operator"}
"""Those that take the arguments behind the function."""

AT_TUPLES = {"jvp", "hvp"}
"""Those that take them as a tuple."""

PASSED = (types.FunctionType, types.MethodType, Transformed)
"""Functions whose own code is followed."""


def is_jitted(value: Any) -> bool:
    """Whether a value is a function made by `linad.jit`."""
    return getattr(type(value), "compiles", False) is True


def is_linads(f: types.FunctionType) -> bool:
    """Whether a function is a public one of linad's."""
    if not (f.__module__ or "").startswith("linad."):
        return False  # to ask for any name imports what has it
    return getattr(sys.modules["linad"], f.__name__, None) is f


def gives_one(value: Any) -> bool:
    """Whether a value is a ufunc of one result; since NumPy 2.5 np.imag is one, see above."""
    return isinstance(value, np.ufunc) and value.nout == 1 and value is not np.imag


def is_in(value: Any, functions: set[Any]) -> bool:
    try:
        return value in functions
    except TypeError:
        return False
