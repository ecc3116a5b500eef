"""scipy.spatial.distance with traced points.

Every metric is a formula of the differences, or of the two points, and is written once; `pdist` is
the part of `cdist` above the diagonal. At equal points, where a distance has a kink, its
derivative is zero.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance as theirs

from linad.arrays.roots import rooted
from linad.arrays.zero_dim import number
from linad.core.array_type import Array
from linad.core.mirrored_names import mirrored_names
from linad.core.primitive import Traced
from linad.errors import DTypeError, ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.kinks import cube_of_tip, root
from linad.scipy.implicit_solutions import plain
from linad.scipy.mirror import doubled, inexact, traced_form
from linad.scipy.twinforms import twins_among

TWINS = ("dice", "hamming", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""SciPy's own code, run on traced values: they count, and move with their weights alone."""


__getattr__, __dir__ = mirrored_names(theirs, twins_among(theirs, TWINS))


Metric = Callable[..., Any]


def _root(square: Metric, *args: Any) -> Any:
    """The square root of ``square(*args)``: its slope at 0 is 0, its square has no tip."""
    return rooted(root(square(*args)), square, *args, cube=cube_of_tip)


def _euclidean(x: Array, y: Array, w: Array | None = None) -> Any:
    return _root(_sqeuclidean, x, y, w)


def _sqeuclidean(x: Array, y: Array, w: Array | None = None) -> Any:
    squares = (x - y) ** 2
    return np.sum(squares if w is None else w * squares, -1)


def _cityblock(x: Array, y: Array, w: Any = None) -> Any:
    steps = np.abs(x - y)
    return np.sum(steps if w is None else w * steps, -1)


def _chebyshev(x: Array, y: Array, w: Any = None) -> Any:
    steps = np.abs(x - y)
    return np.max(steps if w is None else steps[..., plain(asarray(w)) > 0], -1)


def _minkowski(x: Array, y: Array, p: Any = 2.0, w: Any = None) -> Any:
    if p == np.inf:
        return _chebyshev(x, y, w)
    if not isinstance(p, Traced) and (w is None or not isinstance(asarray(w), Traced)):
        steps = x - y
        return np.linalg.norm(steps if w is None else steps * asarray(w) ** (1 / p), p, axis=-1)
    powers = _powers(np.abs(x - y), p)
    total = np.sum(powers if w is None else w * powers, -1)
    none = total == 0
    at_none = np.linalg.norm(x - y, axis=-1)  # a tip as well, whatever the exponent
    return np.where(none, 0 * at_none, np.where(none, 1.0, total) ** (1 / p))


def _powers(steps: Array, p: Any) -> Any:
    """|x - y|^p; its slope at 0 is 0, also where that of the power is not."""
    if plain(p) > 1:
        return steps**p
    zero = steps == 0
    return np.where(zero, 0.0, np.where(zero, 1.0, steps) ** p)


def _cosine(x: Array, y: Array, w: Array | None = None) -> Any:
    w = 1.0 if w is None else asarray(w)
    products = np.sum(w * x * y, -1)
    return 1 - products / np.sqrt(np.sum(w * x * x, -1) * np.sum(w * y * y, -1))


def _correlation(x: Array, y: Array, w: Any = None, centered: bool = True) -> Any:
    if not centered:
        return _cosine(x, y, w)
    share = (
        np.full(x.shape[-1], 1 / x.shape[-1], x.dtype)
        if w is None
        else asarray(w) / np.sum(asarray(w))
    )

    def centre(z: Array) -> Any:
        return z - np.sum(share * z, -1, keepdims=True)

    return _cosine(centre(x), centre(y), share)


def _canberra(x: Array, y: Array, w: Any = None) -> Any:
    sizes = np.abs(x) + np.abs(y)
    zero = sizes == 0
    parts = np.where(zero, 0.0, np.abs(x - y) / np.where(zero, 1.0, sizes))
    return np.sum(parts if w is None else w * parts, -1)


def _braycurtis(x: Array, y: Array, w: Any = None) -> Any:
    w = 1.0 if w is None else asarray(w)
    return np.sum(w * np.abs(x - y), -1) / np.sum(w * np.abs(x + y), -1)


def _seuclidean(x: Array, y: Array, V: Array) -> Any:
    return _euclidean(x, y, 1 / doubled(asarray(V)))  # which SciPy takes in double precision


def _mahalanobis(x: Array, y: Array, VI: Array) -> Any:
    return _root(_sqmahalanobis, x, y, VI)


def _sqmahalanobis(x: Array, y: Array, VI: Array) -> Any:
    steps = x - y
    return np.sum(steps * np.matmul(steps, np.swapaxes(asarray(VI), -1, -2)), -1)


def _jensenshannon(x: Array, y: Array, base: Any = None) -> Any:
    p, q = x / np.sum(x, -1, keepdims=True), y / np.sum(y, -1, keepdims=True)
    middle = (p + q) / 2

    def divergence(a: Array) -> Any:
        zero = a == 0
        ratio = np.where(zero, 1.0, a) / np.where(zero, 1.0, middle)
        return np.sum(np.where(zero, 0.0, a * np.log(ratio)), -1)

    js = (divergence(p) + divergence(q)) / 2
    return root(js if base is None else js / np.log(base))


def _jensenshannon_of_many(x: Array, y: Array, base: Any = None) -> Any:
    """As SciPy has it of many points: infinite where the coordinates of one add up to 0."""
    none = (np.sum(x, -1, keepdims=True) == 0) | (np.sum(y, -1, keepdims=True) == 0)
    found = _jensenshannon(np.where(none, 1.0, x), np.where(none, 1.0, y), base)
    return np.where(none[..., 0], np.inf, found)


METRICS: dict[str, Metric] = {
    "euclidean": _euclidean,
    "sqeuclidean": _sqeuclidean,
    "cityblock": _cityblock,
    "chebyshev": _chebyshev,
    "minkowski": _minkowski,
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": _braycurtis,
    "seuclidean": _seuclidean,
    "mahalanobis": _mahalanobis,
    "jensenshannon": _jensenshannon,
}
HAVE_TIPS = (_euclidean, _seuclidean, _minkowski, _mahalanobis)
"""Metrics that are roots, whose second derivative at 0 does not exist."""
_ALIASES = {
    **dict.fromkeys(("euclid", "eu", "e"), "euclidean"),
    **dict.fromkeys(("sqe", "sqeuclid"), "sqeuclidean"),
    **dict.fromkeys(("cblock", "cb", "c"), "cityblock"),
    **dict.fromkeys(("chebychev", "cheby", "cheb", "ch"), "chebyshev"),
    **dict.fromkeys(("mi", "m", "pnorm"), "minkowski"),
    **dict.fromkeys(("cos",), "cosine"),
    **dict.fromkeys(("co",), "correlation"),
    **dict.fromkeys(("mahal", "mah"), "mahalanobis"),
    **dict.fromkeys(("se", "s"), "seuclidean"),
    **dict.fromkeys(("js",), "jensenshannon"),
}


def _metric(name: str, metric: Any) -> Metric | None:
    """The formula of a metric; None for a user's own function."""
    if callable(metric):
        known = METRICS.get(getattr(metric, "__name__", ""))
        return known if getattr(theirs, getattr(metric, "__name__", ""), None) is metric else None
    key = _ALIASES.get(metric.lower(), metric.lower())
    found = OF_MANY.get(key, METRICS.get(key))
    if found is None:
        raise UnsupportedError(
            f"{name}: metric={metric!r} is not traced by linad; those that are: "
            f"{', '.join(METRICS)}"
        )
    return found


def _spread(kind: Callable[..., Any], X: Array, kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a metric takes of all points, where it is not given."""
    if kind is _seuclidean and kwargs.get("V") is None:
        kwargs = {**kwargs, "V": np.var(X, axis=0, ddof=1)}
    if kind is _mahalanobis and kwargs.get("VI") is None:
        kwargs = {**kwargs, "VI": np.linalg.inv(np.cov(X.T)).T}
    return {k: v for k, v in kwargs.items() if k != "out"}


def _real(name: str, X: Array) -> Any:
    if X.dtype.kind == "c":
        raise DTypeError(f"{name}: expected real coordinates, got {X.dtype}")
    return X


def _points(name: str, X: Array) -> Any:
    X = _real(name, inexact(X))
    if X.ndim != 2:
        raise ShapeError(f"{name}: expected points in rows, an array of two axes, got {X.shape}")
    return X


@traced_form(theirs.cdist)
def cdist(XA: Array, XB: Array, metric: Any = "euclidean", **kwargs: Any) -> Any:
    among_themselves = XA is XB
    XA, XB = _points("cdist", XA), _points("cdist", XB)
    kind = _metric("cdist", metric)
    if kind is None:
        return np.stack([np.stack([metric(a, b, **kwargs) for b in XB]) for a in XA])
    XA, XB = doubled(XA), doubled(XB)
    kwargs = _spread(kind, np.concatenate([XA, XB]), kwargs)
    if among_themselves and kind in HAVE_TIPS:
        return _among_themselves(kind, XA, kwargs)
    return kind(XA[:, None, :], XB[None, :, :], **kwargs)


def _among_themselves(kind: Metric, X: Array, kwargs: dict[str, Any]) -> Any:
    """All distances; that of a point to itself is 0 wherever it is, and has all derivatives."""
    itself = np.eye(X.shape[0], dtype=bool)
    found = kind(X[:, None, :] + itself[..., None], X[None, :, :], **kwargs)
    return np.where(itself & (found == found), 0.0, found)  # NaN, of infinite points, stays


@traced_form(theirs.pdist)
def pdist(X: Array, metric: Any = "euclidean", **kwargs: Any) -> Any:
    X = _points("pdist", X)
    i, j = np.triu_indices(X.shape[0], 1)
    kind = _metric("pdist", metric)
    if kind is None:
        return np.stack([metric(X[a], X[b], **kwargs) for a, b in zip(i, j, strict=True)])
    X = doubled(X)
    return kind(X[i], X[j], **_spread(kind, X, kwargs))


@traced_form(theirs.squareform)
def squareform(X: Array, force: str = "no", checks: bool = True) -> Any:
    X = asarray(X)
    if X.ndim == 2 and force.lower() not in ("tomatrix",):
        if checks and not np.allclose(X, X.T):
            raise ValueError("Distance matrix must be symmetric.")
        return X[np.triu_indices(X.shape[0], 1)]
    n = int(np.ceil(np.sqrt(X.size * 2)))
    if n * (n - 1) // 2 != X.size:
        raise ValueError(
            "Incompatible vector size. It must be a binomial coefficient n choose 2 for some "
            "integer n >= 2."
        )
    i, j = np.triu_indices(n, 1)
    place = np.full((n, n), X.size)
    place[i, j] = place[j, i] = np.arange(X.size)
    return np.concatenate([X, np.zeros(1, X.dtype)])[place]


OF_MANY: dict[str, Metric] = {"jensenshannon": _jensenshannon_of_many}
"""Metrics by name that are others for many points than for two."""

IN_DOUBLE = {"braycurtis", "canberra"}
"""Metrics of two points that SciPy computes in double precision alone, as all of many points."""


def _of_two(name: str) -> Metric:
    kind, original = METRICS[name], getattr(theirs, name)

    @traced_form(original)
    def distance(u: Array, v: Array, *args: Any, **kwargs: Any) -> Any:
        u, v = _real(name, inexact(u)), _real(name, inexact(v))
        if name in IN_DOUBLE:
            u, v = doubled(u), doubled(v)
        found = number(kind(u, v, *args, **kwargs))
        if u.ndim != 1 or v.ndim != 1:  # SciPy 1.18 takes them for some metrics, none before
            expected = original(plain(u), plain(v), *plain(args), **plain(kwargs))
            if np.shape(expected) != np.shape(found):
                raise ShapeError(f"{name}: expected points of one axis, got {u.shape}, {v.shape}")
        return found

    return distance


euclidean = _of_two("euclidean")
sqeuclidean = _of_two("sqeuclidean")
cityblock = _of_two("cityblock")
chebyshev = _of_two("chebyshev")
minkowski = _of_two("minkowski")
cosine = _of_two("cosine")
correlation = _of_two("correlation")
canberra = _of_two("canberra")
braycurtis = _of_two("braycurtis")
seuclidean = _of_two("seuclidean")
mahalanobis = _of_two("mahalanobis")
jensenshannon = _of_two("jensenshannon")


@traced_form(theirs.directed_hausdorff)
def directed_hausdorff(u: Array, v: Array, rng: Any = 0) -> Any:
    u, v = _real("directed_hausdorff", inexact(u)), _real("directed_hausdorff", inexact(v))
    _, i, j = theirs.directed_hausdorff(plain(u), plain(v), rng)
    return number(_euclidean(doubled(u)[i], doubled(v)[j])), i, j
