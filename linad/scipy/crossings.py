"""Where a solution passes from one smooth part of its right side into another.

SciPy has integrated, over jumps as it can. Its steps are looked through for those that end on
another side than they begin, see `linad.scipy.heldsides`; the time at which the solution passes the
surface between the two is the root of a margin. What derivatives do there is in
`linad.scipy.stretches`, and in `linad.scipy.slides` where the solution stays on the surface.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.optimize

from linad.api.derivatives import derivative
from linad.api.gradients import value_and_grad
from linad.control.both_ways import UNABLE
from linad.core.array_type import Array
from linad.core.marks import Attempt, outside_of_traces
from linad.errors import LinadError, UnsupportedError
from linad.scipy.heldsides import Entry, Field, HeldSides, Side
from linad.scipy.slides import Slide
from linad.scipy.stretches import Passage, SmoothStretch

ASIDE = 1e-3
"""How far behind a crossing it is asked what is decided there, in parts of the rest of a step."""

MOST = 100
"""Crossings within one step, at most."""

RTOL = 4 * np.finfo(float).eps

SAME, KINK = 1e-9, 1e-5
"""How far right sides, and their changes around a point, are apart where there is no jump, and no
kink: relative to their sizes."""

NEARER, SMALL_STEP = 4, 1e-12
"""Steps of Newton's method to a surface, and how far from it both sides are asked for."""


def sides_of(field: Field, t: float, y0: Array) -> HeldSides | None:
    """The sides of a right side, from a plain point of it; None where it cannot be recorded."""
    if y0.size:
        with Attempt(LinadError):  # it is taken as it is
            return HeldSides(field, t, y0)
    return None


def may_jump(sides: HeldSides, t: float, y0: Array) -> bool:
    """Whether a right side jumps at surfaces that move, near some points about its first one.

    It is taken for granted of complex states, and of decisions without a margin."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"), outside_of_traces():
        for part in (0.0, 0.1, 0.1):
            aside = part * rng.uniform(0.5, 1.5, y0.size)
            y = y0 + aside * (1.0 + np.abs(y0))
            side = sides.side(t, y)
            entries = [(k, e) for k, d in side.decided.items() for e in np.ndindex(d.shape)]
            for entry in entries:
                told = y.dtype.kind == "f" and sides.has_margin(side, entry)
                if not sides.moving(side, [entry]):
                    continue
                if not told or _jumps(sides, side, entry, t, y):
                    return True
    return False


def _jumps(sides: HeldSides, side: Side, entry: Entry, t: float, y: Array) -> bool:
    """Whether a right side jumps where the margin of an entry is zero, as near as can be."""
    decided = {entry[0]: side.decided[entry[0]] + 1.0}  # as if rounding went up
    margin = sides.margin(side, entry, decided, traced=False)
    z = np.concatenate([[t], y])
    for _ in range(NEARER):
        value, slopes = value_and_grad(lambda z: margin(z[0], z[1:]))(z)
        size = np.sum(slopes**2)
        if not (np.isfinite(value) and size > 0):
            return False
        z = z - value * slopes / size
    across = SMALL_STEP * (1.0 + np.max(np.abs(z))) * slopes / np.sqrt(size)
    here = np.concatenate([[t], y])
    with Attempt(*UNABLE):
        a, b, c = (
            sides.field(sides.side(point[0], point[1:]), traced=False)(point[0], point[1:])
            for point in (z - across, z + across, here)
        )
        return bool(np.max(np.abs(a - b)) > KINK * np.max(np.abs([a, b, c])))
    return False  # it raises an error on one side, where no solution goes


def stretches_of(sides: HeldSides, times: Sequence[float], sol: Any) -> list[SmoothStretch] | None:
    """The stretches on which a right side is smooth; None where they make no difference.

    Parameters
    ----------
    sides : HeldSides
    times : sequence of float
        Where SciPy's steps begin and end.
    sol : callable
        SciPy's solution.

    Raises
    ------
    UnsupportedError
        If the right side jumps at a time of which it cannot be told what it depends on.
    """
    if len(times) < 2:
        return None
    with np.errstate(all="ignore"):  # a path that is run beyond its end
        return Walk(sides, times, sol).found()


class Walk:
    """Along a solution, from one surface to the next.

    Parameters
    ----------
    sides : HeldSides
    times, sol
        As of `stretches_of`.

    Attributes
    ----------
    steps, times
        Where steps end, and where it is asked what is decided: there and halfway.
    """

    def __init__(self, sides: HeldSides, times: Sequence[float], sol: Any) -> None:
        self.sides, self.sol = sides, sol
        self.skipped: float | None = None  # a time by which too much was decided at fixed times
        # A method may step to and fro over a surface within a step.
        halves = [[0.5 * (a + b), b] for a, b in itertools.pairwise(times)]
        self.steps, self.times = set(times), [times[0], *itertools.chain(*halves)]

    def found(self) -> list[SmoothStretch] | None:
        """The stretches, where they make a difference."""
        found = list(self.stretches())
        if not any(stretch.passages for stretch in found) and not self.begins_on_surface():
            return None
        if self.skipped is not None:
            raise UnsupportedError(self._too_many(self.skipped))
        return found

    def stretches(self) -> Iterator[SmoothStretch]:
        """All of them, in order."""
        times = self.times
        at = times[0] + ASIDE * (times[1] - times[0])
        side, own = self._side(at), times[:1]
        self._first_side = side
        i, crossings = 1, 0
        while i < len(times):
            end = times[i]
            decided = self.sides.decided(side, end, self.sol(end))
            entries = side.changes(decided)
            if crossings == MOST and entries:
                if self.sides.moving(side, entries):
                    raise UnsupportedError(self._too_many(end))
                side, self.skipped = self._side(end), end
            if not entries or crossings == MOST:
                own += [end] * (end in self.steps)
                at = end
                i, crossings = i + 1, 0
                continue
            crossings += 1
            time, roots = self._first(side, entries, decided, at, end)
            if time == end:
                i, crossings = i + 1, 0
                if i == len(times):
                    break
            at = time + ASIDE * (times[i] - time)
            before, side = side, self._side(at)
            if side.same(before):
                own += [end] * (time == end and end in self.steps)
                continue
            own.append(time)
            surfaces = self._surfaces(before, roots, decided, time)
            passages = self._passages(before, side, surfaces, decided, time)
            slide = None
            if passages and len(surfaces) == 1:
                slide = self._slide(before, side, surfaces[0][0], decided, time)
            if slide is None:
                yield SmoothStretch(own, self.sides.field(before), passages)
                own = [time]
                continue
            longest = np.max(np.abs(np.diff(own)))
            passages = [passages[-1]._replace(after=slide.field)]
            yield SmoothStretch(own, self.sides.field(before), passages)
            own, passages, i = self._along(slide, time, i, longest)
            yield SmoothStretch(own, slide.field, passages)
            own = own[-1:]
            if i == len(times):
                break
            at = own[0] + ASIDE * (times[i] - own[0])
            side = self._side(at)
        if own[-1] != times[-1]:
            own.append(times[-1])
        elif len(own) == 1:
            return
        yield SmoothStretch(own, self.sides.field(side), [])

    def begins_on_surface(self) -> bool:
        """Whether the right side at the start is another function than that behind it."""
        t, behind = self.times[0], self._first_side
        here = self._side(t)
        if here.same(behind):
            return False
        roots = here.changes(self.sides.decided(here, self.times[1], self.sol(self.times[1])))
        return self.sides.moving(here, roots) and self._differ(here, behind, t, self.sol(t))

    def _side(self, t: float) -> Side:
        return self.sides.side(t, self.sol(t))

    def _first(
        self, side: Side, entries: list[Entry], decided: dict[int, Any], start: float, end: float
    ) -> tuple[float, list[Entry]]:
        """The first time at which a margin of some entries is zero, and these; others follow from
        them. Where none passes zero, when the side ends, and none."""
        times = {}
        for entry in entries:
            if not self.sides.has_margin(side, entry):
                continue
            margin = self.sides.margin(side, entry, decided, traced=False)

            def along(t: float, margin: Field = margin) -> float:
                return float(margin(t, self.sol(t)))

            a, b = along(start), along(end)
            if a == 0 != b:
                times[entry] = start
            elif a * b < 0 or a != 0 == b:
                times[entry] = scipy.optimize.brentq(along, start, end, xtol=1e-300, rtol=RTOL)
        if not times:
            return self._end_of(side, start, end), []
        first = min(times.values(), key=lambda t: abs(t - start))
        near = abs(first - start) + ASIDE * abs(end - first)
        at_once = [entry for entry, t in times.items() if abs(t - start) <= near]
        return first, sorted(at_once, key=lambda entry: abs(times[entry] - start))

    def _end_of(self, side: Side, start: float, end: float) -> float:
        """When something is decided otherwise, by halves."""
        while (middle := 0.5 * (start + end)) not in (start, end):
            if side.changes(self.sides.decided(side, middle, self.sol(middle))):
                end = middle
            else:
                start = middle
        return end

    def _surfaces(
        self, side: Side, roots: list[Entry], decided: dict[int, Any], t: float
    ) -> list[list[Entry]]:
        """Entries by the surface on which their margins are zero: an if, and the sign of the
        same, are decided together. Around a point on it the times of one surface are the same."""
        if len(roots) < 2:
            return [roots] if roots else []
        y = self.sol(t)
        moved = [
            self.sides.margin_aside(side, entry, decided, t, y)
            / self._slope(side, entry, decided, side, t, y)
            for entry in roots
        ]
        same = 1e-3 * np.max(np.abs(moved))
        found: list[tuple[float, list[Entry]]] = []
        for entry, time in zip(roots, moved, strict=True):
            together = next((g for other, g in found if abs(time - other) <= same), None)
            if together is None:
                found.append((time, [entry]))
            else:
                together.append(entry)
        return [entries for _, entries in found]

    def _passages(
        self,
        before: Side,
        after: Side,
        surfaces: list[list[Entry]],
        decided: dict[int, Any],
        t: float,
    ) -> list[Passage]:
        """What leads from one side to another, through one surface after the other."""
        roots = [entry for entries in surfaces for entry in entries]
        if roots and not self.sides.moving(before, roots):
            return []
        y = self.sol(t)
        if not self._differ(before, after, t, y):
            return []
        if not roots:
            raise UnsupportedError(self._unknown(before, decided, t))
        if after.path is not before.path and len(surfaces) > 1:
            raise UnsupportedError(self._two_surfaces(before, surfaces, t))
        found, side, passed = [], before, list[Entry]()
        for entries in surfaces:
            passed += entries
            last = entries is surfaces[-1]
            behind = after if last else before.with_changes(passed, decided)
            margin = self.sides.margin(side, entries[0], decided)
            slope = self._slope(side, entries[0], decided, side, t, y)
            found.append(Passage(self.sides.field(behind), margin, slope))
            side = behind
        return found

    def _slope(
        self, of: Side, entry: Entry, decided: dict[int, Any], along: Side, t: float, y: Array
    ) -> float:
        """The slope of a margin along the field of a side."""
        margin = self.sides.margin(of, entry, decided, traced=False)
        v = self.sides.field(along, traced=False)(t, y)
        with outside_of_traces():
            return float(derivative(lambda s: margin(t + s, y + s * v))(0.0))

    def _slide(
        self, before: Side, after: Side, entry: Entry, decided: dict[int, Any], t: float
    ) -> Slide | None:
        """The slide along a surface; None where the field behind leads away from it."""
        slide = Slide(self.sides, before, after, entry, decided)
        return slide if 0 < slide.share(t, self.sol(t), traced=False) < 1 else None

    def _along(
        self, slide: Slide, start: float, i: int, longest: float
    ) -> tuple[list[float], list[Passage], int]:
        """The times of a slide, how it ends, and the number of the step's end behind it.

        SciPy's steps to and fro are not taken: its own are as long as those that led to it."""
        own = [start]

        def share(t: float) -> float:
            return float(slide.share(t, self.sol(t), traced=False))

        for k in range(i, len(self.times)):
            end = self.times[k]
            if abs(end - own[-1]) < longest and k < len(self.times) - 1:
                continue
            slide.check(end, self.sol(end))
            if 0 < share(end) < 1:
                own.append(end)
                continue
            time, passage = self._leaving(slide, own[-1], end)
            own.append(time)
            return own, [passage], k
        return own, [], len(self.times)

    def _leaving(self, slide: Slide, start: float, end: float) -> tuple[float, Passage]:
        """When a slide ends within a step, and what follows."""

        def share(t: float) -> float:
            return float(slide.share(t, self.sol(t), traced=False))

        bound = 1.0 if share(end) >= 1 else 0.0
        time = scipy.optimize.brentq(
            lambda t: share(t) - bound, start, end, xtol=1e-300, rtol=RTOL
        )
        y = self.sol(time)
        v = slide.mean(time, y, traced=False)
        with outside_of_traces():
            slope = derivative(lambda s: slide.share(time + s, y + s * v, traced=False))(0.0)
        field = self.sides.field(self._side(time + ASIDE * (end - time)))
        return time, Passage(field, lambda t, y: slide.share(t, y) - bound, float(slope))

    def _differ(self, before: Side, after: Side, t: float, y: Array) -> bool:
        """Whether two sides differ at a point, in what they are or in how they change there."""
        f, g = (self.sides.field(side, traced=False) for side in (before, after))
        if not np.isfinite([f(t, y), g(t, y)]).all():
            return self._refuse_undefined(f, g, t)
        size = np.max(np.abs([f(t, y), g(t, y)]), initial=0.0)
        if np.max(np.abs(f(t, y) - g(t, y))) > SAME * size:
            return True
        aside = np.cos(1.0 + np.arange(y.size)) * 1e-6 * (np.abs(y) + np.max(np.abs(y)) + 1e-30)
        later = 1e-6 * (np.abs(t) + np.abs(self.times[-1] - self.times[0]))
        a, b = (h(t + later, y + aside) - h(t - later, y - aside) for h in (f, g))
        return bool(np.max(np.abs(a - b)) > KINK * np.max(np.abs([a, b])))

    def _refuse_undefined(self, f: Field, g: Field, t: float) -> bool:
        """False where two sides that are no numbers at a point agree around it; raises else."""
        step = SMALL_STEP * (1 + abs(t)) * np.sign(self.times[-1] - self.times[0])
        apart, size = [], 0.0
        for ahead in (step, 1e3 * step):
            a, b = (h(s, self.sol(s)) for h, s in ((f, t - ahead), (g, t + ahead)))
            apart.append(np.max(np.abs(a - b)))
            size = np.max(np.abs([a, b]))
        if apart[0] > KINK * size and apart[0] > 0.5 * apart[1]:  # a root fades towards zero
            raise UnsupportedError(
                f"solve_ivp: its function jumps at t = {t:.6g}, and is not a finite number there: "
                f"np.sign(x) jumps as x / abs(x) does, and is one"
            )
        return False

    def _too_many(self, t: float) -> str:
        return (
            f"solve_ivp: its function decides otherwise more than {MOST} times within the step "
            f"up to t = {t:.6g}, as by rounding to many digits: give shorter steps by max_step"
        )

    def _two_surfaces(self, side: Side, surfaces: list[list[Entry]], t: float) -> str:
        one, other = (side.path.tape.equations[entries[0][0]].source for entries in surfaces[:2])
        return (
            f"solve_ivp: its function decides on two things at the same time, t = {t:.6g}, by "
            f"{one} and by {other}: which comes first depends on parameters; np.where in place "
            f"of one if tells how the function is between the two"
        )

    def _unknown(self, side: Side, decided: dict[int, Any], t: float) -> str:
        line = side.path.tape.equations[side.changes(decided)[0][0]].source
        return (
            f"solve_ivp: its function jumps at t = {t:.6g}, by {line}: how the time of the jump "
            f"depends on parameters is not known there; compare numbers that pass each other"
        )
