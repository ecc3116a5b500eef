"""Functions that NumPy computes on the host, made of those that have kernels on a device.

Each is a program in place of one equation: the derivative of what it is composed of is not taken
here, as rules have done that before. Where a form does not hold there is none, and NumPy's function
is a fallback.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from linad.core import tree
from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Tape, Var, needed
from linad.rules.composed import FORMS
from linad.sweeps.expansions import ON_GRIDS
from linad.transforms.record import RecordTrace, node_of

TERMS = 64
"""Coefficients of a polynomial up to which there is a program of it."""

Form = Callable[..., Any]
"""A function in NumPy that returns what the primitive returns, or None where it does not hold."""


def composes(*names: str) -> Callable[[Form], Form]:
    """Enter a form for these primitives; a decorator."""

    def register(form: Form) -> Form:
        for name in names:
            ON_GRIDS[Primitive.registry[name]] = functools.partial(_program, form)
        return form

    return register


def _program(form: Form, eqn: Equation) -> Tape | None:
    recorder = RecordTrace()
    ins = [recorder.input(_example(a)) if isinstance(a, Var) else a for a in eqn.inputs]
    with np.errstate(all="ignore"), recorder:
        found = form(*ins, **eqn.params)
        if found is None:
            return None
        nodes = [node_of(recorder, y) for y in (found if isinstance(found, tuple) else (found,))]
    same = zip(nodes, eqn.outputs, strict=True)
    if not all([a.shape == v.shape and a.dtype == v.dtype for a, v in same]):
        return None
    # What is not a variable has been taken as it is, and its place is one that nobody reads.
    inputs = [
        t._node if isinstance(a, Var) else Var(-1 - k, np.shape(a), np.result_type(a))
        for k, (t, a) in enumerate(zip(ins, eqn.inputs, strict=True))
    ]
    equations = needed(recorder.equations, nodes)
    ends = tree.row(len(inputs)), tree.row(len(nodes))
    return Tape(eqn.primitive.name, inputs, equations, nodes, *ends)


def _example(a: Var) -> Any:
    """An array to record with; a matrix is regular."""
    found = np.ones(a.shape, a.dtype)
    if len(a.shape) > 1 and a.dtype.kind in "fc":
        found += np.eye(*a.shape[-2:], dtype=a.dtype)
    return found


for _name, _form in FORMS.items():
    composes(_name)(_form)


@composes("round")
def rounded(x: Array, *, decimals: int = 0) -> Any:
    return FORMS["round"](x, decimals=decimals) if x.dtype.kind == "f" else None


@composes("polyval")
def polyval(p: Any, x: Any) -> Any:
    return FORMS["polyval"](p, x) if np.ndim(p) == 1 and 0 < len(p) <= TERMS else None


@composes("log_ndtr")
def log_ndtr(x: Array) -> Any:
    """log Φ(x), by erfcx where Φ is too small to take its logarithm.

    Source: DLMF 7.2, with Φ(x) = erfc(-x/√2) / 2.
    """
    if x.dtype.kind != "f":
        return None
    t = x * np.sqrt(0.5).astype(x.dtype)
    low = np.log(0.5 * scipy.special.erfcx(-np.minimum(t, 0))) - t * t
    return np.where(x < -1, low, np.log1p(-0.5 * scipy.special.erfc(np.maximum(t, -1))))


# Vectors and matrices.


@composes("adjugate")
def adjugate(a: Array) -> Any:
    """det(A) A^-1; where there is no inverse the program stops, and NumPy has another form."""
    if not a.size:
        return None
    return np.linalg.det(a)[..., None, None] * np.linalg.inv(a)


@composes("pinv", "truncated_pinv")
def pinv(a: Array, *, rcond: float) -> Any:
    """V diag(1/s) U^H, without the singular values that count as zero."""
    if not a.size:
        return None
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    large = s > rcond * np.max(s, axis=-1, keepdims=True)
    inverted = np.where(large, 1 / np.where(large, s, 1), 0)
    return _adjoint(vh) @ (inverted[..., None] * _adjoint(u))


@composes("lstsq")
def lstsq(a: Array, b: Array, *, rcond: float) -> Any:
    """The solution of least norm."""
    found = pinv(a, rcond=rcond)
    return None if found is None else found @ b


def _adjoint(a: Array) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))
