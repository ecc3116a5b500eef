"""Operators that act on each entry alone: identity, diagonals, masks, casts, conjugation.

Each is written in NumPy calls on arrays with leading seed axes, so it runs on arrays,
records onto a tape and differentiates again.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core import former_names
from linad.core.array_type import Array
from linad.core.shapes import Shape, size_of
from linad.errors import SingularError
from linad.operators.base import JacobianOperator
from linad.operators.facts import (
    DEFINITE,
    NOT_A_MATRIX,
    NOTHING,
    SEMIDEFINITE,
    ones_of,
    real_dtype,
    sign_of,
    squares,
)
from linad.operators.relations import Gather
from linad.operators.typed import Typed


class Isometry(JacobianOperator):
    """What operators share that keep the length of every vector: A^H A = I."""

    inherits_facts = True

    def column_squares(self) -> Any:
        return ones_of(self)

    def spectral_norm(self) -> Any:
        return 1.0

    def isometric(self) -> bool:
        return True


class IdentityMatrix(Isometry):
    """What `Identity` and `linad.operators.reordering.Reshape` share: their matrix."""

    def pattern_names(self) -> set[str]:
        return {"identity", "diagonal"}

    def triangles(self) -> tuple[bool, bool]:
        return True, True

    def definiteness(self) -> int:
        return DEFINITE

    def diagonal_entries(self) -> Any:
        return np.ones(self.shape[0], self.dtype)

    def relation(self) -> Any:
        return None


class Identity(IdentityMatrix):
    """y = x."""

    scales_at_once = True

    def __init__(self, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.out_shape = self.in_shape = shape
        self.dtype = dtype

    def pushforward(self, tangent: Array) -> Array:
        return tangent

    def pullback(self, cotangent: Array) -> Array:
        return cotangent

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        return self

    def multiple(self, alpha: Any) -> JacobianOperator:
        return Diagonal(alpha * 1.0, self.in_shape, self.dtype)

    def inverse_form(self) -> JacobianOperator:
        return self


class Zero(JacobianOperator):
    """y = 0. Costs one array of zeros an application."""

    scales_at_once = True

    owns_result = True

    def pushforward(self, tangent: Array) -> Array:
        return _zeros(tangent, self.in_shape, self.out_shape, self.dtype)

    def pullback(self, cotangent: Array) -> Array:
        return _zeros(cotangent, self.out_shape, self.in_shape, self.dtype)

    def pattern_names(self) -> set[str]:
        return {"zero", "diagonal"} if self.shape[0] == self.shape[1] else {"zero"}

    def triangles(self) -> tuple[bool, bool]:
        return True, True

    def definiteness(self) -> int:
        return SEMIDEFINITE if self.shape[0] == self.shape[1] else NOTHING

    def rank_bound(self) -> int:
        return 0

    def diagonal_entries(self) -> Any:
        return np.zeros(self.shape[0], self.dtype)

    def column_squares(self) -> Any:
        return np.zeros(self.shape[1], real_dtype(self.dtype))

    def spectral_norm(self) -> Any:
        return 0.0

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        # 0^H = 0
        return Zero(self.in_shape, self.out_shape, self.dtype)

    def multiple(self, alpha: Any) -> JacobianOperator:
        # α 0 = 0
        return self

    def inverse_form(self) -> JacobianOperator:
        if self.shape[0]:
            raise SingularError(f"inverse: {self._label()} is zero")
        return Zero(self.in_shape, self.out_shape, self.dtype)

    def relation(self) -> Gather:
        m, n = self.shape
        return Gather(np.full(m, -1, np.int32), n)


def _zeros(seed: Array, taken: Shape, given: Shape, dtype: np.dtype[Any]) -> Any:
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

    scales_at_once = True

    owns_result = True

    steep: str | None = None
    """What its entries say of poles, as slopes of a rule: see `linad.operators.slopes`."""

    def __init__(self, diagonal: Any, shape: Shape, dtype: Any) -> None:
        self.entries = diagonal
        self.out_shape = self.in_shape = shape
        self.dtype = dtype

    def pushforward(self, tangent: Array) -> Array:
        return tangent * self.entries

    def pullback(self, cotangent: Array) -> Array:
        if self.dtype.kind == "c":
            # The method, since np.conj would make a double of a Python number.
            return cotangent * self.entries.conjugate()
        return cotangent * self.entries

    def full(self) -> Any:
        """The numbers as an array of the shape of x."""
        return self.entries + np.zeros(self.in_shape, self.dtype)

    def pattern_names(self) -> set[str]:
        return {"diagonal"}

    def triangles(self) -> tuple[bool, bool]:
        return True, True

    def definiteness(self) -> int:
        return sign_of(concrete(self.entries))

    def diagonal_entries(self) -> Any:
        return self.full().reshape(self.shape[0])

    def column_squares(self) -> Any:
        return squares(self.full().reshape(self.shape[0]))

    def spectral_norm(self) -> Any:
        return np.max(np.abs(self.full()))

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        # diag(d)^H = diag(conj d)
        return Diagonal(conj(self.entries), self.in_shape, self.dtype)

    def multiple(self, alpha: Any) -> JacobianOperator:
        # α diag(d) = diag(α d)
        return Diagonal(alpha * self.entries, self.in_shape, self.dtype)

    def inverse_form(self) -> JacobianOperator:
        # diag(d)^-1 = diag(1/d)
        if size_of(self.in_shape):
            _check_entries(self, concrete(self.entries))
        return Diagonal(1 / self.entries, self.in_shape, self.dtype)

    def relation(self) -> Any:
        return None

    def relation_key(self) -> Any:
        return np.ndim(self.entries) == 0


def diagonal(entries: Array, shape: Shape, dtype: np.dtype[Any]) -> Diagonal:
    """`Diagonal`, without the three calls of a constructor: programs are made of these."""
    J: Diagonal = object.__new__(Diagonal)
    J.entries = entries
    J.out_shape = J.in_shape = shape
    J.dtype = dtype
    return J


class Cast(Typed):
    """y = x in another dtype; from real to complex it is the embedding, whose adjoint is Re."""

    unknown = (
        "triangles definiteness diagonal_entries column_squares spectral_norm "
        "adjoint_form multiple inverse_form"
    )

    owns_result = True

    def __init__(self, shape: Shape, out_dtype: np.dtype[Any], in_dtype: np.dtype[Any]) -> None:
        self._out_dtype, self._in_dtype = out_dtype, in_dtype
        super().__init__(shape, shape, np.promote_types(out_dtype, in_dtype))
        self.clinear = not (in_dtype.kind == "c" and out_dtype.kind != "c")

    def pushforward(self, tangent: Array) -> Array:
        return _cast(tangent, self._out_dtype)

    def pullback(self, cotangent: Array) -> Array:
        return _cast(cotangent, self._in_dtype)

    def relation(self) -> Any:
        return None


def _cast(x: Array, dtype: np.dtype[Any]) -> Any:
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    return x.astype(dtype)


class RealPart(JacobianOperator):
    """y = Re z. Linear over the reals; the adjoint embeds."""

    unknown = NOT_A_MATRIX

    owns_result = True
    clinear = False

    def __init__(
        self, shape: Shape, real_dtype: np.dtype[Any], complex_dtype: np.dtype[Any]
    ) -> None:
        self._real, self._complex = real_dtype, complex_dtype
        super().__init__(shape, shape, complex_dtype)

    @property
    def in_dtype(self) -> Any:
        return self._complex

    @property
    def out_dtype(self) -> Any:
        return self._real

    def pushforward(self, tangent: Array) -> Array:
        return np.real(tangent) * np.ones((), self._real)

    def pullback(self, cotangent: Array) -> Array:
        return cotangent.astype(self._complex)

    def relation(self) -> Any:
        return None


class Conjugation(JacobianOperator):
    """y = conj z. Linear over the reals, and its own adjoint."""

    unknown = NOT_A_MATRIX

    owns_result = True
    clinear = False

    def __init__(self, shape: Shape, dtype: np.dtype[Any]) -> None:
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return np.conj(tangent)

    def pullback(self, cotangent: Array) -> Array:
        return np.conj(cotangent)

    def relation(self) -> Any:
        return None


class Masked(JacobianOperator):
    """y = x where the mask is true, else 0: a projection, its own adjoint."""

    unknown = "multiple"

    owns_result = True

    def __init__(self, mask: Array, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.mask = mask
        self.out_shape = self.in_shape = shape
        self.dtype = dtype

    def pushforward(self, tangent: Array) -> Array:
        return np.where(self.mask, tangent, np.zeros((), self.dtype))

    def pullback(self, cotangent: Array) -> Array:
        return self.pushforward(cotangent)

    def pattern_names(self) -> set[str]:
        return {"diagonal"}

    def triangles(self) -> tuple[bool, bool]:
        return True, True

    def definiteness(self) -> int:
        return SEMIDEFINITE

    def diagonal_entries(self) -> Any:
        return np.broadcast_to(self.mask, self.in_shape).astype(self.dtype).reshape(self.shape[0])

    def column_squares(self) -> Any:
        kept = np.broadcast_to(self.mask, self.in_shape).reshape(self.shape[1])
        return kept.astype(real_dtype(self.dtype))

    def spectral_norm(self) -> Any:
        return float(np.any(self.mask))

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        return self

    def inverse_form(self) -> JacobianOperator:
        _check_entries(self, self.mask)
        return Identity(self.in_shape, self.dtype)

    def relation(self) -> Any:
        # The entries that a mask leaves out change with the point.
        return None


def _check_entries(op: Any, d: Array) -> None:
    wrong = np.argwhere(~(np.isfinite(d) & (np.asarray(d) != 0)))
    if len(wrong):
        raise SingularError(
            f"inverse: {op._label()} is diagonal with {d[tuple(wrong[0])]} at "
            f"{tuple(wrong[0].tolist())}"
            if np.ndim(d)
            else f"inverse: {op._label()} is {d} times the identity"
        )


def __getattr__(name: str) -> Any:
    return former_names.class_from(__name__, name)
