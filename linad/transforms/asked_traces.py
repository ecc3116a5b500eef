"""What a trace that keeps steps is asked of them while the function runs: which values depend on no
argument, which two are the same, and whether results are connected with arguments."""

from typing import Any

from linad.arrays.buffers import refresh_node
from linad.arrays.tracer import Tracer
from linad.core.array_type import Array
from linad.transforms.likeness import alike, one_origin
from linad.transforms.needed_steps import Node
from linad.transforms.pair_operations import PairTrace


class AskedTrace(PairTrace):
    """A trace whose steps say where its values come from."""

    _constants: set[Node]

    _looked = 0
    """Steps that were looked at for constants."""

    def input(self, value: Array) -> Tracer:
        """Return a traced value that depends on nothing."""
        return Tracer(self, next(self.nodes), value)

    def constant(self, value: Any) -> Tracer:
        self.cut = True
        made = self.input(value)
        self._constants.add(made._node)
        return made

    def is_constant(self, x: Tracer) -> bool:
        if not self.cut:
            return False
        refresh_node(x)
        return x._node in self.all_constants()

    def all_constants(self) -> set[Node]:
        """What depends on no argument, of all that was made so far."""
        for node, links in self.steps[self._looked :]:
            if all([source in self._constants for source, _ in links]):
                self._constants.update((node,) if type(node) is int else node)
        self._looked = len(self.steps)
        return self._constants

    def same(self, x: Tracer, y: Tracer) -> bool:
        refresh_node(x)
        refresh_node(y)
        return one_origin(x._node, y._node, self._made) and alike(x._value, y._value)

    def _made(self, node: Node) -> tuple[Any, list[Node]] | None:
        """The operators that a value was made by, and the values that they were applied to."""
        for made, links in reversed(self.steps):
            if made == node:
                return [J for _, J in links], [source for source, _ in links]
        return None

    def connects(self, results: list[Tracer], inputs: list[Any]) -> bool:
        if not self.cut:
            return True
        wanted: set[Node | None] = set()
        for y in results:
            refresh_node(y)
            wanted.add(y._node)
        for node, links in reversed(self.steps):
            if node in wanted if type(node) is int else not wanted.isdisjoint(node):
                for source, _ in links:
                    wanted.add(source)
        return not wanted.isdisjoint(inputs)
