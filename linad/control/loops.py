"""`scan`, `fori_loop`, `map`: loops that are recorded once and compiled once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.control.closures import plain
from linad.control.recorded_bodies import RecordedBody
from linad.control.repeat import repeat
from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import FLAG, count, takes
from linad.core.shapes import check_function, name_of
from linad.errors import ArgumentError, ShapeError, TreeError


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
        If a carry comes out of ``f`` with another structure, shape or dtype than it went in with;
        the message names it.
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
    return _repeated("scan", name_of(f), f, init, xs, length, reverse, checkpoints)


def _repeated(
    name: str,
    called: str,
    f: Callable[[Any, Any], Any],
    init: Any,
    xs: Any,
    length: int | None = None,
    reverse: bool = False,
    checkpoints: int | None = None,
) -> tuple[Any, Any]:
    """`scan`, for the function of linad's and that of the user's with these names."""
    rows, rows_tree = ([], None) if xs is None else tree.flatten(xs)
    n = _length(name, rows, length)
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
                f"{name}: {called} must return the next carry and a result, got "
                f"{type(made).__name__}; return (carry, None) where there is no result"
            )
        return made

    def again(carry: Any) -> None:
        if n:
            step(carry, [r[first] for r in rows])

    recorded = RecordedBody(name, called, step, init, rows_example, again)
    if recorded.by_python and n:
        return recorded.run_by_python(step, rows, n, reverse)
    if n == 0:
        if recorded.results:
            without = ", or return (carry, None)" if name == "scan" else ""
            raise ShapeError(
                f"{name}: a loop without repetitions has no results to stack; give xs "
                f"with at least one row{without}"
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
    body, operands = recorded.with_operands(rows)
    found = repeat(body, len(rows[0]), reverse, True)(count, *operands)
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

    Raises
    ------
    TreeError, ShapeError, DTypeError, GuardError
        As for `linad.scan`.

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

    rows, called = np.arange(start, stop), name_of(body)
    return _repeated("fori_loop", called, step, init, rows, checkpoints=checkpoints)[0]


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

    Raises
    ------
    ShapeError
        If the leaves of ``xs`` have unlike numbers of rows.
    GuardError
        If a Python decision in ``f`` would be taken otherwise for a later row.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.map(lambda x: np.sum(x) ** 2, np.ones((3, 2)))
    array([4., 4., 4.])
    """
    check_function("map", f)
    return _repeated("map", name_of(f), lambda _, x: ((), f(x)), (), xs)[1]


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
        what = "the leaves of xs" if length is None else "xs and length"
        raise ShapeError(f"{name}: {what} must agree on the number of repetitions, got {found}")
    return found[0]
