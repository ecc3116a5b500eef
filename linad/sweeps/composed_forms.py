"""Functions that NumPy computes in Python, made of those that have kernels.

Each is a program in place of one equation: the derivative of what it is composed of is not taken
here, as rules have done that before. Where a form does not hold there is none, and NumPy's function
is a fallback.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.marks import outside_of_traces
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Tape, Var, needed
from linad.operators.stored_matrices import StoredAs, apply_stored
from linad.rules.composed import FORMS
from linad.rules.decompositions import hermitian_
from linad.rules.fourier import fit_
from linad.rules.linalg import adjugate_
from linad.rules.rearranging import add_windows
from linad.rules.sparsearrays import Pattern
from linad.sweeps.expansions import EVERYWHERE, ON_HOST, Expansion
from linad.transforms.record import RecordTrace, node_of

TERMS = 64
"""Coefficients of a polynomial, or entries of a window, up to which there is a program of it."""

Form = Callable[..., Any]
"""A function in NumPy that returns what the primitive returns, or None where it does not hold."""


def composed(table: dict[Primitive, Expansion], *names: str) -> Callable[[Form], Form]:
    """Enter a form for these primitives into a table; a decorator."""

    def register(form: Form) -> Form:
        for name in names:
            table[Primitive.registry[name]] = functools.partial(_program, form)
        return form

    return register


def _program(form: Form, eqn: Equation) -> Tape | None:
    recorder = RecordTrace()
    ins = [recorder.input(_example(a)) if isinstance(a, Var) else a for a in eqn.inputs]
    with np.errstate(all="ignore"), outside_of_traces(), recorder:
        found = form(*ins, **eqn.params)
        if found is None:
            return None
        nodes = [node_of(recorder, y) for y in (found if isinstance(found, tuple) else (found,))]
    same = zip(nodes, eqn.outputs, strict=True)
    if not all([a.shape == v.shape and a.dtype == v.dtype for a, v in same]):
        return None
    # What is not a variable has been taken as it is, and its place is one that nobody reads.
    inputs = [
        t._node if isinstance(a, Var) else Var(-1 - k, np.shape(a), np.asarray(a).dtype)
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


everywhere = functools.partial(composed, EVERYWHERE)

for _name in ("cross", "array_equal", "fraction"):
    everywhere(_name)(FORMS[_name])


def _of_floats(form: Form) -> Form:
    """The same for floating point numbers alone: differences of integers may wrap around."""

    def of_floats(*args: Any, **params: Any) -> Any:
        numbers = [float(a) if type(a) is int else a for a in args]
        kinds = {np.result_type(a).kind for a in numbers}
        return form(*numbers, **params) if kinds == {"f"} else None

    return of_floats


for _name in ("isclose", "allclose", "round", "unwrap"):
    everywhere(_name)(_of_floats(FORMS[_name]))


@everywhere("polyval")
def polyval(p: Any, x: Any) -> Any:
    return FORMS["polyval"](p, x) if np.ndim(p) == 1 and 0 < len(p) <= TERMS else None


@everywhere("overlap_add")
def windows_added(x: Any, *, window: Shape, axes: tuple[int, ...], shape: Shape) -> Any:
    """For each entry of the window an addition of all windows."""
    few = size_of(window) <= TERMS
    return add_windows(x, np.zeros_like(x, shape=shape), window, axes) if few else None


@composed(ON_HOST, "sparse_product")
def sparse_product(data: Any, x: Any, *, pattern: Pattern) -> Any:
    order, indices, starts = pattern.in_rows
    if not np.array_equal(order, np.arange(len(order))):
        data = data[order]
    storage = StoredAs("csr", pattern.shape)
    return apply_stored(x, data, indices, starts, storage=storage, transposed=False)


ORDERS = (0, 1, 2)
"""Of spherical Bessel functions: of the derivatives of `numpy.sinc`."""


@everywhere("spherical_jn")
def spherical_jn(n: Any, x: Any) -> Any:
    """In double precision: from 2 on by the recurrence upwards, below by the power series.

    Source: DLMF 10.49.3, 10.51.1, 10.53.1.
    """
    if isinstance(n, Traced) or np.ndim(n) or n not in ORDERS or x.dtype.kind != "f":
        return None
    n, z = int(n), np.astype(x, np.float64)
    large = np.abs(z) >= 2
    outer, inner = np.where(large, z, 2.0), np.where(large, 0.0, z)
    before, value = np.cos(outer) / outer, np.sin(outer) / outer
    for k in range(n):
        before, value = value, (2 * k + 1) / outer * value - before
    series: Any = 1.0
    for k in range(12, 0, -1):
        series = 1 - 0.5 * inner * inner / (k * (2 * n + 2 * k + 1)) * series
    for k in range(n):
        series = series * inner / (2 * k + 3)
    value = np.where(np.isinf(z), 0.0, value)
    return np.where(large, value, series)


@everywhere("pinv", "truncated_pinv")
def pinv(a: Any, *, rcond: Any) -> Any:
    """V diag(1/s) U^H, without the singular values that count as zero."""
    return _by_singular_values(a, rcond) if a.size else None


@everywhere("lstsq")
def lstsq(a: Any, b: Any, *, rcond: Any) -> Any:
    """The solution of least norm."""
    return _by_singular_values(a, rcond, b) if a.size and b.size else None


def _by_singular_values(a: Any, rcond: Any, b: Any = None) -> Any:
    """The pseudoinverse of A, times B."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    large = s > np.expand_dims(rcond, -1) * np.max(s, axis=-1, keepdims=True)
    inverted = np.where(large, 1 / np.where(large, s, 1), 0)
    uh = _adjoint(u)
    return _adjoint(vh) @ (inverted[..., None] * (uh if b is None else uh @ b))


def _adjoint(a: Any) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


everywhere("fit")(fit_.impl)
everywhere("hermitian")(hermitian_.impl)


@composed(ON_HOST, "adjugate")
def adjugate(a: Any) -> Any:
    """By singular values, of singular matrices as well."""
    return adjugate_.impl(a) if a.size else None


@everywhere("inside", "settled")
def first(x: Any, *_: Any, **_params: Any) -> Any:
    """The first operand, of which a rule says something that no program looks at."""
    return x


def _keeping_axes(function: Callable[..., Any]) -> Form:
    """A reduction, and then the axes that it took away, with one entry each."""

    def keeping_axes(x: Any, axis: Any = None, *, keepdims: Any = False, **params: Any) -> Any:
        if keepdims is not True or params:
            return None
        y = function(x, axis=axis)
        taken = range(x.ndim) if axis is None else axis
        return np.expand_dims(y, tuple(taken) if isinstance(taken, range) else taken)

    return keeping_axes


for _function in (np.all, np.any, np.argmax, np.argmin, np.count_nonzero):
    everywhere(_function.__name__)(_keeping_axes(_function))
