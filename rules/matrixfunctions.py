"""Functions of a square matrix: exponential, logarithm, square root, powers, and the rest.

Y = f(A)      dY = L(A, dA)      f([A dA; 0 A]) = [Y dY; 0 Y]

L, the Fréchet derivative, is one evaluation of f on a matrix of twice the size. Its transpose
is W -> L(A^T, W), its adjoint W -> conj L(A^T, conj W). The same lines differentiate again.

A X + X B = Q      A dX + dX B = dQ - dA X - X dB
S = sign(A)        N dS + dS N = dA - S dA S            N = A S, a square root of A²

Logarithm, square root and powers have a cut along the negative numbers. A real matrix may have
eigenvalues there: they stay real, and belong to its upper side. The matrices of a derivative
repeat them, and if rounding made a complex pair of the two, they would lie on both sides. So
block triangular matrices get one Schur form of the forms of their blocks. The eigenvalues of a
complex matrix may cross the cut; on it there is no derivative, and the rule says so.

Sources: R. Mathias, "A chain rule for matrix functions and applications", SIAM Journal on
Matrix Analysis 17, 1996. N. Higham, "Functions of Matrices", 2008, chapters 3, 5.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.core.own_draws import draws_for_itself
from linad.core.primitive import Primitive
from linad.core.shapes import Shape, matrix_transpose
from linad.errors import DegenerateError
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.linear_solves import LinearSolve, solution_rules
from linad.operators.matrices import Kronecker
from linad.operators.relation_shapes import dense_along
from linad.operators.structured import Identity
from linad.rules import linalg
from linad.rules.linalg import adjoint, minus_product
from linad.rules.shaping import form

Function = Callable[..., Any]


def _matrixwise(function: Function) -> Function:
    """A function of one matrix as a function of a stack (..., n, n), in its precision."""

    def stacked(a: Array, **params: Any) -> Any:
        if not a.size:
            return np.zeros(a.shape, a.dtype)
        # In double precision: logm warns of single precision's own rounding.
        flat = a.reshape((-1, *a.shape[-2:])).astype(np.promote_types(a.dtype, float), copy=False)
        y = np.stack([np.asarray(function(m, **params)) for m in flat]).reshape(a.shape)
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

    owns_result = True

    def __init__(self, function: Function, a: Array, dtype: np.dtype[Any]) -> None:
        self.function, self.a = function, a
        super().__init__(a.shape, a.shape, dtype)

    def _frechet(self, a: Array, e: Array) -> Any:
        # L is linear in E: brought to the size of A, it neither hides A nor is hidden.
        size = np.max(np.abs(form(a)), initial=0.0) or 1.0
        scale = float(np.max(np.abs(form(e)), initial=0.0) / size) or 1.0
        n = a.shape[-1]
        a = np.broadcast_to(a, e.shape)
        top = np.concatenate([a, e / scale], axis=-1)
        bottom = np.concatenate([np.zeros(e.shape, e.dtype), a], axis=-1)
        y = self.function(np.concatenate([top, bottom], axis=-2))[..., :n, n:] * scale
        return np.real(y) if y.dtype.kind == "c" and self.dtype.kind != "c" else y

    def pushforward(self, tangent: Array) -> Array:
        return self._frechet(self.a, tangent)

    def pullback(self, cotangent: Array) -> Array:
        return np.conj(self._frechet(matrix_transpose(self.a), np.conj(cotangent)))

    def relation(self) -> Any:
        """Each matrix of a stack on all entries of its own."""
        return dense_along(self.out_shape, self.in_shape, (-2, -1))


def matrix_function(name: str, function: Function) -> Primitive:
    """A primitive for a function of square matrices."""
    primitive = Primitive(name, _matrixwise(function))

    def rule(y: Array, a: Array, **params: Any) -> JacobianOperator:
        return FrechetDerivative(functools.partial(primitive, **params), a, y.dtype)

    rule.__name__ = rule.__qualname__ = f"{name}_wrt_a"
    primitive.jacobian(wrt=0)(rule)
    return primitive


def _blocks(a: Array) -> list[Any]:
    """Sets of rows in the order in which a matrix is block upper triangular.

    A block is a set of rows that reach each other along the entries that are not 0. What
    reaches more rows comes first.
    """
    n = len(a)
    reach = (a != 0) | np.eye(n, dtype=bool)
    while not reach.all():
        further = reach.astype(np.float32) @ reach.astype(np.float32) > 0
        if np.array_equal(further, reach):
            break
        reach = further
    first = np.argmax(reach & reach.T, axis=1) if n else np.zeros(0, int)
    blocks = [np.flatnonzero(first == k) for k in np.unique(first)]
    return sorted(blocks, key=lambda block: -np.count_nonzero(reach[block[0]]))


def _schur(block: Array) -> Any:
    """A Schur form T, Z; of a real matrix the real one, in which its real eigenvalues are."""
    if block.dtype.kind == "c" and not np.any(block.imag):
        block = block.real
    return scipy.linalg.schur(block, "real" if block.dtype.kind != "c" else "complex")


def _is_on_the_cut(t: Array) -> Any:
    """Whether an eigenvalue of a Schur form is a negative number; a complex pair is a block."""
    values = np.diagonal(t)
    if t.dtype.kind == "c":
        return np.any((values.real < 0) & (values.imag == 0))
    pairs = np.diagonal(t, -1) != 0
    return np.any((values < 0) & ~np.append(pairs, False) & ~np.append(False, pairs))


def _complex_form(t: Array, z: Array) -> Any:
    return scipy.linalg.rsf2csf(t, z) if t.dtype.kind != "c" else (t, z)


def _in_blocks(function: Function) -> Function:
    """A function of a matrix that finds equal eigenvalues of blocks on one side of the cut."""

    def decomposed(a: Array, **params: Any) -> Any:
        if a.all():  # one block
            return function(a, **params)
        blocks = _blocks(a)
        if len(blocks) < 2 or not np.all(np.isfinite(a)):
            return function(a, **params)
        forms = [_schur(a[np.ix_(block, block)]) for block in blocks]
        if not any([_is_on_the_cut(t) for t, _ in forms]):
            return function(a, **params)
        forms = [_complex_form(*form_) for form_ in forms]
        order = np.concatenate(blocks)
        z = scipy.linalg.block_diag(*[z for _, z in forms])
        t = np.triu(adjoint(z) @ a[np.ix_(order, order)] @ z)
        start = 0
        for form_, _ in forms:
            part = slice(start, start + len(form_))
            t[part, part], start = np.triu(form_) + 0.0, part.stop
        back = np.argsort(order)
        return (z @ function(t, **params) @ adjoint(z))[np.ix_(back, back)]

    return decomposed


def _check_cut(name: str, a: Array) -> None:
    """Raise where an eigenvalue of a complex matrix lies on the negative numbers."""
    plain = form(a)
    if plain.dtype.kind != "c" or not plain.size:
        return
    for matrix in plain.reshape((-1, *plain.shape[-2:])):
        if not np.any(matrix.imag):
            continue
        for block in _blocks(matrix):
            part = matrix[np.ix_(block, block)]
            if not np.any(part.imag):
                continue
            values = np.linalg.eigvals(part)
            width = 10 * len(part) * float(np.finfo(part.dtype).eps) * np.max(np.abs(values))
            cut = (values.real < -width) & (np.abs(values.imag) <= width)
            if np.any(cut):
                raise DegenerateError(
                    f"{name}: no derivative at a complex matrix with an eigenvalue on the "
                    f"negative numbers, {values[cut][0].real:.6g}, where {name} jumps; move the "
                    f"matrix off the point"
                )


def _with_cut(name: str, function: Function) -> Primitive:
    """A primitive for a function with a cut along the negative numbers."""
    primitive = matrix_function(name, _in_blocks(function))
    rule = primitive.rules[0]

    def checked(y: Array, a: Array, **params: Any) -> JacobianOperator:
        _check_cut(name, a)
        return rule(y, a, **params)

    checked.__name__ = checked.__qualname__ = rule.__name__
    primitive.jacobian(wrt=0)(checked)
    return primitive


expm_ = matrix_function("expm", scipy.linalg.expm)
logm_ = _with_cut("logm", draws_for_itself(scipy.linalg.logm))
sqrtm_ = _with_cut("sqrtm", scipy.linalg.sqrtm)
cosm_ = matrix_function("cosm", scipy.linalg.cosm)
sinm_ = matrix_function("sinm", scipy.linalg.sinm)
tanm_ = matrix_function("tanm", scipy.linalg.tanm)
coshm_ = matrix_function("coshm", scipy.linalg.coshm)
sinhm_ = matrix_function("sinhm", scipy.linalg.sinhm)
tanhm_ = matrix_function("tanhm", scipy.linalg.tanhm)
fractional_power_ = _with_cut(
    "fractional_matrix_power",
    draws_for_itself(lambda a, *, t: scipy.linalg.fractional_matrix_power(a, t)),
)


# Sylvester's equation.


def _sylvester(a: Array, b: Array, q: Array) -> Any:
    """Solve for each Q of q (*more, m, n)."""
    dtype = np.result_type(a, b, q)
    if not q.size:
        return np.zeros(q.shape, dtype)
    flat = q.reshape((-1, *q.shape[-2:]))
    x = [scipy.linalg.solve_sylvester(a, b, part) for part in flat]
    return np.stack(x).reshape(q.shape).astype(dtype, copy=False)


sylvester_ = Primitive("solve_sylvester", _sylvester)
sylvester_.partial = "regular"


class SylvesterSolve(LinearSolve):
    """Q -> X with A X + X B = Q.

    Parameters
    ----------
    a, b : array (m, m) and (n, n)
        Kept by reference.
    shape : tuple of int
        (*more, m, n)
    dtype : numpy.dtype
    """

    axes = (-2, -1)

    def __init__(self, a: Array, b: Array, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.a, self.b = a, b
        super().__init__(shape, shape, dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        matrices = [self.a, self.b]
        if adjoint:
            matrices = [linalg.adjoint(a) for a in matrices]
        return sylvester_(*matrices, b)


solution_rules(
    sylvester_,
    right_side=2,
    inverse=lambda x, shape, a, b, q: SylvesterSolve(a, b, shape, x.dtype),
    changes={
        0: lambda x, a, b, q: minus_product(x, a),
        1: lambda x, a, b, q: Kronecker(-x, None, x.shape, b.shape, x.dtype),
    },
)


# The sign.

signm_ = Primitive("signm", _matrixwise(scipy.linalg.signm))


@signm_.jacobian(wrt=0)
def signm_wrt_a(y: Array, a: Array) -> JacobianOperator:
    n = a @ y
    return SylvesterSolve(n, n, y.shape, y.dtype) @ (
        Identity(a.shape, y.dtype) - Kronecker(y, matrix_transpose(y), y.shape, a.shape, y.dtype)
    )
