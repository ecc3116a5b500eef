"""Why no step brings a fit further down, and what to do about it.

A fit that is stuck is looked at once more, at its point: whether f gives the same residuals there
twice; whether it integrates or searches on the way, to a tolerance; and whether it changes along
the next step as its derivatives say, for some length of that step that rounding does not hide.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.marks import Attempt
from linad.core.tolerances import Tolerance, watched_tolerances
from linad.errors import LinadError
from linad.jit.jitted import jit
from linad.solve.problems import Residual, of_unknown, quiet

LENGTHS = 10.0 ** np.arange(-1, -12, -1)
"""Parts of the next step over which f is compared with its derivatives."""

FOLLOWS = 0.1
"""How far f may be off its derivatives over the best of these parts."""

SMOOTH = 0.03
"""By how much less f is off over a tenth of a part, where it has a second derivative: a hundredth,
and a tenth at a kink."""

VISIBLE = 1e5
"""Times eps: changes of residuals that can be told from rounding, relative to what they are made
of."""

EXACT = 1e-10
"""A tolerance at which no step of a fit is hidden."""

TIGHT = 1e-7
"""A tolerance at which few are: something else may be the matter."""

JUMPS = (
    "; or what it works on jumps where a value passes another, as np.sign(v) or an if of it does, "
    "which its derivatives do not tell of: something smooth does, np.tanh(v / 0.01)"
)
"""What else there may be, where derivatives do not hold."""


def why_stuck(problem: Residual, x: Array, r: Array, J: Any, p: Array) -> str:
    """A sentence that says why residuals do not come down from x, and the next step for a user.

    Parameters
    ----------
    problem : Residual
    x, r, J : ndarray, ndarray, operator
        The point, with the residuals and the Jacobian there.
    p : ndarray
        The step that should lead down; it need not be finite.
    """
    f = problem.waiting.called
    if not np.array_equal(problem.value(x), problem.value(x), equal_nan=True):
        return (
            f"{f} gives other residuals each time at the same parameters: draw random numbers "
            f"once, outside of it, and let it change nothing that it reads again, as an array in "
            f"place (x -= 1 for x = x - 1), a counter or a list"
        )
    if loose := _loose(problem, x):
        told = f"{f} is only as accurate as {', '.join(map(_remedy, loose))}"
        tight = all(one.value is not None and one.value <= TIGHT for one in loose)
        return f"{told}{JUMPS}" if tight and not follows(problem, x, r, J, p) else told
    if follows(problem, x, r, J, p):
        return "start elsewhere, where the residuals respond more"
    return disagrees(f)


def _comparable(r: Array, J: Any, p: Array, sizes: Array, least: Any) -> Array:
    """A step within the sizes of the unknowns: along p, or against the gradient.

    Where residuals hardly change with some unknowns, as those of a model that is saturated, the
    next step may be so long that no such part of it changes them visibly, by ``least``.
    """
    if (least * np.abs(p) <= sizes * np.linalg.norm(J @ p)).all():
        return p / max(1.0, (np.abs(p) / sizes).max(initial=0.0))
    g = np.asarray(J.H @ r) * sizes
    g = np.where(np.isfinite(g), g, 0.0)
    largest = np.abs(g).max(initial=0.0)
    return -sizes * (g / largest if largest > 0 else g)


def disagrees(f: str) -> str:
    """That a function of this name does not change as its derivatives say."""
    return (
        f"{f} does not change as its derivatives say: it jumps there, is rounded or has a kink; or "
        f"it searches by comparisons, as a bisection by hand, which hide what a root depends on "
        f"(linad.scipy.optimize.brentq and linad.solve.root have its derivative); or a rule of "
        f"yours is wrong, which linad.testing.check_derivatives tells; if it is none of these, "
        f"start elsewhere"
    )


def _loose(problem: Residual, x: Array) -> list[Tolerance]:
    """The routines in f whose tolerance can hide a step."""
    with watched_tolerances() as found, quiet(), Attempt(LinadError):
        # Recorded: compiled functions in it run their Python code then.
        jit(of_unknown(problem.f, problem.args))(problem.x.container(x))
    return [one for one in found if one.value is None or one.value > EXACT]


def _remedy(one: Tolerance) -> str:
    routine, option, value, _ = one
    if value is None:
        return f"its {routine}: give it {option}=1e-12"
    smaller = "1e-8" if value > TIGHT else "1e-12"
    return f"its {routine} ({option}={value:.3g}): give it {option}={smaller}"


def follows(problem: Residual, x: Array, r: Array, J: Any, p: Array) -> bool:
    """Whether f changes along a step as its derivatives say, over some part of it."""
    if not np.isfinite(p).all():
        p = -np.asarray(J.H @ r)
    made = np.asarray(J @ x)
    counts = np.isfinite(made)  # where residuals are constant, a derivative may be 0 times infinity
    size = np.linalg.norm(r) + np.linalg.norm(made[counts])
    smallest = VISIBLE * problem.x.eps * size
    if not np.linalg.norm(made[counts]) > problem.x.eps * size:
        return True  # flat: steps that are far too long do not tell
    sizes = np.maximum(np.abs(x), np.abs(problem.x.start))
    p = _comparable(r, J, p, np.where(sizes > 0, sizes, 1.0), smallest)
    before, smooth, seen = 0.0, 0, 0
    for part in LENGTHS:
        there = (x + part * p).astype(x.dtype, copy=False)
        change, told = (problem.value(there) - r)[counts], np.asarray(J @ (there - x))[counts]
        if not np.linalg.norm(told) > smallest:
            break
        seen += 1
        off = float(np.linalg.norm(change - told))
        smooth = smooth + 1 if off <= SMOOTH * before else 0
        if smooth > 1 or off <= FOLLOWS * np.linalg.norm(told):
            return True  # it does, or will over shorter parts: it bends
        before = off
    return smooth > 0 or seen < 2  # as far as rounding lets it be seen, it bends
