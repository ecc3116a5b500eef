"""Functions of a square matrix: exponential, logarithm, square root, powers, and the rest.

Y = f(A)      dY = L(A, dA)      f([A dA; 0 A]) = [Y dY; 0 Y]

L, the Fréchet derivative, is one evaluation of f on a matrix of twice the size. Its transpose
is W -> L(A^T, W), its adjoint W -> conj L(A^T, conj W). The same lines differentiate again.

A X + X B = Q      A dX + dX B = dQ - dA X - X dB

Sources: R. Mathias, "A chain rule for matrix functions and applications", SIAM Journal on
Matrix Analysis 17, 1996. N. Higham, "Functions of Matrices", 2008, chapter 3.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from linad.core.primitive import Primitive
from linad.core.shapes import matrix_transpose
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.matrices import Kronecker
from linad.operators.relation_shapes import lanes
from linad.rules.linalg import adjoint
from linad.rules.shaping import form

Function = Callable[..., Any]


def _matrixwise(function: Function) -> Function:
    """A function of one matrix as a function of a stack (..., n, n), in its precision."""

    def stacked(a: Any, **params: Any) -> Any:
        # In double precision: logm warns of single precision's own rounding.
        flat = a.reshape((-1, *a.shape[-2:])).astype(np.promote_types(a.dtype, float), copy=False)
        results = [np.asarray(function(m, **params)) for m in flat]
        if not results:
            return np.zeros(a.shape, a.dtype)
        y = np.stack(results).reshape(a.shape)
        return y.astype("F" if y.dtype.kind == "c" else "f") if a.dtype.char in "fF" else y

    return stacked


class FrechetDerivative(JacobianOperator):
    """E -> L(A, E), of a matrix function.

    Parameters
    ----------
    function : callable
        f, traced or plain.
    a : array (..., n, n)
        Kept by reference.
    dtype : numpy.dtype
        Of f(A).

    Notes
    -----
    One f of a matrix of order 2n an application.
    """

    unknown = UNSTRUCTURED

    fresh = True

    def __init__(self, function: Function, a: Any, dtype: Any) -> None:
        self.function, self.a = function, a
        super().__init__(a.shape, a.shape, dtype)

    def _frechet(self, a: Any, e: Any) -> Any:
        # L is linear in E: brought to the size of A, it neither hides A nor is hidden.
        size = np.max(np.abs(form(a)), initial=0.0) or 1.0
        scale = float(np.max(np.abs(form(e)), initial=0.0) / size) or 1.0
        n = a.shape[-1]
        a = np.broadcast_to(a, e.shape)
        top = np.concatenate([a, e / scale], axis=-1)
        bottom = np.concatenate([np.zeros(e.shape, e.dtype), a], axis=-1)
        y = self.function(np.concatenate([top, bottom], axis=-2))[..., :n, n:] * scale
        return np.real(y) if y.dtype.kind == "c" and self.dtype.kind != "c" else y

    def pushforward(self, tangent: Any) -> Any:
        return self._frechet(self.a, tangent)

    def pullback(self, cotangent: Any) -> Any:
        return np.conj(self._frechet(matrix_transpose(self.a), np.conj(cotangent)))

    def relation(self) -> Any:
        """Each matrix of a stack on all entries of its own."""
        return lanes(self.out_shape, self.in_shape, (-2, -1))


def matrix_function(name: str, function: Function) -> Primitive:
    """A primitive for a function of square matrices."""
    primitive = Primitive(name, _matrixwise(function))

    def rule(y: Any, a: Any, **params: Any) -> JacobianOperator:
        return FrechetDerivative(lambda x: primitive(x, **params), a, y.dtype)

    rule.__name__ = rule.__qualname__ = f"{name}_wrt_a"
    primitive.jacobian(wrt=0)(rule)
    return primitive


expm_ = matrix_function("expm", scipy.linalg.expm)
logm_ = matrix_function("logm", scipy.linalg.logm)
sqrtm_ = matrix_function("sqrtm", scipy.linalg.sqrtm)
cosm_ = matrix_function("cosm", scipy.linalg.cosm)
sinm_ = matrix_function("sinm", scipy.linalg.sinm)
tanm_ = matrix_function("tanm", scipy.linalg.tanm)
coshm_ = matrix_function("coshm", scipy.linalg.coshm)
sinhm_ = matrix_function("sinhm", scipy.linalg.sinhm)
tanhm_ = matrix_function("tanhm", scipy.linalg.tanhm)
fractional_power_ = matrix_function(
    "fractional_matrix_power", lambda a, *, t: scipy.linalg.fractional_matrix_power(a, t)
)


# Sylvester's equation.


def _sylvester(a: Any, b: Any, q: Any) -> Any:
    """Solve for each Q of q (*more, m, n)."""
    flat = q.reshape((-1, *q.shape[-2:]))
    x = [scipy.linalg.solve_sylvester(a, b, part) for part in flat]
    dtype = np.result_type(a, b, q)
    return np.stack(x).reshape(q.shape).astype(dtype, copy=False) if x else np.zeros(q.shape, dtype)


sylvester_ = Primitive("solve_sylvester", _sylvester)


class SylvesterSolve(JacobianOperator):
    """Q -> X with A X + X B = Q.

    Parameters
    ----------
    a, b : array (m, m) and (n, n)
        Kept by reference.
    dtype : numpy.dtype
    """

    unknown = UNSTRUCTURED

    fresh = True

    def __init__(self, a: Any, b: Any, dtype: Any) -> None:
        self.a, self.b = a, b
        shape = (a.shape[0], b.shape[0])
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return sylvester_(self.a, self.b, tangent)

    def pullback(self, cotangent: Any) -> Any:
        return sylvester_(adjoint(self.a), adjoint(self.b), cotangent)

    def relation(self) -> Any:
        """Each matrix of a stack on all entries of its own."""
        return lanes(self.out_shape, self.in_shape, (-2, -1))


@sylvester_.jacobian(wrt=0)
def sylvester_wrt_a(y: Any, a: Any, b: Any, q: Any) -> JacobianOperator:
    minus_da_x = Kronecker(None, matrix_transpose(-y), y.shape, a.shape, y.dtype)
    return SylvesterSolve(a, b, y.dtype) @ minus_da_x


@sylvester_.jacobian(wrt=1)
def sylvester_wrt_b(y: Any, a: Any, b: Any, q: Any) -> JacobianOperator:
    minus_x_db = Kronecker(-y, None, y.shape, b.shape, y.dtype)
    return SylvesterSolve(a, b, y.dtype) @ minus_x_db


@sylvester_.jacobian(wrt=2)
def sylvester_wrt_q(y: Any, a: Any, b: Any, q: Any) -> JacobianOperator:
    return SylvesterSolve(a, b, y.dtype)
