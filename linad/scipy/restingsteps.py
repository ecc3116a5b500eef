"""Steps at rest, where a solution does not move and its derivatives do.

A method chooses its steps by the error of the state. At rest that is 0, and steps grow tenfold, one
after the other; near rest errors are as large as what moves. Derivatives follow

    v' = f_y v + f_p

and are multiplied by R(h f_y) in a step, a polynomial, which is far from exp(h f_y) where h |f_y|
is not small, and explodes. So a step at rest is taken in parts where derivatives are carried: as
long as the method would have chosen them if the state moved as its derivatives do. With ρ the size
of f_y and E the weights of the estimate of errors, which for y' = λ y is a polynomial as well,

    h / m ≤ z / ρ        Σ_j |E^T A^j 1| z^(j+1) = rtol

The size ρ is found by power iteration, where anything moves by few tolerances: at rest is a
solution that does in the direction which this finds.

Source: E. Hairer and G. Wanner, "Solving Ordinary Differential Equations II", 1996, IV.2; of power
iterations for ρ, B. P. Sommeijer, L. F. Shampine and J. G. Verwer, "RKC: an explicit solver for
parabolic PDEs", Journal of Computational and Applied Mathematics 88, 1998.
"""

import functools
import itertools
from typing import Any

import numpy as np
import scipy.optimize
from scipy.integrate import DOP853

from linad.core.array_type import Array
from linad.core.interrupts import is_interrupt
from linad.core.marks import outside_of_traces
from linad.scipy.heldsides import Field, HeldSides

RESTING = 10.0
"""Tolerances by which a state moves in a step, at most, where it is at rest: derivatives that are
in error by as much as the state are in error by one in so many."""

COARSEST = 0.1
"""The error of derivatives, relative, where tolerances are larger."""

MOST, COARSE, FEW = 100_000, 20_000, 300
"""Parts of an integration's steps, at most: a stiff problem then; those of one step in a program;
and those of one step of a stiff problem."""

KEPT = 10_000_000
"""Numbers that are kept of steps."""

NEAR, NEARER = 1e-7, 1e-12
"""Differences by which f_y is known: relative to a state's own size, and to the largest."""

MIXED, PART = 1e-3, 0.1
"""Noise in the direction of a power iteration, which finds others as f_y changes, and what part of
the largest entry one has that counts."""
ITERATIONS = 2
"""Products with f_y at the end of a step in which something hardly moves: two, for those with an
oscillator's go to and fro between its entries."""


@functools.cache
def longest(method: Any, rtol: float) -> float:
    """The step z of a method at which it would accept y' = λ y, |λ| = 1, just so."""
    size = min(rtol, COARSEST)

    def error(z: float) -> float:
        if method is not DOP853:
            return float(np.polyval(_estimate(method, method.E), z))
        fifth, third = [np.polyval(_estimate(method, w), z) for w in (DOP853.E5, DOP853.E3)]
        return float(fifth**2 / np.hypot(fifth, 0.1 * third))

    z = scipy.optimize.brentq(
        lambda x: np.log(error(np.exp(x)) / size), np.log(1e-7), np.log(1e3)
    )
    return float(np.exp(z))


def _estimate(method: Any, weights: Array) -> Any:
    """The estimate for y' = λ y as a polynomial in z, its highest coefficient first."""
    n = method.n_stages
    A = np.zeros((n + 1, n + 1))
    rows = method.A[:n, :n]
    A[:n, : rows.shape[1]], A[n, :n] = rows, method.B
    powers = list(itertools.accumulate(range(n), lambda v, _: A @ v, initial=np.ones(n + 1)))
    found = [abs(weights @ v) for v in powers]
    return np.array([0.0 if c < 1e-13 else c for c in reversed(found)] + [0.0])


def leading(direction: Array) -> Any:
    """Which entries take part in a direction, as 1 and 0."""
    sizes = np.abs(direction)
    return np.where(sizes > PART * np.max(sizes), 1.0, 0.0)


def differences(size: Array, atol: Any) -> Any:
    """How far each entry of a state goes by which f_y is known, with how large it has been."""
    most = np.max(size)
    most = np.where(most > 0, most, 1.0)
    least = np.clip(atol, NEARER * most, NEAR * most)
    return np.maximum(NEAR * size, least)


def _product(field: Field, t: float, y: Array, step: Array, slope: Array) -> Array:
    """f_y times a small step, by a difference; the step is taken back where a right side gives
    nothing ahead, as beyond the end of its domain, and NaN is found where there as well."""
    for way in (1.0, -1.0):
        try:
            found = np.asarray(field(t, y + way * step))
        except Exception as error:  # SciPy does not ask for this state
            if is_interrupt(error):
                raise
            continue
        if np.isfinite(found).all():
            return way * (found - slope)
    return np.full(y.shape, np.nan)


class RestWatch:
    """In how many parts each step of an explicit method is taken where derivatives are carried.

    Parameters
    ----------
    kind : class
        RK23, RK45 or DOP853 of `scipy.integrate`.
    field : callable
        Of plain numbers.
    sides : HeldSides or None
        Of the field, where it decides.

    Attributes
    ----------
    parts : list of int
    taken : list of (t, y, t, y, stages)
        The steps, with f at their stages and their end, as long as there is room for `KEPT` of
        numbers.
    """

    def __init__(self, kind: Any, field: Field, sides: HeldSides | None) -> None:
        self.kind, self.field, self.sides = kind, field, sides
        self.parts: list[int] = []
        self.taken: list[Any] = []
        self.numbers = 0
        self.direction: Any = None
        self.size: Any = None
        self.known = 0.0  # of f_y, at the end of the step before

    @property
    def is_stiff(self) -> bool:
        """Whether parts are too many: an implicit method takes the steps as they are."""
        return sum(self.parts) - len(self.parts) > MOST

    def stepped(self, solver: Any, t0: float, y0: Array) -> None:
        """Look at the step that a solver has taken."""
        t, y, h = float(solver.t), solver.y, abs(float(solver.t) - t0)
        self.numbers += solver.K.size
        if self.numbers <= KEPT:
            self.taken.append((t0, y0, t, y, solver.K.copy()))
        if not y.size:
            self.parts.append(1)
            return
        self.size = np.abs(y0) if self.size is None else np.maximum(self.size, np.abs(y))
        with outside_of_traces(), np.errstate(all="ignore"):
            moved = np.abs(y - y0) / (solver.atol + solver.rtol * np.maximum(np.abs(y0), np.abs(y)))
            slow = np.min(moved) <= RESTING
            self.parts.append(self._divided(solver, h, moved, [(t0, y0), (t, y)]) if slow else 1)

    def _divided(
        self, solver: Any, h: float, moved: Array, ends: list[tuple[float, Array]]
    ) -> int:
        """The parts of a step in which something hardly moves."""
        before, self.known = self.known, self._largest(*ends[1], solver.atol)
        allowed = longest(self.kind, float(np.max(solver.rtol)))
        rests = np.max(leading(self.direction) * moved) <= RESTING
        if not rests or h * max(before, self.known) <= allowed:
            return 1
        rho = max([self._largest(*end, solver.atol) for end in ends])
        return int(np.clip(np.ceil(h * rho / allowed), 1, MOST + 1))

    @property
    def ends(self) -> dict[float, Array]:
        """The states at the ends of steps."""
        return {t: y for _, _, t, y, _ in self.taken}

    @property
    def states(self) -> Array:
        """The states at the beginning and the ends of steps, (n, m); of those that are kept."""
        begin = [step[1] for step in self.taken[:1]]
        return np.stack([*begin, *self.ends.values()], axis=1) if begin else np.empty((0, 0))

    def within(self, times: list[float], known: list[list[float]]) -> list[list[float]]:
        """The times within each step at which its parts end, but for those that are known."""
        parts = np.minimum(self.parts, FEW if self.is_stiff else MOST)
        found = []
        for a, b, m, own in zip(times[:-1], times[1:], parts, known, strict=True):
            found.append(own or [a + (b - a) * (k / m) for k in range(1, m)])
        return found

    def _largest(self, t: float, y: Array, atol: Any) -> float:
        """The size of f_y by further power iterations, on one side of its jumps."""
        field = self.field
        if self.sides is not None:
            field = self.sides.field(self.sides.side(t, y), traced=False)
        slope, steps = np.asarray(field(t, y)), differences(self.size, atol)
        noise = np.cos(1.0 + np.arange(y.size))
        v = noise if self.direction is None else self.direction
        growth = 1.0
        for _ in range(ITERATIONS):
            moved = _product(field, t, y, steps * v, slope) / steps
            found = float(np.max(np.abs(moved)))
            told = 0 < found < np.inf
            growth *= found if told else 0.0
            v = (moved / found if told else 0.0) + MIXED * noise
        self.direction = v
        return growth ** (1 / ITERATIONS)  # type: ignore[no-any-return]
