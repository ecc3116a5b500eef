"""Steps that resolve a solution, and not its derivatives.

A method chooses its steps by the error of the state. Derivatives in parameters c follow

    v' = f_y v + f_c c'

and may need shorter ones: in y' = c cos(t) at c = 0 the state does not move and steps grow without
bound, as they do where a coupling is switched off, or an amplitude is small. So v is integrated
beside the solution, in plain numbers and for one c' in which all parameters have a part, with one
evaluation of f for each that SciPy took; where the method's own estimate of the error of v is
beyond the tolerance the step is taken in parts, those that SciPy's method chooses for y and v.

Of an implicit method an estimate along given steps would be as dear as the steps: y and v are
integrated once more, and steps in which that takes several are taken in those.

Source: of step control by sensitivities, A. C. Hindmarsh et al., "SUNDIALS: Suite of nonlinear and
differential/algebraic equation solvers", ACM Transactions on Mathematical Software 31, 2005.
"""

import functools
import itertools
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from linad.control.both_ways import UNABLE
from linad.core.array_type import Array
from linad.core.callers import warn_user
from linad.core.marks import Attempt, outside_of_traces
from linad.scipy.heldsides import Field, HeldSides
from linad.scipy.loopedmethods import EXPLICIT
from linad.scipy.restingsteps import RestWatch
from linad.scipy.sensitivities import NOISE, Sensitivity
from linad.scipy.steploops import with_usual

BEYOND, LEAST, COARSEST = 10.0, 1e-4, 1e-2
"""Tolerances by which v is in error in a step that is taken in parts; the least such error, which
those of what moves have as well where tolerances are tight; and the largest tolerance."""

ROUGH, LESS = 0.2, 30.0
"""What is left, in a step's length times v', of a polynomial through v' at the stages: a number to
which no estimate is blind by chance."""

MOST, MANY = 20_000, 300
"""Parts that are chosen so, at most; and those for rest of one step, beyond which it is left as it
is: a stiff problem, which errs by less."""

SMALL = 1e-2
"""The part of the first or the largest v from which on its entries are small."""

COARSE = 8
"""The same in a program, of which that is said."""

SHORT = 0.25
"""The quantile of the parts of a step that stands for all: the first are short in any case."""

BLOCK = 4, 64
"""Steps that are looked at together: at first, and at most, where all before were resolved."""

FIRST, FEW = 200, 50
"""Steps that are looked at for a program, and unknowns of an implicit method."""

SHORTER = 3
"""Steps for y and v in one for y alone, from which on it is taken in those."""


def times_within(
    kind: Any,
    recorded: HeldSides | None,
    rest: RestWatch | None,
    moves: bool,
    times: list[float],
    states: Array,
    rtol: Any,
    atol: Any,
) -> list[list[float]]:
    """The times within each step of a method by which it is divided, that v be resolved.

    Parameters
    ----------
    kind : class
        The method, of SciPy's.
    recorded : HeldSides or None
        The right side.
    rest : RestWatch or None
        Of an explicit method, which knows the steps and in how many parts each is taken anyway.
    moves : bool
        Whether the first state depends on parameters.
    times : list of float
        Where steps begin and end.
    states : array (n, len(times))
        What they are there.
    rtol, atol : float or array
        As of `solve_ivp`.
    """
    found: list[list[float]] = [[] for _ in times[1:]]
    known = rest is None or (len(rest.taken) == len(found) and not rest.is_stiff)
    if recorded is None or not found or not known:
        return found
    tolerance = float(np.clip(np.max(rtol), LEAST / BEYOND, COARSEST))
    with outside_of_traces(), np.errstate(all="ignore"), Attempt(*UNABLE):
        sensitivity = Sensitivity(recorded, moves, times, states)
        if sensitivity.is_still:
            return found
        if rest is None:
            return _anew(kind, sensitivity, times, states[:, 0], tolerance, atol)
        return _resolved(kind, sensitivity, rest, tolerance, atol)
    return found


def longest_part(
    kind: Any,
    recorded: HeldSides | None,
    moves: bool,
    field: Field,
    span: tuple[float, float],
    y: Array,
    given: dict[str, Any],
) -> float:
    """The length of the parts in which a program is to take longer steps of an explicit method,
    that v be resolved as it is at the values with which it is recorded; infinite where steps do.

    Of an implicit method, whose steps a program takes as they are, what is to be done is said.
    """
    explicit = issubclass(kind, EXPLICIT)
    if recorded is None or not y.size or (not explicit and y.size > FEW):
        return np.inf
    rest = RestWatch(kind, field, recorded if recorded.decides else None) if explicit else None
    times, states = [span[0]], [y]
    with outside_of_traces(), np.errstate(all="ignore"):
        solver = kind(field, span[0], y, span[1], **given)
        while solver.status == "running" and len(times) <= FIRST:
            t, y = float(solver.t), solver.y
            solver.step()
            if solver.status == "failed":
                break
            times.append(float(solver.t))
            states.append(solver.y)
            if rest is not None:
                rest.stepped(solver, t, y)
    limits = with_usual(given).values()
    within = times_within(kind, recorded, rest, moves, times, np.stack(states, axis=1), *limits)
    parts = [1 for _ in within] if rest is None else rest.parts
    lengths = [
        float(np.quantile(np.abs(np.diff([a, *own, b])), SHORT))
        for a, b, own, m in zip(times[:-1], times[1:], within, parts, strict=True)
        if len(own) >= (1 if explicit else COARSE) and len(own) + 1 >= 2 * m
    ]
    if explicit or not lengths:
        return min(lengths, default=np.inf)
    warn_user(
        f"solve_ivp: the steps of {kind.__name__} resolve the solution, and not how it depends on "
        f"parameters, which moves within {min(lengths):.2g} of the time: derivatives of this "
        f"program are far off; give solve_ivp max_step={min(lengths):.2g}, or leave linad.jit out"
    )
    return np.inf


def parted(times: list[float], within: list[list[float]]) -> list[float]:
    """The times at which steps and their parts begin and end."""
    found = times[:1]
    for end, parts in zip(times[1:], within, strict=True):
        found += [*parts, end]
    return found


def _anew(
    kind: Any, sensitivity: Sensitivity, times: list[float], y: Array, tolerance: float, atol: Any
) -> list[list[float]]:
    """The times by which the method divides its steps where it integrates y and v."""
    scale = np.max(np.abs(sensitivity.first))
    scale = scale if scale > 0 else sensitivity.size
    limits = np.broadcast_to(atol, y.shape), np.broadcast_to(SMALL * tolerance * scale, y.shape)
    solver = kind(
        *(sensitivity.both, times[0], np.concatenate([y, sensitivity.first]), times[-1]),
        rtol=tolerance, atol=np.concatenate(limits), jac=sensitivity.matrix,
    )
    found: list[list[float]] = [[] for _ in times[1:]]
    taken = np.empty(0)
    new = [times[0]]
    while solver.status == "running" and len(new) < MOST:
        solver.step()
        new.append(float(solver.t))
    if solver.status != "finished":
        return found
    way = np.sign(times[-1] - times[0])
    taken = way * np.array(new[1:-1])
    for k, (a, b) in enumerate(itertools.pairwise(times)):
        inside = taken[(taken > way * a) & (taken < way * b)]
        if inside.size >= SHORTER:
            found[k] = [float(t) for t in way * inside]
    return found


def _resolved(
    kind: Any, sensitivity: Sensitivity, rest: RestWatch, tolerance: float, atol: Any
) -> list[list[float]]:
    """The times by which steps of an explicit method are divided where v is not resolved."""
    steps = rest.taken
    found: list[list[float]] = [[] for _ in steps]
    v = sensitivity.first
    sizes = sensitivity.size + np.asarray(atol) / tolerance
    largest, left, slope = np.abs(v), MOST, None
    i, most = 0, BLOCK[0]
    while i < len(steps):
        whole = itertools.takewhile(lambda j: rest.parts[j] == 1, range(i, len(steps)))
        block = [steps[j] for j in itertools.islice(whole, most)]
        good = 0
        if block:
            vs, slopes = _course(kind, sensitivity, block, v, slope)
            scales = np.maximum.accumulate([largest, *np.abs(vs)])[1:]
            good = _resolved_first(kind, sensitivity, block, slopes, scales, sizes, tolerance)
        if good:
            v, slope, largest = vs[good - 1], slopes[good - 1][-1], scales[good - 1]
            i += good
        if good and good == len(block):
            most = min(2 * most, BLOCK[1])
            continue
        most = BLOCK[0]
        m = rest.parts[i]
        if m > MANY or not left:
            return found
        slope = None
        known = _known(largest, sensitivity.size)
        divided = _divided(kind, sensitivity, steps[i], v, m, tolerance, (atol, known), left)
        if divided is None:
            return found
        times, v = divided
        found[i] = times
        left = max(left - len(times), 0)
        largest = np.maximum(largest, np.abs(v))
        i += 1
    return found


def _resolved_first(
    kind: Any,
    sensitivity: Sensitivity,
    steps: list[Any],
    slopes: Array,
    scales: Array,
    sizes: Array,
    tolerance: float,
) -> int:
    """How many steps, of some that follow one another, come before one in which v is not resolved.

    Its slopes are known at the stages, (steps, stages + 1, n), and how large it has been, (steps,
    n); ``sizes`` are the state's, whose own error in the step counts as well.
    """
    h = np.array([step[2] - step[0] for step in steps])[:, None]

    def told(k: Array, size: Array) -> Array:
        """The estimates of errors, and what is left of a polynomial: (2, steps)."""
        left = np.max(np.abs(_rest(kind) @ k), axis=1)
        both = np.stack([_error(kind, k, h), np.abs(h) * left])
        return np.max(both / size, axis=2)

    states = told(np.stack([step[4] for step in steps]), sizes)
    limits = np.maximum(np.array([[BEYOND * tolerance], [ROUGH]]), LESS * states)
    good = (told(slopes, _known(scales, sensitivity.size)) <= limits).all(axis=0)
    return len(steps) if good.all() else int(np.argmin(good))


def _known(largest: Array, size: Array) -> Array:
    """The sizes of entries of v, its last axis, by which their errors are told."""
    most = np.max(largest / size, axis=-1, keepdims=True)
    return np.maximum(largest, NOISE * size * np.maximum(1.0, most))


def _course(
    kind: Any, sensitivity: Sensitivity, steps: list[Any], v: Array, slope: Array | None
) -> tuple[Array, Array]:
    """v behind each of some steps, and its slopes at their stages and ends."""
    n = kind.n_stages
    vs, slopes = [], []
    for t, y, end, y_end, stages in steps:
        h = end - t
        at = sensitivity.along(v)
        if slope is None:
            slope = at(t, y, v, stages[0])
        k = np.empty((n + 1, v.size), np.result_type(v, slope))
        k[0] = slope
        for s in range(1, n):
            row = kind.A[s, :s]
            there = y + h * (row @ stages[:s]), v + h * (row @ k[:s])
            k[s] = at(t + kind.C[s] * h, *there, stages[s])
        v = v + h * (kind.B @ k[:n])
        k[n] = slope = at(end, y_end, v, stages[n])
        vs.append(v)
        slopes.append(k)
    return np.stack(vs), np.stack(slopes)


@functools.cache
def _rest(kind: Any) -> Array:
    """What takes from values at the stages and the end of a step the polynomial that fits best, of
    the degree up to which the estimate of errors is blind."""
    c = np.append(kind.C[: kind.n_stages], 1.0)
    powers = np.vander(2 * c - 1, kind.error_estimator_order)
    return np.eye(c.size) - powers @ np.linalg.pinv(powers)  # type: ignore[no-any-return]


def _error(kind: Any, k: Array, h: Array) -> Array:
    """The method's estimate of the error of each entry, in each of some steps."""
    if kind is not DOP853:
        return np.abs(h * (kind.E @ k))
    fifth, third = np.abs(DOP853.E5 @ k), np.abs(DOP853.E3 @ k)
    root = np.hypot(fifth, 0.1 * third)
    return np.abs(h) * fifth**2 / np.where(root > 0, root, 1.0)


def _divided(
    kind: Any,
    sensitivity: Sensitivity,
    step: Any,
    v: Array,
    m: int,
    tolerance: float,
    scales: tuple[Any, Array],
    most: int,
) -> tuple[list[float], Array] | None:
    """The times within a step at which the method goes from part to part, for y and v, and v at
    its end; None where it fails."""
    t, y, end, *_ = step
    atol = np.concatenate([np.broadcast_to(scales[0], y.shape), tolerance * scales[1]])
    h = abs(end - t) / m
    solver = kind(
        *(sensitivity.both, t, np.concatenate([y, v]), end),
        rtol=tolerance, atol=atol, max_step=h,
    )
    times: list[float] = []
    while solver.status == "running" and len(times) < most:
        solver.step()
        times.append(float(solver.t))
    if solver.status != "finished":
        return None
    return times[:-1], solver.y[y.size :]
