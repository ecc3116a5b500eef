"""Graphs within a node of an ONNX graph: loops, scans and choices."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from linad.export.onnx_values import INTEGER, TRUTH, Value, ValueWriter, tensor_type

Step = tuple[Any, ...]
"""What one repetition gives: lists of values, and whether there is another."""


class SubgraphWriter(ValueWriter):
    """Writes nodes that hold graphs.

    Attributes
    ----------
    level : int
        How many loops and branches what is written is inside of.
    """

    level = 0

    def repeated(
        self, most: str, going: str, carried: Sequence[Value], write: Callable[..., Step]
    ) -> tuple[list[str], list[str]]:
        """A ``Loop``.

        Parameters
        ----------
        most, going : str
            How many repetitions there are at most, and whether there is a first one.
        carried : sequence of (name, shape, dtype)
            Before the first repetition.
        write : callable
            ``write(k, going, names)`` writes one repetition. It returns whether there is
            another, the new carries, and what each repetition adds as a row.

        Returns
        -------
        tuple of two lists of str
            The last carries, and the rows.
        """
        k, on = (self.fresh("k"), (), INTEGER), (self.fresh("going"), (), TRUTH)

        def body(names: list[str]) -> tuple[list[Value], list[Value], list[Value]]:
            more, new, rows = write(k[0], on[0], names)
            return [(more, (), TRUTH)], new, rows

        return self._repetition("Loop", [most, going], [k, on], carried, [], [], body)

    def scanned(
        self, carried: Sequence[Value], rows: Sequence[Value], write: Callable[..., Step]
    ) -> tuple[list[str], list[str]]:
        """A ``Scan``: one repetition for each row of arrays, at least one.

        Parameters
        ----------
        carried, rows : sequence of (name, shape, dtype)
            Before the first repetition; arrays, each with the rows along its first axis.
        write : callable
            ``write(names, rows)`` writes one repetition. It returns the new carries and rows.
        """
        given = [(self.fresh("row"), shape[1:], dtype) for _, shape, dtype in rows]

        def body(names: list[str]) -> tuple[list[Value], list[Value], list[Value]]:
            new, made = write(names, [name for name, _, _ in given])
            return [], new, made

        arrays = [name for name, _, _ in rows]
        return self._repetition(
            "Scan", [], [], carried, arrays, given, body, num_scan_inputs=len(rows)
        )

    def _repetition(
        self,
        op: str,
        first: list[str],
        heads: list[Value],
        carried: Sequence[Value],
        last: list[str],
        tails: list[Value],
        write: Callable[..., Any],
        **attributes: Any,
    ) -> tuple[list[str], list[str]]:
        inside = [(self.fresh("carry"), shape, dtype) for _, shape, dtype in carried]
        start = [name for name, _, _ in carried]
        held = self.fresh("held")

        def body() -> list[list[Value]]:
            found = [list(part) for part in write([name for name, _, _ in inside])]
            if self.holds:
                found[1].append((self.all_hold([held, *self.holds]), (), TRUTH))
            return found

        nodes, (lead, new, rows) = self._inside(body)
        decided = len(new) > len(inside)
        if decided:
            inside.append((held, (), TRUTH))
            start.append(self.constant(np.array(True)))
        graph = self._graph(nodes, [*heads, *inside, *tails], [*lead, *new, *rows])
        count = len(new) + len(rows)
        made = self.node(op, [*first, *start, *last], count, body=graph, **attributes)
        names = [made] if isinstance(made, str) else list(made)
        ends, rest = names[: len(new)], names[len(new) :]
        if decided:
            self.holds.append(ends.pop())
        return ends, rest

    def choice(
        self, condition: str, then: Callable[[], list[Value]], other: Callable[[], list[Value]]
    ) -> list[str]:
        """An ``If``: what one of two functions writes, which give values of the same kinds."""
        branches = []
        for write in (then, other):

            def body(write: Callable[[], list[Value]] = write) -> list[list[Value]]:
                found = write()
                return [found, [(self.all_hold(self.holds), (), TRUTH)] if self.holds else []]

            branches.append(self._inside(body))
        decided = any([held for _, (_, held) in branches])
        graphs = []
        for nodes, (found, held) in branches:
            if decided and not held:
                name, yes = self.fresh("held"), self.constant(np.array(True))
                if self.inline:  # it is a node, and is to be one in there
                    yes = self.fresh("yes")
                    tensor = numpy_helper.from_array(np.array(True), yes)
                    nodes.append(helper.make_node("Constant", [], [yes], value=tensor))
                nodes.append(helper.make_node("Identity", [yes], [name]))
                held = [(name, (), TRUTH)]
            graphs.append(self._graph(nodes, [], [*found, *held]))
        count = len(branches[0][1][0]) + decided
        made = self.node("If", [condition], count, then_branch=graphs[0], else_branch=graphs[1])
        names = [made] if isinstance(made, str) else list(made)
        if decided:
            self.holds.append(names.pop())
        return names

    def _inside(self, write: Callable[[], list[list[Value]]]) -> tuple[Any, list[list[Value]]]:
        """The nodes of a graph in a node, and its results: values that it makes itself."""
        outer, holds, place, known = self.nodes, self.holds, self.place, dict(self._known)
        self.nodes, self.holds = [], []
        self.level += 1
        found = [
            [(self.node("Identity", [name]), shape, dtype) for name, shape, dtype in part]
            for part in write()
        ]
        nodes, self.nodes, self.holds, self.place = self.nodes, outer, holds, place
        self.level -= 1
        if self.inline:
            self._known = known
        return nodes, found

    def _graph(self, nodes: Any, inputs: Sequence[Value], outputs: Sequence[Value]) -> Any:
        given, made = ([self._value_info(v) for v in values] for values in (inputs, outputs))
        return helper.make_graph(nodes, self.fresh("step"), given, made)

    def _value_info(self, value: Value) -> Any:
        name, shape, dtype = value
        # Models that are compared are to be the same for all lengths.
        return helper.make_tensor_value_info(
            name, tensor_type(dtype), shape if self.shared else None
        )
