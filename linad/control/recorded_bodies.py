"""The body of a loop, recorded on its first repetition."""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.control.bodies import Body
from linad.control.closures import ClosureTrace, plain
from linad.control.known_bodies import known
from linad.control.lifted_numbers import with_numbers_lifted
from linad.control.loops_of_loops import affordable, repeated
from linad.control.memory_arrays import arranged
from linad.control.rolling import rolled_body
from linad.core import tree
from linad.core.array_type import Array
from linad.core.tape import needed, tape_of, type_of
from linad.errors import DTypeError, ShapeError, TreeError
from linad.transforms.record import node_of


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
        self.searches = recorder.may_search()
        self.whole = Body(tape, example, len(self.init), len(rows))
        return self.whole.outputs[: len(self.init)]

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

    def with_operands(self, rows: list[Any]) -> tuple[Body, list[Any]]:
        """The body of a loop over rows, that of an earlier recording if one computes the same; and
        all that the loop gives it."""
        given = [*self.init, *rows, *self.captured]
        (body,), operands = with_numbers_lifted([self.whole], given, self._finished)
        return body, operands

    def _finished(self, recorded: Sequence[Body]) -> list[Body]:
        (whole,) = recorded
        tape = rolled_body(arranged(whole.tape), self.init, whole.example)
        body = known(Body(tape, whole.example, whole.carries, whole.rows))
        if self.searches:
            body.searches = True
        return [body]

    def run(self, rows: list[Any], n: int, reverse: bool, checkpoints: int | None) -> Any:
        body, operands = self.with_operands(rows)
        found = repeated(body, n, reverse, operands, checkpoints or affordable(body, n))
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
