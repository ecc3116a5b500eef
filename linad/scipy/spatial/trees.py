"""Nearest neighbours: who they are is decided, how far they are moves.

SciPy's tree is built of the plain points. The distances of those it finds are computed anew,

    d = (Σ_k |x_k - p_k|^q)^(1/q).
"""

from typing import Any

import numpy as np
import scipy.spatial

from linad.arrays.traces import running_trace
from linad.errors import UnsupportedError
from linad.rules.shaping import still
from linad.scipy.mirror import check_real, holds_traced, inexact


class TracedTree:
    """A tree of points that may be traced: what `KDTree` makes of them.

    Parameters
    ----------
    kind : type
        Of SciPy's tree.
    data : array (n, m)
    *args, **kwargs
        Other arguments of SciPy's tree; a periodic box is not traced.
    """

    def __init__(self, kind: type, data: Any, *args: Any, **kwargs: Any) -> None:
        check_real(kind.__name__, data=data)
        self.data = inexact(data)
        self.tree = kind(still(self.data), *args, **kwargs)
        if self.tree.boxsize is not None:
            raise UnsupportedError(
                f"{kind.__name__}: boxsize is not traced by linad; repeat the points on both sides "
                f"of the box, and leave boxsize out"
            )
        self.n, self.m = self.data.shape

    def query(
        self,
        x: Any,
        k: Any = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> Any:
        """Distances to the nearest points, traced, and which they are."""
        check_real(f"{type(self.tree).__name__}.query", x=x)
        x = inexact(x)
        plain, i = self.tree.query(still(x), k, eps, p, distance_upper_bound, workers)
        rows = x if np.ndim(i) == x.ndim - 1 else x[..., None, :]
        found = np.asarray(i) < self.n
        near = self.data[np.where(found, i, 0)]
        # Where nothing was found, and where a point is on another, SciPy's number stands.
        apart = found & (np.asarray(plain) > 0)
        away = np.where(apart[..., None], np.abs(rows - near), 1.0)
        d = np.max(away, axis=-1) if np.isinf(p) else np.sum(away**p, axis=-1) ** (1 / p)
        return np.where(apart, d, plain), i

    def query_ball_point(self, x: Any, r: Any, *args: Any, **kwargs: Any) -> Any:
        """As SciPy's, of the plain values."""
        return self.tree.query_ball_point(still(inexact(x)), still(r), *args, **kwargs)

    def query_pairs(self, r: Any, *args: Any, **kwargs: Any) -> Any:
        """As SciPy's, of the plain values."""
        return self.tree.query_pairs(still(r), *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in ("tree", "data") or not hasattr(self.tree, name):
            raise AttributeError(name)
        raise UnsupportedError(
            f"{type(self.tree).__name__}.{name} is not traced by linad; query, query_ball_point "
            f"and query_pairs are; or build the tree of linad.stop_gradient(points)"
        )


class _OfTrees(type):
    """The type of a stand-in for a tree of SciPy's."""

    _original: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if running_trace() is None:
            return cls._original(*args, **kwargs)
        if holds_traced((args[1:], kwargs.get("boxsize"))):
            return cls._original(*args, **kwargs)  # its own refusal
        return TracedTree(cls._original, *args, **kwargs)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (cls._original, TracedTree))


def _stand_in(original: type) -> Any:
    body = {"_original": original, "__doc__": original.__doc__, "__module__": original.__module__}
    return _OfTrees(original.__name__, (original,), body)


KDTree = _stand_in(scipy.spatial.KDTree)
cKDTree = _stand_in(scipy.spatial.cKDTree)
