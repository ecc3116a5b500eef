"""Sparse derivatives of jitted functions as compiled programs of their entries.

The pattern is found when a path of the function is recorded. It belongs to the path: what Python
decided on the way is guarded, as in any jitted function, and where the pattern itself depends on
values (of a sort, say) there is no program. A call runs one program, which fills the entries.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core.compiler_lock import books
from linad.core.tape import Equation, guards_in
from linad.core.transformed_functions import Transformed
from linad.jit.jitted import Jitted, operation_by_operation
from linad.linalg.sparsity.assemble import recorded_entries
from linad.linalg.sparsity.pattern_keys import Unrecordable
from linad.operators.relations import Relation
from linad.transforms.record import RecordTrace

Linearize = Callable[..., tuple[Any, Any]]


class SparseProgram:
    """The values and the sparse derivative of a jitted function, by one program.

    Parameters
    ----------
    f : Jitted
    linearize : callable
        ``linearize(g, args, argnums) -> (values, operator)``, of the function ``g`` that ``f``
        was made of.
    argnums : int or tuple of int
    symmetric : bool
        Whether the operator is symmetric.
    """

    def __init__(self, f: Jitted, linearize: Linearize, argnums: Any, symmetric: bool) -> None:
        self.linearize, self.argnums, self.symmetric = linearize, argnums, symmetric
        self.function = operation_by_operation(f)
        self.patterns: list[Relation] = []
        self.without = False  # whether entries cannot be recorded
        run = Transformed(self._values_and_entries, SparseProgram, self.function)
        self.entries: Jitted = Jitted(run, f.static)

    def _values_and_entries(self, *args: Any) -> tuple[Any, Any, int]:
        """What is compiled: the values, the entries, and the number of the pattern."""
        around = running_trace()
        recorder = around if isinstance(around, RecordTrace) else None
        if recorder is not None:
            recorder.rolls = False  # of a loop only the whole is known
        values, op = self.linearize(self.function, args, self.argnums)
        pattern, data = recorded_entries(op, self.symmetric)
        if recorder is not None and any(map(_is_bound_to_values, guards_in(recorder.equations))):
            raise Unrecordable
        return values, data, self._number(pattern)

    def _number(self, pattern: Relation) -> int:
        with books:
            for k, known in enumerate(self.patterns):
                if known is pattern:
                    return k
            self.patterns.append(pattern)
            return len(self.patterns) - 1

    def __call__(self, args: tuple[Any, ...]) -> tuple[Any, Relation, Any] | None:
        """The values, the pattern and the entries; None where there is no program for these
        arguments."""
        if self.without:
            return None
        try:
            values, data, number = self.entries(*args)
        except Unrecordable:
            self.without = True
            return None
        if isinstance(data, Tracer):
            return None  # they are being differentiated
        return values, self.patterns[number], np.asarray(data)


def _is_bound_to_values(eqn: Equation) -> bool:
    """Whether a program holds only where integers, or arrays, are as recorded: which entries are
    read, mostly, so that nearly every point would need one of its own."""
    expected = np.asarray(eqn.params["expected"])
    return expected.ndim > 0 or expected.dtype.kind != "b"


def program_of(f: Jitted, linearize: Linearize, argnums: Any, symmetric: bool) -> SparseProgram:
    """The program of a derivative, made when it is first asked for."""
    argnums = argnums if isinstance(argnums, (int, np.integer)) else tuple(argnums)
    key = linearize, argnums, symmetric
    with books:
        if key not in f.related:
            f.related[key] = SparseProgram(f, linearize, argnums, symmetric)
        return f.related[key]  # type: ignore[no-any-return]
