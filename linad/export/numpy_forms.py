"""How each primitive is written in NumPy.

A row is a pattern in ``{0} {1} ...``, the operands, and the parameters by name; or a function
of the module, the equation and the operands. Primitives without a row are written as calls
of what they are made of: a function of NumPy or SciPy, or a function of linad's own that is
copied into the module.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from linad.core.moving_regions import numbers_at_zero
from linad.core.regions import Part, Region
from linad.core.tape import Equation
from linad.errors import ExportError
from linad.export.module import Module

Row = str | Callable[[Module, Equation, list[str]], str]

ROWS: dict[str, Row] = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "matmul": "{0} @ {1}",
    "matvec": "{0} @ {1}",
    "dot": "{0} @ {1}",
    "power": "{0} ** {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "sum": "np.sum({0}, axis={axes})",
    "prod": "np.prod({0}, axis={axes})",
    "max": "np.max({0}, axis={axes})",
    "min": "np.min({0}, axis={axes})",
    "clip": "np.clip({0}, {1}, {2})",
    "reshape": "np.reshape({0}, {shape})",
    "transpose": "np.transpose({0}, {axes})",
    "broadcast_to": "np.broadcast_to({0}, {shape})",
    "spread": "np.broadcast_to({0}, {shape})",
    "astype": "np.asarray({0}).astype({dtype})",
    "astype_exact": "np.asarray({0}).astype({dtype})",
    "copy": "np.array({0})",
    "gather": "np.take({0}, {1}, axis={axis})",
    "masked": "np.where({mask}, {0}, 0)",
    "inside": "{0}",
    "settled": "{0}",
    "_ones_like": "np.ones_like({0})",
    "read_region": lambda m, eqn, args: _read(m, eqn, args),
    "view_region": lambda m, eqn, args: _read(m, eqn, args),
}


def row(name: str) -> Any:
    """Register the function that writes a primitive."""

    def register(function: Callable[[Module, Equation, list[str]], str]) -> Any:
        ROWS[name] = function
        return function

    return register


def call(module: Module, eqn: Equation, args: list[str]) -> str:
    """An expression for what an equation computes.

    Raises
    ------
    ExportError
        If the primitive, or one of its parameters, has no text form.
    """
    name = eqn.primitive.name
    found = ROWS.get(name) if eqn.primitive.registry.get(name) is eqn.primitive else None
    try:
        if isinstance(found, str):
            return found.format(*args, **{k: module.text(v) for k, v in eqn.params.items()})
        if found is not None:
            return found(module, eqn, args)
        if eqn.primitive.registry.get(name) is not eqn.primitive:
            raise ExportError("it is not one of linad's own primitives")
        function = module.function(eqn.primitive.impl)
        parameters = [f"{k}={module.text(v)}" for k, v in eqn.params.items()]
        return f"{function}({', '.join([*args, *parameters])})"
    except ExportError as problem:
        place = f" at {eqn.source}" if eqn.source is not None else ""
        raise ExportError(f"lower: {name}{place} cannot be written in NumPy: {problem}") from None


@row("concatenate")
def concatenate(module: Module, eqn: Equation, args: list[str]) -> str:
    return f"np.concatenate([{', '.join(args)}], axis={module.text(eqn.params['axis'])})"


@row("zeta")
def zeta(module: Module, eqn: Equation, args: list[str]) -> str:
    return f"{module.function(scipy.special.zeta)}({', '.join(args)})"


@row("lambertw")
def lambertw(module: Module, eqn: Equation, args: list[str]) -> str:
    return f"{module.function(scipy.special.lambertw)}({', '.join(args)})"


FITTED = '''
def _fitted(x, shape):
    """Cropped, or padded with zeros, at the end of each axis."""
    kept = x[tuple([slice(n) for n in shape])]
    return np.pad(kept, [(0, n - m) for n, m in zip(shape, kept.shape)])
'''

HERMITIAN = '''
def _hermitian(a, lower):
    """One triangle of a matrix, its conjugate in the other, a real diagonal."""
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = np.where(np.eye(a.shape[-1], dtype=bool), a.real, 0)
    return half + diagonal + np.swapaxes(half.conj(), -1, -2)
'''


@row("fit")
def fit(module: Module, eqn: Equation, args: list[str]) -> str:
    return f"{module.helper('_fitted', FITTED)}({args[0]}, {module.text(eqn.params['shape'])})"


@row("hermitian")
def hermitian(module: Module, eqn: Equation, args: list[str]) -> str:
    name = module.helper("_hermitian", HERMITIAN)
    return f"{name}({args[0]}, {module.text(eqn.params['lower'])})"


@row("getitem")
def getitem(module: Module, eqn: Equation, args: list[str]) -> str:
    return f"{args[0]}[{module.index(eqn.params['index'])}]"


def _read(module: Module, eqn: Equation, args: list[str]) -> str:
    region = eqn.params["region"]
    return args[0] + module.region(region, eqn.inputs[0].shape) + _part(region)


def _part(region: Region) -> str:
    """Where a region is the real or imaginary part of entries: which."""
    return f".{region.name}" if isinstance(region, Part) else ""


ADDED = '''
def _added(values, shape, index):
    """Zeros with values added at an index; an entry named twice collects twice."""
    y = np.zeros(shape, values.dtype)
    np.add.at(y, index, values)
    return y
'''

COUNTED = '''
def _counted(positions, size, axis):
    """Positions along an axis of a length, counted from its start."""
    for k in np.ravel(positions):
        if not -size <= k < size:
            raise IndexError(f"index {k} is out of bounds for axis {axis} with size {size}")
    return np.where(positions < 0, positions + size, positions)
'''

INSERTED = '''
def _inserted(value, shape, index):
    """Zeros with a value written at an index."""
    y = np.zeros(shape, np.asarray(value).dtype)
    y[index] = value
    return y
'''

WRITTEN = '''
def _written(x, value, index):
    """A copy of an array with a value written at an index."""
    y = np.array(x)
    y[index] = value
    return y
'''

PARTS = '''
def _with_part(x, value, index, part):
    """A copy of a complex array with the real or imaginary parts at an index overwritten."""
    y = np.array(x)
    entries = np.array(y[index])
    setattr(entries, part, value)
    y[index] = entries
    return y
'''

GUARD = '''
def _check(found, expected, place):
    """Python decided something on a value; the program holds only where it decides the same."""
    inexact = np.asarray(expected).dtype.kind in "fc"
    if not np.array_equal(found, expected, equal_nan=inexact):
        raise ValueError(f"the program took another path when it was recorded: {place}")
'''

RAISES = '''
def _raises(operation):
    """Whether an operation raises an error, as a `try` around it has seen."""
    try:
        with np.errstate(all="ignore"):
            operation()
    except Exception:  # of any kind: that there is one is the answer
        return np.True_
    return np.False_
'''


@row("add_at")
def add_at(module: Module, eqn: Equation, args: list[str]) -> str:
    name = module.helper("_added", ADDED)
    shape = eqn.params["shape"]
    index = module.index(eqn.params["index"].behind(len(shape)))
    return f"{name}({args[0]}, {module.text(shape)}, np.s_[{index}])"


@row("scatter_add")
def scatter_add(module: Module, eqn: Equation, args: list[str]) -> str:
    name = module.helper("_added", ADDED)
    index = f"..., {args[1]}" + ", :" * (-1 - eqn.params["axis"])
    return f"{name}({args[0]}, {module.text(eqn.outputs[0].shape)}, np.s_[{index}])"


@row("counted")
def counted(module: Module, eqn: Equation, args: list[str]) -> str:
    name, params = module.helper("_counted", COUNTED), eqn.params
    return f"{name}({args[0]}, {params['size']}, {params['axis']})"


@row("insert_region")
def insert_region(module: Module, eqn: Equation, args: list[str]) -> str:
    region, shape = eqn.params["region"], eqn.outputs[0].shape
    index = module.region(region, shape)
    if isinstance(region, Part):
        zeros = f"np.zeros({module.text(shape)}, {module.text(eqn.outputs[0].dtype)})"
        name = module.helper("_with_part", PARTS)
        return f"{name}({zeros}, {args[0]}, np.s_{index}, {region.name!r})"
    name = module.helper("_inserted", INSERTED)
    return f"{name}({args[0]}, {module.text(shape)}, np.s_{index})"


@row("write_region")
def write_region(module: Module, eqn: Equation, args: list[str]) -> str:
    region = eqn.params["region"]
    index = module.region(region, eqn.outputs[0].shape)
    if isinstance(region, Part):
        name = module.helper("_with_part", PARTS)
        return f"{name}({args[0]}, {args[1]}, np.s_{index}, {region.name!r})"
    name = module.helper("_written", WRITTEN)
    return f"{name}({args[0]}, {args[1]}, np.s_{index})"


MOVED = '''
def _moved(x, value, numbers, axes, add=False):
    """A copy of an array with a value written, or added, at entries of its last axes."""
    y = np.array(x, order="C")
    flat = y.reshape(*y.shape[: y.ndim - axes], -1)
    if add:
        np.add.at(flat, (..., numbers), value)
    else:
        flat[..., numbers] = value
    return y
'''


def _numbers(module: Module, region: Region, at: str) -> str:
    """The numbers of the entries of a region, moved by as many as the program says."""
    if isinstance(region, Part):
        raise ExportError("parts of complex numbers, at a place that moves,")
    return f"{module.text(numbers_at_zero(region)[()])} + {at}"


@row("read_moving")
def read_moving(module: Module, eqn: Equation, args: list[str]) -> str:
    region, shape = eqn.params["region"], np.shape(eqn.inputs[0])
    lead = shape[: len(shape) - region.ndim]
    numbers = _numbers(module, region, args[1])
    return f"np.reshape({args[0]}, {module.text((*lead, -1))})[..., {numbers}]"


@row("write_moving")
@row("add_moving")
def write_moving(module: Module, eqn: Equation, args: list[str]) -> str:
    name, region = module.helper("_moved", MOVED), eqn.params["region"]
    add = ", True" if eqn.primitive.name == "add_moving" else ""
    numbers = _numbers(module, region, args[2])
    return f"{name}({args[0]}, {args[1]}, {numbers}, {region.ndim}{add})"


@row("insert_moving")
def insert_moving(module: Module, eqn: Equation, args: list[str]) -> str:
    name, region, y = module.helper("_moved", MOVED), eqn.params["region"], eqn.outputs[0]
    zeros = f"np.zeros({module.text(y.shape)}, {module.text(y.dtype)})"
    return f"{name}({zeros}, {args[0]}, {_numbers(module, region, args[1])}, {region.ndim})"


@row("guard")
def guard(module: Module, eqn: Equation, args: list[str]) -> str:
    name = module.helper("_check", GUARD)
    place = repr(str(eqn.source or "a condition"))
    return f"{name}({args[0]}, {module.text(eqn.params['expected'])}, {place})"


@row("raises")
def raises(module: Module, eqn: Equation, args: list[str]) -> str:
    """Whether an operation raises, of which there is no result to know."""
    primitive, params = eqn.params["primitive"], eqn.params["params"]
    name = module.helper("_raises", RAISES)
    tried = Equation(primitive, eqn.inputs, params, (), eqn.source)
    return f"{name}(lambda: {call(module, tried, args)})"
