"""The discrete Fourier transform as an operator, and its real forms.

    F: y_k = c Σ_j x_j exp(-2πi jk/n)        F^H: x_j = c Σ_k y_k exp(+2πi jk/n)

The adjoint of a transform is the transform in the other direction with the same factor c,
which in NumPy's words is the opposite norm: "backward" <-> "forward", "ortho" stays.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from linad.core.array_type import Array
from linad.core.former_names import class_from
from linad.core.shapes import Shape, size_of
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED, real_dtype
from linad.operators.relation_shapes import dense_along, moved
from linad.operators.relations import Gather, Product

Norm = Literal["backward", "ortho", "forward"]

OPPOSITE: dict[Norm, Norm] = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


class Fourier(JacobianOperator):
    """The complex transform over some axes, or its inverse.

    Parameters
    ----------
    axes : tuple of int
        Distinct axes, counted from the end (-1 is the last).
    inverse : bool
        Whether the exponent is positive.
    norm : {"backward", "ortho", "forward"}
        As in `numpy.fft`.
    shape : tuple of int
    dtype : numpy.dtype
        Complex.

    Notes
    -----
    O(N log N) an application.
    """

    unknown = "triangles definiteness diagonal_entries multiple"

    owns_result = True

    def __init__(
        self, axes: tuple[int, ...], inverse: bool, norm: Norm, shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.axes, self.backward, self.norm = axes, inverse, norm
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        transform = np.fft.ifftn if self.backward else np.fft.fftn
        return transform(tangent, axes=self.axes, norm=self.norm)

    def pullback(self, cotangent: Array) -> Array:
        transform = np.fft.fftn if self.backward else np.fft.ifftn
        return transform(cotangent, axes=self.axes, norm=OPPOSITE[self.norm])

    def factor(self) -> float:
        """The number c in front of the sum."""
        n = size_of([self.in_shape[k] for k in self.axes])
        if self.norm == "ortho":
            return float(n) ** -0.5
        return 1 / n if (self.norm == "backward") == self.backward else 1.0

    def pattern_names(self) -> set[str]:
        return {"fourier", "unitary"} if self.norm == "ortho" else {"fourier"}

    def isometric(self) -> bool:
        return self.norm == "ortho"

    def column_squares(self) -> Any:
        # n entries of size c in each column
        n = size_of([self.in_shape[k] for k in self.axes])
        return np.full(self.shape[1], n * self.factor() ** 2, real_dtype(self.dtype))

    def spectral_norm(self) -> Any:
        return self.factor() * size_of([self.in_shape[k] for k in self.axes]) ** 0.5

    def adjoint_form(self, conj: Callable[..., Any]) -> JacobianOperator:
        # F^H = n F^-1: the other direction with the opposite norm. F^T = F
        if conj(1j) == 1j:
            return self
        norm = OPPOSITE[self.norm]
        return Fourier(self.axes, not self.backward, norm, self.in_shape, self.dtype)

    def inverse_form(self) -> JacobianOperator:
        # F^-1 = F^H / n: the other direction, with NumPy's factor for this norm
        return Fourier(self.axes, not self.backward, self.norm, self.in_shape, self.dtype)

    def relation(self) -> Product:
        return dense_along(self.out_shape, self.in_shape, self.axes)

    def relation_key(self) -> Any:
        return self.axes


class _OfRealEntries(JacobianOperator):
    """A transform between real entries and coefficients, along one axis.

    Parameters
    ----------
    axis : int
        Counted from the end.
    norm : {"backward", "ortho", "forward"}
    out_shape, in_shape : tuple of int
    dtype, real_dtype : numpy.dtype
        Of the coefficients and of the entries.
    """

    unknown = UNSTRUCTURED
    inherits_facts = True
    owns_result = True

    def __init__(
        self,
        axis: int,
        norm: Norm,
        out_shape: Shape,
        in_shape: Shape,
        dtype: np.dtype[Any],
        real_dtype: np.dtype[Any],
    ) -> None:
        self.axis, self.norm, self._real = axis, norm, real_dtype
        n = max(out_shape[axis], in_shape[axis])  # the entries are as many as their half, or more
        self._counts = multiplicity(n, axis, real_dtype)
        super().__init__(out_shape, in_shape, dtype)

    def relation(self) -> Product:
        return dense_along(self.out_shape, self.in_shape, (self.axis,))

    def relation_key(self) -> Any:
        return self.axis


class RealFourier(_OfRealEntries):
    """The transform of real entries along one axis: its first n//2 + 1 coefficients.

    Notes
    -----
    Its adjoint is Re Σ_k c y_k exp(+2πi jk/n) over the coefficients that are there, while
    irfft counts all but the first, and the last of an even n, twice: so they are halved.
    """

    @property
    def in_dtype(self) -> Any:
        return self._real

    def pushforward(self, tangent: Array) -> Array:
        return np.fft.rfft(tangent, axis=self.axis, norm=self.norm)

    def pullback(self, cotangent: Array) -> Array:
        n = self.in_shape[self.axis]
        return np.fft.irfft(cotangent / self._counts, n, self.axis, OPPOSITE[self.norm])


class HermitianFourier(_OfRealEntries):
    """The inverse of `RealFourier`: n real entries from n//2 + 1 coefficients.

    The imaginary part of the first coefficient, and of the last of an even n, is not read;
    so the map is linear over the reals only.
    """

    clinear = False

    @property
    def out_dtype(self) -> Any:
        return self._real

    def pushforward(self, tangent: Array) -> Array:
        return np.fft.irfft(tangent, self.out_shape[self.axis], self.axis, self.norm)

    def pullback(self, cotangent: Array) -> Array:
        transform = np.fft.rfft(cotangent, axis=self.axis, norm=OPPOSITE[self.norm])
        return transform * self._counts


def multiplicity(n: int, axis: int, dtype: np.dtype[Any]) -> Any:
    """How often a full transform of n real entries holds each of the n//2 + 1 coefficients.

    Shaped to multiply along ``axis`` (counted from the end).
    """
    times = np.full(n // 2 + 1, 2, dtype)
    times[0] = 1
    if n % 2 == 0:
        times[-1] = 1
    return times.reshape((-1, *(1,) * (-axis - 1)))


class CropOrPad(JacobianOperator):
    """Crop or pad with zeros at the end of each axis; the adjoint does the opposite."""

    copies = True
    unknown = UNSTRUCTURED

    owns_result = True

    def pushforward(self, tangent: Array) -> Array:
        return _fitted(tangent, self.in_shape, self.out_shape)

    def pullback(self, cotangent: Array) -> Array:
        return _fitted(cotangent, self.out_shape, self.in_shape)

    def relation(self) -> Gather:
        return moved(self)


def _fitted(x: Any, before: Shape, after: Shape) -> Any:
    """x (*seeds, *before) in the shape (*seeds, *after)."""
    seeds = x.ndim - len(before)
    kept = x[(..., *[slice(min(m, n)) for m, n in zip(before, after, strict=True)])]
    missing = [(0, max(n - m, 0)) for m, n in zip(before, after, strict=True)]
    return np.pad(kept, [(0, 0)] * seeds + missing)


def __getattr__(name: str) -> Any:
    return class_from(__name__, name)
