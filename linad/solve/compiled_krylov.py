"""GMRES as a loop of a program.

    minimise |b - A x| over x = Σ_j y_j v_j,    v_j an orthonormal basis of the space spanned by
                                                b, A b, A² b ...

The basis is made by modified Gram-Schmidt, A V_k = V_k+1 H; rotations make the Hessenberg matrix H
triangular column by column, and tell the residual on the way. After ``restart`` vectors x is
formed, and the iteration goes on from there. What it says of a solution is computed anew.

Source: Y. Saad, M. H. Schultz, "GMRES: a generalized minimal residual algorithm for solving
nonsymmetric linear systems", SIAM Journal on Scientific and Statistical Computing 7, 1986.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.deciding import while_loop
from linad.control.loops import counted_scan
from linad.core.array_type import Array

Product = Callable[[Any], Any]


class KrylovState(NamedTuple):
    """An approximate solution of A x = b."""

    x: Any
    rest: Any  # b - A x
    reached: Any  # |b - A x| / |b|; 0 where b is
    products: Any
    moving: Any  # whether the last cycle has brought the residual down


class Space(NamedTuple):
    """A Krylov space as it grows."""

    k: Any  # its dimension
    following: Any  # the next vector of the basis, not yet in it
    basis: Any  # (restart, n)
    triangle: Any  # (restart, restart): row j is column j of R
    cosines: Any  # of the rotations, (restart,)
    sines: Any
    right: Any  # Q^H |r| e_1, (restart,)
    left: Any  # the next entry of it; its size is that of the residual


def gmres(product: Product, b: Array, rtol: Any, restart: int, most: int) -> KrylovState:
    """Solve A x = b from zero.

    Parameters
    ----------
    product : callable
        v -> A v.
    b : Tracer (n,)
    rtol : float or Tracer
        Relative residual to stop at.
    restart, most : int
        Vectors that are kept, and most products.

    Returns
    -------
    KrylovState
        The best that was found; ``reached`` may be above ``rtol``, or NaN.
    """
    restart = max(1, min(restart, b.shape[0], most))
    size = length(b)
    none = size == 0.0
    scale = np.where(none, 1.0, size)

    def cycle(s: KrylovState) -> KrylovState:
        step, products = _minimised(product, s.rest, rtol * scale, restart, most - s.products)
        x = s.x + step
        rest = b - product(x)
        reached = length(rest) / scale
        better = reached < s.reached
        return KrylovState(
            np.where(better, x, s.x),
            np.where(better, rest, s.rest),
            np.where(better, reached, np.where(np.isnan(reached), reached, s.reached)),
            s.products + products + 1,
            better,
        )

    def goes_on(s: KrylovState) -> Any:
        return (s.reached > rtol) & s.moving & (s.products < most)

    first = KrylovState(np.zeros_like(b), b, np.where(none, 0.0, 1.0), 0, np.True_)
    return while_loop(goes_on, cycle, first)  # type: ignore[no-any-return]


def _minimised(
    product: Product, r: Array, wanted: Array, restart: int, most: Array
) -> tuple[Any, Any]:
    """What to add to x, from the space of the residual r; and the products that took."""
    size = length(r)
    zero = np.zeros((restart,), dtype=r.dtype)
    first = Space(
        0,
        r / size.astype(r.dtype),
        np.zeros((restart, r.shape[0]), dtype=r.dtype),
        np.zeros((restart, restart), dtype=r.dtype),
        zero.real.astype(float),
        zero,
        zero,
        size.astype(r.dtype),
    )

    def goes_on(s: Space) -> Any:
        return (s.k < restart) & (s.k < most) & (np.abs(s.left) > wanted)

    space = while_loop(goes_on, lambda s: _larger(product, s), first)
    return _combined(space), space.k


def _larger(product: Product, s: Space) -> Space:
    """The space with one dimension more."""
    k = s.k
    basis, triangle = s.basis, s.triangle
    cosines, sines, right = s.cosines, s.sines, s.right
    basis[k] = s.following
    w, column = counted_scan(_orthogonal, product(s.following), basis, k + 1)
    size = length(w)

    def rotated(top: Array, row: tuple[Any, ...]) -> Any:
        c, sine, h = row
        c = c.astype(top.dtype)
        return c * h - np.conj(sine) * top, c * top + sine * h

    # Rotation i turns rows i and i + 1; entry i + 1 of the column comes with it.
    below = np.concatenate([column[1:], column[:1]])
    top, turned = counted_scan(rotated, column[0], (cosines, sines, below), k)
    height = np.abs(top).astype(float)
    hypotenuse = np.hypot(height, size)
    safe = np.where(hypotenuse > 0, hypotenuse, 1.0)
    phase = np.where(height > 0, top / np.where(height > 0, height, 1.0), 1.0)
    cosine = np.where(hypotenuse > 0, height / safe, 1.0)
    sine = (phase * (size / safe)).astype(s.left.dtype)
    triangle[k] = turned
    triangle[k, k] = (phase * hypotenuse).astype(s.left.dtype)
    cosines[k] = cosine
    sines[k] = sine
    right[k] = cosine.astype(s.left.dtype) * s.left
    following = w / np.where(size > 0, size, 1.0).astype(w.dtype)
    left = -np.conj(sine) * s.left
    return Space(k + 1, following, basis, triangle, cosines, sines, right, left)


def _orthogonal(w: Array, v: Array) -> tuple[Any, Any]:
    """w without what it has of the unit vector v, and how much that was."""
    h = np.sum(np.conj(v) * w)
    return w - h * v, h


def _combined(s: Space) -> Any:
    """Σ_j y_j v_j, with R y = g."""
    places = np.arange(s.basis.shape[0])

    def solved(g: Array, row: tuple[Any, ...]) -> Any:
        j, r = row
        y = g[j] / r[j]
        return g - y * r, y

    _, y = counted_scan(solved, s.right, (places, s.triangle), s.k, reverse=True)
    x = np.zeros_like(s.following)
    return counted_scan(lambda x, row: (x + row[0] * row[1], None), x, (y, s.basis), s.k)[0]


def length(x: Array) -> Any:
    """|x|, in double precision."""
    return np.sqrt(squared(x))


def squared(x: Array) -> Any:
    """|x|², in double precision."""
    square = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
    return np.sum(square).astype(float)
