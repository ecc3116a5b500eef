"""Containers of arrays as vectors: norms, combinations, random ones, differences along one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.shapes import is_inexact


def random_like(value: Any, rng: np.random.Generator) -> Any:
    """Return a container like ``value`` with standard normal entries, complex where it is."""
    leaves, structure = tree.flatten(value)
    return tree.unflatten(
        structure, [normal(np.shape(x), np.asarray(x).dtype, rng) for x in leaves]
    )


def normal(shape: tuple[int, ...], dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    """Return standard normal entries, complex where the dtype is."""
    x = rng.standard_normal(shape)
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype if is_inexact(dtype) else float)


def inner(a: Any, b: Any) -> float:
    """Real inner product Re Σ conj(a) b of two containers: what the dot test compares."""
    pairs = zip(tree.flatten(a)[0], tree.flatten(b)[0], strict=True)
    return float(sum(np.real(np.vdot(x, y)) for x, y in pairs))


def norm(a: Any) -> float:
    """Euclidean norm of a container."""
    return float(np.sqrt(max(inner(a, a), 0.0)))


def combine(alpha: float, a: Any, beta: float, b: Any) -> Any:
    """``alpha a + beta b`` of two containers, in the dtype of ``a``."""
    xs, structure = tree.flatten(a)
    ys, _ = tree.flatten(b)
    total = [
        np.asarray(alpha * np.asarray(x) + beta * np.asarray(y))
        for x, y in zip(xs, ys, strict=True)
    ]
    return tree.unflatten(
        structure,
        [
            t.astype(np.asarray(x).dtype) if is_inexact(np.asarray(x).dtype) else t
            for t, x in zip(total, xs, strict=True)
        ],
    )


def precision(value: Any) -> float:
    """Machine epsilon of the least precise floating leaf."""
    dtypes = [np.asarray(x).dtype for x in tree.flatten(value)[0]]
    return max([float(np.finfo(d).eps) for d in dtypes if is_inexact(d)], default=2.3e-16)


def difference(
    f: Callable[..., Any], args: tuple[Any, ...], direction: tuple[Any, ...], step: float = 1.0
) -> tuple[Any, float]:
    """Directional derivative of ``f`` by the fourth-order central difference.

    Parameters
    ----------
    f : callable
    args : tuple
        The point.
    direction : tuple
        Like ``args``.
    step : float
        Factor on the step, smaller than 1 where the entries of ``args`` differ much in size.

    Returns
    -------
    derivative
        A container like the result.
    noise : float
        The part of its error that rounding in ``f`` explains.

    Notes
    -----
    Four runs of ``f``. Step h = step eps^(1/5) |x|/|d|; truncation O(h^4), rounding O(eps / h).
    """
    eps = precision(args)
    largest = max(
        [float(np.max(np.abs(x), initial=0.0)) for x in tree.flatten(args)[0]], default=1.0
    )
    spread = max(
        [float(np.max(np.abs(d), initial=0.0)) for d in tree.flatten(direction)[0]], default=1.0
    )
    h = step * eps**0.2 * (largest or 1.0) / (spread or 1.0)

    def at(k: int) -> Any:
        return f(*combine(1.0, args, k * h, direction))

    near = combine(8 / (12 * h), at(1), -8 / (12 * h), at(-1))
    far = combine(-1 / (12 * h), at(2), 1 / (12 * h), at(-2))
    return combine(1.0, near, 1.0, far), eps / h * norm(at(0))
