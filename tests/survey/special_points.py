"""Arguments at special points, and what a derivative is there, told from values on both sides.

A problem is a function of arrays with a point at which it is smooth, as the other sweeps have it:
the cases of rules, the calls of twins, those of `survey.table`, and SciPy's distributions. Here one
argument, or some entries of it, become special: zero, one, whole and half numbers, equal entries,
entries in order, equal arguments, matrices that are symmetric or singular.

Differences tell on each side whether there is a derivative (`sides`). `findings` says where
linad's is another one: a number where the sides agree on another, or one that does not lie between
them, NaN where both are finite and agree, a number where they grow without end.
"""

import contextlib
import functools
import importlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import twin_cases
from distribution_shapes import CONTINUOUS, FURTHER
from kernels_in_python import kernels_in_python
from rule_cases import TOPICS

import linad
from linad.core.primitive import Primitive, Traced
from linad.errors import LinadError
from survey import table
from survey.numpy_calls import MATRIX, quiet


class Problem(NamedTuple):
    """A function of arrays, and where it is smooth.

    Attributes
    ----------
    name : str
    plain, traced : callable
        By NumPy and SciPy, and by linad; both give what has arrays as leaves.
    args : list of ndarray
    """

    name: str
    plain: Callable[..., Any]
    traced: Callable[..., Any]
    args: list[Any]


# Where they come from.


def of_rules() -> Iterator[Problem]:
    """The cases of rules, in the arguments that they differentiate in."""
    for topic, cases in TOPICS.items():
        for k, case in enumerate(cases):
            given = [i for i, a in enumerate(case.args) if np.asarray(a).dtype.kind in "fc"]
            wrt = list(case.options.get("wrt") or given)

            def call(*arrays, case=case, wrt=wrt, plain=False):
                args = list(case.args)
                for i, a in zip(wrt, arrays, strict=True):
                    args[i] = a
                if plain and isinstance(case.function, Primitive):
                    return case.function.impl(*args, **case.params)
                return case.function(*args, **case.params)

            def by_numpy(*arrays, call=call):
                return call(*arrays, plain=True)

            args = [np.asarray(case.args[i]) for i in wrt]
            yield Problem(f"rules-{topic}-{k}-{case!r}", by_numpy, call, args)


def of_twins() -> Iterator[Problem]:
    """The calls of functions that run as SciPy's own code."""
    for room, cases in twin_cases.ROOMS.items():
        theirs = importlib.import_module(f"scipy.{room}")
        ours = importlib.import_module(f"linad.scipy.{room}")
        for name, (f, *args) in cases.items():

            def plain(*a, f=f, theirs=theirs):
                return f(theirs, *a)

            def traced(*a, f=f, ours=ours):
                return f(ours, *a)

            yield Problem(f"twins-{room}-{name}", plain, traced, [np.asarray(a) for a in args])


def of_tables() -> Iterator[Problem]:
    """The calls by which the table of what traces is made."""
    for title, entries in table.entries().items():
        for entry in entries:
            for i, call in zip(entry.arguments, entry.calls, strict=True):

                def f(a, call=call, function=entry.function):
                    return call(function, a)

                yield Problem(f"table-{title}-{entry.name}-{i}", f, f, [MATRIX])


METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "mean", "var", "entropy")


def of_distributions() -> Iterator[Problem]:
    """Methods of continuous distributions, in their argument and their shapes."""
    theirs = importlib.import_module("scipy.stats")
    ours = importlib.import_module("linad.scipy.stats")
    for name, shapes in (CONTINUOUS | FURTHER).items():
        for method in METHODS:
            first = [] if method in ("mean", "var", "entropy") else [np.array([0.3, 0.6, 0.8])]

            def call(*args, stats, name=name, method=method):
                return getattr(getattr(stats, name), method)(*args)

            def plain(*args, call=call):
                return call(*args, stats=theirs)

            def traced(*args, call=call):
                return call(*args, stats=ours)

            args = [*first, *[np.array(s) for s in shapes]]
            if args:
                yield Problem(f"distributions-{name}-{method}", plain, traced, args)


SOURCES = {
    "rules": of_rules,
    "twins": of_twins,
    "table": of_tables,
    "distributions": of_distributions,
}


# Special points.

NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0)


def _entries(a: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Places in an array: all of it, its ends, one within."""
    yield "all", slice(None)
    if a.size > 1:
        yield "first", 0
        yield "last", -1
    if a.size > 2:
        yield "two", rng.choice(a.size, 2, replace=False)


def _special_arrays(a: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """An argument with special values."""
    for place, index in _entries(a, rng):
        for number in NUMBERS:
            changed = a.copy()
            changed.reshape(-1)[index] = number
            yield f"{place} {number}", changed
    if a.dtype.kind == "c":
        yield "real", a.real + 0j
        yield "imaginary", 1j * a.imag
        yield "under the real line", np.conj(a.real + 0j)
    if a.size < 2:
        return
    yield "equal", np.full_like(a, a.flat[0])
    one = a.copy()
    one.reshape(-1)[-1] = one.flat[0]
    yield "ends equal", one
    yield "in order", np.sort(a, axis=None).reshape(a.shape)
    yield "falling", np.sort(a, axis=None)[::-1].reshape(a.shape)
    yield "rounded", np.round(a)
    if a.ndim >= 2:
        row = a.copy()
        row[..., 0, :] = 0
        yield "a row of zeros", row
        row = a.copy()
        row[..., -1, :] = row[..., 0, :]
        yield "two equal rows", row
        if a.shape[-1] == a.shape[-2]:
            yield "symmetric", a + np.swapaxes(a, -1, -2)
            yield "identity", np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy()
            yield "triangular", np.triu(a)
            yield "diagonal", a * np.eye(a.shape[-1])


def special_points(args: list[Any], rng: np.random.Generator) -> Iterator[tuple[str, list[Any]]]:
    """The arguments with one of them special, or two alike.

    Yields
    ------
    what : str
    point : list of ndarray
    """
    for i, a in enumerate(args):
        if a.dtype.kind not in "fc":
            continue
        for what, changed in _special_arrays(a, rng):
            yield f"{i}: {what}", [*args[:i], changed, *args[i + 1 :]]
        for j in range(i):
            if args[j].shape == a.shape and args[j].dtype == a.dtype:
                yield f"{i} as {j}", [*args[:i], args[j].copy(), *args[i + 1 :]]


# What values say of a derivative.

STEPS = (1e-4, 1e-5)


def numbers(result: Any) -> list[np.ndarray]:
    """The leaves of a result that could have a derivative, complex ones as pairs."""
    return [a for a in map(np.asarray, table.leaves(result)) if a.dtype.kind in "fc"]


def flat(arrays: list[np.ndarray]) -> np.ndarray:
    """All entries as real numbers in one vector."""
    pairs = [np.stack([a.real, a.imag]) if a.dtype.kind == "c" else a for a in arrays]
    return np.concatenate([np.ravel(a).astype(float) for a in pairs]) if pairs else np.zeros(0)


class Sides(NamedTuple):
    """One-sided slopes of each entry of a result along a direction.

    Attributes
    ----------
    left, right : ndarray
        NaN where differences do not tell.
    grows : ndarray of bool
        Where differences on both sides of finite values have no bound, and one sign, without a
        jump. Where they have two, at a cusp, all slopes lie between them.
    tolerance : ndarray
    """

    left: np.ndarray
    right: np.ndarray
    grows: np.ndarray
    tolerance: np.ndarray


def sides(f: Callable[[float], np.ndarray]) -> Sides:
    """The slopes at 0 of a function of a number, on both sides.

    Of first differences r(h) = (f(h) - f(0)) / h, 2 r(h/2) - r(h) is off by order h²; where two
    steps agree it is told. Differences that grow as h^(p - 1), 0 < p < 1, are of h^p: one that
    jumps has p = 0.
    """
    here = f(0.0)
    told, grow, signs = [], [], []
    for sign in (-1, 1):
        rows = [[(f(sign * h / k) - here) / (sign * h / k) for k in (1, 2)] for h in STEPS]
        coarse, fine = (2 * half - whole for whole, half in rows)
        size = np.abs(fine) + np.abs(coarse)
        good = np.abs(fine - coarse) <= 1e-4 * size + 1e-7 * (1 + np.abs(here))
        told.append(np.where(good & np.isfinite(fine), fine, np.nan))
        signs.append(np.sign(rows[1][1]))
        ratios = [np.abs(half / whole) for whole, half in rows]
        grow.append(
            (np.abs(ratios[0] - ratios[1]) < 0.02)
            & (ratios[0] > 1.07)
            & (ratios[0] < 1.9)
            & (np.abs(rows[1][1]) > 10)
        )
    left, right = told
    scale = np.fmax(np.abs(left), np.abs(right))
    grows = grow[0] & grow[1] & (signs[0] == signs[1])
    return Sides(left, right, grows, 1e-3 * scale + 1e-5 * (1 + np.abs(here)))


CHOSEN = ("eig", "svd", "rq")
"""Parts of the names of those whose vectors LAPACK orders and signs as it finds them. Where other
ones are found beside a point, as at triangular matrices, differences tell of no entry: one that is
0 there does not show that its sign has changed."""


def jumps(f: Callable[[float], np.ndarray]) -> bool:
    """Whether an entry of a function of a number jumps at 0, on some side."""
    here = f(0.0)
    far, near = (np.abs([f(h) - here, f(-h) - here]) for h in STEPS)
    return bool(np.any((near > 1e-3) & (near > far / 2)))


def is_additive(along: Callable[[Any], Any], direction: Any, rng: Any) -> np.ndarray:
    """Where the mean of both sides is that of another direction and of what is left, together.

    It is where there is a derivative, and at a kink where two smooth pieces meet. A median of
    equal entries is neither: its slope is the median of the direction's entries. Neither is the
    mean of their least and largest, and directions that order three entries alike are many.
    """
    here = sides(along(direction))
    good = np.ones(here.left.shape, bool)
    for _ in range(12):
        one = [rng.standard_normal(d.shape).astype(d.dtype) for d in map(np.asarray, direction)]
        both = [d + e for d, e in zip(direction, one, strict=True)]
        found = [here, sides(along(one)), sides(along(both))]
        with quiet():
            mean = [s.left + s.right for s in found]
            off = np.abs(mean[0] + mean[1] - mean[2])
            good &= off <= sum(s.tolerance for s in found)
    return good


LARGE = 1e8
"""Slopes beyond which a point is singular but for rounding: a matrix whose determinant is 1e-17."""


def judge(
    slope: np.ndarray, values: Sides, linear: Callable[[], np.ndarray], alone: bool
) -> list[str]:
    """What is wrong with slopes, given the sides.

    A sum of several kinks may have slopes that do not lie between its sides: that they do is asked
    where one number moves ``alone``.
    """
    left, right, grows, tolerance = values
    wrong = []
    both = np.isfinite(left) & np.isfinite(right) & ~(np.abs(slope) > LARGE)
    agree = both & (np.abs(left - right) <= tolerance)
    low, high = np.minimum(left, right) - 2 * tolerance, np.maximum(left, right) + 2 * tolerance
    inside = (low <= slope) & (slope <= high)
    if np.any(both & ~inside):
        both = both & linear()
        agree &= both

    def tell(where, what):
        if np.any(where):
            k = int(np.argmax(where))
            wrong.append(f"{what}: entry {k} is {slope[k]:.6g}, sides {left[k]:.6g} {right[k]:.6g}")

    tell(agree & np.isnan(slope), "NAN")
    tell(agree & ~inside & ~np.isnan(slope), "WRONG")
    if alone:
        tell(both & ~agree & ~inside & ~np.isnan(slope), "OUTSIDE")
    one = np.isfinite(left) ^ np.isfinite(right)
    side = np.where(np.isfinite(left), left, right)
    tell(one & np.isfinite(slope) & ~(np.abs(slope - side) <= 2 * tolerance), "END")
    tell(grows & np.isfinite(slope) & (np.abs(slope) < 1e6), "FINITE")
    return wrong


# What linad says.


def _kind(leaf: Any) -> str:
    return leaf.dtype.kind if isinstance(leaf, Traced) else np.asarray(leaf).dtype.kind


def _moving(result: Any) -> list[Any]:
    """The traced numbers in a result."""
    return [a for a in table.leaves(result) if isinstance(a, Traced) and _kind(a) in "fc"]


def _outcome(problem: Problem, point: list[Any]) -> tuple[Any, list[int], Any]:
    """All leaves, the positions of those that were traced among the numbers, and J of these."""
    found: list[Any] = []

    def f(args: Any) -> Any:
        found[:] = [
            leaf
            for leaf in table.leaves(problem.traced(*args))
            if _kind(leaf) in "fc"
        ]
        return [leaf for leaf in found if isinstance(leaf, Traced)] or [args[0]]

    y, J = linad.linearize(f, [a.copy() for a in point])
    traced = [k for k, leaf in enumerate(found) if isinstance(leaf, Traced)]
    for k, value in zip(traced, y if traced else [], strict=True):
        found[k] = value
    return [np.asarray(a) for a in found], traced, J


def _moved(point: list[Any], direction: list[Any], t: float) -> list[Any]:
    return [a + t * d for a, d in zip(point, direction, strict=True)]


def _all_tangents(values: Any, traced: list[int], tangents: Any) -> np.ndarray:
    moving = dict(zip(traced, tangents, strict=True))
    return flat([np.asarray(moving.get(k, np.zeros_like(v))) for k, v in enumerate(values)])


def _directions(point: list[Any], base: list[Any], rng: np.random.Generator) -> Iterator[Any]:
    """One in all entries, one in those that were made special."""

    def drawn(a, where):
        d = rng.standard_normal(a.shape)
        d = d + 1j * rng.standard_normal(a.shape) if a.dtype.kind == "c" else d
        d = np.where(where, d, 0)
        return d + np.conj(d.swapaxes(-1, -2)) if _is_symmetric(a) else d

    for only_changed in (False, True):
        yield [
            drawn(a, (a != b) | (not only_changed)) if a.dtype.kind in "fc" else np.zeros_like(a)
            for a, b in zip(point, base, strict=True)
        ]


def _is_symmetric(a: np.ndarray) -> bool:
    """Functions that read a triangle take a symmetric matrix to stay so."""
    square = a.ndim > 1 and a.shape[-1] == a.shape[-2]
    return square and bool(np.all(a == np.conj(a.swapaxes(-1, -2))))


def _alone(direction: list[Any]) -> bool:
    return sum(map(np.count_nonzero, direction)) == 1


def _inner(a: Any, b: Any) -> float:
    return float(sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b, strict=True)))


def findings(
    problem: Problem, point: list[Any], rng: np.random.Generator, second: bool = True
) -> list[str]:
    """What is wrong with linad's values and derivatives at a point."""
    try:
        with quiet():
            expected = numbers(problem.plain(*[a.copy() for a in point]))
    except Exception:
        return []  # it is no point of the function
    try:
        with quiet():
            values, traced, J = _outcome(problem, point)
    except LinadError as error:
        return [f"RAISES {type(error).__name__}: {Exception.__str__(error)[:100]}"]
    except Exception as error:
        return [f"CRASH {type(error).__name__}: {error}"[:160]]
    with quiet():
        usual = numbers(problem.plain(*[a.copy() for a in problem.args]))
    if sum(a.size for a in values) != sum(a.size for a in usual):
        return []  # their number hangs on the values: unique, nonzero
    if [(a.shape, a.dtype) for a in values] != [(a.shape, a.dtype) for a in expected]:
        shown = [[(a.shape, a.dtype) for a in b] for b in (values, expected)]
        return [f"SHAPE {shown[0]} for {shown[1]}"[:200]]
    y0 = flat(expected)
    if not np.allclose(flat(values), y0, rtol=1e-7, atol=1e-9, equal_nan=True):
        return [f"VALUE {flat(values)[:4]} for {y0[:4]}"]
    if any(a.dtype in (np.float32, np.complex64, np.float16) for a in expected):
        return []  # too few digits for differences
    wrong = []
    for direction in _directions(point, problem.args, rng):
        if not any(np.any(d) for d in direction):
            continue

        def along(direction):
            def value(t):
                with quiet():
                    y = numbers(problem.plain(*_moved(point, direction, t)))
                kinds = [(a.shape, a.dtype.kind) for a in y]
                if kinds != [(a.shape, a.dtype.kind) for a in expected]:
                    return np.full(y0.shape, np.nan)
                return flat(y)

            return value

        try:
            with quiet():
                told = sides(along(direction))
        except Exception:
            continue
        if any(part in problem.name for part in CHOSEN) and jumps(along(direction)):
            continue
        with quiet():
            try:
                tangents = J.pushforward(direction) if traced else []
                slopes = _all_tangents(values, traced, tangents)
                linear = functools.partial(is_additive, along, direction, rng)
                wrong += judge(slopes, told, linear, _alone(direction))
                if traced:
                    wrong += _reverse(J, direction, tangents, rng)
            except LinadError as error:
                wrong.append(f"RAISES {type(error).__name__}: {Exception.__str__(error)[:100]}")
            except Exception as error:
                wrong.append(f"CRASH {type(error).__name__}: {error}"[:160])
        if second and traced and not wrong:
            wrong += _second(problem, point, direction, rng)
    if traced and not wrong:
        wrong += _compiled(problem, point, values, traced, J, rng)
    return list(dict.fromkeys(wrong))


def _reverse(J: Any, direction: Any, tangents: Any, rng: np.random.Generator) -> list[str]:
    """Whether the adjoint agrees with the operator."""
    if not all(np.all(np.abs(t) < LARGE) for t in tangents):
        return []
    w = [np.asarray(rng.standard_normal(np.shape(t)), np.asarray(t).dtype) for t in tangents]
    bar = J.pullback(w)
    a, b = _inner(w, tangents), _inner(bar, direction)
    size = sum(float(np.sum(np.abs(t))) for t in tangents) + sum(
        float(np.sum(np.abs(x * d))) for x, d in zip(bar, direction, strict=True)
    )
    if not abs(a - b) <= 1e-8 * (1e-3 + size):
        return [f"REVERSE {b:.6g} for {a:.6g}"]
    return []


def _second(
    problem: Problem, point: list[Any], direction: Any, rng: np.random.Generator
) -> list[str]:
    """Whether the derivative of a gradient is the slope of gradients."""
    weights: list[Any] = []

    def total(args):
        found = _moving(problem.traced(*args))
        if not weights:
            weights[:] = [np.cos(1.0 + np.arange(a.size)).reshape(a.shape) for a in found]
        if [a.shape for a in found] != [w.shape for w in weights]:
            return np.nan * sum(np.sum(np.real(a)) for a in args)  # unique numbers, and their kin
        return sum(np.sum(np.real(a) * w) for a, w in zip(found, weights, strict=True))

    gradient = linad.grad(total)

    def along(direction):
        def slope(t):
            with quiet():
                return flat([np.asarray(a) for a in gradient(_moved(point, direction, t))])

        return slope

    try:
        with quiet():
            told = sides(along(direction))
            _, curved = linad.jvp(gradient, (list(point),), (list(direction),))
    except LinadError as error:
        if type(error).__name__ in ("DegenerateError", "OpaqueRuleError"):
            return []
        return [f"SECOND RAISES {type(error).__name__}: {Exception.__str__(error)[:100]}"]
    except Exception as error:
        return [f"SECOND CRASH {type(error).__name__}: {error}"[:160]]
    found = judge(
        flat([np.asarray(a) for a in curved]),
        told,
        lambda: is_additive(along, direction, rng),
        _alone(direction),
    )
    return [f"SECOND {w}" for w in found]


def _compiled(
    problem: Problem, point: list[Any], values: Any, traced: Any, J: Any, rng: np.random.Generator
) -> list[str]:
    """Whether a function compiled at another point says here what it says uncompiled."""

    def f(args):
        return _moving(problem.traced(*args))

    compiled = linad.jit(f)
    direction = next(_directions(point, problem.args, rng))
    with quiet(), kernels_in_python():
        try:
            with contextlib.suppress(LinadError):
                compiled([a.copy() for a in problem.args])
            for _ in range(2):
                y, K = linad.linearize(compiled, [a.copy() for a in point])
            dy, dz = K.pushforward(direction), J.pushforward(direction)
        except LinadError as error:
            return [f"JIT RAISES {type(error).__name__}: {Exception.__str__(error)[:100]}"]
        except Exception as error:
            return [f"JIT CRASH {type(error).__name__}: {error}"[:160]]
    if len(y) != len(traced):
        return []  # what is a constant to a derivative is recorded
    expected = flat([values[k] for k in traced])
    kinds = [(np.shape(a), np.asarray(a).dtype) for a in y]
    if kinds != [(values[k].shape, values[k].dtype) for k in traced]:
        return [f"JIT SHAPE {kinds}"]
    if not np.allclose(flat(y), expected, rtol=1e-7, atol=1e-9, equal_nan=True):
        return [f"JIT VALUE {flat(y)[:4]} for {expected[:4]}"]
    found, wanted = flat([np.asarray(a) for a in dy]), flat([np.asarray(a) for a in dz])
    alike = np.isclose(found, wanted, rtol=1e-6, atol=1e-8, equal_nan=True)
    off = flat(y) != expected
    if not np.all(alike) and np.any(off):
        # Its last digits are others, which take it off a kink: to one side of it, or to the other.
        told = sides(lambda t: flat(numbers(problem.plain(*_moved(point, direction, t)))))
        alike |= off & ~(np.abs(told.left - told.right) <= told.tolerance)
    if not np.all(alike):
        return [f"JIT SLOPE {found[:4]} for {wanted[:4]}"]
    return []


# The sweep.

NO_FINDING = ("RAISES", "SHAPE", "SECOND RAISES", "SECOND NAN", "SECOND END", "SECOND FINITE")
"""linad may refuse a point, say NaN for a second derivative (a kink inside of a smooth whole), and
keep coefficients that NumPy drops where they are 0."""


def wrong_of(problem: Problem, count: int) -> list[str]:
    """What is wrong at some special points of a problem, always the same ones."""
    rng = np.random.default_rng(zlib.crc32(problem.name.encode()))
    if any("RAISES" in found for found in findings(problem, problem.args, rng, second=False)):
        return []  # not a function that linad differentiates
    points = list(special_points(problem.args, rng))
    chosen = rng.permutation(len(points))[:count]
    wrong = []
    for what, point in [points[k] for k in chosen]:
        wrong += [f"at {what}: {found}" for found in findings(problem, point, rng)]
    return [w for w in wrong if not w.partition(": ")[2].partition(": ")[2].startswith(NO_FINDING)]
