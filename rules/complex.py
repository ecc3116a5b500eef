"""Complex numbers and their parts: maps that are linear over the reals only.

y = Re z       dy = Re dz            y = Im z       dy = Re(-i dz)
y = conj z     dy = conj dz
y = |z|        dy = Re(conj(u) dz)                  u = z / |z|
u = z / |z|    du = (dz - u^2 conj(dz)) / (2 |z|)
y = arg z      dy = Im(dz / z)

Adjoints are with respect to <a, b> = Re Σ conj(a) b, so the gradient of a real function of
z = x + iy is f_x + i f_y. At z = 0 the slope of |z| is 0, and its derivative NaN; |z|² is smooth
there.
"""

import math
from typing import Any

import numpy as np

from linad.arrays.python_operators import rooted
from linad.arrays.zero_dim import array, gives, like, number
from linad.core.array_type import Array
from linad.core.dispatch import implements
from linad.core.primitive import Primitive, Traced
from linad.operators.algebra import Chain
from linad.operators.base import JacobianOperator
from linad.operators.structured import Conjugation, Diagonal, Identity, RealPart
from linad.rules.comparison import constant
from linad.rules.elementwise import register
from linad.rules.kinks import cube_of_tip, side, size_squared, tip
from linad.rules.shaping import form, layout

conjugate = Primitive("conjugate", np.conjugate)
real_ = Primitive("real", np.real, view=True)
imag_ = Primitive("imag", np.imag, view=True)
absolute = Primitive("absolute", np.absolute)
sign_ = constant("sign", np.sign)
sign_.decides = True
register(np.conjugate, conjugate)
implements(np.conjugate)(conjugate)  # the method x.conj()


@conjugate.jacobian(wrt=0)
def conjugate_wrt_x(y: Array, x: Array) -> JacobianOperator:
    if y.dtype.kind != "c":
        return Identity(y.shape, y.dtype)
    return Conjugation(y.shape, y.dtype)


def part(slope: Array, y: Array, z: Array) -> JacobianOperator:
    """dy = Re(slope dz) for real y and complex z."""
    return Chain((RealPart(y.shape, y.dtype, z.dtype), Diagonal(slope, y.shape, z.dtype)))


@real_.jacobian(wrt=0)
def real_wrt_z(y: Array, z: Array) -> JacobianOperator:
    if z.dtype.kind != "c":
        return Identity(y.shape, y.dtype)
    return RealPart(y.shape, y.dtype, z.dtype)


@imag_.jacobian(wrt=0)
def imag_wrt_z(y: Array, z: Array) -> JacobianOperator:
    return part(-1j, y, z)


@absolute.jacobian(wrt=0)
def absolute_wrt_x(y: Array, x: Array) -> JacobianOperator:
    if x.dtype.kind == "c":
        return part(np.conj(_unit(x)), y, x)
    return Diagonal(side(x), y.shape, y.dtype)


def magnitude(x: Array) -> Any:
    """|x|; where derivatives of it may be differentiated, its square is known without it."""
    if not isinstance(x, Traced):
        return absolute(x)
    y = x._trace.apply(absolute, (x,), {})
    if isinstance(x._value, Traced) or x._trace.records:
        return rooted(y, size_squared, x, cube=cube_of_tip)
    return y


register(np.absolute, magnitude)


def _unit(z: Array) -> Any:
    """z / |z|, as the slope of |z|."""
    return z / tip(absolute(z)) if isinstance(z, Traced) else np.sign(z)


def sign(x: Array) -> Any:
    if x.dtype.kind != "c":
        return sign_(x)
    size = absolute(x)
    regular = ~np.isinf(size) & (size != 0)
    return number(np.where(regular, x / np.where(regular, size, 1), sign_(x)))


register(np.sign, sign)


@implements(np.real)
def real(val: Array) -> Any:
    return real_(val) if val.dtype.kind == "c" else val


@implements(np.imag)
def imag(val: Array) -> Any:
    if val.dtype.kind == "c":
        return imag_(val)
    # Of a real array it is zero: zeros that depend on nothing, and NumPy's cannot be written.
    shown = form(val) if val.ndim < 2 else layout(val)
    zeros = np.zeros_like(shown, order="F" if shown.flags.fnc else "C")
    zeros.flags.writeable = False
    return like(val, zeros)


for _name, _function in (("real", real), ("imag", imag)):
    _ufunc = getattr(np._core.umath, _name, None)  # type: ignore[attr-defined]
    if _ufunc is not None:  # since NumPy 2.5
        register(_ufunc, _function)


@implements(np.angle)
def angle(z: Array, deg: bool = False) -> Any:
    y = np.arctan2(imag(z), real(z)) if z.dtype.kind == "c" else np.arctan2(0, z)
    return y * (180 / math.pi) if deg else y


@implements(np.real_if_close)
@gives(array)
def real_if_close(a: Array, tol: float = 100) -> Any:
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = tol * float(np.finfo(a.dtype).eps)
    return real(a) if bool((np.abs(imag(a)) < tol).all()) else a
