"""A function that decides in Python, as a choice that a loop can hold.

    if t < 25: ...  else: ...        linad.cond(t < 25, the function that was told yes, ... no)

The function runs as far as the first decision on a value of the loop, and then twice: with yes and
with no. Each of these runs may come to a decision of its own.
"""

from collections.abc import Callable
from typing import Any

from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_traces
from linad.control.body_trace import scripted
from linad.control.closures import ClosureTrace
from linad.control.deciding import cond, taking_over
from linad.core import tree
from linad.core.during import during
from linad.core.marks import Attempt
from linad.core.shapes import name_of
from linad.errors import GuardError, LinadError

MOST = 16
"""Runs of a function that come to a decision; a loop that goes on as long as told has no end."""

UNABLE = (LinadError, ValueError, ArithmeticError, LookupError, AssertionError)
"""What a function may raise that is told to go a way which is not made for its arguments."""


class Undecided(BaseException):
    """Ends a run that needs one answer more; no ``except Exception`` of the user's takes it."""

    def __init__(self, test: Tracer) -> None:
        self.test = test


def _refuse(test: Tracer) -> bool:
    raise Undecided(test)


class BothWays:
    """``f``, which decides in Python, as a function of the same arguments that decides nothing.

    Only the values of loops that are being recorded are decided on so. Results must be of the same
    structure, shapes and dtypes on each way.

    Notes
    -----
    In a branch the values of traces around are the branch's own, see `linad.control.deciding`. So
    from the first decision on they are the recorder's everywhere: a decision on them is met on
    each way then, or on none.

    Attributes
    ----------
    decisions : int
        How many were met.
    """

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f, self.decisions = f, 0

    def __call__(self, *args: Any) -> Any:
        try:
            with during(scripted, _refuse):
                return self.f(*args)
        except Undecided:
            recorder = next(t for t in running_traces() if isinstance(t, ClosureTrace))
        if recorder.hooks.on:
            return self._after_answers(args, (), [])
        with taking_over(recorder):
            return self._after_answers(args, (), [])

    def _after_answers(
        self, args: tuple[Any, ...], answers: tuple[bool, ...], met: list[Tracer]
    ) -> Any:
        following = iter(answers)

        def script(test: Tracer) -> bool:
            for answer in following:
                return answer
            raise Undecided(test)

        try:
            with during(scripted, script):
                return self.f(*args)
        except Undecided as undecided:
            met.append(undecided.test)
        self.decisions += 1
        if len(met) > MOST:
            raise GuardError(f"{name_of(self.f)} decides in more than {MOST} places")
        leaves, structure = tree.flatten(args)
        moving = [v if isinstance(v, Tracer) else None for v in leaves]

        def told(answer: bool) -> Callable[..., Any]:
            def way(*operands: Any) -> Any:
                own = iter(operands)
                chosen = [
                    leaf if m is None else next(own) for leaf, m in zip(leaves, moving, strict=True)
                ]
                return self._after_answers(
                    tree.unflatten(structure, chosen), (*answers, answer), met
                )

            return way

        # What is traced is an operand, so that what is computed of it is computed on its way
        # alone. What is plain is not: a decision on it is Python's, here and there.
        operands = [m for m in moving if m is not None]
        return cond(met[-1], told(True), told(False), *operands)


def in_any_way(
    make: Callable[[Callable[..., Any]], Any], f: Callable[..., Any], *refused: type[Exception]
) -> Any:
    """What ``make`` gives of `BothWays` of f, or where that cannot be, of f itself; None where that
    is refused, too."""
    with Attempt(*UNABLE):
        return make(BothWays(f))
    with Attempt(*refused):
        return make(f)
    return None
