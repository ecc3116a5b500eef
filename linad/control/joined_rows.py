"""Entries of an array that are taken apart and put together again are a part of it.

A Python loop that appends to a list, and stacks the list in the end,

    xs.append(x)   ...   np.stack(xs)

becomes a loop whose results are the rows of an array. What reads the rows one by one and puts
them together reads the array.
"""

from typing import Any, NamedTuple

from linad.control.repeat import Repeat
from linad.core.indices import canonical
from linad.core.primitive import Primitive
from linad.core.tape import Equation, Tape, Var, needed


class _Rows(NamedTuple):
    """Rows ``start`` to ``stop`` of an array."""

    array: Var
    start: int
    stop: int


def joined(tape: Tape) -> Tape:
    """The same program; rows of loops that are put together again are read together."""
    if not any([isinstance(e.primitive, Repeat) for e in tape.equations]):
        return tape
    return _Joining(tape).tape()


class _Joining:
    """One pass over a tape.

    Attributes
    ----------
    pieces : dict
        Of what has been put together: rows, and other operands between them.
    """

    def __init__(self, tape: Tape) -> None:
        self.whole = tape
        self.made = {v: e for e in tape.equations for v in e.outputs}
        self.pieces: dict[Var, list[Any]] = {}
        self.stands: dict[Var, Any] = {}
        self.count = max([v.index for v in (*tape.inputs, *self.made)])

    def tape(self) -> Tape:
        tape, found = self.whole, []
        for e in tape.equations:
            if e.primitive.name == "concatenate" and e.params["axis"] == 0:
                found += self._together(e)
            else:
                found.append(e.with_inputs(tuple([self._what_stands_for(a) for a in e.inputs])))
        outputs = [self._what_stands_for(a) for a in tape.outputs]
        if not self.pieces:
            return tape
        kept = needed(found, outputs)
        return Tape(tape.name, tape.inputs, kept, outputs, tape.in_tree, tape.out_tree)

    def _what_stands_for(self, a: Any) -> Any:
        return self.stands.get(a, a) if isinstance(a, Var) else a

    def _together(self, eqn: Equation) -> list[Equation]:
        """Equations for one that puts arrays together."""
        pieces: list[Any] = []
        for a in eqn.inputs:
            for piece in self._pieces_of(a):
                last = pieces[-1] if pieces else None
                if not (isinstance(piece, _Rows) and isinstance(last, _Rows)):
                    pieces.append(piece)
                elif last.array is piece.array and last.stop == piece.start:
                    pieces[-1] = _Rows(piece.array, last.start, piece.stop)
                else:
                    pieces.append(piece)
        if not any([isinstance(p, _Rows) for p in pieces]):
            return [eqn]
        out = eqn.outputs[0]
        self.pieces[out] = pieces
        made: list[Equation] = []
        parts = [self._part(p, made, eqn) if isinstance(p, _Rows) else p for p in pieces]
        if len(parts) == 1:
            self.stands[out] = parts[0]
            return made
        return [*made, Equation(eqn.primitive, tuple(parts), eqn.params, eqn.outputs, eqn.source)]

    def _pieces_of(self, a: Any) -> list[Any]:
        """What an operand has been put together of."""
        if isinstance(a, Var):
            known = self.pieces.get(a)
            if known is not None:
                return known
            eqn = self.made.get(a)
            if eqn is not None and eqn.primitive.name == "reshape" and a.shape[:1] == (1,):
                row = eqn.inputs[0]
                found = self._row(row) if isinstance(row, Var) else None
                if found is not None and a.shape[1:] == row.shape:
                    return [found]
        return [self._what_stands_for(a)]

    def _row(self, row: Var) -> _Rows | None:
        """The one row of an array that a variable is, if it is one."""
        eqn = self.made.get(row)
        if eqn is None:
            return None
        if isinstance(eqn.primitive, Repeat):
            return _last_row(eqn, row)
        array = eqn.inputs[0] if eqn.primitive.name == "getitem" else None
        if not isinstance(array, Var) or not array.shape:
            return None
        if row.shape != array.shape[1:] or row.dtype != array.dtype:
            return None
        k, *others = eqn.params["index"]
        if type(k) is not int or not 0 <= k < array.shape[0]:
            return None
        if any([type(i) is not slice or i != slice(None) for i in others]):
            return None
        return _Rows(self._what_stands_for(array), k, k + 1)

    def _part(self, rows: _Rows, made: list[Equation], eqn: Equation) -> Var:
        """The rows as one operand."""
        array, start, stop = rows
        if stop - start == array.shape[0]:
            return array
        self.count += 1
        part = Var(self.count, (stop - start, *array.shape[1:]), array.dtype)
        index = canonical((slice(start, stop),), array.shape)[2]
        getitem = Primitive.registry["getitem"]
        made.append(Equation(getitem, (array,), {"index": index}, (part,), eqn.source))
        return part


def _last_row(eqn: Equation, end: Var) -> _Rows | None:
    """The row of a loop's results that is the same as a carry at its end."""
    loop: Any = eqn.primitive
    outputs, carries = loop.body.tape.outputs, loop.body.carries
    j = eqn.outputs.index(end)
    if j >= carries or loop.reverse or loop.counted or not loop.n:
        return None
    for k in range(carries, len(outputs)):
        rows = eqn.outputs[k]
        if outputs[k] is outputs[j] and rows.dtype == end.dtype and rows.shape[1:] == end.shape:
            return _Rows(rows, loop.n - 1, loop.n)
    return None
