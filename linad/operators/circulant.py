"""Circulant operators: what the discrete Fourier transform diagonalises.

    C = F^-1 diag(λ) F        C D = F^-1 diag(λ μ) F        C^H = F^-1 diag(conj λ) F
    C^-1 = F^-1 diag(1/λ) F

Cyclic shifts are circulant (λ_k = exp(-2πi k s / n)), and so sums and products of them: periodic
differences, periodic convolutions. A real one has λ_{-k} = conj(λ_k).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape
from linad.errors import SingularError
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum, recognises
from linad.operators.dft import Fourier, HermitianFourier, RealFourier
from linad.operators.facts import (
    DEFINITE,
    HERMITIAN,
    NOTHING,
    SEMIDEFINITE,
    real_dtype,
    squares,
    triangle_names,
)
from linad.operators.placement import Roll
from linad.operators.relation_shapes import dense_along
from linad.operators.relations import Product
from linad.operators.structured import Cast, Diagonal, Identity, RealPart, Zero
from linad.operators.wrappers import Adjoint, Scaled, Transpose


class Circulant(JacobianOperator):
    """Apply x -> F^-1 (λ F x): a circulant matrix, never formed.

    Parameters
    ----------
    eigenvalues : array
        λ, of shape ``shape`` and complex; kept by reference. For a real dtype it has the
        symmetry λ_{-k} = conj(λ_k).
    axes : tuple of int
        Axes it runs along, counted from the end; the other ones are lanes of their own.
    shape : tuple of int
    dtype : numpy.dtype
        Real or complex.

    Notes
    -----
    Two Fourier transforms per application, O(N log N).
    """

    unknown = "triangles"

    owns_result = True

    def __init__(
        self, eigenvalues: Array, axes: tuple[int, ...], shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.eigenvalues, self.axes = eigenvalues, axes
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self._apply(tangent, self.eigenvalues)

    def pullback(self, cotangent: Array) -> Array:
        return self._apply(cotangent, np.conj(self.eigenvalues))

    def _apply(self, x: Array, eigenvalues: Array) -> Any:
        y = np.fft.ifftn(np.fft.fftn(x, axes=self.axes) * eigenvalues, axes=self.axes)
        if self.dtype.kind != "c":
            y = np.real(y)
        return y.astype(self.dtype)

    def pattern_names(self) -> set[str]:
        return {"circulant"} | triangle_names(self)

    def definiteness(self) -> int:
        """By the eigenvalues, which carry the rounding of a Fourier transform."""
        values = np.asarray(concrete(self.eigenvalues))
        size = float(np.max(np.abs(values), initial=0.0))
        noise = 8 * np.finfo(values.dtype).eps * size * np.log2(values.size + 2)
        if not np.all(np.abs(values.imag) <= noise):
            return NOTHING
        low = float(np.min(values.real, initial=np.inf))
        return DEFINITE if low > noise else SEMIDEFINITE if low >= -noise else HERMITIAN

    def diagonal_entries(self) -> Any:
        # The trace of each circulant block, shared equally: the mean of its eigenvalues
        mean = np.mean(self.eigenvalues, axis=self.axes, keepdims=True)
        mean = mean if self.dtype.kind == "c" else np.real(mean)
        return (mean + np.zeros(self.in_shape)).reshape(self.shape[0]).astype(self.dtype)

    def column_squares(self) -> Any:
        mean = np.mean(squares(self.eigenvalues), axis=self.axes, keepdims=True)
        full = mean + np.zeros(self.in_shape)
        return full.reshape(self.shape[1]).astype(real_dtype(self.dtype))

    def spectral_norm(self) -> Any:
        return np.max(np.abs(self.eigenvalues))

    def multiple(self, alpha: Any) -> JacobianOperator:
        return Circulant(alpha * self.eigenvalues, self.axes, self.in_shape, self.dtype)

    def inverse_form(self) -> JacobianOperator:
        # (F^-1 Λ F)^-1 = F^-1 Λ^-1 F
        sizes = np.abs(np.asarray(concrete(self.eigenvalues)))
        eps = np.finfo(self.dtype).eps
        if sizes.size and not np.min(sizes) > eps * np.max(sizes):
            raise SingularError(
                f"inverse: {self._label()} is circulant with the eigenvalue {np.min(sizes):.1e}, "
                f"which is zero to working precision"
            )
        return Circulant(1 / self.eigenvalues, self.axes, self.in_shape, self.dtype)

    def relation(self) -> Product:
        return dense_along(self.out_shape, self.in_shape, self.axes)

    def relation_key(self) -> Any:
        return self.axes

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        # C^H = F^-1 diag(conj λ) F, and C^T has λ_{-k}
        if self.dtype.kind == "c" and conj(1j) == 1j:
            turned = _negative(self.eigenvalues, self.axes)
        else:
            turned = np.conj(self.eigenvalues)
        return Circulant(turned, self.axes, self.in_shape, self.dtype)


@recognises(Sum, Chain)
def circulant(op: JacobianOperator) -> Circulant | None:
    """``op`` as a `Circulant`, or None where it is not seen to be one.

    Parameters
    ----------
    op : JacobianOperator
        Identity, a multiple of it, shifts, Fourier transforms around a diagonal, and sums,
        products and adjoints of these.

    Notes
    -----
    O(N log N) at most.
    """
    if op.in_shape != op.out_shape or op.in_dtype != op.out_dtype or not op.in_shape:
        return None
    found = _spectrum(op)
    if found is None:
        return None
    eigenvalues, axes = found
    if not axes:
        axes = (-1,)
    if not isinstance(eigenvalues, Traced):
        eigenvalues = np.broadcast_to(eigenvalues, op.in_shape)
    return Circulant(eigenvalues, axes, op.in_shape, op.dtype)


Spectrum = tuple[Any, tuple[int, ...]]
"""Eigenvalues, and the axes they belong to; none where all are equal."""


def _spectrum(op: Any) -> Spectrum | None:
    kind = type(op)
    if kind is Circulant:
        return op.eigenvalues, op.axes
    if kind is Identity:
        return 1.0, ()
    if kind is Zero:
        return 0.0, ()
    if kind is Diagonal:
        return (op.entries, ()) if np.ndim(op.entries) == 0 else None
    if kind is Roll:
        return shift_eigenvalues(op), tuple(sorted(set(op._axes)))
    if kind is Scaled:
        found = _spectrum(op.op)
        return None if found is None else (op.alpha * found[0], found[1])
    if kind in (Adjoint, Transpose):
        return _turned(op)
    if kind is Sum:
        return _merged(op.terms, np.add)
    if kind is Chain:
        return sandwich(op) or _merged(op.factors, np.multiply)
    return None


def _turned(op: Any) -> Spectrum | None:
    found = _spectrum(op.op)
    if found is None:
        return None
    eigenvalues, axes = found
    if type(op) is Adjoint:
        return np.conj(eigenvalues), axes
    return _negative(eigenvalues, axes), axes


def _negative(eigenvalues: Array, axes: tuple[int, ...]) -> Any:
    """λ_{-k}, the eigenvalues of the transpose."""
    if not axes:
        return eigenvalues
    return np.roll(np.flip(eigenvalues, axes), [1] * len(axes), axes)


def _merged(parts: tuple[Any, ...], combine: Any) -> Spectrum | None:
    """The spectrum of a sum or product: all parts must run along the same axes."""
    value: Any = None
    axes: tuple[int, ...] = ()
    for part in parts:
        found = _spectrum(part)
        if found is None or (axes and found[1] and found[1] != axes):
            return None
        value = found[0] if value is None else combine(value, found[0])
        axes = axes or found[1]
    return value, axes


def shift_eigenvalues(op: Roll) -> Any:
    """exp(-2πi Σ k s / n) for the shifts s of a `Roll`."""
    total: Any = np.zeros((1,) * len(op.in_shape))
    for s, axis in zip(op.shifts, op._axes, strict=True):
        n = op.in_shape[axis]
        k = np.arange(n).reshape((-1, *(1,) * (-axis - 1)))
        total = total + (k * (s % max(n, 1))) % max(n, 1) / max(n, 1)
    return np.exp(-2j * np.pi * total)


def sandwich(op: Chain) -> Spectrum | None:
    """F^-1 diag(λ) F, alone or between embedding and real part; or its forms for real arrays."""
    factors: tuple[Any, ...] = op.factors
    real = len(factors) == 5 and type(factors[0]) is RealPart and type(factors[-1]) is Cast
    if real:
        factors = factors[1:-1]
    if len(factors) != 3 or type(factors[1]) is not Diagonal:
        return None
    back, middle, there = factors
    if type(there) is Fourier and type(back) is Fourier:
        if there.backward == back.backward or set(there.axes) != set(back.axes):
            return None
        axes = tuple(sorted(set(there.axes)))
        scale = _factor(there, axes) * _factor(back, axes) * _length(there.in_shape, axes)
        eigenvalues = scale * middle.entries + np.zeros(middle.in_shape)
        if there.backward:
            eigenvalues = _negative(eigenvalues, axes)  # F Λ F^-1: the other direction
        if real:
            # Of a matrix between real arrays the real part is left.
            eigenvalues = 0.5 * (eigenvalues + np.conj(_negative(eigenvalues, axes)))
        return eigenvalues, axes
    if type(there) is RealFourier and type(back) is HermitianFourier:
        if there.axis != back.axis or back.out_shape != there.in_shape:
            return None
        n, axes = there.in_shape[there.axis], (there.axis,)
        half = middle.entries + np.zeros(middle.in_shape)
        scale = _factor(there, axes) * _factor(back, axes) * n
        return scale * _whole(half, n, there.axis), axes
    return None


def _whole(half: Array, n: int, axis: int) -> Any:
    """All n eigenvalues of a real circulant from the first n//2 + 1."""
    # What irfft does not read: the imaginary parts that belong to real coefficients.
    kept = np.ones(n // 2 + 1)
    kept[0] = 0
    if n % 2 == 0:
        kept[-1] = 0
    kept = kept.reshape((-1, *(1,) * (-axis - 1)))
    half = np.real(half) + 1j * (kept * np.imag(half))
    later = [slice(None)] * (-axis)
    later[0] = slice(1, (n + 1) // 2)
    return np.concatenate([half, np.conj(np.flip(half[(..., *later)], axis))], axis=axis)


def _factor(op: Any, axes: tuple[int, ...]) -> float:
    """The number c in front of the sum of a transform."""
    inverse = op.backward if type(op) is Fourier else type(op) is HermitianFourier
    shape = op.out_shape if type(op) is HermitianFourier else op.in_shape
    n = _length(shape, axes)
    if op.norm == "ortho":
        return float(n) ** -0.5
    divides = (op.norm == "backward") if inverse else (op.norm == "forward")
    return 1 / n if divides else 1.0


def _length(shape: Shape, axes: tuple[int, ...]) -> int:
    n = 1
    for k in axes:
        n *= shape[k]
    return n
