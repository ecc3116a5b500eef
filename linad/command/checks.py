"""The checks of `linad check`: is this the derivative of that function, at that point?

dot test      <w, J v> = <J^H w, v>                       the two modes are one matrix
differences   J v = (f(x + h v) - f(x - h v)) / 2h        it is the derivative
Taylor        |f(x + h d) - f(x) - h J d| = O(h^2)        observed order 2, for h halving
Hessian       |... - h^2/2 <d, H d>|      = O(h^3)        observed order 3
symmetry      <u, H v> = <v, H u>                         differentiation commutes

A wrong J leaves a remainder of order 1, a wrong H one of order 2, however small the error is
once h is small enough; so the order is read from the smallest steps that rounding permits.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linad.api.derivatives import linearize
from linad.api.gradients import grad, hvp
from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import is_inexact
from linad.core.vectors import combine, inner, norm, precision, random_like

HALVINGS = 45
TOLERANCE_OF_ORDER = 0.3


@dataclass
class Finding:
    """What one check found.

    Attributes
    ----------
    name, formula : str
    found, needed : str
        The number, and what it had to be.
    passed : bool
    """

    name: str
    formula: str
    found: str
    needed: str
    passed: bool


def run_checks(
    f: Callable[..., Any], point: tuple[Any, ...], order: int = 2, seed: int = 0
) -> list[Finding]:
    """Check the derivatives of ``f`` at a point.

    Parameters
    ----------
    f : callable
    point : tuple
        The arguments, all differentiated.
    order : int
        1 checks the Jacobian, 2 the Hessian as well: that of ``f`` if it is a real scalar,
        else that of <w, f> with a random w.
    seed : int
        Of the random directions.

    Notes
    -----
    About 100 runs of ``f``. What it cannot see: other branches of the
    function than the one taken at the point.
    """
    rng = np.random.default_rng(seed)
    y, J = linearize(functools.update_wrapper(lambda *x: f(*x), f, updated=()), *point)
    plain = f(*_copies(point))
    v, d = direction_at(point, rng), direction_at(point, rng)
    w = random_like(y, rng)
    eps = max(precision(point), precision(y))
    rounding = 50 * eps * np.sqrt(1 + sum(np.size(x) for x in tree.flatten((y, point))[0]))

    def pushed(direction: tuple[Any, ...]) -> Any:
        return J.pushforward(direction[0] if len(point) == 1 else direction)

    Jv, Jw = pushed(v), _as_tuple(J.pullback(w), point)
    findings = [
        _compare(
            "value", "traced f(x) = f(x)", norm(combine(1.0, y, -1.0, plain)), norm(y), rounding
        ),
        _compare(
            "dot test",
            "<w, J v> = <J.H w, v>",
            abs(inner(w, Jv) - inner(Jw, v)),
            norm(w) * norm(Jv) + norm(Jw) * norm(v),
            rounding,
        ),
        _differences(f, point, v, Jv, eps),
    ]
    slope = taylor_order(f, point, d, [pushed(d)], pushed, rng)
    findings.append(_order("Taylor", "|f(x+hd) - f(x) - h J d| ~ h^2", slope, 2))
    if order > 1:
        findings += _second_order(_scalar(f, y, w), point, (v, d), rng, rounding)
    return findings


def _second_order(
    g: Callable[..., Any],
    point: tuple[Any, ...],
    directions: tuple[Any, ...],
    rng: Any,
    rounding: float,
) -> list[Finding]:
    """The checks of the Hessian of a scalar function."""
    v, d = directions
    gradient = grad(g, tuple(range(len(point))))(*point)
    Hv, Hd = (_as_tuple(hvp(g, point, u), point) for u in (v, d))

    def pushed(direction: tuple[Any, ...]) -> Any:
        return np.float64(inner(gradient, direction))

    slope = taylor_order(g, point, d, [pushed(d), np.float64(inner(d, Hd))], pushed, rng)
    # H may be small because larger terms cancel; their rounding is that of the gradient.
    scale = norm(d) * norm(Hv) + norm(v) * norm(Hd) + norm(gradient) * (norm(d) + norm(v))
    return [
        _order("Hessian", "|... - h^2/2 <d, H d>| ~ h^3", slope, 3),
        _compare(
            "symmetry", "<d, H v> = <v, H d>", abs(inner(d, Hv) - inner(v, Hd)), scale, rounding
        ),
    ]


def _copies(point: tuple[Any, ...]) -> tuple[Any, ...]:
    leaves, structure = tree.flatten(point)
    return tuple(tree.unflatten(structure, [np.array(x)[()] for x in leaves]))


def _as_tuple(value: Any, point: tuple[Any, ...]) -> tuple[Any, ...]:
    """Cotangents of the arguments as a tuple, also when there is one argument."""
    return (value,) if len(point) == 1 else tuple(value)


def direction_at(point: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    """A random direction that moves each entry in proportion to its own size.

    An entry of 1e-3 beside one of 1e3 keeps its sign along it; a zero entry moves as the
    mean of its array, or by 1.
    """
    leaves, structure = tree.flatten(point)
    directions = []
    for x, r in zip(leaves, tree.flatten(random_like(point, rng))[0], strict=True):
        size = np.abs(x)
        mean = float(np.mean(size)) if np.size(x) else 0.0
        scale = np.where(size > 0, size, mean or 1.0)
        directions.append(np.asarray(r * scale).astype(r.dtype)[()])
    return tuple(tree.unflatten(structure, directions))


def _scalar(f: Callable[..., Any], y: Any, w: Any) -> Callable[..., Any]:
    """``f`` itself where it is a real scalar, else the real part of <w, f>."""
    if isinstance(y, np.generic | np.ndarray) and y.shape == () and y.dtype.kind == "f":
        return f
    weights = tree.flatten(w)[0]

    def weighted(*point: Any) -> Any:
        results = tree.flatten(f(*point))[0]
        parts = [
            _inner_with(weight, result)
            for weight, result in zip(weights, results, strict=True)
            if is_inexact(result.dtype)
        ]
        return sum(parts[1:], parts[0])

    return weighted


def _inner_with(weight: Array, result: Array) -> Any:
    if result.dtype.kind != "c":
        return np.sum(weight * result)
    return np.sum(np.real(np.conj(weight) * result))


def _differences(
    f: Callable[..., Any], point: tuple[Any, ...], v: tuple[Any, ...], Jv: Any, eps: float
) -> Finding:
    expected, uncertain = extrapolated_difference(f, point, v)
    scale = norm(expected) + norm(Jv)
    allowed = max(eps**0.5, min(10 * uncertain / scale, 1e-3)) if scale else 1.0
    error = norm(combine(1.0, Jv, -1.0, expected))
    return _compare("differences", "J v = (f(x+hv) - f(x-hv)) / 2h", error, scale, allowed)


def extrapolated_difference(
    f: Callable[..., Any], point: tuple[Any, ...], direction: tuple[Any, ...]
) -> tuple[Any, float]:
    """Directional derivative by central differences, extrapolated to h = 0.

    Returns
    -------
    derivative
        A container like the result.
    uncertain : float
        How far it is from its neighbours in the extrapolation.

    Notes
    -----
    Ridders' method with steps 2^-3, 2^-5, ... 2^-23, since nothing is known of the scale on
    which ``f`` varies; 22 runs. C. Ridders, "Accurate computation of F'(x) and
    F'(x) F''(x)", Advances in Engineering Software 4, 1982.
    """
    best, uncertain = None, np.inf
    above: list[Any] = []
    for k in range(3, 25, 2):
        h = 0.5**k
        with np.errstate(all="ignore"):  # large first steps may leave the domain of f
            ahead, behind = (f(*combine(1.0, point, s * h, direction)) for s in (1, -1))
        row = [combine(0.5 / h, ahead, -0.5 / h, behind)]
        if best is None:
            best = row[0]
        for j, coarse in enumerate(above[:4]):
            weight = 1 / (16.0 ** (j + 1) - 1)
            row.append(combine(1 + weight, row[j], -weight, coarse))
            spread = max(norm(combine(1.0, row[-1], -1.0, x)) for x in (row[j], coarse))
            if spread < uncertain:
                best, uncertain = row[-1], spread
        above = row
    return best, uncertain


def _compare(name: str, formula: str, error: float, scale: float, allowed: float) -> Finding:
    """A finding that two numbers differ, relative to ``scale``, by no more than ``allowed``."""
    relative = error / scale if scale else error
    return Finding(
        name, formula, f"off by {relative:.1e}", f"at most {allowed:.0e}", relative <= allowed
    )


def _order(name: str, formula: str, slope: float | None, expected: int) -> Finding:
    needed = f"order {expected}"
    if slope is None:
        return Finding(name, formula, "rounding only", needed, True)
    return Finding(
        name, formula, f"order {slope:.2f}", needed, slope > expected - TOLERANCE_OF_ORDER
    )


def taylor_order(
    f: Callable[..., Any],
    point: tuple[Any, ...],
    direction: tuple[Any, ...],
    terms: Sequence[Any],
    pushed: Callable[[tuple[Any, ...]], Any],
    rng: np.random.Generator,
) -> float | None:
    """Return the order in h at which a Taylor polynomial's remainder vanishes.

    Parameters
    ----------
    f : callable
    point, direction : tuple
    terms : sequence
        First, second, ... derivative of f(x + h d) in h, at 0.
    pushed : callable
        The derivative along any direction; tells truncation from rounding in ``f``.
    rng : numpy.random.Generator

    Returns
    -------
    float or None
        The slope of log remainder over log h, on the last three halvings before rounding;
        None where there is nothing but rounding, NaN where a derivative is not finite.
    """
    with np.errstate(all="ignore"):  # large first steps may leave the domain of f
        return _observed_order(f, point, direction, terms, pushed, rng)


def _observed_order(
    f: Any,
    point: tuple[Any, ...],
    direction: tuple[Any, ...],
    terms: Any,
    pushed: Callable[..., Any],
    rng: Any,
) -> float | None:
    y = f(*_copies(point))
    if not all(np.isfinite(norm(term)) for term in terms):
        return np.nan  # no polynomial
    eps = precision((point, y))
    noise = _rounding_noise(f, point, y, pushed, rng) + eps * norm(y)
    seen: list[float] = []
    for k in range(2, HALVINGS):
        h = 0.5**k
        remainder = combine(1.0, f(*combine(1.0, point, h, direction)), -1.0, y)
        factor = 1.0
        for power, term in enumerate(terms, start=1):
            factor *= h / power
            remainder = combine(1.0, remainder, -factor, term)
        size = norm(remainder)
        if not np.isfinite(size):
            continue
        if size <= 20 * (noise + eps * h * norm(terms[0])):
            break
        seen.append(size)
    last = seen[-4:]
    if len(last) < 2:
        return None
    return float(np.log2(last[0] / last[-1]) / (len(last) - 1))


def _rounding_noise(
    f: Any, point: tuple[Any, ...], y: Any, pushed: Callable[..., Any], rng: Any
) -> float:
    """How far ``f`` is from its linear part a few units of rounding away from the point.

    The rounding of ``point + step`` is meant to be in it, as it is in each remainder.
    """
    worst = 0.0
    for _ in range(3):
        step = combine(8 * precision(point), direction_at(point, rng), 0.0, point)
        change = combine(1.0, f(*combine(1.0, point, 1.0, step)), -1.0, y)
        worst = max(worst, norm(combine(1.0, change, -1.0, pushed(step))))
    return worst
