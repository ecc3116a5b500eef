"""`scan`, `fori_loop`, `map`: loops that are recorded once and compiled once."""

import contextlib
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.control import patterns  # noqa: F401  patterns of loops register themselves
from linad.control.bodies import Body
from linad.control.body_trace import BodyTrace
from linad.control.closures import ClosureTrace, plain
from linad.control.known_bodies import known
from linad.control.memory_arrays import arranged
from linad.control.repeat import repeat
from linad.control.rolling import rolled_body
from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import FLAG, count, takes
from linad.core.shapes import check_function, name_of
from linad.core.tape import needed, tape_of, type_of
from linad.errors import ArgumentError, DTypeError, ShapeError, TreeError
from linad.transforms.record import node_of

LOOP_BYTES = 256 * 2**20
"""Memory for the carries of one loop from which its derivative keeps fewer of them."""


@takes(length=count(0).optional, reverse=FLAG, checkpoints=count(1).optional)
def scan(
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Array | None = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    checkpoints: int | None = None,
) -> tuple[Any, Any]:
    """Repeat ``carry, y = f(carry, x)`` for each row x of ``xs``; the loop is compiled once.

    Parameters
    ----------
    f : callable
        Takes the carry and a row, and returns the next carry and a result (None for none). It
        may refer to traced values around it.
    init : container of arrays
        The first carry. Structure, shapes and dtypes stay the same from repetition to repetition.
    xs : container of arrays, optional
        Rows along the first axis.
    length : int, optional
        Number of repetitions; that of the rows by default.
    reverse : bool
        Whether to begin with the last row. Results lie as the rows they were made of.
    checkpoints : int, optional
        How many carries a derivative in reverse mode may keep; all by default, or as many as fit
        into 256 MB. With k of them, n repetitions are run once more for each factor of k in n.

    Returns
    -------
    carry : container of arrays
        The last one.
    ys : container of arrays
        The results of all repetitions, along a new first axis; None where f gives None.

    Raises
    ------
    TreeError, ShapeError, DTypeError
        If a carry goes in and comes out as something else, naming it.
    GuardError
        If a Python decision in ``f`` would be taken otherwise in a later repetition.

    Notes
    -----
    ``f`` runs once, on the values of the first repetition. A derivative in reverse mode keeps
    the carry of each repetition that it reads, and computes the body once more from it.

    Examples
    --------
    >>> import numpy as np, linad
    >>> def step(y, _):
    ...     return y + 0.1 * np.sin(y), y
    >>> y, path = linad.scan(step, 1.0, length=3)
    >>> path.shape
    (3,)
    >>> linad.grad(lambda y: linad.scan(step, y, length=3)[0])(1.0)
    np.float64(1.1461121532208438)
    """
    check_function("scan", f)
    rows, rows_tree = ([], None) if xs is None else tree.flatten(xs)
    n = _length("scan", rows, length)
    rows = [r if hasattr(r, "dtype") else np.asarray(r) for r in rows]
    first = n - 1 if reverse else 0
    if n == 0:
        rows_example = [np.zeros(r.shape[1:], r.dtype)[()] for r in rows]
    else:
        rows_example = [plain(r)[first] for r in rows]

    def step(carry: Any, row: list[Any]) -> Any:
        made = f(carry, tree.unflatten(rows_tree, row) if rows_tree is not None else None)
        if not isinstance(made, tuple) or len(made) != 2:
            raise TreeError(
                f"scan: {name_of(f)} must return the next carry and a result, got "
                f"{type(made).__name__}; return (carry, None) where there is no result"
            )
        return made

    def again(carry: Any) -> None:
        if n:
            step(carry, [r[first] for r in rows])

    recorded = RecordedBody("scan", name_of(f), step, init, rows_example, again)
    if recorded.by_python and n:
        return recorded.run_by_python(step, rows, n, reverse)
    if n == 0:
        if recorded.results:
            raise ShapeError(
                "scan: a loop without repetitions has no results to stack; give xs "
                "with at least one row, or return (carry, None)"
            )
        return init, recorded.unflatten_results([])
    return recorded.run(rows, n, reverse, checkpoints)


def counted_scan(
    f: Callable[[Any, Any], Any], init: Array, xs: Any, count: Array, *, reverse: bool = False
) -> Any:
    """`scan` over the first ``count`` rows alone, a traced integer; other results are zero.

    Parameters
    ----------
    f, init
        As for `scan`.
    xs : container of arrays
    count : int or Tracer
        At most the number of rows.
    reverse : bool
        Whether row ``count - 1`` comes first.
    """
    rows, rows_tree = tree.flatten(xs)

    def step(carry: Array, row: list[Any]) -> Any:
        return f(carry, tree.unflatten(rows_tree, row))

    def again(carry: Any) -> None:
        step(carry, [r[0] for r in rows])

    recorded = RecordedBody("scan", name_of(f), step, init, [plain(r)[0] for r in rows], again)
    run = repeat(recorded.body, len(rows[0]), reverse, True)
    found = run(count, *recorded.init, *rows, *recorded.captured)
    carries = len(recorded.init)
    carry = tree.unflatten(recorded.tree, list(found[:carries]))
    return carry, recorded.unflatten_results(list(found[carries:]))


@takes(checkpoints=count(1).optional)
def fori_loop(
    start: int,
    stop: int,
    body: Callable[[Any, Any], Any],
    init: Any,
    *,
    checkpoints: int | None = None,
) -> Any:
    """Repeat ``carry = body(i, carry)`` for i from ``start`` to ``stop``, compiled once.

    Parameters
    ----------
    start, stop : int
        The first i, and the one after the last.
    body : callable
        Takes i, a traced integer, and the carry; returns the next carry.
    init : container of arrays
        The first carry.
    checkpoints : int, optional
        As for `linad.scan`.

    Returns
    -------
    carry : container of arrays
        The last one.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.fori_loop(0, 4, lambda i, s: s + i, 0.0)
    np.float64(6.0)
    """
    check_function("fori_loop", body, "body")
    for name, value in (("start", start), ("stop", stop)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ArgumentError(
                f"fori_loop: {name} must be an integer, got {type(value).__name__}; a number of "
                f"repetitions that depends on values is a linad.while_loop"
            )
    if stop <= start:
        return init

    def step(carry: Any, i: Array) -> Any:
        return body(i, carry), None

    return scan(step, init, np.arange(start, stop), checkpoints=checkpoints)[0]


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """Apply ``f`` to each row of ``xs`` and stack the results; compiled once.

    Parameters
    ----------
    f : callable
        Takes a row, or a container of rows, and returns a container of arrays.
    xs : container of arrays
        Rows along the first axis.

    Returns
    -------
    ys : container of arrays
        The results along a new first axis.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.map(lambda x: np.sum(x) ** 2, np.ones((3, 2)))
    array([4., 4., 4.])
    """
    check_function("map", f)
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def _length(name: str, rows: Sequence[Any], length: int | None) -> int:
    found = []
    for r in rows:
        shape = np.shape(r)
        if not shape:
            raise ShapeError(f"{name}: xs must have a first axis of rows, got a number")
        found.append(shape[0])
    if length is not None:
        found.append(int(length))
    if not found:
        raise ArgumentError(f"{name}: give xs, or length=n for a loop without rows")
    if len(set(found)) > 1:
        raise ShapeError(
            f"{name}: xs and length must agree on the number of repetitions, got {found}"
        )
    return found[0]


class RecordedBody:
    """A body that was recorded on the first repetition, and what it is called with.

    Parameters
    ----------
    name, called : str
        Of linad's function, and of the user's.
    step : callable
        ``step(carry, rows) -> carry, results``.
    init : container
    rows : list
        Of the first repetition.
    again : callable
        ``again(carry)`` does the first repetition by Python. If it raises while it is recorded, the
        traces around have to see why: a ``try`` around the loop decides upon it.

    Attributes
    ----------
    by_python : bool
        Whether Python asks for integers that are others in other repetitions, to read a list or
        a plain array there: then it has to run them all.
    """

    def __init__(
        self,
        name: str,
        called: str,
        step: Callable[..., Any],
        init: Any,
        rows: list[Any],
        again: Callable[..., Any],
    ) -> None:
        self.name, self.again = name, again
        carries, self.tree = tree.flatten(init)
        weak = [type(c) in (int, float, complex) for c in carries]
        self.init = [c if hasattr(c, "dtype") else np.asarray(c)[()] for c in carries]
        made = self._recorded(called, step, rows)
        wanted = [v.dtype if w and v.shape == () else None for w, v in zip(weak, made, strict=True)]
        if any(
            w is not None and w != plain(c).dtype for w, c in zip(wanted, self.init, strict=True)
        ):
            # Python numbers take the dtype that the body makes of them.
            self.init = [
                c if w is None else w.type(c) for c, w in zip(self.init, wanted, strict=True)
            ]
            made = self._recorded(called, step, rows)
        for k, (c, v) in enumerate(zip(self.init, made, strict=True)):
            c = plain(c)
            if (c.shape, c.dtype) != (v.shape, v.dtype):
                error = ShapeError if c.shape != v.shape else DTypeError
                remedy = "" if c.shape != v.shape else f"; begin with dtype {v.dtype}"
                raise error(
                    f"{name}: carry{tree.leaf_paths(self.tree)[k]} went in as {type_of(c)} and "
                    f"came out of {called} as {type_of(v)}{remedy}"
                )

    def _recorded(self, called: str, step: Callable[..., Any], rows: list[Any]) -> list[Any]:
        try:
            return self._record(called, step, rows)
        except Exception as failure:
            if running_trace() is not None:
                with contextlib.suppress(type(failure)):
                    self.again(self.first_carry())
            raise

    def _record(self, called: str, step: Callable[..., Any], rows: list[Any]) -> list[Any]:
        recorder = ClosureTrace()
        carries = [recorder.input(plain(c)) for c in self.init]
        given = [recorder.input(r) for r in rows]
        nodes = [t._node for t in (*carries, *given)]
        with recorder:
            carry, results = step(tree.unflatten(self.tree, list(carries)), list(given))
            found, out_tree = tree.flatten(carry)
            if out_tree != self.tree:
                raise TreeError(
                    f"{self.name}: the carry went in as {tree.describe(self.tree)} and came out of "
                    f"{called} as {tree.describe(out_tree)}; return the carry as it came"
                )
            self.results, self.results_tree = tree.flatten(results)
            leaves = [leaf_of(recorder, v) for v in (*found, *self.results)]
            outputs = [node_of(recorder, v) for v in leaves]
            recorder.check()
        self.captured = [held for held, _ in recorder.captured]
        inputs = [*nodes, *[t._node for _, t in recorder.captured]]
        example = [*[plain(c) for c in self.init], *rows, *[t._value for _, t in recorder.captured]]
        asked = recorder.asked()
        count = len(self.init)
        pairs = zip(nodes[:count], outputs[:count], strict=True)
        changing = [before for before, after in pairs if before is not after]
        self.by_python = not asked.isdisjoint([*changing, *nodes[count:]])
        tape = tape_of(called, inputs, needed(recorder.equations, outputs), outputs)
        self.equations = recorder.equations
        self.whole = Body(tape, example, len(self.init), len(rows))
        return self.whole.outputs[: len(self.init)]

    @functools.cached_property
    def body(self) -> Body:
        """The body; the one of an earlier recording that computes the same, if there is one."""
        whole = self.whole
        tape = rolled_body(arranged(whole.tape), self.init, whole.example)
        return known(Body(tape, whole.example, whole.carries, whole.rows))

    def unflatten_results(self, leaves: list[Any]) -> Any:
        return tree.unflatten(self.results_tree, leaves)

    def first_carry(self) -> Any:
        """The first carry, in arrays that a body may write into."""
        return tree.unflatten(self.tree, [c.copy() for c in self.init])

    def run_by_python(
        self, step: Callable[..., Any], rows: list[Any], n: int, reverse: bool
    ) -> Any:
        """Every repetition, one by one."""
        carry = self.first_carry()
        made: list[Any] = [None] * n
        for k in range(n - 1, -1, -1) if reverse else range(n):
            carry, results = step(carry, [r[k] for r in rows])
            made[k] = tree.flatten(results)[0]
        return carry, self.unflatten_results([np.stack(ys) for ys in zip(*made, strict=True)])

    def run(self, rows: list[Any], n: int, reverse: bool, checkpoints: int | None) -> Any:
        operands = [*self.init, *rows, *self.captured]
        found = repeated(self.body, n, reverse, operands, checkpoints or affordable(self.body, n))
        count = len(self.init)
        carry = tree.unflatten(self.tree, list(found[:count]))
        return carry, self.unflatten_results(list(found[count:]))


def leaf_of(recorder: ClosureTrace, value: Array) -> Any:
    """A result of a function that is being recorded, as an array, traced or not.

    What is read anew of an array that was written is read while the function is recorded.
    """
    value = recorder.lifted(value)
    if isinstance(value, Tracer):
        refresh_node(value)
    return value if hasattr(value, "dtype") else np.asarray(value)[()]


def affordable(body: Body, n: int) -> int | None:
    """How many carries to keep; None for all."""
    return None if n * body.carry_bytes <= LOOP_BYTES else math.isqrt(n - 1) + 1


def repeated(
    body: Body, n: int, reverse: bool, operands: Sequence[Any], checkpoints: int | None
) -> tuple[Any, ...]:
    """Run a loop, as a loop of loops where no level may keep more than that many carries."""
    if checkpoints is None or n <= checkpoints:
        return repeat(body, n, reverse)(*operands)  # type: ignore[no-any-return]
    checkpoints = max(2, checkpoints)
    nc, nx = body.carries, body.rows
    length = -(-n // checkpoints)
    count, rest = divmod(n, length)
    carry, constants = list(operands[:nc]), list(operands[nc + nx :])
    rows = operands[nc : nc + nx]
    # What is left over is run last.
    low, high = (rest, n) if reverse else (0, n - rest)
    main = [r[low:high].reshape((count, length, *r.shape[1:])) for r in rows]
    piece = body.once(
        ("piece", length, reverse, checkpoints), lambda: _piece(body, length, reverse, checkpoints)
    )
    found = repeat(piece, count, reverse)(*carry, *main, *constants)
    carry = list(found[:nc])
    made = [y.reshape((count * length, *y.shape[2:])) for y in found[nc:]]
    if rest:
        left = [r[:low] if reverse else r[high:] for r in rows]
        found = repeated(body, rest, reverse, [*carry, *left, *constants], checkpoints)
        carry = list(found[:nc])
        pairs = zip(found[nc:], made, strict=True)
        made = [np.concatenate([a, b] if reverse else [b, a]) for a, b in pairs]
    return (*carry, *made)


def _piece(body: Body, length: int, reverse: bool, checkpoints: int) -> Body:
    """A body that repeats another."""
    nc, nx = body.carries, body.rows
    example = list(body.example)
    example[nc : nc + nx] = [
        np.broadcast_to(x, (length, *np.shape(x))) for x in example[nc : nc + nx]
    ]
    recorder = BodyTrace()
    ins = [recorder.input(np.array(v)[()]) for v in example]
    nodes = [t._node for t in ins]
    with recorder:
        found = repeated(body, length, reverse, ins, checkpoints)
        outputs = [node_of(recorder, v) for v in found]
    tape = tape_of(body.tape.name, nodes, needed(recorder.equations, outputs), outputs)
    return known(Body(tape, [t.concrete for t in ins], nc, nx))
