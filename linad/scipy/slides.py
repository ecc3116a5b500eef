"""Solutions that slide along a jump of their right side, as a block at rest under dry friction.

Where the fields f and g of both sides lead to the surface m = 0, a solution stays on it, and the
steps of a method lead to and fro. The flow is Filippov's mean

    f + λ (g - f)        λ = f·m / (f·m - g·m)        with f·m = m_t + m_y f

as long as 0 < λ < 1.

Source: A. F. Filippov, "Differential Equations with Discontinuous Righthand Sides", 1988.
"""

from typing import Any

from linad.api.derivatives import derivative
from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.scipy.heldsides import Entry, HeldSides, Side


class Slide:
    """Filippov's field along a surface to which the fields of both of its sides lead.

    Parameters
    ----------
    sides : HeldSides
    before, after : Side
    entry : tuple
        What is decided otherwise on the other side.
    decided : dict
        How it is decided there, on the path of ``before``.
    """

    def __init__(
        self, sides: HeldSides, before: Side, after: Side, entry: Entry, decided: dict[int, Any]
    ) -> None:
        self.sides, self.before, self.after = sides, before, after
        self.entry, self.decided = entry, decided

    def field(self, t: Any, y: Any) -> Any:
        """The mean of the fields of both sides that stays on the surface."""
        return self.mean(t, y)

    def mean(self, t: Any, y: Any, traced: bool = True) -> Any:
        f, g = self._fields(t, y, traced)
        return f + self.share(t, y, traced) * (g - f)

    def share(self, t: Any, y: Any, traced: bool = True) -> Any:
        """The part of the field behind."""
        margin = self.sides.margin(self.before, self.entry, self.decided, traced)
        a, b = (
            derivative(lambda s, v=v: margin(t + s, y + s * v))(0.0)
            for v in self._fields(t, y, traced)
        )
        return a / (a - b)

    def _fields(self, t: Any, y: Any, traced: bool) -> tuple[Any, Any]:
        f, g = (self.sides.field(side, traced)(t, y) for side in (self.before, self.after))
        return f, g

    def check(self, t: float, y: Array) -> None:
        """Raise where something else is decided otherwise meanwhile."""
        decided = self.sides.decided(self.before, t, y)
        others = [
            entry for entry in self.before.changes(decided) if entry not in self._with_it()
        ]
        if others:
            line = self.before.path.tape.equations[others[0][0]].source
            raise UnsupportedError(
                f"solve_ivp: its function decides otherwise, about t = {t:.6g}, by {line}, while "
                f"the solution slides along a jump: make one of the two smooth"
            )

    def _with_it(self) -> set[Entry]:
        return set(self.before.changes(self.decided)) | {self.entry}
