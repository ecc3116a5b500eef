"""Linear algebra: factors and solutions as functions of the model.

ONNX has the product of matrices. What else is needed is a loop over columns, whose step is a
NumPy function of whole arrays: rows and columns are picked by masks, since the number of the
column is known in the loop only. A step costs n^2 operations, a factor n^3, like LAPACK's, but
at the speed of an interpreter.

A matrix that is not positive definite, or singular, gives NaN or inf; NumPy raises.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var
from linad.export.onnx_writer import Writer, composed, form
from linad.rules.triangular import lu_, solve_triangular_

Operand = tuple[str, tuple[int, ...], Any]


def _operand(writer: Writer, a: Any, y: Var, shape: Shape | None = None) -> Operand:
    """An operand in the dtype of the result, broadcast to a shape."""
    old = np.shape(a) if not isinstance(a, Var) else a.shape
    name = writer.read(a, y.dtype)
    if shape is not None:
        name, old = writer.expand(name, old, shape), shape
    return name, tuple(old), y.dtype


def _empty(writer: Writer, *results: Var) -> Any:
    made = tuple([writer.constant(np.zeros(v.shape, v.dtype)) for v in results])
    return made[0] if len(made) == 1 else made


# Steps. `at` is the mask of the number in hand; rows[k] is picked as a sum with zeros.


def _row(matrix: Array, at: Array) -> Any:
    """Row k of each matrix (..., n, w), as (..., 1, w)."""
    return np.sum(np.where(at[..., :, None], matrix, 0.0), axis=-2, keepdims=True)


def _column(matrix: Array, at: Array) -> Any:
    """Column k of each matrix (..., n, w), as (..., n, 1)."""
    return np.sum(np.where(at[..., None, :], matrix, 0.0), axis=-1, keepdims=True)


def _cholesky_step(n: int) -> Callable[..., Any]:
    numbers = np.arange(n)

    def step(k: Array, rest: Array, lower: Array) -> Any:
        # L_k = A_k / sqrt(A_kk) from row k on;  A -= L_k L_k^T
        at = np.equal(k, numbers)
        column = _column(rest, at)
        root = np.sqrt(_row(column, at))
        found = np.where(np.less_equal(k, numbers)[:, None], column / root, 0.0)
        return rest - found * np.swapaxes(found, -1, -2), np.where(at, found, lower)

    return step


@form("cholesky")
def cholesky(writer: Writer, eqn: Equation) -> Any:
    (a,), (y,) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return _empty(writer, y)

    def body(inner: Writer, a: Operand) -> str:
        n = a[1][-1]
        zero = inner.constant(np.zeros(a[1], a[2])), *a[1:]
        return inner.loop(n, _cholesky_step(n), [a, zero])[1]

    return writer.call("Cholesky", body, [_operand(writer, a, y)])


def _exchange(k: Array, matrix: Array, numbers: Array) -> Any:
    """The matrix with row k and the row of the largest entry in column k exchanged; that row."""
    at = np.equal(k, numbers)
    sizes = np.where(np.less_equal(k, numbers), np.abs(_column(matrix, at)[..., 0]), -1.0)
    pivot = np.argmax(sizes, axis=-1, keepdims=True)
    at_pivot = np.equal(numbers, pivot)
    here, there = _row(matrix, at), _row(matrix, at_pivot)
    moved = np.where(at_pivot[..., None], here, matrix)
    return np.where(at[:, None], there, moved), there, pivot


def _elimination_step(n: int) -> Callable[..., Any]:
    numbers = np.arange(n)

    def step(k: Array, matrix: Array) -> Any:
        # Gauss and Jordan: row k is divided by the pivot, the others lose their column k.
        at = np.equal(k, numbers)
        wide = np.equal(k, np.arange(matrix.shape[-1]))
        moved, row, _ = _exchange_wide(k, matrix, numbers)
        unit = row / _column(row, wide)
        factors = _column(moved, wide)
        return np.where(at[:, None], unit, moved - factors * unit)

    return step


def _exchange_wide(k: Array, matrix: Array, numbers: Array) -> Any:
    """`_exchange` for a matrix with columns beside it."""
    at = np.equal(k, numbers)
    wide = np.equal(k, np.arange(matrix.shape[-1]))
    sizes = np.where(np.less_equal(k, numbers), np.abs(_column(matrix, wide)[..., 0]), -1.0)
    pivot = np.argmax(sizes, axis=-1, keepdims=True)
    at_pivot = np.equal(numbers, pivot)
    here, there = _row(matrix, at), _row(matrix, at_pivot)
    moved = np.where(at_pivot[..., None], here, matrix)
    return np.where(at[:, None], there, moved), there, pivot


def _solution(inner: Writer, a: Operand, b: Operand) -> str:
    n, k = a[1][-1], b[1][-1]
    both = inner.node("Concat", [a[0], b[0]], axis=len(a[1]) - 1)
    shape = (*a[1][:-1], n + k)
    (reduced,) = inner.loop(n, _elimination_step(n), [(both, shape, a[2])])
    axis = len(shape) - 1
    ends = [inner.numbers([n]), inner.numbers([n + k]), inner.numbers([axis])]
    found: str = inner.node("Slice", [reduced, *ends])
    return found


@form("solve")
def solve(writer: Writer, eqn: Equation) -> Any:
    (a, b), (y,) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return _empty(writer, y)
    n = y.shape[-2]
    left = _operand(writer, a, y, (*y.shape[:-2], n, n))
    return writer.call("Solve", _solution, [left, _operand(writer, b, y, y.shape)])


@form("inv")
def inv(writer: Writer, eqn: Equation) -> Any:
    (a,), (y,) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return _empty(writer, y)
    eye = np.broadcast_to(np.eye(y.shape[-1], dtype=y.dtype), y.shape)
    right = writer.constant(eye), y.shape, y.dtype
    return writer.call("Solve", _solution, [_operand(writer, a, y), right])


def _lu_step(n: int) -> Callable[..., Any]:
    numbers = np.arange(n)

    def step(k: Array, matrix: Array, pivots: Array) -> Any:
        at, below = np.equal(k, numbers), np.less(k, numbers)
        moved, row, pivot = _exchange(k, matrix, numbers)
        divisor = _column(row, at)
        divisor = np.where(divisor == 0, 1.0, divisor)
        factors = np.where(below[:, None], _column(moved, at) / divisor, 0.0)
        eliminated = moved - factors * np.where(below, row, 0.0)
        found = np.where(at & below[:, None], factors, eliminated)
        return found, np.where(at, pivot, pivots)

    return step


@form("lu")
def lu(writer: Writer, eqn: Equation) -> Any:
    (a,), (y, p) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return _empty(writer, y, p)

    def body(inner: Writer, a: Operand) -> Any:
        n = a[1][-1]
        zero = inner.constant(np.zeros(a[1][:-1], np.int64)), a[1][:-1], np.dtype(np.int64)
        return inner.loop(n, _lu_step(n), [a, zero])

    made, pivots = writer.call("LU", body, [_operand(writer, a, y)], 2)
    return made, writer.cast(pivots, np.int64, p.dtype)


def _signs(factor: Array, pivots: Array) -> Any:
    """The diagonal of U, and the sign of the exchanges."""
    exchanged = np.not_equal(pivots, np.arange(factor.shape[-1], dtype=pivots.dtype))
    sign = np.prod(np.where(exchanged, factor.dtype.type(-1), factor.dtype.type(1)), axis=-1)
    return np.diagonal(factor, axis1=-2, axis2=-1), sign


@composed("det")
def det(a: Array) -> Any:
    diagonal, sign = _signs(*lu_(a))
    return np.prod(diagonal, axis=-1) * sign


@composed("slogdet")
def slogdet(a: Array) -> Any:
    diagonal, sign = _signs(*lu_(a))
    return (
        sign * np.prod(np.sign(diagonal), axis=-1),
        np.sum(np.log(np.abs(diagonal)), axis=-1),
    )


@composed("adjugate")
def adjugate(a: Array) -> Any:
    # Faddeev and LeVerrier: M_1 = 1, M_k = A M_{k-1} + c I, c = -tr(A M_{k-1}) / (k - 1);
    # the adjugate is M_n but for its sign. It divides by no pivot, and takes singular matrices.
    n = a.shape[-1]
    eye = np.broadcast_to(np.eye(n, dtype=a.dtype), a.shape)
    found = a * 0 + eye
    for k in range(1, n):
        product = a @ found
        c = np.trace(product, axis1=-2, axis2=-1) / -k
        found = product + c[..., None, None] * eye
    return found if n % 2 else -found


def _substitution_step(n: int, lower: bool, unit: bool) -> Callable[..., Any]:
    numbers = np.arange(n)

    def step(i: Array, a: Array, b: Array) -> Any:
        # Row k is known once those before it have been taken off.
        k = i if lower else (n - 1) - i
        at = np.equal(k, numbers)
        later = np.less(k, numbers) if lower else np.less(numbers, k)
        column = _column(a, at)
        found = _row(b, at)
        if not unit:
            found = found / _row(column, at)
        rest = b - np.where(later[:, None], column, 0.0) * found
        return a, np.where(at[:, None], found, rest)

    return step


@form("solve_triangular")
def solve_triangular(writer: Writer, eqn: Equation) -> Any:
    (a, b), (y,) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return _empty(writer, y)
    n, lower, unit = y.shape[-2], eqn.params["lower"], eqn.params["unit"]

    def body(inner: Writer, a: Operand, b: Operand) -> str:
        return inner.loop(n, _substitution_step(n, lower, unit), [a, b])[1]

    name = f"Solve{'Lower' if lower else 'Upper'}{'Unit' if unit else ''}"
    left = _operand(writer, a, y)
    if len(left[1]) > 2:
        left = _operand(writer, a, y, (*y.shape[:-2], n, n))
    return writer.call(name, body, [left, _operand(writer, b, y, y.shape)])


@composed("solve_banded")
def solve_banded(ab: Any, b: Any, *, l_and_u: tuple[int, int]) -> Any:
    # A_ij = ab[u + i - j, j]
    n, u = ab.shape[-1], l_and_u[1]
    i, j = np.indices((n, n))
    place = u + i - j
    kept = (place >= 0) & (place < ab.shape[-2])
    full = ab[..., np.where(kept, place, 0), j]
    return np.linalg.solve(np.where(kept, full, 0.0), b)


def _householder_step(m: int, n: int) -> Callable[..., Any]:
    rows, columns = np.arange(m), np.arange(n)

    def step(k: Array, r: Array, q: Array) -> Any:
        # H = 1 - 2 v v^T / v^T v maps what column k has from row k on to beta e_k.
        at = np.equal(k, rows)
        column = _column(r, np.equal(k, columns))
        x = np.where(np.less_equal(k, rows)[:, None], column, 0.0)
        below = np.where(np.less(k, rows)[:, None], column, 0.0)
        alpha = _row(x, at)
        rest = np.sum(below * below, axis=-2, keepdims=True)
        size = np.sqrt(alpha * alpha + rest)
        beta = np.where(alpha >= 0, -size, size)
        v = np.where(at[:, None], x - beta, x)
        square = np.sum(v * v, axis=-2, keepdims=True)
        still = rest == 0  # nothing to map
        factor = np.where(still, 0.0, 2.0 / np.where(square == 0, 1.0, square))
        turned = np.swapaxes(v, -1, -2)
        return r - factor * v * (turned @ r), q - factor * (q @ v) * turned

    return step


@form("qr")
def qr(writer: Writer, eqn: Equation) -> Any:
    (a,), (q, r) = eqn.inputs, eqn.outputs
    if not size_of(a.shape):
        return writer.constant(eqn.primitive.impl(np.zeros(a.shape, q.dtype))[0]), _empty(writer, r)
    m, n = a.shape[-2:]
    count = min(m, n)
    square = (*a.shape[:-2], m, m)

    def body(inner: Writer, a: Operand) -> Any:
        eye = np.array(np.broadcast_to(np.eye(m, dtype=a[2]), square))
        start = inner.constant(eye), square, a[2]
        made = inner.loop(count, _householder_step(m, n), [a, start])
        axis, ends = len(square) - 1, [inner.numbers([0]), inner.numbers([count])]
        return (
            inner.node("Slice", [made[1], *ends, inner.numbers([axis])]),
            inner.node("Slice", [made[0], *ends, inner.numbers([axis - 1])]),
        )

    found = writer.call("QR", body, [_operand(writer, a, q)], 2)
    upper = writer.constant(~np.tri(count, n, -1, dtype=bool))
    return found[0], writer.node("Where", [upper, found[1], writer.constant(0, r.dtype)])


@composed("sparse_solve")
def sparse_solve(data: Any, b: Any, *, system: Any, transposed: bool) -> Any:
    pattern = system.pattern
    dense = np.zeros_like(data, shape=pattern.shape)
    np.add.at(dense, (pattern.rows, pattern.cols), data)
    return np.linalg.solve(dense.T if transposed else dense, b[..., None])[..., 0]


@composed("allpole")
def allpole(a: Array, r: Array) -> Any:
    # The lower triangular Toeplitz matrix with first column a.
    n = r.shape[-1]
    i, j = np.indices((n, n))
    lag = i - j
    kept = (lag >= 0) & (lag < a.shape[-1])
    matrix = np.where(kept, a[..., np.where(kept, lag, 0)], 0.0)
    return solve_triangular_(matrix, r[..., None], lower=True, unit=False)[..., 0]
