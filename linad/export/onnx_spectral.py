"""Eigenvalues and singular values, by Jacobi's rotations.

A step rotates n / 2 disjoint pairs of columns at once; n - 1 steps meet every pair, a sweep.

    eigh   A <- J^T A J, V <- V J, with J that makes A_pq zero for each pair
    svd    A = Q R; G <- G J from G = R on, with J that makes columns p and q orthogonal;
           then R V = G = U S

The rotation of a pair has the tangent t = sign(τ) / (|τ| + sqrt(1 + τ^2)), τ = (d_q - d_p) / (2 o):
d and o are entries of A, or of G^T G.

Vectors are determined but for their signs, which are LAPACK's own in NumPy. `sign_dependent` finds
out whether a program depends on them; if so it is not written.

Source: G. H. Golub and C. F. Van Loan, "Matrix Computations", 8.5 and 8.6.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.shapes import Shape, matrix_transpose, size_of
from linad.core.tape import Equation, Tape, Var
from linad.errors import GuardError
from linad.export.onnx_subgraphs import Step
from linad.export.onnx_values import INTEGER, TRUTH, NoForm, Value
from linad.export.onnx_writer import Writer, form

SWEEPS = 30
"""At most; some six to ten are made."""


def rounds(n: int) -> np.ndarray:
    """The partner of each column in each step of a sweep, by the circle method of tournaments."""
    players = n + n % 2
    found = []
    for k in range(players - 1):
        circle = [0, *[1 + (k + i) % (players - 1) for i in range(players - 1)]]
        partner = np.arange(players)
        for i in range(players // 2):
            a, b = circle[i], circle[-1 - i]
            partner[a], partner[b] = b, a
        # The one that is not there has its partner rest.
        found.append([p if p < n else i for i, p in enumerate(partner[:n])])
    return np.array(found).reshape(-1, n)


def _exchanged(row: Array, swap: Array) -> Any:
    """The entries of the partners."""
    return (row[..., None, :] @ swap)[..., 0, :]


def _rotation(k: Array, n: int, diagonal: Array, entries: Callable[[Any], Any]) -> tuple[Any, Any]:
    """J of step k, and the entries that it makes zero."""
    table, numbers = rounds(n), np.arange(n)
    here = np.equal(np.fmod(k, len(table)), np.arange(len(table)))
    partner = np.sum(np.where(here[:, None], table, 0), axis=0)
    swap = np.where(np.equal(partner[:, None], numbers), np.ones((), diagonal.dtype), 0)
    # Of a pair both must see the same entry, to the bit: else J would not be orthogonal.
    off = entries(swap)
    off = (off + _exchanged(off, swap)) / 2
    off = np.where(np.equal(partner, numbers), 0, off)
    other = _exchanged(diagonal, swap)
    rest = off == 0
    tau = (other - diagonal) / (2 * np.where(rest, 1, off))
    side = np.where(tau == 0, np.where(numbers < partner, 1.0, -1.0), np.sign(tau))
    size = np.minimum(np.abs(tau), 1e150 if diagonal.dtype == np.float64 else 1e18)
    t = np.where(rest, 0.0, side / (size + np.sqrt(1 + size * size)))
    c = 1 / np.sqrt(1 + t * t)
    return np.eye(n, dtype=diagonal.dtype) * c[..., None] + swap * (t * c)[..., None], off


def _sorted(values: Array, sign: int) -> Any:
    """The permutation matrix that puts values in ascending order, or in descending."""
    n = values.shape[-1]
    order = np.argsort(sign * values, axis=-1)
    one = np.ones((), values.dtype)
    return np.where(np.equal(order[..., None, :], np.arange(n)[:, None]), one, 0)


def _iterated(
    inner: Writer, n: int, step: Callable[..., Any], start: Sequence[Value]
) -> list[Value]:
    """Steps until one finds nothing to make zero, in a whole sweep."""
    kinds = [(shape, dtype) for _, shape, dtype in start]
    count = len(rounds(n))

    def run(k: Array, quiet: Array, *given: Any) -> Any:
        found, small = step(k, *given)
        quiet = np.where(small, quiet + 1, 0)
        return (np.less(quiet, count), quiet, *found)

    def write(k: str, going: str, names: list[str]) -> Step:
        quiet, *rest = names
        given = [(n, *kind) for n, kind in zip(rest, kinds, strict=True)]
        more, quiet, *made = inner.record(
            run,
            [(k, (), INTEGER), (quiet, (), INTEGER), *given],
            [((), TRUTH), ((), INTEGER), *kinds],
        )
        new = [(n, *kind) for n, kind in zip(made, kinds, strict=True)]
        return more, [(quiet, (), INTEGER), *new], []

    most, yes = inner.constant(SWEEPS * count, np.int64), inner.constant(np.array(True))
    first = inner.constant(0, np.int64), (), INTEGER
    ends, _ = inner.repeated(most, yes, [first, *start], write)
    return [(n, *kind) for n, kind in zip(ends[1:], kinds, strict=True)]


def _identity(inner: Writer, shape: Shape, dtype: np.dtype[Any]) -> Value:
    eye = np.array(np.broadcast_to(np.eye(shape[-1], dtype=dtype), shape))
    return inner.constant(eye), shape, np.dtype(dtype)


def _check_outside(writer: Writer) -> None:
    if writer.level:
        raise NoForm(
            "in a loop or a branch it is not seen whether the signs of its vectors matter, which "
            "are LAPACK's own"
        )


@form("eigh")
def eigh(writer: Writer, eqn: Equation) -> Any:
    _check_outside(writer)
    (a,), (w, v) = eqn.inputs, eqn.outputs
    n, lower = w.shape[-1], eqn.params["UPLO"].upper() == "L"

    def step(k: Array, a: Array, v: Array) -> Any:
        diagonal = np.diagonal(a, axis1=-2, axis2=-1)
        J, off = _rotation(k, n, diagonal, lambda swap: np.sum(a * swap, axis=-1))
        scale = np.max(np.abs(a), axis=(-2, -1))[..., None]
        small = np.all(np.abs(off) <= np.finfo(a.dtype).eps / 8 * scale)
        return (matrix_transpose(J) @ a @ J, v @ J), small

    def mirrored(a: Array) -> Any:
        kept = np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T
        return np.where(kept, a, matrix_transpose(a))

    def ordered(a: Array, v: Array) -> Any:
        values = np.diagonal(a, axis1=-2, axis2=-1)
        order = _sorted(values, 1)
        return (values[..., None, :] @ order)[..., 0, :], v @ order

    def body(inner: Writer, a: Value) -> Any:
        (whole,) = inner.record(mirrored, [a], [a[1:]])
        found = [(whole, *a[1:]), _identity(inner, v.shape, v.dtype)]
        if n > 1:
            found = _iterated(inner, n, step, found)
        return inner.record(ordered, found, [(w.shape, w.dtype), (v.shape, v.dtype)])

    name = f"Eigh{'Lower' if lower else 'Upper'}"
    return writer.call(name, body, [(writer.read(a, v.dtype), v.shape, v.dtype)], 2)


@form("svd")
def svd(writer: Writer, eqn: Equation) -> Any:
    _check_outside(writer)
    (a,), (u, s, vh) = eqn.inputs, eqn.outputs
    shape = a.shape if isinstance(a, Var) else np.shape(a)
    n, tall = s.shape[-1], shape[-2] >= shape[-1]
    square = (*shape[:-2], n, n)

    def step(k: Array, g: Array, v: Array) -> Any:
        gram = matrix_transpose(g) @ g
        diagonal = np.diagonal(gram, axis1=-2, axis2=-1)
        J, off = _rotation(k, n, diagonal, lambda swap: np.sum(gram * swap, axis=-1))
        size = np.abs(matrix_transpose(J)) @ np.sqrt(diagonal)[..., None]
        bound = np.finfo(g.dtype).eps * np.max(size, axis=-2) * np.sqrt(diagonal)
        return (g @ J, v @ J), np.all(np.abs(off) <= bound)

    def factors(a: Array) -> Any:
        return np.linalg.qr(a if tall else matrix_transpose(a))

    def ordered(q: Array, g: Array, v: Array) -> Any:
        values = np.sqrt(np.sum(g * g, axis=-2))
        order = _sorted(values, -1)
        values = (values[..., None, :] @ order)[..., 0, :]
        left, right = q @ ((g @ order) / values[..., None, :]), v @ order
        if tall:
            return left, values, matrix_transpose(right)
        return right, values, matrix_transpose(left)

    def body(inner: Writer, a: Value) -> Any:
        long = (*shape[:-2], max(shape[-2:]), n)
        q, r = inner.record(factors, [a], [(long, u.dtype), (square, u.dtype)])
        found = [(r, square, u.dtype), _identity(inner, square, u.dtype)]
        if n > 1:
            found = _iterated(inner, n, step, found)
        kinds = [(x.shape, x.dtype) for x in (u, s, vh)]
        return inner.record(ordered, [(q, long, u.dtype), *found], kinds)

    return writer.call("SVD", body, [(writer.read(a, u.dtype), shape, u.dtype)], 3)


# What depends on signs.

SIGNED: dict[str, Callable[[Any, Any], Any]] = {
    "eigh": lambda found, d: (found[0], found[1] * d),
    "svd": lambda found, d: (found[0] * d, found[1], d[:, None] * found[2]),
}
"""The results of a primitive, with signs of the vectors turned."""


def sign_dependent(tape: Tape, values: Sequence[Any]) -> Equation | None:
    """The first decomposition of a program on whose signs the results depend, if any does."""
    chosen = [
        e for e in tape.equations if e.primitive.name in SIGNED and size_of(e.inputs[0].shape)
    ]
    if not chosen:
        return None
    expected = _results(tape, values, None)
    for eqn in chosen:
        try:
            found = _results(tape, values, eqn)
        except GuardError:  # Python decides on them
            return eqn
        if not all([_near(y, z) for y, z in zip(expected, found, strict=True)]):
            return eqn
    return None


def _near(y: Array, z: Array) -> bool:
    y, z = np.asarray(y, float), np.asarray(z, float)
    scale = np.max(np.abs(y), initial=1.0, where=np.isfinite(y))
    near = np.abs(y - z) <= np.sqrt(np.finfo(np.float32).eps) * scale
    return bool(np.all(near | (y == z) | (np.isnan(y) & np.isnan(z))))


def _results(tape: Tape, values: Sequence[Any], turned: Equation | None) -> list[Any]:
    """The results of a program, with some signs of one decomposition turned."""
    known = dict(zip(tape.inputs, values, strict=True))
    for eqn in tape.equations:
        given = [known[a] if isinstance(a, Var) else a for a in eqn.inputs]
        found = eqn.primitive(*given, **eqn.params)
        if eqn is turned:
            d = np.where(np.arange(found[1].shape[-1]) % 2, 1, -1)
            found = SIGNED[eqn.primitive.name](found, d)
        results = found if isinstance(found, tuple) else (found,)
        known.update(zip(eqn.outputs, results, strict=True))
    return [known[a] if isinstance(a, Var) else a for a in tape.outputs]
