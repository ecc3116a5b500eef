"""Reductions that end a loop: how terms combine, and what no terms give.

The sum of booleans counts them; `all` and `any` take every number that is not zero, NaN too,
for true; `max` and `min` pass NaN on, `fmax` and `fmin` pass it over.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.core.shapes import size_of
from linad.core.tape import Equation, Var
from linad.sweeps.kernel_dtypes import name_of_dtype


class Reduction(NamedTuple):
    """How a loop reduces.

    Attributes
    ----------
    combined : str
        Kernel source of what two partial results ``{0}`` and ``{1}`` combine to.
    identity : object
        What combines with everything to that; "least" and "greatest" are the extremes of the
        dtype.
    kinds : str
        Kinds of results, by the letters of `numpy.dtype.kind`.
    tests : bool
        Whether a term is whether the entry is not zero.
    joined : str
        The reduction that combines the results of parts, where that is another one: counts are
        added up.
    """

    combined: str
    identity: Any
    kinds: str
    tests: bool = False
    joined: str = ""


REDUCTIONS = {
    "sum": Reduction("accumulate({0}, {1})", 0, "ifc"),
    "prod": Reduction("accumulate_product({0}, {1})", 1, "ifc"),
    "max": Reduction("select(({0} >= {1}) | ({0} != {0}), {0}, {1})", "least", "bif"),
    "min": Reduction("select(({0} <= {1}) | ({0} != {0}), {0}, {1})", "greatest", "bif"),
    "fmax_reduce": Reduction("select(({0} >= {1}) | ({1} != {1}), {0}, {1})", np.nan, "f"),
    "fmin_reduce": Reduction("select(({0} <= {1}) | ({1} != {1}), {0}, {1})", np.nan, "f"),
    "count_nonzero": Reduction("{0} + {1}", 0, "i", tests=True, joined="sum"),
    "all": Reduction("{0} & {1}", True, "b", tests=True),
    "any": Reduction("{0} | {1}", False, "b", tests=True),
    "logical_and_reduce": Reduction("{0} & {1}", True, "b", tests=True),
    "logical_or_reduce": Reduction("{0} | {1}", False, "b", tests=True),
    "logical_xor_reduce": Reduction("{0} ^ {1}", False, "b", tests=True),
}


def axes_of(eqn: Equation) -> tuple[int, ...] | None:
    """The axes that a reduction goes over; None for arguments that no loop knows."""
    params, ndim = eqn.params, len(eqn.inputs[0].shape)
    if "axes" in params:
        return tuple(params["axes"])
    if not params.keys() <= {"axis", "keepdims"} or params.get("keepdims"):
        return None
    default = 0 if eqn.primitive.name.startswith("logical") else None
    known, axis = axis_of(eqn, default)
    if not known:
        return None
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted([k % ndim for k in given])) if ndim else None


def axis_of(eqn: Equation, default: int | None) -> tuple[bool, Any]:
    """Whether the arguments of a NumPy function are an array and an axis alone; the axis."""
    if len(eqn.inputs) == 1:
        return True, eqn.params.get("axis", default)
    axis = eqn.inputs[1]
    return len(eqn.inputs) == 2 and type(axis) in (int, tuple), axis


def is_reduction(eqn: Equation) -> bool:
    return eqn.primitive.name in REDUCTIONS


def reduces_in_loop(eqn: Equation, takes: Callable[[Any], bool]) -> bool:
    """Whether a reduction can end a loop, by kernels that take some dtypes."""
    if not is_reduction(eqn) or not isinstance(eqn.inputs[0], Var):
        return False
    x, y = eqn.inputs[0], eqn.outputs[0]
    return (
        axes_of(eqn) is not None
        and y.dtype.kind in REDUCTIONS[eqn.primitive.name].kinds
        and takes(x.dtype)
        and takes(y.dtype)
        and size_of(x.shape) > 0
    )


def identity(name: str, dtype: np.dtype[Any]) -> Any:
    """What a reduction starts from, as a number of a dtype."""
    value = REDUCTIONS[name].identity
    dtype = np.dtype(dtype)
    if isinstance(value, str):
        if dtype.kind == "b":
            value = value == "greatest"
        elif dtype.kind == "f":
            value = -np.inf if value == "least" else np.inf
        else:
            limits = np.iinfo(dtype)
            value = limits.min if value == "least" else limits.max
    return dtype.type(value)


def identity_source(name: str, dtype: np.dtype[Any]) -> str:
    """The same as kernel source."""
    value = identity(name, dtype)
    text = {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}.get(str(value))
    if text is None:
        text = repr(value.real.item() if value.dtype.kind == "c" else value.item())
    return f"to_{name_of_dtype(dtype)}({text})"
