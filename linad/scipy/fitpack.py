"""Splines of scipy.interpolate by the names of FITPACK, traced: tuples (t, c, k), and classes.

They are those of `linad.scipy.bsplines`, and those of `linad.scipy.smoothed` where FITPACK chooses
the knots.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate

from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import concrete, still
from linad.scipy.bsplines import Spline, spline_of
from linad.scipy.implicit_solutions import Watched, roots_of_numbers
from linad.scipy.mirror import (
    StandIn,
    TracedClass,
    bound_form,
    check_real,
    holds_traced,
    inexact,
    refuse,
    traced_form,
)
from linad.scipy.piecewise import increasing
from linad.scipy.smoothed import smoothed
from linad.scipy.splinemakers import (
    interpolated,
    knots_of,
    knots_with_ends,
    least_squares_spline,
    make_interp_spline,
)

# Tuples (t, c, k).


# What `smoothed` asks of SciPy: knots, and coefficients in columns. `splrep` and `UnivariateSpline`
# choose other knots.


def _plain_splrep(k: int, x: Array, y: Array, w: Array, s: float, first: float, last: float) -> Any:
    t, c, _ = scipy.interpolate.splrep(x, y[:, 0], w, first, last, k, s=s)
    return t, c[: t.size - k - 1, None]


def _plain_univariate(
    k: int, x: Array, y: Array, w: Array, s: float, first: float, last: float
) -> Any:
    made = scipy.interpolate.UnivariateSpline(x, y[:, 0], w, [first, last], k, s)
    knots = made.get_knots()
    return np.concatenate([knots[:1]] * k + [knots] + [knots[-1:]] * k), made.get_coeffs()[:, None]


def _plain_splprep(
    k: int, u: Array, y: Array, w: Array, s: float, first: float, last: float
) -> Any:
    (t, c, _), _ = scipy.interpolate.splprep(y.T, w, u, first, last, k, s=s)
    return t, np.stack(c, axis=-1)


def _plain_make_splrep(
    k: int, x: Array, y: Array, w: Array, s: float, first: float, last: float
) -> Any:
    made = scipy.interpolate.make_splrep(x, y[:, 0], w=w, xb=first, xe=last, k=k, s=s)
    return made.t, made.c[:, None]


def _fitted(
    name: str,
    fit: Callable[..., Any],
    x: Array,
    y: Array,
    w: Array | None,
    k: int,
    s: Any,
    ends: tuple[Any, ...] = (None, None),
) -> Spline:
    """The smoothing spline, or with s = 0 the interpolating one, of values y (m,) or (m, d)."""
    check_real(name, x=x, y=y, w=w)
    x, y = asarray(x), asarray(y)
    if y.ndim != (2 if fit is _plain_splprep else 1):
        raise ShapeError(f"{name}: y must have one value for each point, got shape {y.shape}")
    m = x.shape[0] if x.ndim else 0
    if x.ndim != 1 or y.shape[:1] != (m,) or (w is not None and np.shape(w) != (m,)):
        raise ShapeError(f"{name}: points {x.shape}, values {y.shape} and w must be of one length")
    if s == 0:
        refuse(name, ends=(ends, (None, None)))
        x = increasing(name, x)
        return interpolated(x, y, k, knots_of(x, k))
    if np.any(np.diff(still(x)) < 0):
        raise ValueError(f"{name}: x must not decrease")
    w = np.ones(m) if w is None else w
    columns = y.reshape((m, -1))
    made = smoothed(name, functools.partial(fit, k), x, columns, w, k, s, ends)
    return Spline(made.t, made.c.reshape((-1, *y.shape[1:])), k)


@bound_form(scipy.interpolate.splrep)
def splrep(
    x: Array, y: Array, w: Array | None, xb: Any, xe: Any, k: int, task: int, s: Any, t: Any
) -> Any:
    check_real("splrep", y=y)
    if t is not None:  # SciPy sets task=-1 as well
        refuse("splrep", xb=(xb, None), xe=(xe, None))
        made = least_squares_spline("splrep", x, y, knots_with_ends(x, t, k), k, w)
    else:
        refuse("splrep", task=(task, 0))
        if s is None:
            m = np.shape(x)[0]
            s = 0.0 if w is None else m - math.sqrt(2 * m)
        made = _fitted("splrep", _plain_splrep, x, y, w, k, s, (xb, xe))
    return made.t, np.concatenate([made.c, np.zeros(k + 1)]), k


@bound_form(scipy.interpolate.make_splrep)
def make_splrep(
    x: Array,
    y: Array,
    w: Array | None,
    xb: Any,
    xe: Any,
    k: int,
    s: Any,
    t: Any,
    nest: Any,
    **others: Any,
) -> Any:
    name = "make_splrep"
    if others:
        refuse(name, bc_type=(others.get("bc_type"), None))
    if np.ndim(s) == 0 and s == 0:
        if t is not None or w is not None or nest is not None:
            raise ValueError(f"{name}: with s = 0, which interpolates, there are no t, w and nest")
        return make_interp_spline(x, y, k=k)
    refuse(name, t=(t, None), nest=(nest, None))
    return _fitted(name, _plain_make_splrep, x, y, w, k, s, (xb, xe))


@bound_form(scipy.interpolate.splprep)
def splprep(
    x: Any, w: Any, u: Array | None, ub: Any, ue: Any, k: int, task: int, s: Any, t: Any
) -> Any:
    name = "splprep"
    refuse(name, task=(task, 0), t=(t, None))
    y = np.stack([inexact(part) for part in x], axis=-1)
    m = y.shape[0]
    if u is None:
        steps = y[1:] - y[:-1]
        ways = np.cumsum(np.sqrt(np.sum(steps * steps, axis=1)))
        u = np.concatenate([np.zeros(1), ways / ways[-1]])
    u = inexact(u)
    s = m - math.sqrt(2 * m) if s is None else s
    made = _fitted(name, _plain_splprep, u, y, w, k, s, (ub, ue))
    return [made.t, [made.c[:, i] for i in range(y.shape[1])], k], u


def _evaluated(tck: tuple[Any, ...], x: Any, der: int, ext: int, name: str) -> Any:
    t, c, k = (asarray(tck[0]), asarray(tck[1]), tck[2])
    x = inexact(x)
    low, high = t[k], t[t.shape[0] - k - 1]
    below, above = still(x) < still(low), still(x) > still(high)
    off = below | above
    if ext == 2 and np.any(off):
        raise ValueError(f"{name}: a point is outside of the knots")
    if ext == 3:
        x = np.where(below, low, np.where(above, high, x))
    y = Spline(t, c, k)(x, der)
    return np.where(off, 0.0, y) if ext == 1 else y


EXTENSIONS = {0: 0, 1: 1, 2: 2, 3: 3, "extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def _extension(name: str, ext: Any) -> int:
    """What happens beyond the ends, by number."""
    if ext not in EXTENSIONS:
        raise ValueError(f"{name}: ext must be one of {[*EXTENSIONS]}, got {ext!r}")
    return EXTENSIONS[ext]


@traced_form(scipy.interpolate.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    if isinstance(tck, (Spline, scipy.interpolate.BSpline)):
        spline = tck if isinstance(tck, Spline) else spline_of(tck)
        if np.ndim(spline.c) > 1 or ext != 0:
            raise ValueError(
                f"splev: of a BSpline coefficients in one axis, and ext=0, are expected; got shape "
                f"{spline.c.shape} and ext={ext!r}. Call the BSpline"
            )
        return spline(x, der, extrapolate=True)
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"splev: ext must be 0, 1, 2 or 3, got {ext!r}")
    t, c, k = tck
    if isinstance(c, (list, tuple)) or np.ndim(c) > 1:
        return [splev(x, (t, part, k), der, ext) for part in c]
    check_real("splev", x=x, t=t, c=c)
    return _evaluated(tck, x, der, ext, "splev")


def _of_tuple(name: str, tck: tuple[Any, ...]) -> Spline:
    t, c, k = tck
    check_real(name, t=t, c=c)
    return Spline(inexact(t), inexact(c), k)


@traced_form(scipy.interpolate.spalde)
def spalde(x: Any, tck: Any) -> Any:
    spline, x = _of_tuple("spalde", tck), inexact(x)
    found = np.stack([spline(x, order) for order in range(spline.k + 1)], axis=-1)
    return found if x.ndim == 0 else [found[i] for i in range(x.shape[0])]


@bound_form(scipy.interpolate.splint)
def splint(a: Any, b: Any, tck: Any) -> Any:
    if not isinstance(tck, Spline):
        t, c, k = tck.tck if isinstance(tck, scipy.interpolate.BSpline) else tck
        check_real("splint", a=a, b=b, t=t, c=c)
        tck = Spline(asarray(t), asarray(c), k)
    return number(tck.integrate(a, b, extrapolate=False))


@bound_form(scipy.interpolate.sproot)
def sproot(tck: Any, mest: int) -> Any:
    spline = tck if isinstance(tck, Spline) else _of_tuple("sproot", tck)
    return _roots("sproot", spline, mest)


def _roots(name: str, spline: Spline, mest: int) -> Any:
    """SciPy's roots of a cubic spline, which move with it."""
    if spline.k != 3 or spline.c.ndim > 1:
        raise UnsupportedError(
            f"{name}: roots are those of one cubic spline; use PPoly.from_spline, whose roots are "
            f"of any degree"
        )
    t, c = concrete(spline.t), concrete(spline.c)
    found = scipy.interpolate.sproot((t, np.concatenate([c, np.zeros(4)]), 3), mest)
    return roots_of_numbers(name, Watched(spline), found) if found.size else found


class Univariate(StandIn):
    """A traced spline: what `UnivariateSpline` and its kind make of traced data.

    Parameters
    ----------
    spline : Spline
    ext : int
        What is beyond the knots: 0 the spline, 1 zero, 2 an error, 3 the value at the end.
    data : (array, array, array or None) or None
        Points, values and weights that it is made of.
    """

    stands_for: type = scipy.interpolate.UnivariateSpline

    def __init__(self, spline: Spline, ext: int, data: Any = None) -> None:
        self.spline, self.ext, self._data = spline, ext, data
        self._eval_args = spline.tck

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """The value, or the ``nu``-th derivative, at points of any shape."""
        ext = self.ext if ext is None else _extension("UnivariateSpline", ext)
        return _evaluated(self.spline.tck, x, nu, ext, "InterpolatedUnivariateSpline")

    def get_knots(self) -> Any:
        """The inner knots, and the ends."""
        k = self.spline.k
        return self.spline.t[k : self.spline.t.shape[0] - k]

    def get_coeffs(self) -> Any:
        """The coefficients."""
        return self.spline.c

    def derivatives(self, x: Any) -> Any:
        """The value and all derivatives at one point."""
        return np.stack([self.spline(x, order) for order in range(self.spline.k + 1)])

    def derivative(self, n: int = 1) -> "Univariate":
        """The spline of the ``n``-th derivative."""
        return Univariate(self.spline.derivative(n), self.ext)

    def antiderivative(self, n: int = 1) -> "Univariate":
        """The spline of the ``n``-th integral."""
        return Univariate(self.spline.antiderivative(n), self.ext)

    def roots(self) -> Any:
        """Where a cubic spline is zero."""
        return _roots("UnivariateSpline.roots", self.spline, 3 * (self.spline.t.shape[0] - 7))

    def get_residual(self) -> Any:
        """The weighted sum of squares of what it leaves of the values."""
        if self._data is None:
            raise UnsupportedError(
                "UnivariateSpline.get_residual: a derivative or an integral has no values that it "
                "was made of; take the residual of the spline"
            )
        x, y, w = self._data
        rest = asarray(y) - self.spline(x)
        return np.sum((rest if w is None else asarray(w) * rest) ** 2)

    def integral(self, a: Any, b: Any) -> Any:
        """The integral from a to b."""
        return number(self.spline.integrate(a, b, extrapolate=False))


class _Univariate(TracedClass):
    """The calls of a SciPy spline that take traced numbers."""

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        if not holds_traced(x):
            return super().__call__(x, nu, ext)  # type: ignore[misc]
        ext = self.ext if ext is None else ext  # type: ignore[attr-defined]
        tck = self._eval_args  # type: ignore[attr-defined]
        return _evaluated(tck, x, nu, _extension("UnivariateSpline", ext), "UnivariateSpline")

    def integral(self, a: Any, b: Any) -> Any:
        if holds_traced((a, b)):
            return splint(a, b, self._eval_args)  # type: ignore[attr-defined]
        return super().integral(a, b)  # type: ignore[misc]

    def derivative(self, n: int = 1) -> Any:
        return _with_calls(super().derivative(n))  # type: ignore[misc]

    def antiderivative(self, n: int = 1) -> Any:
        return _with_calls(super().antiderivative(n))  # type: ignore[misc]


def _with_calls(spline: Any) -> Any:
    """A spline that SciPy has made of another, with calls that take traced numbers."""
    spline.__class__ = UnivariateSpline
    return spline


class UnivariateSpline(_Univariate, scipy.interpolate.UnivariateSpline):
    """As `scipy.interpolate.UnivariateSpline`; traced data make a `Univariate`.

    The knots that FITPACK chooses are held: see `linad.scipy.smoothed`.
    """

    @staticmethod
    def of_traced(x: Array, y: Array, w: Any, bbox: Any, k: int, s: Any, ext: Any) -> Any:
        s = np.shape(x)[0] if s is None else s
        made = _fitted("UnivariateSpline", _plain_univariate, x, y, w, k, s, tuple(bbox))
        return Univariate(made, EXTENSIONS[ext], (x, y, w))


class LSQUnivariateSpline(_Univariate, scipy.interpolate.LSQUnivariateSpline):
    """As `scipy.interpolate.LSQUnivariateSpline`; traced data make a `Univariate`."""

    @staticmethod
    def of_traced(x: Array, y: Array, t: Any, w: Any, bbox: Any, k: int, ext: Any) -> Any:
        name = "LSQUnivariateSpline"
        refuse(name, bbox=(list(bbox), [None, None]))
        check_real(name, y=y)
        made = least_squares_spline(name, x, y, knots_with_ends(x, t, k), k, w)
        return Univariate(made, EXTENSIONS[ext], (x, y, w))


class InterpolatedUnivariateSpline(_Univariate, scipy.interpolate.InterpolatedUnivariateSpline):
    """As `scipy.interpolate.InterpolatedUnivariateSpline`; traced data make a `Univariate`."""

    @staticmethod
    def of_traced(x: Array, y: Array, w: Any, bbox: Any, k: int, ext: Any) -> Any:
        name = "InterpolatedUnivariateSpline"
        made = _fitted(name, _plain_univariate, x, y, w, k, 0, tuple(bbox))
        return Univariate(made, EXTENSIONS[ext], (x, y, w))
