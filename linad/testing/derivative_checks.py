"""Checks of derivatives: is this the derivative of that function, in both modes?

Each check is a directional one, so its cost is a few runs of the function, whatever the
number of arguments. A failure raises `DerivativeError`, saying which test failed, where
and by how much.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.api.derivatives import jvp, linearize, vjp
from linad.api.differentiated_call import check_point
from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import POSITIVE_COUNT, SEED, TOLERANCE, takes
from linad.core.settings import config
from linad.core.shapes import check_function, is_inexact
from linad.core.vectors import combine, difference, inner, norm, precision, random_like
from linad.errors import DerivativeError, OpaqueRuleError
from linad.testing.agreement import require

Rng = np.random.Generator | int | None
"""What options named ``rng`` take."""

SPREAD = 10.0
"""Rounding is that much larger than one sample of it, at most."""

MOST = 1000.0
"""What cancels may add to the bound of rounding, as a multiple of it: a map that is not linear
gives samples that are not rounding."""


@takes(order=POSITIVE_COUNT, rtol=TOLERANCE.optional, rng=SEED)
def check_derivatives(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    rtol: float | None = None,
    rng: Rng = 1729,
) -> None:
    """Check the derivatives linad takes of ``f`` at a point, in both modes.

    Parameters
    ----------
    f : callable
        A function of arrays or containers of arrays.
    *args
        The point; all arguments are differentiated.
    order : int
        Derivatives up to this order are checked, forward and reverse over reverse.
    rtol : float, optional
        Allowed relative difference between the derivative and central differences; by
        default ``eps**0.5``, 1.5e-8 for float64.
    rng : numpy.random.Generator, int or None
        For the random directions.

    Raises
    ------
    DerivativeError
        Naming the test that failed.

    Notes
    -----
    The tests: <ybar, J dx> = <J^H ybar, dx> to rounding; J dx against fourth-order central
    differences; `jvp` equal to J dx; seeds with leading axes equal to one at a time; then
    the same for the pullback as a function of the point. What it cannot see: a point at a
    kink (differences mix both sides), and saturation, where both are zero.
    """
    check_function("check_derivatives", f)
    check_point("check_derivatives", f, args)
    rng = np.random.default_rng(rng)
    y, J = linearize(functools.update_wrapper(lambda *a: f(*a), f, updated=()), *args)
    with config(disconnected="ignore"):  # linearize has told
        _check_linearized(f, args, y, J, order, rtol, rng)


def _check_linearized(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    y: Any,
    J: Any,
    order: int,
    rtol: float | None,
    rng: np.random.Generator,
) -> None:
    """What `check_derivatives` asks of a result and its Jacobian."""
    point = args[0] if len(args) == 1 else args
    dx = random_like(point, rng)
    ybar = random_like(y, rng)
    dy = J.pushforward(dx)
    xbar = J.pullback(ybar)
    check_forms(dy, y, "pushforward")
    check_forms(xbar, point, "pullback")
    eps = max(precision(args), precision(y))
    entries = sum(np.size(x) for x in tree.flatten((y, args))[0])
    rounding = 50 * eps * np.sqrt(entries + 1)
    scale = norm(ybar) * norm(dy) + norm(xbar) * norm(dx)
    _require_rounding(
        abs(inner(ybar, dy) - inner(xbar, dx)),
        rounding * scale,
        lambda: (
            norm(ybar) * _noise(J.pushforward, dx, rng) + norm(dx) * _noise(J.pullback, ybar, rng)
        ),
        "dot test <w, J v> = <J.H w, v>",
    )

    direction = (dx,) if len(args) == 1 else dx
    rtol = eps**0.5 if rtol is None else rtol
    _check_differences(f, args, direction, dy, rtol)

    pushed = jvp(f, args, direction)[1]
    _require_rounding(
        norm(combine(1.0, pushed, -1.0, dy)),
        rounding * norm(dy),
        lambda: _noise(J.pushforward, dx, rng),
        "jvp against pushforward",
    )
    _check_seeds(J.pushforward, dx, rng, rounding, "pushforward")
    _check_seeds(J.pullback, ybar, rng, rounding, "pullback")
    if order > 1:
        for name, derivative in (
            ("pullback", lambda *a: vjp(f, *a)[1](ybar)),
            ("pushforward", lambda *a: jvp(f, a, direction)[1]),
        ):
            try:
                check_derivatives(derivative, *args, order=order - 1, rtol=rtol, rng=rng)
            except DerivativeError as error:
                raise DerivativeError(f"derivative of the {name}: {error}") from None
            except OpaqueRuleError as error:
                raise OpaqueRuleError(
                    f"{error}; linad.check_derivatives(f, x, order=1) checks the first derivatives"
                ) from None


def _require_rounding(off: float, allowed: float, noise: Callable[[], float], what: str) -> None:
    """Raise unless two results of a linear map differ by rounding, of the terms on the way as well.

    Where large terms cancel on the way, their rounding is more than the size of the result tells.
    """
    if off > allowed:
        allowed += min(SPREAD * max(noise(), noise(), noise()), MOST * allowed)
    require(off, allowed, what)


def _noise(apply: Callable[..., Any], direction: Array, rng: np.random.Generator) -> float:
    """A sample of the rounding in a linear map: a direction in two parts, one after the other."""
    part = random_like(direction, rng)
    parts = combine(1.0, apply(part), 1.0, apply(combine(1.0, direction, -1.0, part)))
    return norm(combine(1.0, parts, -1.0, apply(direction)))


def _check_differences(
    f: Callable[..., Any], args: tuple[Any, ...], direction: tuple[Any, ...], dy: Any, rtol: float
) -> None:
    """The pushforward must equal the differences, of four steps the one that fits best.

    One step serves all entries: too long for the small ones, it differs from the derivative by
    truncation, which a smaller step takes away. A wrong derivative differs at each of them.
    """
    worst = []
    for step in (1.0, 0.1, 0.01, 0.001):
        expected, noise = difference(f, args, direction, step)
        error = norm(combine(1.0, dy, -1.0, expected))
        allowed = rtol * (norm(expected) + norm(dy)) + 100 * noise
        if error <= allowed:
            return
        worst.append((error, allowed))
    require(*min(worst), "pushforward against differences")


def check_forms(found: Any, like: Any, what: str) -> None:
    """Each leaf must have the shape of its primal, and its dtype."""
    pairs = zip(tree.flatten(found)[0], tree.flatten(like)[0], strict=True)
    for x, primal in pairs:
        primal = np.asarray(primal)
        if np.shape(x) != primal.shape:
            raise DerivativeError(f"{what}: shape {np.shape(x)}, the primal has {primal.shape}")
        if is_inexact(primal.dtype) and x.dtype != primal.dtype:
            raise DerivativeError(f"{what}: dtype {x.dtype}, the primal has {primal.dtype}")


def _check_seeds(
    apply: Callable[..., Any], like: Any, rng: Any, rounding: float, what: str
) -> None:
    """Seeds of shape (2, 3, ...) at once must equal one at a time."""
    singles = [random_like(like, rng) for _ in range(6)]
    leaves = [tree.flatten(s)[0] for s in singles]
    structure = tree.flatten(like)[1]
    stacked = [
        np.stack(parts).reshape((2, 3, *np.shape(parts[0]))) for parts in zip(*leaves, strict=True)
    ]
    batched = tree.flatten(apply(tree.unflatten(structure, stacked)))[0]
    for k, single in enumerate(singles):
        for part, whole in zip(tree.flatten(apply(single))[0], batched, strict=True):
            if whole.shape != (2, 3, *np.shape(part)):
                raise DerivativeError(
                    f"{what} of seeds (2, 3, ...): shape {whole.shape} for {np.shape(part)}"
                )
            found = whole[k // 3, k % 3]
            _require_rounding(
                norm(found - part),
                10 * rounding * (norm(part) + 1e-300),
                lambda single=single: _noise(apply, single, rng),  # type: ignore[misc]
                f"{what} of many seeds",
            )
