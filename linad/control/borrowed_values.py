"""Values of traces around that another trace works on for a while, and gives back.

A value that is only read has an input of this trace that stands for it. An array that is written
here and there is one of this trace meanwhile, and so are its views. In the end each value that
somebody still holds is made to stand for what it is on the traces around.
"""

import weakref
from typing import Any

import numpy as np

from linad.arrays.buffers import Storage, View, is_private, is_settled, own_storage, root_of
from linad.arrays.tracer import Tracer
from linad.arrays.traces import Trace
from linad.arrays.zero_dim import array, is_number, number
from linad.control.closures import ClosureTrace
from linad.core.array_type import Array
from linad.core.memory_layouts import copied
from linad.core.tape import Var


class AdoptingTrace(ClosureTrace):
    """A recorder that stands for the traces around.

    Parameters
    ----------
    around : list of Trace
        The traces whose functions run, from the innermost.

    Attributes
    ----------
    over : bool
        Whether everything has been given back.
    takes_up : bool
        Whether values that it has not met yet may still come.
    made : list of weakref.ref
        Its values, and views of them.
    """

    def __init__(self, around: list[Trace]) -> None:
        super().__init__()
        self.around = around
        self.over, self.takes_up = False, True
        self.made: list[weakref.ref[Tracer]] = []
        self.origin: dict[Var, Tracer] = {}  # by what stands for it: a value from outside
        self.substitutes: set[int] = set()  # by their identity: what stands for these
        self.stands: dict[int, tuple[Tracer, Any, Tracer]] = {}

    def settle(self) -> None:
        """Give everything back."""
        raise NotImplementedError

    def _result(self, value: Array) -> Tracer:
        result = super()._result(value)
        self.made.append(weakref.ref(result))
        return result

    def aliased(self, made: Tracer) -> None:
        self.made.append(weakref.ref(made))

    def takes_over(self, x: Tracer) -> bool:
        if self.over or x._trace not in self.around or x._buffer is not None:
            return False
        known_here = self.stands.get(id(x))
        if known_here is not None and known_here[2]._buffer is not None:
            self.settle()  # there are views of it
            return False
        if self._is_argument(x):
            return False
        x._trace, x._square = self, None
        self.made.append(weakref.ref(x))
        return True

    def lifted(self, a: Array) -> Any:
        """What stands here for a value of a trace around."""
        if type(a) is not Tracer or a._trace is self:
            return a
        if a._buffer is not None and is_private(a) and self._may_adopt(root_of(a)):
            self._adopt(root_of(a))
            return a
        found = self.stands.get(id(a))
        if (
            found is not None
            and found[0] is a
            and found[1] is a._node
            and (a._buffer is None or is_settled(a._buffer))  # nobody has written into it
        ):
            return found[2]
        stand = super().lifted(a) if self.takes_up else self._met_before(a)
        if stand is not None:
            self.stands[id(a)] = a, a._node, stand
            self._take_note(stand, a)
        return stand

    def _met_before(self, a: Tracer) -> Tracer | None:
        """What stands for a value from outside, None if it is a new one."""
        version = getattr(root_of(a)._buffer, "version", 0)
        if type(a._buffer) is View and a._buffer.version != version:
            return None
        return self._known.get(("tracer", id(a._value), id(a._node), version))

    def _is_argument(self, x: Tracer) -> bool:
        return any([t.place_of_argument(x) is not None for t in self.around])

    # Arrays that are written.

    def written_out(self, root: Tracer) -> None:
        if self.over or not self._may_adopt(root):
            self.settle()
        else:
            self._adopt(root)

    def _may_adopt(self, root: Tracer) -> bool:
        """Whether an array of the innermost trace around may be one of this trace from now on."""
        if not self.takes_up or root._trace is not self.around[0] or id(root) in self.stands:
            return False
        return not self._is_argument(root)

    def _adopt(self, root: Tracer) -> None:
        """Take over an array that is written here and there, and the views of it."""
        with self.hooks.away():
            own_storage(root)
        # What it is now: its storage, into which nobody writes any more.
        held = Tracer(root._trace, root._node, root._value)
        stand = self.input(held.concrete)
        self.captured.append((held, stand))
        self._take_note(stand, root)
        root._trace, root._node, root._square = self, stand._node, None
        root._value = copied(stand._value)
        root._buffer.private_node = False
        self.made.append(weakref.ref(root))
        for view in root._buffer.held_views():
            view._buffer.where()
            view._trace, view._node, view._square = self, None, None
            view._buffer.version, view._buffer.base = -1, None
            self.made.append(weakref.ref(view))

    def _take_note(self, stand: Tracer, of: Tracer) -> None:
        self.origin.setdefault(stand._node, of)
        self.substitutes.add(id(stand))

    # The end.

    def _held(self) -> tuple[list[Tracer], list[Tracer]]:
        """The values that somebody holds; and views, which are made anew of what they look into."""
        alive = [t for t in [r() for r in self.made] if t is not None]
        stored = [t._buffer for t in alive if type(t._buffer) is Storage]
        alive += [v for storage in stored for v in storage.held_views()]
        held = {id(t): t for t in alive if t._trace is self and id(t) not in self.substitutes}
        views = [t for t in held.values() if type(t._buffer) is View]
        for t in views:
            root = root_of(t)
            t._buffer.where()
            if id(root) in self.substitutes:
                root = t._buffer.root = self.origin[root._node]
                if root._buffer is None:
                    root._buffer = Storage()
                root._buffer.looked_into_by(t)
            elif root._trace is self:
                held[id(root)] = root
            t._node, t._square, t._buffer.version, t._buffer.base = None, None, -1, None
            del held[id(t)]
        return list(held.values()), views

    def _give(self, t: Tracer, value: Array) -> None:
        """Make a value stand for another."""
        if not isinstance(value, Tracer):
            value = self.around[0].constant(np.array(value)[()])
        if not t.shape:
            value = number(value) if is_number(t) else array(value)
        t._trace, t._node, t._value, t._square = value._trace, value._node, value._value, None
        if t._buffer is not None:  # what it is given may be somebody else's as well
            t._buffer.private = t._buffer.private_node = False
