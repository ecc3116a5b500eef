"""Products and sums of compiled derivatives, as one program.

    (J^T D J + λ I) v

applied factor by factor is a sweep for each J, with Python between them and an array for each
result. The factors' residuals, diagonals and numbers are arrays; with these as arguments the
whole operator is a program of its own:

    residuals of J, D, λ, v  ->  J^T (D (J v)) + λ v

It belongs to the *form* of the operator, and is found again for the next J at another point,
another D and λ. As with functions, the first application of a form runs as it is and the
second compiles.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linad.core import tree
from linad.core.device_arrays import fetched
from linad.core.marks import outside_of_traces
from linad.core.primitive import Primitive
from linad.core.shapes import size_of
from linad.core.tape import Tape, needed
from linad.errors import DTypeError, ShapeError
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum
from linad.operators.matrices import Matrix
from linad.operators.structured import Diagonal, Identity
from linad.operators.tagged import Tagged
from linad.operators.wrappers import Adjoint, Scaled
from linad.transforms.flat_vectors import FlatVectors
from linad.transforms.record import RecordTrace, node_of
from linad.transforms.tape_operator import TapeOperator

REMEMBERED = 64
"""Forms with a compiled function whose programs it keeps."""


class OperatorForm(NamedTuple):
    """An operator taken apart.

    Attributes
    ----------
    key : tuple
        Equal for operators that differ in their arrays only.
    arrays : list of ndarray
        What they differ in.
    built : callable
        ``built(arrays)`` is the operator again, of the next arrays of an iterator.
    """

    key: Any
    arrays: list[Any]
    built: Callable[[Iterator[Any]], JacobianOperator]


class OtherFormError(Exception):
    """An operator of a kind that is applied as it is."""


def form_of(op: JacobianOperator) -> OperatorForm:
    """Take an operator apart.

    Raises
    ------
    OtherFormError
        If it has parts of other kinds than those of this module, or parts that are traced.
    """
    kind = type(op)
    if kind not in FORMS:
        raise OtherFormError
    return FORMS[kind](op)


def _of_parts(kind: Any, parts: tuple[JacobianOperator, ...]) -> OperatorForm:
    forms = [form_of(p) for p in parts]
    return OperatorForm(
        (kind, *[f.key for f in forms]),
        [a for f in forms for a in f.arrays],
        lambda arrays: kind(tuple([f.built(arrays) for f in forms])),
    )


def _chain(op: Chain) -> OperatorForm:
    return _of_parts(Chain, op.factors)


def _sum(op: Sum) -> OperatorForm:
    return _of_parts(Sum, op.terms)


def _adjoint(op: Adjoint) -> OperatorForm:
    inner = form_of(op.op)
    return OperatorForm((Adjoint, inner.key), inner.arrays, lambda arrays: inner.built(arrays).H)


def _form_of_flat(op: FlatVectors) -> OperatorForm:
    inner = form_of(op.op)
    return OperatorForm(
        (FlatVectors, inner.key), inner.arrays, lambda arrays: inner.built(arrays).flat
    )


def _tagged(op: Tagged) -> OperatorForm:
    return form_of(op.op)  # what is asserted of a matrix does not change its products


def _identity(op: Identity) -> OperatorForm:
    return OperatorForm((Identity, op.in_shape, op.dtype), [], lambda arrays: op)


def _scaled(op: Scaled) -> OperatorForm:
    if type(op.alpha) not in (int, float):
        raise OtherFormError
    inner = form_of(op.op)
    alpha = _number(op.alpha, op)
    return OperatorForm(
        (Scaled, alpha.dtype, inner.key),
        [alpha, *inner.arrays],
        lambda arrays: Scaled(next(arrays), inner.built(arrays)),
    )


def _diagonal(op: Diagonal) -> OperatorForm:
    entries = op.entries
    entries = _number(entries, op) if type(entries) in (int, float) else _plain(entries)
    return OperatorForm(
        (Diagonal, entries.shape, entries.dtype, op.in_shape, op.dtype),
        [entries],
        lambda arrays: Diagonal(next(arrays), op.in_shape, op.dtype),
    )


def _matrix(op: Matrix) -> OperatorForm:
    a = _plain(op.a)
    return OperatorForm(
        (Matrix, a.shape, a.dtype, op.dtype),
        [a],
        lambda arrays: Matrix(next(arrays), op.dtype),
    )


def _number(a: float, op: JacobianOperator) -> np.ndarray:
    """A Python number, which does not change the precision, as an array that does not."""
    return np.asarray(a, np.empty(0, op.dtype).real.dtype)


def _plain(a: Any) -> np.ndarray:
    if isinstance(a, (np.ndarray, np.generic)):
        return np.asarray(a)
    raise OtherFormError


def _tape(op: TapeOperator) -> OperatorForm:
    """The derivative of one compiled function."""
    if not op.compiled:
        raise OtherFormError
    (together, entries), (results, ((_, whole),)) = op.steps
    if not whole.plain:
        raise OtherFormError
    residuals = whole.residuals
    # The form is kept with the operator, and must not hold it in turn.
    ends = op.count, op.inputs, op.outputs, op.in_slots, op.out_slots, op.in_tree, op.out_tree

    def built(arrays: Iterator[Any]) -> JacobianOperator:
        again = whole.with_residuals([next(arrays) for _ in residuals])
        steps = [(together, entries), (results, [(together, again)])]
        return TapeOperator(steps, False, *ends)

    nodes = tuple([(node, entry.k) for node, entry in entries])
    key = whole.primitive, whole.active, nodes, results, tuple(op.inputs), tuple(op.outputs)
    trees = op.in_tree, op.out_tree
    return OperatorForm((TapeOperator, key, trees, _types(residuals)), residuals, built)


def _types(arrays: list[Any]) -> tuple[Any, ...]:
    return tuple([(a.shape, a.dtype) for a in map(_with_dtype, arrays)])


def _with_dtype(a: Any) -> Any:
    return a if hasattr(a, "dtype") else np.asarray(a)


FORMS: dict[Any, Callable[[Any], OperatorForm]] = {  # by class
    Chain: _chain,
    Sum: _sum,
    Adjoint: _adjoint,
    FlatVectors: _form_of_flat,
    Tagged: _tagged,
    Identity: _identity,
    Scaled: _scaled,
    Diagonal: _diagonal,
    Matrix: _matrix,
    TapeOperator: _tape,
}


class FusedProgram:
    """The program of one form and direction; made when it is asked for the second time."""

    def __init__(self) -> None:
        self.asked = False
        self.program: Any = None

    def run(self, form: OperatorForm, adjoint: bool, seed: np.ndarray) -> Any:
        if self.program is None and not self.asked:
            self.asked = True
            return None
        y = fetched(self.on_device(form, adjoint, seed, seed))
        return y if y.ndim else y[()]

    def on_device(self, form: OperatorForm, adjoint: bool, seed: Any, example: np.ndarray) -> Any:
        """What the program gives where it runs; ``example`` is like the seed, and on the host."""
        program = self.program or _recorded(form, adjoint, example)
        y = program.arrays([*form.arrays, seed])[0]
        # Only now, as it is compiled, may another thread take a shorter way through it.
        self.program = program
        return y

    def bound(self, form: OperatorForm, seed: np.ndarray) -> Any:
        """The shortest way through the program, with the arrays of the form in it."""
        program, (slot,) = self.program.program, self.program.tape.outputs
        return program.short_call((seed,), [seed], slot, [slot], [False], held=form.arrays)


def _recorded(form: OperatorForm, adjoint: bool, seed: np.ndarray) -> Any:
    recorder = RecordTrace()
    example = [*map(fetched, form.arrays), seed.copy()]
    inputs = [recorder.input(a) for a in example]
    with outside_of_traces(), recorder:
        op = form.built(iter(inputs[:-1]))
        y = op.pullback(inputs[-1]) if adjoint else op.pushforward(inputs[-1])
    nodes = [node_of(recorder, y)]
    tape = Tape(
        "transposed operator" if adjoint else "operator",
        [t._node for t in inputs],
        needed(recorder.equations, nodes),
        nodes,
        tree.row(len(inputs)),
        tree.row(1),
    )
    return _first(form).another(tape, example)


def _first(form: OperatorForm) -> Any:
    """One of the compiled functions in a form; it keeps the programs."""
    return next(p for p in _parts(form.key) if isinstance(p, Primitive))


def _parts(key: Any) -> Iterator[Any]:
    for part in key:
        if type(part) is tuple:
            yield from _parts(part)
        else:
            yield part


def applied(op: JacobianOperator, adjoint: bool, seed: Any) -> Any:
    """Apply an operator as one program; None where it has to be applied part by part."""
    if type(seed) is not np.ndarray or seed.shape != (op.out_shape if adjoint else op.in_shape):
        return None
    found = _known(op)
    if not found:
        return None
    plan = found[1 + adjoint]
    y = plan.run(found[0], adjoint, seed)
    calls = _kept(op)["_bound_calls"]
    if y is not None and calls[adjoint] is None:
        calls[adjoint] = plan.bound(found[0], seed) or False
    return y


def applied_on_device(op: JacobianOperator, adjoint: bool, x: Any) -> Any:
    """Apply an operator to a vector in the memory of a device, where its residuals are; the result
    is a vector there.

    Raises
    ------
    DeviceError
        If its residuals are on the host, or it is not one program.
    ShapeError, DTypeError
    """
    found = _known(op)
    program = _first(found[0]).program if found else None
    if program is None or not program.on_device:
        raise op._not_on_device()
    taken = op.out_shape if adjoint else op.in_shape
    dtype = op.out_dtype if adjoint else op.in_dtype
    n = size_of(taken)
    target = program.target
    a = target.taken_in(x, op._label())
    if a.shape != (n,):
        raise ShapeError(f"{op._asked(adjoint)} takes vectors of shape ({n},), got {a.shape}")
    if a.dtype != dtype:
        raise DTypeError(f"{op._asked(adjoint)} takes vectors of dtype {dtype}, got {a.dtype}")
    plan = found[1 + adjoint]
    y = plan.on_device(found[0], adjoint, a.reshape(taken), np.ones(taken, dtype))
    given = op.in_shape if adjoint else op.out_shape
    return target.handed_back(y, (size_of(given),), x)


def _kept(op: JacobianOperator) -> dict[str, Any]:
    """Where an operator's programs are kept: the flat view of a derivative is made anew for each
    application."""
    return op.op.__dict__ if type(op) is FlatVectors else op.__dict__


def _known(op: JacobianOperator) -> Any:
    """What `_plans_of` says of an operator, kept with it."""
    known = _kept(op)
    found = known.get("_fused")
    if found is None:
        known.setdefault("_bound_calls", [None, None])  # see `JacobianOperator._bound`
        found = known["_fused"] = _plans_of(op)
    return found


def _plans_of(op: JacobianOperator) -> Any:
    """Form, program and program of the adjoint of an operator; () if it has no form."""
    try:
        form = form_of(op)
    except OtherFormError:
        return ()
    plans = _first(form).plans
    if len(plans) >= REMEMBERED:
        plans.clear()
    return (
        form,
        *[plans.setdefault((adjoint, form.key), FusedProgram()) for adjoint in (False, True)],
    )
