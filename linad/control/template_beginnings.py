"""Where in what was recorded the repetitions of a template begin, and whether they may be one."""

import numpy as np

from linad.control.rolling import Roller, Stretch
from linad.core.shapes import size_of
from linad.core.tape import Var, guard
from linad.transforms.demands import may_raise


def to_the_end(roller: Roller, start: int, period: int) -> Stretch | None:
    """The repetitions from an equation to the end, if they are equal."""
    total = len(roller.codes)
    found = roller.flow(start, period, (total - start) // period)
    return found if found is not None and found.start + found.size == total else None


def fewest_carries(found: Stretch) -> int:
    """How many equations later a repetition begins, if the fewest numbers are to be carried."""
    period = found.period
    equations = [e for j in range(found.count) for e in found.repetition(j)]
    made = {v: k for k, e in enumerate(equations) for v in e.outputs}
    last: dict[Var, int] = {}
    for k, e in enumerate(equations):
        last.update((a, k) for a in e.inputs if isinstance(a, Var) and a in made)
    change = np.zeros(len(equations) + 1, np.int64)
    for v, k in last.items():
        if k <= made[v] + 2 * period:
            change[made[v] + 1] += max(1, size_of(v.shape))
            change[k + 1] -= max(1, size_of(v.shape))
    alive = np.cumsum(change)[2 * period : 3 * period]
    guards = [e.primitive is guard for e in found.repetition(2)]
    return int(np.argmin(np.where(guards, alive.max() + 1, alive)))


def is_sound(found: Stretch) -> bool:
    """Whether nothing in it might raise unnoticed."""
    last = [*found.repetition(found.count - 2), *found.repetition(found.count - 1)]
    used = {a for e in last for a in e.inputs if isinstance(a, Var)}
    return not any([may_raise(e) and used.isdisjoint(e.outputs) for e in found.repetition(1)])
