"""Nearest neighbours: who they are is decided, how far they are moves.

SciPy's tree is built of the plain points. The distances of those it finds are computed anew,

    d = (Σ_k |x_k - p_k|^q)^(1/q).
"""

from typing import Any

import numpy as np
import scipy.spatial

from linad.arrays.traces import running_trace
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.rules.shaping import concrete, still
from linad.scipy.mirror import check_real, holds_traced, inexact
from linad.scipy.plain_results import by_scipy


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

    stands_for: type = scipy.spatial.KDTree

    def __init__(self, kind: type, data: Array, *args: Any, **kwargs: Any) -> None:
        check_real(kind.__name__, data=data)
        self.data, self.kind = inexact(data), kind
        self.stands_for = kind
        if kwargs.get("boxsize", args[4] if len(args) > 4 else None) is not None:
            raise UnsupportedError(
                f"{kind.__name__}: boxsize is not traced by linad; repeat the points on both sides "
                f"of the box, and leave boxsize out"
            )
        self.n, self.m = self.data.shape
        self._made_of = lambda points: kind(points, *args, **kwargs)
        points = still(self.data)
        self.tree = None if isinstance(points, Traced) else self._made_of(points)

    def _nearest(self, x: Array, points: Array, **options: Any) -> Any:
        """Which points SciPy's tree finds; of a recorded program one is made at each run."""
        tree = self._made_of(points) if self.tree is None else self.tree
        return tree.query(x, **options)[1]

    def query(
        self,
        x: Array,
        k: Any = 1,
        eps: float = 0.0,
        p: float = 2.0,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> Any:
        """Distances to the nearest points, traced, and which they are."""
        check_real(f"{self.kind.__name__}.query", x=x)
        x = inexact(x)
        limits = {"k": k, "eps": eps, "p": p, "distance_upper_bound": distance_upper_bound}
        i = by_scipy(self._nearest, x, self.data, **limits, workers=workers)
        rows = x if np.ndim(i) == x.ndim - 1 else x[..., None, :]
        found = i < self.n
        difference = np.abs(rows - self.data[np.where(found, i, 0)])
        # Where nothing was found, and where a point is on another, there is no slope.
        apart = found & np.any(still(difference) > 0, axis=-1)
        away = np.where(apart[..., None], difference, 1.0)
        d = np.max(away, axis=-1) if np.isinf(p) else np.sum(away**p, axis=-1) ** (1 / p)
        return np.where(apart, d, np.where(found, 0.0, np.inf)), i

    def query_ball_point(self, x: Any, r: Any, *args: Any, **kwargs: Any) -> Any:
        """As SciPy's, of the plain values."""
        return self._decided().query_ball_point(concrete(inexact(x)), concrete(r), *args, **kwargs)

    def query_pairs(self, r: Any, *args: Any, **kwargs: Any) -> Any:
        """As SciPy's, of the plain values."""
        return self._decided().query_pairs(concrete(r), *args, **kwargs)

    def _decided(self) -> Any:
        """SciPy's tree of the plain values, which a recorded program then holds for."""
        return self._made_of(concrete(self.data)) if self.tree is None else self.tree

    def __getattr__(self, name: str) -> Any:
        if name in ("tree", "data", "kind") or not hasattr(self.kind, name):
            raise AttributeError(name)
        raise UnsupportedError(
            f"{self.kind.__name__}.{name} is not traced by linad; query, query_ball_point "
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
