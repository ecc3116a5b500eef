"""Cosine and sine transforms, as scipy.fft defines them, of types 1 to 4 without scaling.

y = C x      dy = C dx      C^T is the transform of the transposed type, with some ends weighted

DCT-I: C W^-1 is symmetric, with W = diag(1, 2, ..., 2, 1). DCT-II and III: C2^T = C3 W with
W = diag(2, 1, ..., 1). DST-II and III: S2^T = S3 W with W = diag(1, ..., 1, 2). DCT-IV, DST-I
and DST-IV are symmetric. A transform and that of the transposed type behind it are c times the
identity, with c = 2 (n - 1) for DCT-I, 2 (n + 1) for DST-I, 2 n for all else.

Source: S. Martucci, "Symmetric convolution and the discrete sine and cosine transforms", IEEE
Transactions on Signal Processing 42, 1994.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.relation_shapes import dense_along
from linad.operators.wrappers import Scaled


def _transform(x: Array, *, kind: str, type: int, axis: int) -> Any:
    import scipy.fft

    return getattr(scipy.fft, kind)(x, type, axis=axis, orthogonalize=False)


cosines_ = Primitive("cosines", _transform)


class CosineTransform(JacobianOperator):
    """A DCT or DST along one axis.

    Parameters
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    kind : "dct" or "dst"
    type : int
        1 to 4.
    axis : int
        From the end, negative.
    """

    unknown = "triangles definiteness diagonal_entries column_squares adjoint_form multiple"

    owns_result = True

    def __init__(self, shape: Shape, dtype: np.dtype[Any], kind: str, type: int, axis: int) -> None:
        self.kind, self.type, self.axis = kind, type, axis
        n = shape[axis]
        real = np.dtype(dtype.char.lower())
        before = np.ones(n, real)
        if kind == "dct" and type == 1:
            before[1:-1] = 2
        elif type in (2, 3):
            before[0 if kind == "dct" else -1] = 2
        # The pullback weights what comes in (type 2), what goes out (3), or both (1).
        weights = before.reshape((n,) + (1,) * (-axis - 1))
        one = np.ones((), real)
        self._into = 1 / weights if kind == "dct" and type == 1 else (weights if type == 2 else one)
        self._out = weights if kind == "dct" and type == 1 else (1 / weights if type == 3 else one)
        self._back = {1: 1, 2: 3, 3: 2, 4: 4}[type]
        self._both = 2 * (n + (0 if type != 1 else -1 if kind == "dct" else 1))  # c
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Array) -> Array:
        return cosines_(tangent, kind=self.kind, type=self.type, axis=self.axis)

    def pullback(self, cotangent: Array) -> Array:
        weighted = cotangent * self._into
        back = cosines_(weighted, kind=self.kind, type=self._back, axis=self.axis)
        return back * self._out

    def inverse_form(self) -> JacobianOperator:
        back = CosineTransform(self.in_shape, self.dtype, self.kind, self._back, self.axis)
        return Scaled(1 / self._both, back)

    def spectral_norm(self) -> Any:
        # C2 C2^T = c W, and C3 = c C2^-1; where C is symmetric, C C^T = c I.
        if self.kind == "dct" and self.type == 1:
            return None
        smallest = 2 if self.in_shape[self.axis] == 1 else 1  # entry of W
        scale = {2: 2.0, 3: 1 / smallest}.get(self.type, 1.0)
        return np.sqrt(scale * self._both)

    def relation(self) -> Any:
        return dense_along(self.out_shape, self.in_shape, (self.axis,))

    def relation_key(self) -> Any:
        return self.axis


@cosines_.jacobian(wrt=0)
def cosines_wrt_x(y: Array, x: Array, *, kind: str, type: int, axis: int) -> JacobianOperator:
    return CosineTransform(x.shape, y.dtype, kind, type, axis)
