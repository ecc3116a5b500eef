"""Operators with a structure: identity, diagonal, broadcast, Kronecker, permutation ...

Each is written in NumPy calls on arrays with leading seed axes, so it runs on arrays,
records onto a tape and differentiates again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.core.primitive import Traced
from linad.core.shapes import Shape, keep_axes, matrix_transpose, size_of, sum_to_shape
from linad.operators.base import JacobianOperator


class Identity(JacobianOperator):
    """y = x."""

    def __init__(self, shape: Shape, dtype: Any) -> None:
        self.out_shape = self.in_shape = shape
        self.dtype = dtype

    def pushforward(self, tangent: Any) -> Any:
        return tangent

    def pullback(self, cotangent: Any) -> Any:
        return cotangent


class Zero(JacobianOperator):
    """y = 0. Costs one array of zeros an application."""

    fresh = True

    def pushforward(self, tangent: Any) -> Any:
        return _zeros(tangent, self.in_shape, self.out_shape, self.dtype)

    def pullback(self, cotangent: Any) -> Any:
        return _zeros(cotangent, self.out_shape, self.in_shape, self.dtype)


def _zeros(seed: Any, taken: Shape, given: Shape, dtype: Any) -> Any:
    return np.zeros(seed.shape[: seed.ndim - len(taken)] + given, dtype)


class Diagonal(JacobianOperator):
    """y = d x, entry by entry.

    Parameters
    ----------
    diagonal : array or number
        d, kept by reference; broadcasts to ``shape``.
    shape : tuple of int
        Shape of x and y.
    dtype : numpy.dtype
        Type of x and y.

    Notes
    -----
    One multiplication an entry and application.
    """

    fresh = True

    def __init__(self, diagonal: Any, shape: Shape, dtype: Any) -> None:
        self.entries = diagonal
        self.out_shape = self.in_shape = shape
        self.dtype = dtype

    def pushforward(self, tangent: Any) -> Any:
        return tangent * self.entries

    def pullback(self, cotangent: Any) -> Any:
        if self.dtype.kind == "c":
            # The method, since np.conj would make a double of a Python number.
            return cotangent * self.entries.conjugate()
        return cotangent * self.entries


def diagonal(entries: Any, shape: Shape, dtype: Any) -> Diagonal:
    """`Diagonal`, without the three calls of a constructor: programs are made of these."""
    J: Diagonal = object.__new__(Diagonal)
    J.entries = entries
    J.out_shape = J.in_shape = shape
    J.dtype = dtype
    return J


class Cast(JacobianOperator):
    """y = x in another dtype; from real to complex it is the embedding, whose adjoint is Re."""

    fresh = True

    def __init__(self, shape: Shape, out_dtype: Any, in_dtype: Any) -> None:
        self._out_dtype, self._in_dtype = out_dtype, in_dtype
        super().__init__(shape, shape, np.promote_types(out_dtype, in_dtype))
        self.clinear = not (in_dtype.kind == "c" and out_dtype.kind != "c")

    @property
    def in_dtype(self) -> Any:
        return self._in_dtype

    @property
    def out_dtype(self) -> Any:
        return self._out_dtype

    def pushforward(self, tangent: Any) -> Any:
        return _cast(tangent, self._out_dtype)

    def pullback(self, cotangent: Any) -> Any:
        return _cast(cotangent, self._in_dtype)


def _cast(x: Any, dtype: Any) -> Any:
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    return x.astype(dtype)


class Broadcast(JacobianOperator):
    """Repeat x along axes; its adjoint sums over them.

    Parameters
    ----------
    out_shape, in_shape : tuple of int
        Shape after and before.
    dtype : numpy.dtype
    axes : tuple of int, optional
        Axes of ``out_shape`` that ``in_shape`` lacks. None: NumPy's broadcasting, aligned
        at the last axis.
    """

    fresh = True

    def __init__(
        self, out_shape: Shape, in_shape: Shape, dtype: Any, axes: Sequence[int] | None = None
    ) -> None:
        if axes is None:
            added = len(out_shape) - len(in_shape)
            kept = (1,) * added + in_shape
            axes = [k for k, n in enumerate(out_shape) if k < added or kept[k] != n]
        else:
            kept = keep_axes(out_shape, axes)
        self._kept = kept
        # Counted from the end, so that leading seed axes do not move them.
        self._axes = tuple([k - len(out_shape) for k in axes])
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        seeds = tangent.shape[: tangent.ndim - len(self.in_shape)]
        kept = tangent.reshape(seeds + self._kept)
        if isinstance(tangent, Traced):
            return np.broadcast_to(kept, seeds + self.out_shape)
        full = np.empty(seeds + self.out_shape, kept.dtype)
        full[...] = kept
        return full

    def pullback(self, cotangent: Any) -> Any:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        total = np.add.reduce(cotangent, axis=self._axes)
        return total.reshape(seeds + self.in_shape)


def broadcast(out_shape: Shape, in_shape: Shape, dtype: Any) -> JacobianOperator:
    """`Broadcast`, or `Identity` where nothing is repeated."""
    if out_shape == in_shape:
        return Identity(in_shape, dtype)
    return Broadcast(out_shape, in_shape, dtype)


class Reshape(JacobianOperator):
    """y = the entries of x, in C order, in another shape. A view where NumPy can give one."""

    def pushforward(self, tangent: Any) -> Any:
        seeds = tangent.shape[: tangent.ndim - len(self.in_shape)]
        return tangent.reshape(seeds + self.out_shape)

    def pullback(self, cotangent: Any) -> Any:
        seeds = cotangent.shape[: cotangent.ndim - len(self.out_shape)]
        return cotangent.reshape(seeds + self.in_shape)


class Permutation(JacobianOperator):
    """y = x with its axes reordered as by ``np.transpose(x, axes)``."""

    def __init__(self, axes: Sequence[int], in_shape: Shape, dtype: Any) -> None:
        self.axes = tuple(axes)
        self._inverse = tuple(sorted(range(len(self.axes)), key=self.axes.__getitem__))
        super().__init__(tuple(in_shape[k] for k in self.axes), in_shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return _permute(tangent, self.axes)

    def pullback(self, cotangent: Any) -> Any:
        return _permute(cotangent, self._inverse)


def _permute(x: Any, axes: tuple[int, ...]) -> Any:
    seeds = x.ndim - len(axes)
    return x.transpose((*range(seeds), *[seeds + k for k in axes]))


class Kronecker(JacobianOperator):
    """Apply X -> L X R^T: the matrix L ⊗ R, never formed.

    Parameters
    ----------
    left, right : array (..., m, p) and (..., n, q), or None
        L and R, kept by reference; None is the identity.
    out_shape, in_shape : tuple of int
        (..., m, n) and (..., p, q); batch axes broadcast.
    dtype : numpy.dtype

    Notes
    -----
    One matrix product per factor and application, for all seeds together where the factor
    has no batch axes. L ⊗ R itself would hold (m n)(p q) numbers.
    """

    fresh = True

    def __init__(
        self, left: Any, right: Any, out_shape: Shape, in_shape: Shape, dtype: Any
    ) -> None:
        self.left, self.right = left, right
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        tangent = align(tangent, len(self.in_shape), len(self.out_shape))
        if self.left is not None:
            tangent = _from_left(self.left, tangent)
        if self.right is not None:
            tangent = _from_right(tangent, matrix_transpose(self.right))
        return tangent

    def pullback(self, cotangent: Any) -> Any:
        complex_ = self.dtype.kind == "c"
        if self.left is not None:
            left = np.conj(self.left) if complex_ else self.left
            cotangent = _from_left(matrix_transpose(left), cotangent)
        if self.right is not None:
            right = np.conj(self.right) if complex_ else self.right
            cotangent = _from_right(cotangent, right)
        return sum_to_shape(cotangent, self.in_shape, len(self.out_shape))


def _from_right(x: Any, a: Any) -> Any:
    """``x @ a``, the rows of all seeds in one product where ``a`` is one matrix."""
    if a.ndim != 2 or x.ndim < 3:
        return x @ a
    n, k = a.shape
    return (x.reshape((size_of(x.shape[:-1]), n)) @ a).reshape((*x.shape[:-1], k))


def _from_left(a: Any, x: Any) -> Any:
    """``a @ x``, single columns of all seeds in one product where ``a`` is one matrix."""
    if a.ndim != 2 or x.ndim < 3 or x.shape[-1] != 1:
        return a @ x
    m, n = a.shape
    rows = x.reshape((size_of(x.shape[:-2]), n)) @ matrix_transpose(a)
    return rows.reshape((*x.shape[:-2], m, 1))


class Matrix(JacobianOperator):
    """y = A x along the last axis: x (n,), y (m,).

    Parameters
    ----------
    a : array (m, n)
        Kept by reference.
    dtype : numpy.dtype, optional
        That of ``a`` by default.

    Notes
    -----
    All seeds go through one matrix product.
    """

    fresh = True

    def __init__(self, a: Any, dtype: Any = None) -> None:
        self.a = a
        m, n = a.shape
        super().__init__((m,), (n,), a.dtype if dtype is None else dtype)

    def pushforward(self, tangent: Any) -> Any:
        return tangent @ matrix_transpose(self.a)

    def pullback(self, cotangent: Any) -> Any:
        return cotangent @ (np.conj(self.a) if self.dtype.kind == "c" else self.a)


class RowProducts(JacobianOperator):
    """y = X v: the product of each row of X (..., n) with a vector; the matrix I ⊗ v^T.

    Parameters
    ----------
    v : array (n,)
        Kept by reference.
    in_shape : tuple of int
        Of X.
    dtype : numpy.dtype
    """

    fresh = True

    def __init__(self, v: Any, in_shape: Shape, dtype: Any) -> None:
        self.v = v
        super().__init__(in_shape[:-1], in_shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return tangent @ self.v

    def pullback(self, cotangent: Any) -> Any:
        v = np.conj(self.v) if self.dtype.kind == "c" else self.v
        return np.multiply.outer(cotangent, v)


def align(x: Any, ndim: int, full_ndim: int) -> Any:
    """Insert axes after the seeds so that (*seeds, *shape) broadcasts to (*seeds, *full)."""
    if full_ndim == ndim or x.ndim == ndim:
        return x
    seeds = x.ndim - ndim
    return x.reshape(x.shape[:seeds] + (1,) * (full_ndim - ndim) + x.shape[seeds:])


class Contraction(JacobianOperator):
    """y = einsum of x with fixed arrays: linear in the one operand left open.

    Parameters
    ----------
    in_labels, out_labels : str
        One letter an axis of x and y, no letter twice.
    fixed : list of (labels, array)
        The other operands, kept by reference.
    out_shape, in_shape : tuple of int
    dtype : numpy.dtype

    Notes
    -----
    An application is one einsum with an optimised order. Labels of x that appear nowhere
    else are summed; the adjoint repeats along them.
    """

    def __init__(
        self,
        in_labels: str,
        fixed: Sequence[tuple[str, Any]],
        out_labels: str,
        out_shape: Shape,
        in_shape: Shape,
        dtype: Any,
    ) -> None:
        self.in_labels, self.out_labels, self.fixed = in_labels, out_labels, list(fixed)
        # An einsum of one operand may be a view of it.
        self.fresh = bool(self.fixed)
        known = set(out_labels).union(*[labels for labels, _ in self.fixed])
        # Axes of x the adjoint cannot compute, because no other operand has them.
        self._summed = tuple(k for k, label in enumerate(in_labels) if label not in known)
        super().__init__(out_shape, in_shape, dtype)

    def _contract(self, given: str, wanted: str, x: Any, conjugate: bool) -> Any:
        labels = ",".join(["..." + given, *[names for names, _ in self.fixed]])
        arrays = [np.conj(a) if conjugate else a for _, a in self.fixed]
        return np.einsum(f"{labels}->...{wanted}", x, *arrays, optimize=bool(arrays))

    def pushforward(self, tangent: Any) -> Any:
        return self._contract(self.in_labels, self.out_labels, tangent, False)

    def pullback(self, cotangent: Any) -> Any:
        wanted = "".join(c for k, c in enumerate(self.in_labels) if k not in self._summed)
        total = self._contract(self.out_labels, wanted, cotangent, self.dtype.kind == "c")
        if not self._summed:
            return total
        ndim = len(self.in_shape)
        seeds = total.shape[: total.ndim - (ndim - len(self._summed))]
        kept = total.reshape(seeds + keep_axes(self.in_shape, self._summed))
        return np.broadcast_to(kept, seeds + self.in_shape) + np.zeros((), self.dtype)


class RealPart(JacobianOperator):
    """y = Re z. Linear over the reals; the adjoint embeds."""

    fresh = True
    clinear = False

    def __init__(self, shape: Shape, real_dtype: Any, complex_dtype: Any) -> None:
        self._real, self._complex = real_dtype, complex_dtype
        super().__init__(shape, shape, complex_dtype)

    @property
    def in_dtype(self) -> Any:
        return self._complex

    @property
    def out_dtype(self) -> Any:
        return self._real

    def pushforward(self, tangent: Any) -> Any:
        return np.real(tangent) * np.ones((), self._real)

    def pullback(self, cotangent: Any) -> Any:
        return cotangent.astype(self._complex)


class Conjugation(JacobianOperator):
    """y = conj z. Linear over the reals, and its own adjoint."""

    fresh = True
    clinear = False

    def __init__(self, shape: Shape, dtype: Any) -> None:
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return np.conj(tangent)

    def pullback(self, cotangent: Any) -> Any:
        return np.conj(cotangent)


class Masked(JacobianOperator):
    """y = x where the mask is true, else 0: a projection, its own adjoint."""

    fresh = True

    def __init__(self, mask: Any, shape: Shape, dtype: Any) -> None:
        self.mask = mask
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return np.where(self.mask, tangent, np.zeros((), self.dtype))

    def pullback(self, cotangent: Any) -> Any:
        return self.pushforward(cotangent)
