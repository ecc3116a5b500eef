"""Products of matrices, by BLAS.

C = A B         A (..., m, k)   B (..., k, n)   C (..., m, n)

Transposed operands become flags of GEMM. Row vectors and columns go to GEMV; a stack times one
matrix is one product of a taller matrix; A A^T needs half of it, by SYRK. Stacks of matrices
too small for BLAS to be worth a call are multiplied in a loop, and where there are many of one
product, that is written out for their shape.
"""

from typing import Any

import numpy as np

from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation
from linad.sweeps.cpu.blas_lapack import (
    LETTERS,
    Layout,
    base_of_vector,
    layout_of,
    offsets_of,
    stacked,
    step_of,
)
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, constant_place, new_place, spread_over, transposed

SMALL, SMALL_VECTOR = 16, 48
"""Multiplications up to which a loop is faster than the call of GEMM, and of GEMV."""

MANY, WRITTEN_OUT = 16, 64
"""Matrices in a stack from which a kernel of their own is worth compiling, and multiplications up
to which it is faster than a call of GEMM for each."""

SYMMETRIC = 24
"""Rows from which half a product and a copy are faster than the whole."""


@routine("matmul", "matvec", "dot")
def matmul(lowering: Any, eqn: Equation) -> bool:
    out = eqn.outputs[0]
    if name_of_dtype(out.dtype) not in LETTERS:
        return False
    operands = [lowering.place_of(a) for a in eqn.inputs]
    if any(name_of_dtype(p.dtype) is None for p in operands):
        return False
    vectors = [len(p.shape) == 1 for p in operands]
    target = lowering.result(out, lowering.place_for(eqn))
    if not size_of(out.shape):
        return True
    a, b = [in_dtype(lowering, p, out.dtype) for p in operands]
    c = target
    if vectors[0]:
        a, c = with_axis(a, 0), with_axis(c, 0)
    if vectors[1]:
        b, c = with_axis(b, 1), with_axis(c, len(c.shape))
    if not c.contiguous:  # C^T = B^T A^T
        a, b, c = transposed(b), transposed(a), transposed(c)
    multiply(lowering, a, b, c)
    return True


def with_axis(place: Place, axis: int) -> Place:
    """The place with an axis of length 1 more."""
    shape, strides = list(place.shape), list(place.strides)
    shape.insert(axis, 1)
    strides.insert(axis, place.dtype.itemsize)
    return Place(place.buffer, place.offset, tuple(shape), tuple(strides), place.dtype)


def without_axis(place: Place, axis: int) -> Place:
    """The place at the first position of an axis."""
    shape, strides = list(place.shape), list(place.strides)
    del shape[axis], strides[axis]
    return Place(place.buffer, place.offset, tuple(shape), tuple(strides), place.dtype)


def multiply(lowering: Any, a: Place, b: Place, c: Place) -> None:
    """Add the instructions of ``c = a b``, all of one dtype, c in C order."""
    if not a.shape[-1]:
        lowering.fill(c, 0)
        return
    a, b, c = flattened(a, b, c)
    batch = c.shape[:-2]
    m, n, k = c.shape[-2], c.shape[-1], a.shape[-1]
    if m * n * k <= WRITTEN_OUT and size_of(batch) >= MANY:
        in_loop(lowering, a, b, c, _written_out(name_of_dtype(c.dtype), m, n, k))
    elif m * n * k <= (SMALL if min(m, n) > 1 else SMALL_VECTOR):
        in_loop(lowering, a, b, c, _entry_by_entry(name_of_dtype(c.dtype)))
    elif n == 1 and not batch:
        by_vector(lowering, a, without_axis(b, 1), without_axis(c, 1))
    elif m == 1 and not batch:
        by_vector(lowering, transposed(b), without_axis(a, 0), without_axis(c, 0))
    elif not batch and m >= SYMMETRIC and transposed(a).same(b):
        by_itself(lowering, a, c)
    else:
        general(lowering, a, b, c)


def flattened(a: Place, b: Place, c: Place) -> tuple[Place, Place, Place]:
    """The product with as few stack axes as its memory allows.

    A stack of A times one B is one tall matrix; so is a stack of columns behind one A,
    written A B = (B^T A^T)^T.
    """
    lead = len(c.shape) - 2
    if not lead:
        return a, b, c
    if size_of(b.shape[:-2]) == 1 and len(a.shape) - 2 == lead:
        tall = merged(a)
        if tall is not None:
            wide = merged(c)
            assert wide is not None
            return tall, unstacked(b), wide
    if c.shape[-1] == 1 and size_of(a.shape[:-2]) == 1 and len(b.shape) - 2 == lead:
        rows = merged(transposed(b))
        if rows is not None:
            wide = merged(transposed(c))
            assert wide is not None
            return rows, transposed(unstacked(a)), wide
    if size_of(c.shape[:-2]) == 1:
        return unstacked(a), unstacked(b), unstacked(c)
    return a, b, c


def unstacked(place: Place) -> Place:
    """One matrix that stands for a stack of one."""
    return Place(place.buffer, place.offset, place.shape[-2:], place.strides[-2:], place.dtype)


def merged(place: Place) -> Place | None:
    """The rows of all matrices of a stack as one matrix, where one stride leads through."""
    rows: list[tuple[int, int]] = []
    for n, s in zip(place.shape[:-1], place.strides[:-1], strict=True):
        if n == 1:
            continue
        if rows and rows[-1][1] == s * n:
            rows[-1] = (rows[-1][0] * n, s)
        else:
            rows.append((n, s))
    if len(rows) > 1:
        return None
    item = place.dtype.itemsize
    (m, s) = rows[0] if rows else (1, place.shape[-1] * item)
    shape: Shape = (m, place.shape[-1])
    return Place(place.buffer, place.offset, shape, (s, place.strides[-1]), place.dtype)


def known_layout(lowering: Any, place: Place) -> tuple[Place, Layout]:
    """The place, copied if Fortran knows no such layout, and its layout."""
    layout = layout_of(place)
    if layout is None:
        fresh = new_place(place.shape, place.dtype)
        lowering.copy(fresh, place)
        place, layout = fresh, layout_of(fresh)
    assert layout is not None
    return place, layout


def one(dtype: np.dtype[Any]) -> Any:
    return np.ones((), dtype)


def zero(dtype: np.dtype[Any]) -> Any:
    return np.zeros((), dtype)


def general(lowering: Any, a: Place, b: Place, c: Place) -> None:
    """c = a b by GEMM, matrix by matrix."""
    dtype, batch = c.dtype, c.shape[:-2]
    m, n, k = c.shape[-2], c.shape[-1], a.shape[-1]
    (a, layout_a), (b, layout_b) = known_layout(lowering, a), known_layout(lowering, b)
    parts = [stacked(spread_over(p, batch, 2), 2) for p in (b, a, c)]
    lowering.target.invoke(
        lowering,
        f"{LETTERS[name_of_dtype(dtype)]}gemm",  # type: ignore[index]
        flag(layout_b),
        flag(layout_a),
        n,
        m,
        k,
        one(dtype),
        parts[0],
        layout_b.leading,
        parts[1],
        layout_a.leading,
        zero(dtype),
        parts[2],
        n,
        label="gemm",
    )


def flag(layout: Layout) -> str:
    """Whether Fortran has to transpose what stands for the transpose of a matrix."""
    return "T" if layout.columns else "N"


def by_vector(lowering: Any, a: Place, x: Place, y: Place) -> None:
    """y = a x by GEMV; y may have gaps."""
    a, layout = known_layout(lowering, a)
    m, k = a.shape
    if step_of(x) is None:
        x = packed(lowering, x)
    rows, columns = (m, k) if layout.columns else (k, m)
    lowering.target.invoke(
        lowering,
        f"{LETTERS[name_of_dtype(y.dtype)]}gemv",  # type: ignore[index]
        "N" if layout.columns else "T",
        rows,
        columns,
        one(y.dtype),
        a,
        layout.leading,
        base_of_vector(x),
        step_of(x),
        zero(y.dtype),
        base_of_vector(y),
        step_of(y),
        label="gemv",
    )


def packed(lowering: Any, place: Place) -> Place:
    fresh = new_place(place.shape, place.dtype)
    lowering.copy(fresh, place)
    return fresh


def by_itself(lowering: Any, a: Place, c: Place) -> None:
    """c = a a^T: one triangle by SYRK, the other copied from it."""
    a, layout = known_layout(lowering, a)
    n, k = a.shape
    lowering.target.invoke(
        lowering,
        f"{LETTERS[name_of_dtype(c.dtype)]}syrk",  # type: ignore[index]
        "U",
        "N" if layout.columns else "T",
        n,
        k,
        one(c.dtype),
        a,
        layout.leading,
        zero(c.dtype),
        c,
        n,
        label="syrk",
    )
    d = name_of_dtype(c.dtype)
    # Fortran's upper triangle is the lower one of what is stored row by row.
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    n = operand(p, 1)\n"
        "    for i in range(start, stop):\n"
        "        for j in range(i + 1, n):\n"
        f"            set_{d}(q, i * n + j, get_{d}(q, j * n + i, 0), 0)\n"
        "    return 0\n"
    )
    lowering.emit(text, n, [(c.buffer, c.offset), n], "mirror")


def in_loop(lowering: Any, a: Place, b: Place, c: Place, product: list[str]) -> None:
    """c = a b for stacks of small matrices, by these lines for each."""
    item, batch = c.dtype.itemsize, c.shape[:-2]
    a, b = spread_over(a, batch, 2), spread_over(b, batch, 2)
    places = [contiguous(lowering, p) if any(s % item for s in p.strides) else p for p in (a, b)]
    words: list[Any] = [(p.buffer, p.offset if not batch else 0) for p in (*places, c)]
    words += [c.shape[-2], c.shape[-1], a.shape[-1]]
    words += [s // item for p in (*places, c) for s in p.strides[-2:]]
    lines = ["def kernel(p, start, stop):"]
    names = ["a", "b", "c", "m", "n", "k", "a0", "a1", "b0", "b1", "c0", "c1"]
    if batch:
        names.append("table")
        tables = [offsets_of(p, 2) for p in (*places, c)]
        words.append((constant_table(tables), 0))
    lines += [f"    {name} = operand(p, {w})" for w, name in enumerate(names)]
    moved = ["a", "b", "c"]
    lines.append("    for e in range(start, stop):")
    if batch:
        lines += [
            f"        {x}e = {x} + get_i8(table, 3 * e + {w}, -1)" for w, x in enumerate(moved)
        ]
    else:
        lines += [f"        {x}e = {x}" for x in moved]
    lines += [*product, "    return 0"]
    lowering.emit("\n".join(lines) + "\n", size_of(batch), words, "small matmul")


def _entry_by_entry(d: str | None) -> list[str]:
    return [
        "        for i in range(m):",
        "            for j in range(n):",
        f"                s = get_{d}(ae, i * a0, -1) * get_{d}(be, j * b1, -1)",
        "                for h in range(1, k):",
        f"                    t = get_{d}(ae, i * a0 + h * a1, -1)",
        f"                    s = s + t * get_{d}(be, h * b0 + j * b1, -1)",
        f"                set_{d}(ce, i * c0 + j * c1, to_{d}(s), 0)",
    ]


def _written_out(d: str | None, m: int, n: int, k: int) -> list[str]:
    """The same for one shape, without loops, so that all entries are in registers."""
    rows, columns, terms = range(m), range(n), range(k)
    lines = [f"a{i}_{h} = get_{d}(ae, {i} * a0 + {h} * a1, -1)" for i in rows for h in terms]
    lines += [f"b{h}_{j} = get_{d}(be, {h} * b0 + {j} * b1, -1)" for h in terms for j in columns]
    for i in rows:
        for j in columns:
            total = " + ".join([f"a{i}_{h} * b{h}_{j}" for h in terms])
            lines.append(f"set_{d}(ce, {i} * c0 + {j} * c1, to_{d}({total}), 0)")
    return [f"        {line}" for line in lines]


def constant_table(columns: list[np.ndarray]) -> Any:
    """A constant that holds, for each entry of a stack, a number of each column."""
    return constant_place(np.stack(columns, -1)).buffer
