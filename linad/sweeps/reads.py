"""When the variables of a plan are read: themselves, and through views of them.

A view is a place in the buffer of what it views: a read of the view is a read of it. Once a view
has its place, its readers count for itself alone.
"""

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from typing import Any

from linad.core.tape import Var

FOREVER = 1 << 60
"""Position of whoever called: he reads the results."""


class Reads:
    """The readers of each variable, by the positions of their steps.

    Parameters
    ----------
    steps : sequence of Step
    results : sequence
        Of the tape; constants among them have no readers.
    views : mapping
        Views, each with the variable it views, in the order of the tape.
    placed : container
        Variables that have a place by now; it grows.

    Attributes
    ----------
    at : dict
        Positions of the steps that read a variable itself, in order.
    viewed_by : dict
        Views of a variable.
    """

    def __init__(
        self,
        steps: Sequence[Any],
        results: Sequence[Any],
        views: Mapping[Var, Var],
        placed: Container[Var],
    ) -> None:
        self.placed = placed
        self.viewed_by: dict[Var, list[Var]] = defaultdict(list)
        for view, source in views.items():
            self.viewed_by[source].append(view)
        self.at: dict[Var, list[int]] = defaultdict(list)
        for k, step in enumerate(steps):
            for v in step.reads:
                self.at[v].append(k)
        for v in results:
            if isinstance(v, Var):
                self.at[v].append(FOREVER)
        self._latest = {v: positions[-1] for v, positions in self.at.items()}
        for view, source in reversed(list(views.items())):
            self._latest[source] = max(self._latest.get(source, -1), self._latest.get(view, -1))
        self._unplaced = {
            v: sorted(views, key=lambda view: self._latest.get(view, -1))
            for v, views in self.viewed_by.items()
        }

    def last(self, var: Var) -> int:
        """Position of the last step that reads a variable itself, or a view without a place.

        A view without a place has no views with one.
        """
        positions = self.at.get(var)
        last = positions[-1] if positions else -1
        views = self._unplaced.get(var)
        while views and views[-1] in self.placed:
            views.pop()
        return max(last, self._latest.get(views[-1], -1)) if views else last

    def any(self, var: Var) -> bool:
        """Whether a variable is read, or has a view."""
        return bool(self.at.get(var) or self.viewed_by.get(var))

    def all(self, var: Var) -> list[int]:
        """Positions of the steps that read a variable or a view of it."""
        found: list[int] = []
        waiting = [var]
        while waiting:
            v = waiting.pop()
            found += self.at.get(v, ())
            waiting += self.viewed_by.get(v, ())
        return found
