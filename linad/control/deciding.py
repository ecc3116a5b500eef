"""`while_loop`, `cond`, `switch`: what depends on values, inside of compiled loops as well."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from linad.arrays.traces import running_trace, running_traces
from linad.control.bodies import Body
from linad.control.branches import branch
from linad.control.closures import ClosureTrace, plain
from linad.control.known_bodies import known
from linad.control.lifted_numbers import with_numbers_lifted
from linad.control.memory_arrays import arranged
from linad.control.recorded_bodies import RecordedBody, leaf_of
from linad.control.replaced_methods import Hooks
from linad.control.rolling import rolled_body
from linad.control.whiles import affordable, too_many, while_
from linad.core import tree
from linad.core.array_type import Array
from linad.core.during import during
from linad.core.interrupts import is_interrupt
from linad.core.moving_regions import in_a_body
from linad.core.options import count, takes
from linad.core.primitive import Traced
from linad.core.shapes import check_function, name_of
from linad.core.showing import shown
from linad.core.tape import needed, tape_of, type_of
from linad.errors import ArgumentError, LinadError, ShapeError, TracerError

_every_branch: ContextVar[bool] = ContextVar("linad_every_branch", default=False)


def every_branch() -> AbstractContextManager[None]:
    """`cond` and `switch` on traced values record all branches, outside of loops as well.

    For programs that are written out and cannot be recorded again. Where the branches cannot be
    one operation, it stays a decision of Python's: one raises an error on values that it is not
    made for, or their results differ in shape.
    """
    return during(_every_branch, True)


@takes(limit=count(0).optional, checkpoints=count(1).optional)
def while_loop(
    test: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    *,
    limit: int | None = None,
    checkpoints: int | None = None,
) -> Any:
    """Repeat ``carry = body(carry)`` as long as ``test(carry)``; the loop is compiled once.

    Parameters
    ----------
    test : callable
        Takes the carry and gives one boolean. It has no derivative.
    body : callable
        Takes the carry and gives the next one, of the same structure, shapes and dtypes.
    init : container of arrays
        The first carry.
    limit : int, optional
        Most repetitions; any number by default.
    checkpoints : int, optional
        How many carries a derivative in reverse mode keeps on its way forward; by default from 64
        to 256, or up to 1,024 where these are small (32 bytes each, or less). It bounds memory,
        never the number of repetitions.

    Returns
    -------
    carry : container of arrays
        The first one for which the test is false.

    Raises
    ------
    LoopLimitError
        If the test is still true after ``limit`` repetitions.

    Notes
    -----
    Test and body run once, on ``init``, when the loop is recorded. In reverse mode a loop that has
    no more repetitions than carries are kept needs no second run. Parts of a longer one are run
    again, each with as many carries kept, or 512 where these are small; parts of a very long one
    more than once.

    Examples
    --------
    >>> import numpy as np, linad
    >>> def root(a):  # Newton's method
    ...     return linad.while_loop(lambda x: abs(x * x - a) > 1e-12, lambda x: (x + a / x) / 2, a)
    >>> round(float(linad.grad(root)(4.0)), 9)
    0.25
    """
    check_function("while_loop", test, "test")
    check_function("while_loop", body, "body")
    cuts: list[int] = []

    def step(carry: Any, _: Any) -> Any:
        go = test(carry)
        trace: Any = running_trace()
        cuts.append(len(trace.equations))
        if np.shape(go) != () or np.result_type(getattr(go, "dtype", type(go))).kind != "b":
            got = type_of(go) if hasattr(go, "dtype") else type(go).__name__
            raise ArgumentError(
                f"while_loop: {name_of(test)} must return one boolean, got {got}; compare, or use "
                f"np.any or np.all"
            )
        with np.errstate(all="ignore"):  # it may not be its turn to run
            return body(carry), (go,)

    def again(carry: Array) -> None:
        if test(carry):
            body(carry)

    try:
        recorded = RecordedBody("while_loop", name_of(body), step, init, [], again)
    except LinadError:
        raise
    except Exception as failure:  # the body's own; Python decides whether it runs at all
        if is_interrupt(failure):
            raise
        leaves, structure = tree.flatten(init)
        carry = tree.unflatten(structure, [c.copy() if hasattr(c, "copy") else c for c in leaves])
        return _while_by_python(test, body, carry, limit)
    if recorded.by_python:
        return _while_by_python(test, body, recorded.first_carry(), limit)
    given = [*recorded.init, *recorded.captured]
    (asked, done), operands = with_numbers_lifted(_parts(recorded, cuts[-1]), given, _finished)
    rows = int(checkpoints) if checkpoints else affordable(done)
    if limit is not None:
        rows = max(1, min(rows, int(limit)))
    run = while_(asked, done, 0, None if limit is None else int(limit), rows)
    found = run(*operands)
    return tree.unflatten(recorded.tree, list(found[: len(recorded.init)]))


def _while_by_python(
    test: Callable[..., Any], body: Callable[..., Any], carry: tuple[Any, ...], limit: int | None
) -> Any:
    """Every repetition, one by one: Python asks for integers that are others in each."""
    k = 0
    while test(carry):
        if k == limit:
            raise too_many(name_of(body), k)
        carry, k = body(carry), k + 1
    return carry


def _parts(recorded: RecordedBody, cut: int) -> list[Body]:
    """Test and body, which were recorded one after the other, as they were recorded."""
    whole, equations = recorded.whole, recorded.equations
    *carries, go = whole.tape.outputs
    inputs = whole.tape.inputs
    asked = tape_of("test", inputs, needed(equations[:cut], [go]), [go])
    done = tape_of(whole.tape.name, inputs, needed(equations, carries), carries)
    return [Body(t, whole.example, len(carries), 0) for t in (asked, done)]


def _finished(parts: Sequence[Body]) -> list[Body]:
    """Test and body as the loop has them."""
    made = []
    for part, rolls in zip(parts, (False, True), strict=True):
        tape, nc = arranged(part.tape), part.carries
        tape = rolled_body(tape, range(nc), part.example) if rolls else tape
        made.append(known(Body(tape, part.example, nc, 0)))
    return made


def cond(condition: Array, yes: Callable[..., Any], no: Callable[..., Any], *operands: Any) -> Any:
    """Return ``yes(*operands)`` where the condition holds, and ``no(*operands)`` elsewhere.

    Parameters
    ----------
    condition : bool or array
        One boolean.
    yes, no : callable
        Take the operands and give containers of arrays, of one structure.
    *operands : containers of arrays

    Returns
    -------
    y : container of arrays

    Raises
    ------
    ArgumentError
        If the condition is not one boolean, or a branch not a function.
    ShapeError
        If the branches return unlike things where both are recorded.

    Notes
    -----
    Only the branch that is taken runs. In the body of a loop that linad compiles both are
    recorded, and each repetition runs one; so they are in a model of `linad.onnx`. Elsewhere it
    is a decision of Python's: `linad.jit` records a branch when it is first taken.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.grad(lambda x: linad.cond(x > 0, np.sqrt, lambda x: 0 * x, x))(4.0)
    np.float64(0.25)
    """
    check_function("cond", yes, "yes")
    check_function("cond", no, "no")
    value = plain(condition)
    if np.asarray(value).dtype.kind not in "biuf":
        raise ArgumentError(f"cond: the condition must be one boolean, got {shown(value)}")
    if np.shape(value) != ():
        raise ArgumentError(
            f"cond: the condition must be one boolean, got {type_of(np.asarray(value))}; "
            f"np.where chooses entry by entry"
        )
    recorded = _all_recorded(
        "cond", condition, lambda: np.where(condition, 0, 1), (yes, no), operands
    )
    if recorded is not None:
        return recorded[0]
    return yes(*operands) if condition else no(*operands)


def switch(index: Array, branches: Any, *operands: Any) -> Any:
    """Return ``branches[index](*operands)``.

    Parameters
    ----------
    index : int or array
        One integer, from 0 to the number of branches less one.
    branches : sequence of callable
    *operands : containers of arrays

    Returns
    -------
    y : container of arrays

    Raises
    ------
    ArgumentError
        If the index is not one integer, or of no branch.

    Notes
    -----
    As `linad.cond`, for more than two branches.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.switch(1, [np.sin, np.cos], 0.0)
    np.float64(1.0)
    """
    if not isinstance(branches, (list, tuple)):
        raise ArgumentError(f"switch: branches must be a list of functions, got {shown(branches)}")
    branches = tuple(branches)
    for k, f in enumerate(branches):
        check_function("switch", f, f"branches[{k}]")
    value = np.asarray(plain(index))
    if value.shape != () or value.dtype.kind not in "iu":
        raise ArgumentError(f"switch: the index must be one integer, got {type_of(value)}")
    if not 0 <= value < len(branches):
        raise ArgumentError(f"switch: index {value} is not one of {len(branches)} branches")
    recorded = _all_recorded("switch", index, lambda: index, branches, operands)
    return branches[int(index)](*operands) if recorded is None else recorded[0]


def _all_recorded(
    name: str,
    given: Array,
    index: Callable[[], Any],
    branches: tuple[Any, ...],
    operands: tuple[Any, ...],
) -> tuple[Any] | None:
    """The result where all branches are recorded; None for a decision of Python's."""
    if in_a_body.get():
        return (_choose(name, index(), branches, operands),)
    if not (_every_branch.get() and isinstance(given, Traced)):
        return None
    try:
        return (_choose(name, index(), branches, operands),)
    except (LinadError, ValueError, ArithmeticError, LookupError):
        return None  # a branch that is not taken may not be made for these values


@contextmanager
def taking_over(recorder: ClosureTrace) -> Iterator[None]:
    """What is computed of values of traces around a recorder is part of what it records.

    In these it would be computed whichever branch is taken; and a cotangent of zero times an
    infinite slope, of a branch that is not taken, is NaN.
    """
    methods = {"apply": recorder.apply, "constant": recorder.constant, "write": _refuse_write}
    around = list(itertools.dropwhile(lambda t: t is not recorder, running_traces()))[1:]
    hooks = recorder.hooks = Hooks(around, methods)
    hooks.set()
    try:
        yield
    finally:
        hooks.remove()
        methods.clear()  # they refer to the recorder


def _refuse_write(*_: Any) -> None:
    raise TracerError(
        "an array that was made outside of a branch is written in it; give it to the branch as an "
        "operand, and return it"
    )


def _choose(name: str, index: Array, branches: tuple[Any, ...], operands: tuple[Any, ...]) -> Any:
    leaves, in_tree = tree.flatten(operands)
    leaves = [v if hasattr(v, "dtype") else np.asarray(v)[()] for v in leaves]
    recorded = []
    form: Any = None
    for f in branches:
        recorder = ClosureTrace()
        ins = [recorder.input(plain(v)) for v in leaves]
        nodes = [t._node for t in ins]
        with recorder, taking_over(recorder), np.errstate(all="ignore"):  # it may not be its turn
            found, out_tree = tree.flatten(f(*tree.unflatten(in_tree, list(ins))))
            found = [leaf_of(recorder, v) for v in found]
            recorder.check()
        types = [type_of(v) for v in found]
        if form is None:
            form = out_tree, types
        elif form != (out_tree, types):
            raise ShapeError(
                f"{name}: the branches must give the same, got {tree.describe(form[0])} of "
                f"{', '.join(form[1])} from {name_of(branches[0])} and "
                f"{tree.describe(out_tree)} of {', '.join(types)} from {name_of(f)}"
            )
        recorded.append((name_of(f), nodes, recorder, found))
    return tree.unflatten(form[0], list(branch(index, leaves, recorded)))
