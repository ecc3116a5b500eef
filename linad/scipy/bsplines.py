"""B-splines of scipy.interpolate, traced in knots, coefficients, data and points of evaluation.

On t_i <= x < t_i+1 the k + 1 basis functions that are not 0 follow from those of lower degree,

    N_j,r = (x - t_j)/(t_j+r - t_j) N_j,r-1 + (t_j+r+1 - x)/(t_j+r+1 - t_j+1) N_j+1,r-1

and s(x) = Σ_j c_j N_j,k(x). With c'_j = k (c_j+1 - c_j)/(t_j+k+1 - t_j+1) the slope of s is the
spline of c' of degree k - 1. Interpolation solves a banded system for c.

Source: C. de Boor, "A Practical Guide to Splines", 2001.
"""

from typing import Any

import numpy as np
import scipy.interpolate

from linad.core.shapes import normalize_axis
from linad.errors import ShapeError, UnsupportedError
from linad.rules.banded import solve_banded_
from linad.rules.creation import asarray
from linad.rules.shaping import astype, still
from linad.scipy.mirror import check_real, holds_traced, inexact, refuse, traced_form
from linad.scipy.piecewise import column, increasing


def _basis(t: Any, k: int, x: Any, i: Any) -> Any:
    """The k + 1 basis functions at points x (m,) of the intervals i: (m, k + 1)."""
    values: list[Any] = [np.ones(x.shape)]
    for r in range(1, k + 1):
        carried: Any = 0.0
        raised = []
        for j, value in enumerate(values):
            right, left = t[i + j + 1] - x, x - t[i + 1 - r + j]
            part = value / (right + left)
            raised.append(carried + right * part)
            carried = left * part
        values = [*raised, carried]
    return np.stack(values, axis=-1)


def _interval(t: Any, k: int, x: Any) -> Any:
    """The i with t_i <= x < t_i+1; beyond the base interval that of the first or last piece."""
    ticks, n = still(t), t.shape[0] - k - 1
    return np.clip(np.searchsorted(ticks, x, side="right") - 1, k, n - 1)


def basis_at(t: Any, k: int, x: Any) -> tuple[Any, Any]:
    """The basis functions that are not 0 at points (m,): (m, k + 1), and the first one's number."""
    i = _interval(t, k, still(x))
    return _basis(t, k, x, i), i - k


class Spline:
    """A traced B-spline: what `BSpline` and its makers give for traced arguments.

    Parameters
    ----------
    t : array (n + k + 1,)
    c : array (n, ...)
        The axis of interpolation in front.
    k : int
    extrapolate : bool or "periodic"
    axis : int
        Where the axis of interpolation stands in what a call returns.

    Notes
    -----
    A call costs O(k^2) a point.
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.t, self.k, self.extrapolate, self.axis = t, k, extrapolate, axis
        self.c = c[: t.shape[0] - k - 1]

    @property
    def tck(self) -> Any:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the ``nu``-th derivative, at points of any shape."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        spline = self.derivative(nu) if nu else self
        t, c, k = spline.t, spline.c, spline.k
        x = astype(inexact(x), float, copy=False)
        shape, x = x.shape, x.reshape(-1)
        low, high = t[k], t[t.shape[0] - k - 1]
        if extrapolate == "periodic":
            x = low + np.remainder(x - low, high - low)
        here = still(x)
        lost = np.isnan(here)
        if not extrapolate:
            lost = lost | (here < still(low)) | (here > still(high))
        x = np.where(lost, still(low), x)
        i = _interval(t, k, still(x))
        values = c[i[:, None] + np.arange(-k, 1)]
        y = np.sum(_basis(t, k, x, i).reshape((-1, k + 1) + (1,) * (c.ndim - 1)) * values, axis=1)
        if np.any(lost):
            y = np.where(lost.reshape((-1,) + (1,) * (c.ndim - 1)), np.nan, y)
        y = y.reshape(shape + c.shape[1:])
        before = list(range(len(shape), len(shape) + self.axis))
        after = list(range(len(shape) + self.axis, y.ndim))
        return np.transpose(y, before + list(range(len(shape))) + after) if self.axis else y

    def derivative(self, nu: int = 1) -> "Spline":
        """The spline of the ``nu``-th derivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            if k == 0:
                c = 0 * c
                continue
            width = t[k + 1 : -1] - t[1 : -k - 1]
            double = still(width) == 0
            slope = k / np.where(double, 1.0, width)
            c = column(np.where(double, 0.0, slope), c) * (c[1:] - c[:-1])
            t, k = t[1:-1], k - 1
        return Spline(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> "Spline":
        """The spline of the ``nu``-th integral, 0 at the first knot."""
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.t, self.c, self.k
        for _ in range(nu):
            steps = column((t[k + 1 :] - t[: -k - 1]) / (k + 1), c) * c
            c = np.concatenate([0 * steps[:1], np.cumsum(steps, axis=0)], axis=0)
            t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return Spline(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            raise UnsupportedError(
                "BSpline.integrate: extrapolate='periodic' is not traced by linad; integrate over "
                "one period and add"
            )
        if not extrapolate:
            low, high = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
            a, b = np.clip(a, low, high), np.clip(b, low, high)
        whole = self.antiderivative()
        return whole(b, extrapolate=True) - whole(a, extrapolate=True)


def spline_of(theirs: Any) -> Spline:
    """A B-spline of SciPy's, to be called with traced points."""
    c = np.moveaxis(np.asarray(theirs.c), theirs.axis, 0)
    return Spline(asarray(theirs.t), asarray(c), theirs.k, theirs.extrapolate, theirs.axis)


class BSpline(scipy.interpolate.BSpline):
    """As `scipy.interpolate.BSpline`; a traced argument makes a `Spline`."""

    def __new__(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
        if not holds_traced((t, c)):
            return super().__new__(cls)
        t, c = inexact(t), inexact(c)
        n = t.shape[0] - k - 1
        axis = normalize_axis(axis, c.ndim, "BSpline")
        if t.ndim != 1 or n < k + 1 or c.shape[axis] < n:
            raise ShapeError(
                f"BSpline: knots of shape {t.shape} and degree {k} need {n} coefficients along "
                f"axis {axis}, and {k + 1} at least; got shape {c.shape}"
            )
        if np.any(np.diff(still(t)) < 0):
            raise ValueError("BSpline: the knots must not decrease")
        if extrapolate != "periodic":
            extrapolate = bool(extrapolate)
        return Spline(t, np.moveaxis(c, axis, 0), int(k), extrapolate, axis)

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if holds_traced(x):
            return spline_of(self)(x, nu, extrapolate)
        return super().__call__(x, nu, extrapolate)


# Interpolation.


def knots_of(x: Any, k: int) -> Any:
    """Knots at the data without those next to the ends; between them for even degree."""
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    skipped = (k + 1) // 2 if k % 2 else k // 2
    inner = inner[skipped : inner.shape[0] - skipped]
    return np.concatenate([x[:1]] * (k + 1) + [inner] + [x[-1:]] * (k + 1))


NAMED_ENDS = {"natural": [(2, 0.0)], "clamped": [(1, 0.0)], "not-a-knot": []}


def _end_conditions(bc_type: Any) -> list[list[Any]]:
    """For each end a list of (order of derivative, value)."""
    pair = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    ends: list[list[Any]] = []
    for end in pair:
        if end is None:
            ends.append([])
        elif isinstance(end, str):
            if end not in NAMED_ENDS:
                raise UnsupportedError(
                    f"make_interp_spline: bc_type={end!r} is not traced by linad; pass one of "
                    f"{', '.join(NAMED_ENDS)}, or derivatives at both ends"
                )
            ends.append(list(NAMED_ENDS[end]))
        else:
            ends.append(list(end))
    return ends


def interpolated(
    x: Any, y: Any, k: int, t: Any = None, bc_type: Any = None, axis: int = 0
) -> Spline:
    """The spline through (x, y), y having the values along ``axis``."""
    name = "make_interp_spline"
    x, y = increasing(name, x), inexact(y)
    axis = normalize_axis(axis, y.ndim, name)
    y = np.moveaxis(y, axis, 0)
    if y.shape[0] != x.shape[0]:
        raise ShapeError(f"{name}: {x.shape[0]} points and {y.shape[0]} values")
    ends = _end_conditions(bc_type)
    if t is None and (ends[0] or ends[1]) and k > 1:
        t = np.concatenate([x[:1]] * k + [x] + [x[-1:]] * k)
    elif t is None and (k < 4 or k % 2):
        t = knots_of(x, k)
    elif t is None:
        raise ValueError(f"{name}: degree {k} is even; pass the knots t")
    t = astype(inexact(t), float, copy=False)
    n = t.shape[0] - k - 1
    if n != x.shape[0] + len(ends[0]) + len(ends[1]):
        raise ValueError(
            f"{name}: {n} coefficients, but {x.shape[0]} points and "
            f"{len(ends[0]) + len(ends[1])} conditions at the ends"
        )
    flat = y.reshape((y.shape[0], -1))
    unit = Spline(t, np.eye(n), k)
    rows, starts, targets = [], [], []
    for point, end, first in ((x[0], ends[0], 0), (x[-1], ends[1], n - k - 1)):
        known = [unit(point, order)[None, first : first + k + 1] for order, _ in end]
        values = [np.broadcast_to(inexact(v), y.shape[1:]).reshape((1, -1)) for _, v in end]
        rows.append(known)
        starts.append([first] * len(end))
        targets.append(values)
    i = _interval(t, k, still(x))
    entries = np.concatenate([*rows[0], _basis(t, k, x, i), *rows[1]], axis=0)
    first = np.array([*starts[0], *(i - k), *starts[1]])
    b = np.concatenate([*targets[0], flat, *targets[1]], axis=0)
    b = astype(b, complex if b.dtype.kind == "c" else float, copy=False)
    c = _solve_rows(entries, first, b)
    return Spline(t, c.reshape((n, *y.shape[1:])), k, True, axis)


def _solve_rows(entries: Any, first: Any, b: Any) -> Any:
    """Solve with rows that have k + 1 entries each, from the column ``first`` on."""
    n, count = entries.shape
    columns = first[:, None] + np.arange(count)
    down = np.arange(n)[:, None] - columns
    lower, upper = max(int(down.max()), 0), max(int(-down.min()), 0)
    # Where in the band each entry goes; place 0 of what is gathered from is 0.
    places = np.zeros((lower + upper + 1, n), np.intp)
    places[upper + down, columns] = 1 + np.arange(n * count).reshape(n, count)
    band = np.concatenate([np.zeros(1), entries.reshape(-1)])[places]
    return solve_banded_(astype(band, b.dtype, copy=False), b, l_and_u=(lower, upper))


def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """As `scipy.interpolate.make_interp_spline`; a traced argument makes a `Spline`."""
    if holds_traced((x, y, t, bc_type)):
        return interpolated(x, y, k, t, bc_type, axis)
    made = scipy.interpolate.make_interp_spline(x, y, k, t, bc_type, axis, check_finite)
    made.__class__ = BSpline  # what it is but for its call
    return made


# Least squares, with knots that are given.


def knots_with_ends(x: Any, t: Any, k: int) -> Any:
    """Inner knots between k + 1 knots at each end of the data."""
    x, t = inexact(x), inexact(t)
    return np.concatenate([x[:1]] * (k + 1) + [t] + [x[-1:]] * (k + 1))


def least_squares_spline(
    name: str, x: Any, y: Any, t: Any, k: int, w: Any, axis: int = 0
) -> Spline:
    """The spline with knots t that makes Σ w^2 (y - s(x))^2 least."""
    check_real(name, x=x, t=t, w=w)
    x, y, t = inexact(x), inexact(y), inexact(t)
    axis = normalize_axis(axis, y.ndim, name)
    y = np.moveaxis(y, axis, 0)
    n = t.shape[0] - k - 1
    if x.ndim != 1 or t.ndim != 1 or x.shape[0] != y.shape[0] or n < k + 1:
        raise ShapeError(
            f"{name}: x {x.shape}, y {y.shape} and knots {t.shape} of degree {k} do not fit "
            f"together"
        )
    ticks, here = still(t), still(x)
    if np.any(np.diff(ticks) < 0) or np.any(np.diff(here) < 0):
        raise ValueError(f"{name}: x and the knots t must not decrease")
    if np.any((here < ticks[k]) | (here > ticks[n])):
        raise ValueError(f"{name}: a point of x is outside of the knots")
    basis, first = basis_at(t, k, x)
    rows = np.arange(x.shape[0])[:, None]
    # Place 0 of what is gathered from is 0.
    places = np.zeros((x.shape[0], n), np.intp)
    places[rows, first[:, None] + np.arange(k + 1)] = 1 + np.arange(basis.size).reshape(basis.shape)
    matrix = np.concatenate([np.zeros(1), basis.reshape(-1)])[places]
    if np.linalg.matrix_rank(still(matrix)) < n:
        raise ValueError(f"{name}: too few points between the knots to determine the spline")
    right = y.reshape((y.shape[0], -1))
    if w is not None:
        w = inexact(w)
        matrix, right = w[:, None] * matrix, w[:, None] * right
    c = np.linalg.lstsq(matrix, right)[0]
    return Spline(t, c.reshape((n, *y.shape[1:])), k, True, axis)


def make_lsq_spline(
    x: Any,
    y: Any,
    t: Any,
    k: int = 3,
    w: Any = None,
    axis: int = 0,
    check_finite: bool = True,
    **options: Any,
) -> Any:
    """As `scipy.interpolate.make_lsq_spline`; a traced argument makes a `Spline`."""
    if holds_traced((x, y, t, w)):
        return least_squares_spline("make_lsq_spline", x, y, t, k, w, axis)
    made = scipy.interpolate.make_lsq_spline(x, y, t, k, w, axis, check_finite, **options)
    made.__class__ = BSpline  # what it is but for its call
    return made


# Tuples (t, c, k).


@traced_form(scipy.interpolate.splrep)
def splrep(
    x: Any,
    y: Any,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: int = 3,
    task: int = 0,
    s: Any = None,
    t: Any = None,
    full_output: int = 0,
    per: int = 0,
    quiet: int = 1,
) -> Any:
    refuse("splrep", xb=(xb, None), xe=(xe, None), full_output=(full_output, 0), per=(per, 0))
    check_real("splrep", y=y)
    if t is not None:  # SciPy sets task=-1 as well
        made = least_squares_spline("splrep", x, y, knots_with_ends(x, t, k), k, w)
        return made.t, np.concatenate([made.c, np.zeros(k + 1)]), k
    refuse("splrep", w=(w, None), task=(task, 0))
    if s:
        raise UnsupportedError(
            f"splrep: s={s!r}: the knots of a smoothing spline depend on the data and are not "
            f"traced by linad; interpolate with s=0"
        )
    x = increasing("splrep", x)
    made = interpolated(x, y, k, knots_of(x, k))
    return made.t, np.concatenate([made.c, np.zeros(k + 1)]), k


def _evaluated(tck: Any, x: Any, der: int, ext: int, name: str) -> Any:
    t, c, k = (asarray(tck[0]), asarray(tck[1]), tck[2])
    x = inexact(x)
    low, high = still(t)[k], still(t)[t.shape[0] - k - 1]
    off = (still(x) < low) | (still(x) > high)
    if ext == 2 and np.any(off):
        raise ValueError(f"{name}: a point is outside of the knots")
    if ext == 3:
        x = np.where(still(x) < low, low, np.where(still(x) > high, high, x))
    y = Spline(t, c, k)(x, der)
    return np.where(off, 0.0, y) if ext == 1 else y


EXTENSIONS = {0: 0, 1: 1, 2: 2, 3: 3, "extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


@traced_form(scipy.interpolate.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    if isinstance(tck, Spline):
        return tck(x, der)
    if isinstance(tck, scipy.interpolate.BSpline):
        return spline_of(tck)(x, der)
    t, c, k = tck
    if isinstance(c, (list, tuple)) or np.ndim(c) > 1:
        return [splev(x, (t, part, k), der, ext) for part in c]
    check_real("splev", x=x, t=t, c=c)
    return _evaluated(tck, x, der, EXTENSIONS[ext], "splev")


def _of_tuple(name: str, tck: Any) -> Spline:
    t, c, k = tck
    check_real(name, t=t, c=c)
    return Spline(inexact(t), inexact(c), k)


def _as_tuple(spline: Spline, behind: Any) -> Any:
    """With as many numbers behind the coefficients as FITPACK has there."""
    missing = spline.t.shape[0] - spline.c.shape[0]
    return spline.t, np.concatenate([spline.c, behind * np.ones(missing)]), spline.k


@traced_form(scipy.interpolate.splder)
def splder(tck: Any, n: int = 1) -> Any:
    if isinstance(tck, Spline):
        return tck.derivative(n)
    return _as_tuple(_of_tuple("splder", tck).derivative(n), 0.0)


@traced_form(scipy.interpolate.splantider)
def splantider(tck: Any, n: int = 1) -> Any:
    if isinstance(tck, Spline):
        return tck.antiderivative(n)
    made = _of_tuple("splantider", tck).antiderivative(n)
    return _as_tuple(made, made.c[-1])


@traced_form(scipy.interpolate.spalde)
def spalde(x: Any, tck: Any) -> Any:
    spline, x = _of_tuple("spalde", tck), inexact(x)
    found = np.stack([spline(x, order) for order in range(spline.k + 1)], axis=-1)
    return found if x.ndim == 0 else [found[i] for i in range(x.shape[0])]


@traced_form(scipy.interpolate.splint)
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    refuse("splint", full_output=(full_output, 0))
    if not isinstance(tck, Spline):
        t, c, k = tck.tck if isinstance(tck, scipy.interpolate.BSpline) else tck
        check_real("splint", a=a, b=b, t=t, c=c)
        tck = Spline(asarray(t), asarray(c), k)
    return tck.integrate(a, b, extrapolate=False)


class Univariate:
    """A traced interpolating spline: what `InterpolatedUnivariateSpline` makes of traced data.

    Parameters
    ----------
    spline : Spline
    ext : int
        What is beyond the knots: 0 the spline, 1 zero, 2 an error, 3 the value at the end.
    """

    def __init__(self, spline: Spline, ext: int) -> None:
        self.spline, self.ext = spline, ext
        self._eval_args = spline.tck

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """The value, or the ``nu``-th derivative, at points of any shape."""
        ext = self.ext if ext is None else EXTENSIONS[ext]
        return _evaluated(self.spline.tck, x, nu, ext, "InterpolatedUnivariateSpline")

    def derivative(self, n: int = 1) -> "Univariate":
        """The spline of the ``n``-th derivative."""
        return Univariate(self.spline.derivative(n), self.ext)

    def antiderivative(self, n: int = 1) -> "Univariate":
        """The spline of the ``n``-th integral."""
        return Univariate(self.spline.antiderivative(n), self.ext)

    def integral(self, a: Any, b: Any) -> Any:
        """The integral from a to b."""
        return self.spline.integrate(a, b, extrapolate=False)


def _univariate(name: str, x: Any, y: Any, w: Any, bbox: Any, k: int, ext: Any) -> Univariate:
    check_real(name, y=y)
    refuse(name, w=(w, None), bbox=(list(bbox), [None, None]))
    x = increasing(name, x)
    return Univariate(interpolated(x, y, k, knots_of(x, k)), EXTENSIONS[ext])


class _OnTracedPoints:
    """The calls of a spline of SciPy's that take traced numbers."""

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        if not holds_traced(x):
            return super().__call__(x, nu, ext)  # type: ignore[misc]
        ext = self.ext if ext is None else ext  # type: ignore[attr-defined]
        tck = self._eval_args  # type: ignore[attr-defined]
        return _evaluated(tck, x, nu, EXTENSIONS[ext], "UnivariateSpline")

    def integral(self, a: Any, b: Any) -> Any:
        if holds_traced((a, b)):
            return splint(a, b, self._eval_args)  # type: ignore[attr-defined]
        return super().integral(a, b)  # type: ignore[misc]


class UnivariateSpline(_OnTracedPoints, scipy.interpolate.UnivariateSpline):
    """As `scipy.interpolate.UnivariateSpline`; traced data with ``s=0`` make a `Univariate`."""

    def __new__(
        cls,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        s: Any = None,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> Any:
        if not holds_traced((x, y, w, s)):
            return super().__new__(cls)
        if s is None or holds_traced(s) or s != 0:
            raise UnsupportedError(
                f"UnivariateSpline: s={s!r}: the knots of a smoothing spline depend on the data "
                f"and are not traced by linad; interpolate with s=0"
            )
        return _univariate("UnivariateSpline", x, y, w, bbox, k, ext)


class LSQUnivariateSpline(_OnTracedPoints, scipy.interpolate.LSQUnivariateSpline):
    """As `scipy.interpolate.LSQUnivariateSpline`; traced data make a `Univariate`."""

    def __new__(
        cls,
        x: Any,
        y: Any,
        t: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> Any:
        if not holds_traced((x, y, t, w)):
            return super().__new__(cls)
        name = "LSQUnivariateSpline"
        refuse(name, bbox=(list(bbox), [None, None]))
        check_real(name, y=y)
        made = least_squares_spline(name, x, y, knots_with_ends(x, t, k), k, w)
        return Univariate(made, EXTENSIONS[ext])


class InterpolatedUnivariateSpline(_OnTracedPoints, scipy.interpolate.InterpolatedUnivariateSpline):
    """As `scipy.interpolate.InterpolatedUnivariateSpline`; traced data make a `Univariate`."""

    def __new__(
        cls,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> Any:
        if not holds_traced((x, y, w)):
            return super().__new__(cls)
        return _univariate("InterpolatedUnivariateSpline", x, y, w, bbox, k, ext)
