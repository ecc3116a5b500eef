"""Steps of a template as functions, each written for what it is: a long loop is recorded in them.

A sum of two results of the repetition asks, in one expression, whether the operation, its operands
and the error state are those that are expected, computes it, and makes the tracer of the result.
A result is known by its node, an int that is made for it alone: one comparison tells its trace,
its step and its repetition. What differs, or takes more than that, goes to
`ExpectingTrace._expected`, which knows all cases; a written step may refuse what it likes.

The tracer of a small result is used again in the next repetition, if nobody else holds it then. So
is a view of an array from outside the loop, as it is: a slice of an argument is taken once.
"""

import functools
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linad.arrays.buffers import View, attach_view, is_settled
from linad.arrays.tracer import Tracer
from linad.control.template_steps import (
    BITS,
    CONSTANT,
    FIXED,
    MOVING,
    RELATIVE,
    ExpectedStep,
    same_constant,
    same_plain,
)
from linad.core.error_state import state
from linad.core.interrupts import is_interrupt
from linad.core.memory_layouts import copy_in_layout
from linad.core.shapes import size_of
from linad.core.tape import Var

if TYPE_CHECKING:
    from linad.control.template_following import ExpectingTrace

SMALL = 4096
"""Bytes up to which a result's tracer is kept until the next repetition."""


def written_step(trace: "ExpectingTrace", m: int, step: ExpectedStep) -> Callable[..., Any]:
    """Step ``m`` of a template as a function, ``trace._expected`` where it is none of the simple
    ones."""
    kinds = tuple([kind for kind, _ in step.operands])
    back = [x for kind, x in step.operands if kind == RELATIVE]
    view = step.primitive.view
    if (
        len(step.results) != 1
        or step.place is not None
        or any([x & (1 << BITS) - 1 or x >> BITS > trace.size for x in back])
        or (view and (kinds not in ((RELATIVE,), (FIXED,)) or not _is_simple_view(trace, m, step)))
    ):
        return trace._expected
    shape, dtype = step.result
    small = size_of(shape) * dtype.itemsize <= SMALL
    # Of a ufunc its operands, which are compared, say what comes.
    of_ufunc = isinstance(step.primitive.impl, np.ufunc)
    other_result = "" if of_ufunc else "y.shape != shape or y.dtype is not dtype or "
    form = _Form(kinds, _comparison(step), other_result, view, small, m == trace.size - 1)
    operands = [
        (m - (x >> BITS)) % trace.size if kind == RELATIVE else x for kind, x in step.operands
    ]
    return _maker(form)(trace, m, step, *operands)  # type: ignore[no-any-return]


def _is_simple_view(trace: "ExpectingTrace", m: int, step: ExpectedStep) -> bool:
    """Whether neither what is written nor the layout of an array says what a view is of."""
    stretch = trace.stretch
    read = stretch.repetition(stretch.count - 1)[m].inputs[0]
    reshaped = step.primitive.name == "reshape" and len(read.shape) > 1
    return "region" not in step.params and not reshaped


class _Form(NamedTuple):
    """What the texts of steps differ in: kinds of operands, how parameters and the result are
    compared, whether it is a view, or small, and whether it is the last one of a repetition."""

    kinds: tuple[int, ...]
    parameters: str
    other_result: str
    view: bool
    small: bool
    last: bool


def _comparison(step: ExpectedStep) -> str:
    """A test that parameters are the expected ones."""
    if not step.params:
        return "not params"
    if step.compared is not None and [(k, types) for k, _, types in step.compared] == [
        ("index", None)
    ]:
        return 'params["index"] == given["index"]'  # all slices
    return "same_plain(params, given, known)"


_OF_THE_TEXTS = {
    "attach_view": attach_view,
    "bare": object.__new__,
    "copy_in_layout": copy_in_layout,
    "getrefcount": sys.getrefcount,
    "getweakrefcount": weakref.getweakrefcount,
    "is_interrupt": is_interrupt,
    "is_settled": is_settled,
    "ndarray": np.ndarray,
    "ref": weakref.ref,
    "same_constant": same_constant,
    "same_plain": same_plain,
    "state": state,
    "warnings": warnings,
    "BITS": BITS,
    "Tracer": Tracer,
}


@functools.lru_cache(256)
def _maker(form: _Form) -> Callable[..., Any]:
    """What makes a function of a step of that form."""
    scope = {**_OF_THE_TEXTS, "ALONE": ALONE, "is_kept_view": is_kept_view}
    exec(compile(_text(form), "<step of a loop>", "exec"), scope)
    return scope["make"]  # type: ignore[no-any-return]


_STEP = """
def make(trace, m, step, {places}):
    wanted, given, known = step.primitive, step.params, step.compared
    impl, (shape, dtype), general = wanted.impl, step.result, trace._expected
    usual_state, usual_filters = trace.errors.state, trace.errors.filters
    nodes, kept, values, stands = trace.nodes, trace.kept, trace.values, trace.stands
    number, onward = m << BITS, m + 1

    def written(primitive, args, params):
        try:
            {names}, = args
            expected = (
                primitive is wanted
                and {tests}
                and state() is usual_state
                and warnings.filters is usual_filters
            )
            if expected:
                {computed}
        except Exception as failure:  # in the long way it is raised again, or there is none
            if is_interrupt(failure):
                raise
            expected = False
        if not expected or {other_result}trace.over:
            return general(primitive, args, params)
        {result}
        result._node = nodes[m] = trace.begun + number
        {moved}
        {onward}
        return result

    return written
"""

_TESTS = {
    RELATIVE: "a{i}._node is nodes[x{i}] and (a{i}._buffer is None or is_settled(a{i}._buffer))",
    FIXED: """(found{i} := stands.get(id(a{i}))) is not None and found{i}[0] is a{i}
                and found{i}[1] is a{i}._node and found{i}[2]._node is x{i}
                and (a{i}._buffer is None or is_settled(a{i}._buffer))""",
    CONSTANT: "(a{i} is x{i} or same_constant(a{i}, x{i}))",
    MOVING: "x{i}.takes(a{i})",
}
_VALUES = {RELATIVE: "a{i}._value", FIXED: "found{i}[2]._value", CONSTANT: "a{i}", MOVING: "a{i}"}

_AGAIN = "result is not None and getrefcount(result) == ALONE and getweakrefcount(result) == 1"

_NEW = """
result = bare(Tracer)
result._trace = trace
trace.made.append(ref(result))"""

_FILLED = """
result._value = y
result._buffer = result._square = None
result._whole = False"""

_KEPT = f"""
result = kept[m]
if not ({_AGAIN}):
    {_NEW.replace(chr(10), chr(10) + "    ").strip()}
    kept[m] = result
{_FILLED.strip()}"""

_SAME_VIEW = f"""
result = kept[m]
again = {_AGAIN} and values[m] is {{value}} and is_settled(result._buffer)
y = result._value if again else impl({{value}}, **params)"""

_VIEW = f"""
if not again:
    {(_NEW + _FILLED).replace(chr(10), chr(10) + "    ").strip()}
    attach_view(result, {{stand}}, primitive, params)
    if is_kept_view(result):
        kept[m], values[m] = result, {{value}}"""


def _text(form: _Form) -> str:
    """A function that makes functions of steps."""
    numbered = list(enumerate(form.kinds))
    tests = [_TESTS[kind].format(i=i) for i, kind in numbered]
    tests.append(form.parameters)
    values = [_VALUES[kind].format(i=i) for i, kind in numbered]
    moved = [
        f"x{i}.values.append(copy_in_layout(a{i}) if type(a{i}) is ndarray else a{i})"
        for i, kind in numbered
        if kind == MOVING
    ]
    keywords = "" if form.parameters == "not params" else ", **params"
    computed = f"y = impl({', '.join(values)}{keywords})"
    result = _KEPT if form.small else _NEW + _FILLED
    if form.view:
        stand = "a0" if form.kinds[0] == RELATIVE else "found0[2]"
        computed = _SAME_VIEW.format(value=values[0])
        result = _VIEW.format(value=values[0], stand=stand)
    return _STEP.format(
        places=", ".join([f"x{i}" for i, _ in numbered]),
        names=", ".join([f"a{i}" for i, _ in numbered]),
        tests="\n                and ".join(tests),
        other_result=form.other_result,
        computed=computed.strip().replace("\n", "\n" + 16 * " "),
        result=result.strip().replace("\n", "\n" + 8 * " "),
        moved="\n        ".join(moved),
        onward="trace._begin_anew()" if form.last else "trace.at = onward",
    )


def is_kept_view(result: Tracer) -> bool:
    """Whether a view is one of an array from outside the loop. It is made ready to be kept: it no
    longer holds the array, itself a view maybe, of which it was taken."""
    view = result._buffer
    if type(view) is not View or type(view.root._node) is not Var:
        return False
    view.where()
    return True


def _count_alone() -> int:
    kept = [object()]
    result = kept[0]
    return sys.getrefcount(result)


ALONE = _count_alone()
"""What `sys.getrefcount` says of a local variable that else a list holds; Pythons differ in it."""
