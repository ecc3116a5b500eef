"""The steps of a derivative: those that its results need, and what they lead to."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from linad.core.collection_pause import collection_paused
from linad.core.long_traces import FEW
from linad.operators.base import JacobianOperator
from linad.operators.entangled import Entangled

Node = int
Link = tuple[Node, JacobianOperator]
Step = tuple[Any, Sequence[Link]]
"""A node (or a tuple of nodes, of an operation with several results), and the links into it:
the nodes it came from, each with the operator that leads here."""


class NeededSteps:
    """Steps from nodes of arguments to those of results.

    Attributes
    ----------
    steps : list of Step
        In the order it happened.
    inputs, outputs : list of int
        The nodes; an output that depends on no input has None.
    """

    steps: list[Step]
    inputs: list[Node]
    outputs: list[Node | None]

    _schedule: list[tuple[Any, Sequence[Link], list[Node]]] | None

    def scheduled(self) -> list[tuple[Any, Sequence[Link], list[Node]]]:
        """The steps that an output needs, each with the nodes it is the last to use."""
        if self._schedule is None:
            with collection_paused() if len(self.steps) > FEW else nullcontext():
                self._schedule = self._walked_back()
                if len(self._schedule) < len(self.steps):
                    # What no output needs is dropped, residuals and all.
                    self.steps = [(out, links) for out, links, _ in self._schedule]
        return self._schedule

    def _walked_back(self) -> list[tuple[Any, Sequence[Link], list[Node]]]:
        kept = []
        needed = {node for node in self.outputs if node is not None}
        for out, links in reversed(self.steps):
            if not (out in needed if type(out) is int else needed.intersection(out)):
                continue
            dead = []
            for node, _ in links:
                if node not in needed:
                    needed.add(node)
                    dead.append(node)
            kept.append((out, links, dead))
        kept.reverse()
        return kept

    def followed(self, starts: Sequence[Any], step: Callable[[Any, list[Any]], Any]) -> list[Any]:
        """What leads from the inputs to each output, in one walk from the first step to the last.

        Parameters
        ----------
        starts : sequence
            What is known of each input; None stands for nothing.
        step : callable
            ``step(node, [(J, known), ...])`` says what is known of a node, from the links to nodes
            of which something is.

        Returns
        -------
        list
            For each output; None where nothing leads to it.
        """
        known: dict[Any, Any] = dict(zip(self.inputs, starts, strict=True))
        known = {node: start for node, start in known.items() if start is not None}
        for out, links, dead in self.scheduled():
            given = [(J, known[node]) for node, J in links if node in known]
            if given:
                known[out] = step(out, given)
            for node in dead:
                known.pop(node, None)
        return [known.get(node) for node in self.outputs]

    def push_of(self, out: tuple[Node, ...], J: JacobianOperator) -> Callable[..., Any]:
        """How a map to several results is pushed through: all of an entangled one at once where
        an output needs both its values and its vectors, or both are outputs themselves, which
        anybody may put together."""
        if not isinstance(J, Entangled):
            return J.pushforward
        # Which of the results a node depends on.
        behind: dict[Any, set[int]] = {node: {k} for k, node in enumerate(out)}
        for later, links, _ in self.scheduled():
            if found := set().union(*(behind[node] for node, _ in links if node in behind)):
                behind.update(dict.fromkeys((later,) if type(later) is int else later, found))
        needs = [behind.get(node, ()) for node in self.outputs]
        needs.append({k for k, node in enumerate(out) if node in self.outputs})
        both = any(J.both([k in found for k in range(len(out))]) for found in needs)
        return J.pushforward_together if both else J.pushforward
