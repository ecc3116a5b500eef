"""Functions of matrices, pseudoinverses and least squares, from products and solutions.

    exp A          (q(B)^-1 p(B))^(2^s), B = A / 2^s, p / q the Padé approximant of degree 13
    sinh A, ...    of exp A and exp -A
    A X + X B = Q  (A ⊗ I + I ⊗ B^T) vec X = vec Q, on rows
    A+             R^-1 Q^T of A = Q R, if A has full rank

Source: N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005;
the number of repeated squares s is that of the 1-norm.

NumPy takes singular values below a bound for zeros. If σ_min / σ_max may lie below it, which is
seen by 1 / (|R| |R^-1|) <= σ_min / σ_max in the norm of Frobenius, the decisions of the model do
not hold.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import matrix_transpose, size_of
from linad.core.tape import Equation, Var
from linad.export.onnx_subgraphs import Step
from linad.export.onnx_values import INTEGER, TRUTH, Value
from linad.export.onnx_writer import Writer, composed, form
from linad.rules.matrixfunctions import expm_
from linad.rules.triangular import solve_triangular_

LARGEST_NORM = 5.371920351148152
"""Up to which the approximant is exact to rounding: theta_13 of the source."""

PADE = (
    *(64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0),
    *(129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0),
    *(40840800.0, 960960.0, 16380.0, 182.0, 1.0),
)
"""Coefficients of p, from that of 1 on; q has those of odd powers with the other sign."""


def _approximant(a: Array) -> tuple[Any, Any, Any]:
    """exp(A / 2^s), s for each matrix, and the largest s."""
    norm = np.max(np.sum(np.abs(a), axis=-2, keepdims=True), axis=-1, keepdims=True)
    turns = np.maximum(np.ceil(np.log2(norm / LARGEST_NORM)), 0)
    a = a * np.power(np.ones_like(turns) / 2, turns)
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2

    def terms(first: int) -> Any:
        c = PADE[first::2]
        high = a6 @ (c[6] * a6 + c[5] * a4 + c[4] * a2)
        return high + c[3] * a6 + c[2] * a4 + c[1] * a2 + c[0] * eye

    odd, even = a @ terms(1), terms(0)
    return np.linalg.solve(even - odd, even + odd), turns, np.astype(np.max(turns), np.int64)


def _squared(k: Array, x: Array, turns: Array) -> tuple[Any, Any]:
    return np.where(np.less(np.astype(k, turns.dtype), turns), x @ x, x), turns


@form("expm")
def expm(writer: Writer, eqn: Equation) -> Any:
    (a,), (y,) = eqn.inputs, eqn.outputs

    def body(inner: Writer, a: Value) -> str:
        kinds = [(y.shape, y.dtype), ((*y.shape[:-2], 1, 1), y.dtype)]
        *names, most = inner.record(_approximant, [a], [*kinds, ((), INTEGER)])

        def write(k: str, going: str, names: list[str]) -> Step:
            given = [(n, *kind) for n, kind in zip(names, kinds, strict=True)]
            made = inner.record(_squared, [(k, (), INTEGER), *given], kinds)
            return going, [(n, *kind) for n, kind in zip(made, kinds, strict=True)], []

        start = [(n, *kind) for n, kind in zip(names, kinds, strict=True)]
        return inner.repeated(most, inner.constant(np.array(True)), start, write)[0][0]

    return writer.call("Expm", body, [(writer.read(a, y.dtype), y.shape, y.dtype)])


@composed("coshm")
def coshm(a: Any) -> Any:
    return (expm_(a) + expm_(-a)) / 2


@composed("sinhm")
def sinhm(a: Any) -> Any:
    return (expm_(a) - expm_(-a)) / 2


@composed("tanhm")
def tanhm(a: Any) -> Any:
    return np.linalg.solve(coshm(a), sinhm(a))


@composed("solve_sylvester")
def solve_sylvester(a: Array, b: Array, q: Array) -> Any:
    m, n = q.shape[-2:]
    left = np.reshape(a, (m, 1, m, 1)) * np.reshape(np.eye(n, dtype=q.dtype), (1, n, 1, n))
    right = np.reshape(np.eye(m, dtype=q.dtype), (m, 1, m, 1)) * np.reshape(b.T, (1, n, 1, n))
    matrix = np.reshape(left + right, (m * n, m * n))
    rows = np.reshape(q, (-1, m * n))
    return np.reshape(np.linalg.solve(matrix, rows.T).T, q.shape)


# By the factors Q and R.


def _pseudoinverse(a: Array, cutoff: float) -> tuple[Any, Any]:
    """The pseudoinverse of matrices of full rank, and whether NumPy takes all for such."""
    if a.shape[-2] < a.shape[-1]:
        found, full = _pseudoinverse(matrix_transpose(a), cutoff)
        return matrix_transpose(found), full
    q, r = np.linalg.qr(a)
    eye = np.broadcast_to(np.eye(r.shape[-1], dtype=r.dtype), r.shape)
    inverse = solve_triangular_(r, eye, lower=False, unit=False)
    squares = np.sum(r * r, axis=(-2, -1)) * np.sum(inverse * inverse, axis=(-2, -1))
    return inverse @ matrix_transpose(q), np.all(np.sqrt(squares) * cutoff < 1)


def _of_full_rank(writer: Writer, a: Any, cutoff: Any, y: Var) -> str:
    """The pseudoinverse of an operand, where it has full rank."""
    shape = a.shape if isinstance(a, Var) else np.shape(a)
    smallest = float(np.finfo(y.dtype).eps) * max(shape[-2:])
    bound = smallest if cutoff is None else max(float(cutoff), float(np.finfo(y.dtype).eps))
    operand = writer.read(a, y.dtype), shape, y.dtype
    found, full = writer.record(
        lambda a: _pseudoinverse(a, bound),
        [operand],
        [((*shape[:-2], shape[-1], shape[-2]), y.dtype), ((), TRUTH)],
    )
    writer.holds.append(full)
    return found


@form("pinv")
def pinv(writer: Writer, eqn: Equation) -> Any:
    (a,), (y,) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return writer.constant(np.zeros(y.shape, y.dtype))
    return _of_full_rank(writer, a, eqn.params["rcond"], y)


@form("lstsq")
def lstsq(writer: Writer, eqn: Equation) -> Any:
    (a, b), (y,) = eqn.inputs, eqn.outputs
    inverse = _of_full_rank(writer, a, eqn.params["rcond"], y)
    return writer.node("MatMul", [inverse, writer.read(b, y.dtype)])
