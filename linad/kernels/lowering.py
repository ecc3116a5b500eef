"""From the user's source to statements: names resolved, calls inlined, jumps made into flags.

What comes out has no `break`, `continue` or `return`, no slices and no calls of the user's
functions; arrays of the function's own are made at its top.
"""

import ast
from collections.abc import Sequence
from typing import Any

from linad.kernels.array_windows import ArrayWindow, Computed, whole
from linad.kernels.building import Frame, LowerAgain
from linad.kernels.expression_source import joined, kind_of
from linad.kernels.expressions import ZERO, ArrayKind, Expr, Kind, var
from linad.kernels.finishing import infer_kinds, make_first, pruned
from linad.kernels.function_source import FunctionSource
from linad.kernels.statement_lowering import StatementLowering
from linad.kernels.statements import Let
from linad.kernels.syntax import single_return


class LoweredKernel(StatementLowering):
    """A kernel as statements.

    Attributes
    ----------
    parameters : list of str
        In the order of the function's; those that stand for functions are left out.
    kinds : dict
        Of all scalars and arrays.
    body : list of Statement
    results : list
        What the function returns, in order: an `Expr`, or an `ArrayWindow` of a whole array.
    single : bool
        Whether it returns one value, no tuple.
    constants : dict
        Arrays from outside of the function, by name.
    """

    def __init__(
        self,
        source: FunctionSource,
        kinds: Sequence[Kind | Any],
        hints: dict[str, Kind],
        copies: set[tuple[Any, str]],
    ) -> None:
        super().__init__(source)
        self.hints, self.copies = dict(hints), copies
        frame = self.frame
        for name, kind in zip(source.parameters, kinds, strict=True):
            if isinstance(kind, (str, ArrayKind)):
                new = self.fresh(name)
                self.parameters.append(new)
                self.kinds[new] = kind
                frame.scope[name] = (
                    whole(new, kind.ndim) if isinstance(kind, ArrayKind) else var(new)
                )
            else:
                frame.scope[name] = kind
        self.calling.append(source.key)
        value = self.function(frame)
        self.single = not isinstance(value, list)
        self.results = [] if value is None else value if isinstance(value, list) else [value]
        for k, r in enumerate(self.results):
            if isinstance(r, Computed) or (isinstance(r, ArrayWindow) and not r.is_whole()):
                self.results[k] = self.copied(r)
            elif not isinstance(r, (Expr, ArrayWindow)):
                raise source.error(
                    source.tree, "returns something other than numbers and arrays", "return these"
                )
        if self.lengths.broken():
            raise source.error(
                source.tree,
                "the length of an array that is made within a loop depends on a number that is "
                "assigned again",
                "make the array before the loop, as long as needed",
            )
        infer_kinds(self.out, self.kinds)
        self.body = make_first(self.out, self.parameters, source)
        infer_kinds(self.body, self.kinds)
        self.body = pruned(self.body, self.results)

    @classmethod
    def settled(cls, source: FunctionSource, kinds: Sequence[Kind | Any]) -> "LoweredKernel":
        """A kernel whose arrays have the dtypes that its scalars turn out to need.

        Each attempt but the last has learnt something: one more name whose arrays are copied, or
        a wider kind of a scalar.
        """
        hints: dict[str, Kind] = {}
        copies: set[tuple[Any, str]] = set()
        learnt: tuple[int, dict[str, Kind]] = (-1, {})
        while (len(copies), hints) != learnt:
            learnt = len(copies), hints
            try:
                made = cls(source, kinds, hints, copies)
            except LowerAgain:
                continue
            if all([kind_of(e, made.kinds) == guess for e, guess in made.guesses]):
                return made
            found = {n: kind for n, kind in made.kinds.items() if isinstance(kind, str)}
            hints = hints | {
                n: joined([kind, str(hints.get(n, kind))])  # only ever wider, so this ends
                for n, kind in found.items()
            }
        raise source.error(
            source.tree,
            "the kinds of its numbers do not settle",
            "give a number that becomes a floating-point one such a value at first, as in x = 0.0",
        )

    def function(self, frame: Frame) -> Any:
        """Lower the body of a function; returns what it returns."""
        outer, self.frame = self.frame, frame
        self.frames.append(frame)
        comment = self.comment
        tree = frame.source.tree
        body = list(tree.body)
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        key = frame.source.key
        frame.values = {n for n in frame.may_copy if (key, n) in self.copies}
        for name in frame.source.parameters:
            given = frame.scope[name]
            if name in frame.values and isinstance(given, ArrayWindow):
                frame.scope[name] = self.copied(given)
                self.unnamed.discard(frame.scope[name].array)
        try:
            value: Any = None
            if single_return(tree):
                if body and isinstance(body[-1], ast.Return):
                    self.block(body[:-1])
                    if body[-1].value is not None:
                        self.comment = frame.source.line(body[-1])
                        self.sole = body[-1].value
                        value = self.value(body[-1].value)
                else:
                    self.block(body)
            else:
                frame.done = self.fresh("done")
                self.emit(Let(frame.done, ZERO))
                found = [n for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value]
                if found:
                    given = found[0].value
                    one = not isinstance(given, ast.Tuple)
                    count = 1 if one else len(given.elts)  # type: ignore[union-attr]
                    frame.results = [self.fresh("result") for _ in range(count)]
                self.block(body)
                if frame.results is not None:
                    value = [frame.arrays.get(k, var(r)) for k, r in enumerate(frame.results)]
                    value = value[0] if one else value
        finally:
            self.frame, self.comment = outer, comment
            self.frames.pop()
        return value
