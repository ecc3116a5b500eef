"""What a trace reads of traced values: the arguments of an operation, what is written into an
array, and the results of a function.

The three traces (push, record, linearize) differ in the node that a tracer carries: a tangent, a
variable of a tape, the number of a step. Taking a tracer apart into node and value is the same.
"""

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy import generic, ndarray

from linad.arrays.buffers import is_private, refresh_node
from linad.arrays.foreign_operands import OTHER_ARITHMETIC, refuse_arithmetic
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.arrays.zero_dim import like
from linad.core import tree
from linad.core.array_type import Array
from linad.core.memory_layouts import copy_in_layout
from linad.core.primitive import Primitive
from linad.core.shapes import is_inexact, name_of
from linad.core.showing import shown
from linad.errors import DTypeError, OutputError, UnsupportedError
from linad.transforms.plain_operands import PlainOperands

NODE = attrgetter("_node")
"""Gives the node of a tracer."""


def read_arguments(
    trace: Trace,
    primitive: Primitive,
    args: tuple[Any, ...],
    operands: PlainOperands | None,
) -> tuple[list[Any], list[tuple[int, Any]], bool]:
    """Take the arguments of an operation apart.

    Parameters
    ----------
    trace : Trace
        Which performs it.
    primitive : Primitive
    args : tuple
        Arrays, some of them traced.
    operands : PlainOperands or None
        Where the operation keeps its plain arrays; None if it keeps none.

    Returns
    -------
    values : list
        The arguments without this trace, as they are now: later writes do not change them.
    active : list of (int, node)
        Which arguments belong to this trace, and their nodes.
    nested : bool
        Whether a value is itself traced, by another trace.
    """
    values: list[Any] = []
    active = []
    nested = False
    for a in args:
        if type(a) is Tracer:
            if a._buffer is not None:
                refresh_node(a)
            if a._trace is not trace:
                a = a.frozen() if not a._trace.finished else a._trace.lasting(a)
            else:
                active.append((len(values), a._node))
                a = a._value if a._buffer is None else _captured(a, primitive)
            if type(a) is Tracer:
                nested = True
        elif operands is not None and type(a) is ndarray:
            a = operands.keep(a)
        values.append(a)
    return values, active, nested


def _captured(a: Tracer, primitive: Primitive) -> Any:
    """The value of a traced argument, as an operation may keep it: it will not change."""
    if a._buffer is None or primitive.view or not is_private(a):
        return a._value
    return copy_in_layout(a._value)


def refuse_objects(primitive: Primitive) -> None:
    """Raise: the result of an operation is an object array, and may hide traced values."""
    raise UnsupportedError(
        f"{primitive.name}: an argument is an object array; beside a traced value it must be an "
        f"array of numbers, made with np.stack([...]), np.zeros_like(x) or linad.numpy; data of "
        f"dtype object, as of a table with several kinds of columns, become numbers by "
        f".astype(float)"
    )


def read_written(trace: Trace, value: Array) -> tuple[Any, Any]:
    """The node and value of what is written into an array; no node unless it is this trace's."""
    if isinstance(value, Tracer):
        refresh_node(value)
        if value._trace is trace:
            return value._node, value._value
    return None, value


def refuse_keys(trace: Trace, result: Any) -> None:
    """Raise if a result has values of the trace as keys of its dictionaries."""
    if any([_is_of(trace, tuple(keys)) for keys in tree.key_orders(result)]):
        raise OutputError(
            "the function returned a dictionary that has traced numbers as keys, which end with "
            "it; return the numbers and what belongs to them as two arrays, or as pairs"
        )


def _is_of(trace: Trace, key: Any) -> bool:
    """Whether a value of a trace is in a key."""
    if type(key) is tuple:
        return any([_is_of(trace, part) for part in key])
    return type(key) is Tracer and key._trace is trace


def read_results(trace: Trace, result: Any) -> tuple[list[Any], list[Any], Any]:
    """Take what a function returned apart.

    Returns
    -------
    values : list
        Of the leaves, without this trace.
    nodes : list
        None for a leaf that the trace does not know.
    out_tree : structure
        Of the container.

    Raises
    ------
    OutputError
        If it holds no array, something that is none, or values of this trace as keys.
    """
    if type(result) is Tracer and result._trace is trace and result._buffer is None:
        value = result._value  # the common case
        return [value.alias() if type(value) is Tracer else value], [result._node], tree.LEAF
    leaves, out_tree = tree.flatten(result)
    if trace.keys:
        refuse_keys(trace, result)
    if not leaves:
        raise OutputError(
            f"{_called_in(trace)} returned {result!r}, which holds no array; return the result to "
            f"differentiate"
        )
    values: list[Any] = []
    nodes: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, Tracer) and leaf._trace is trace:
            if leaf._buffer is not None:
                refresh_node(leaf)
            nodes.append(leaf._node)
            value = leaf._value
            values.append(value.alias() if isinstance(value, Tracer) else value)
        else:
            nodes.append(None)
            values.append(_check_constant(leaf, result, trace))
    return values, nodes, out_tree


def _called_in(trace: Trace) -> str:
    """The function that runs in a trace, by its name where that is known."""
    return "the function" if trace.arguments is None else name_of(trace.arguments[1].f)


def _check_constant(leaf: Any, result: Any, trace: Trace) -> Any:
    """Check a leaf of a result that the trace does not know."""
    if isinstance(leaf, Tracer):
        return leaf.frozen() if not leaf._trace.finished else leaf._trace.lasting(leaf)
    if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "biufc":
        return leaf
    if isinstance(leaf, float) and not math.isfinite(leaf):
        return np.float64(leaf)  # what a likelihood is where its arguments have no meaning
    if isinstance(leaf, (bool, int, float, complex)):
        root = ", or a root by linad.scipy.optimize.brentq and no bisection of your own"
        raise OutputError(
            f"{_called_in(trace)} returned the Python {type(leaf).__name__} {leaf!r}, which "
            f"carries no derivative; compute it with NumPy functions of the arguments"
            f"{root if type(leaf) is float else ''} (linad.stop_gradient(np.float64({leaf!r})) "
            f"states that it is meant to be constant){_among(result)}"
        )
    if isinstance(leaf, np.ndarray) and leaf.dtype == object:
        raise OutputError(
            f"{_called_in(trace)} returned an object array; traced values in a plain NumPy array "
            f"lose their derivative: build it with np.stack([...]) or linad.numpy.array"
        )
    words = f"{_called_in(trace)} returned a {type(leaf).__name__}, not an array: {shown(leaf)}"
    if hasattr(type(leaf), "iloc") and getattr(leaf, "dtype", None) is not None:
        words += "; return np.stack(list(series)) of one whose entries were computed row by row"
    elif hasattr(type(leaf), "__array_function__") or hasattr(type(leaf), "__array__"):
        words += "; return the array in it (of an xarray.DataArray, its .data)"
    raise OutputError(words)


def _among(result: Any) -> str:
    """Of a number in a tuple, as in the (value, error) of `quad`: that others come with it."""
    if type(result) is not tuple:
        return ""
    return f"; it is one of {len(result)} results in a tuple, of which f(...)[0] is the first"


def _of_numpy(value: Any) -> Any:
    """NumPy's number or array; a dictionary, which may answer any name, is an object."""
    if isinstance(value, dict):
        return np.empty((), object)
    return like(value, np.asarray(value))


def check_input(value: Array, name: Callable[[], str]) -> Any:
    """Return one argument leaf as an array that has a derivative.

    Parameters
    ----------
    value : object
    name : callable
        Returns what messages call it.

    Raises
    ------
    DTypeError
        For integers, booleans, objects and strings, naming the argument.
    """
    given = value
    if isinstance(value, Tracer):
        dtype = value.dtype
    else:
        if type(value) is not ndarray:
            if isinstance(value, OTHER_ARITHMETIC):
                refuse_arithmetic(value, name())
            if not isinstance(value, generic):  # which ``s += 1`` replaces, as it does floats
                value = np.float64(value) if type(value) is float else _of_numpy(value)
        dtype = value.dtype
    if not is_inexact(dtype):
        remedy = (
            "pass floats (x.astype(float)), or leave it out with argnums or a closure"
            if dtype.kind in "biu"
            else "only arrays of floats or complex numbers have derivatives"
        )
        if given is not value and dtype.kind == "O":
            raise DTypeError(
                f"{name()} is a {type(given).__name__}, which is not differentiable; {remedy}, and "
                f"containers of such"
            )
        raise DTypeError(f"{name()} has dtype {dtype}, which is not differentiable; {remedy}")
    return value
