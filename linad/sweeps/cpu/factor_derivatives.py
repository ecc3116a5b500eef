"""Derivatives of a Cholesky factor of which the program reads the diagonal alone.

What `linad.rules.decompositions` records for the derivative of A = L L^T is

    solve(L^T, solve(L^T, h * (L^T G))^T)        h: ones below the diagonal, halves on it

Where G is made of its diagonal, that is `linad.operators.cholesky_diagonals.pull_diagonal`, and
symmetric. With W = L^-1 and numbers s on the diagonal

    W^T diag(s) W       TRTRI by halves, (2 n^3) / 3 operations with the product
    s of one sign       ± V^T V, V = sqrt(|s|) W: LAUUM
    s of both signs     W^T (s W): TRMM

OpenBLAS's TRTRI is slow where it is small, so it is given halves down to `LEAF`:

    [L11    ]^-1   [      W11           ]
    [L21 L22]    = [-W22 L21 W11    W22 ]

Source: N. Higham, "Accuracy and Stability of Numerical Algorithms", 14.2.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.tape import Equation, Tape, Var, needed
from linad.operators.cholesky_diagonals import lone_diagonal, pull_diagonal
from linad.sweeps.cpu.blas_lapack import INTEGER, LETTERS
from linad.sweeps.cpu.matrix_products import one
from linad.sweeps.cpu.routines import routine
from linad.sweeps.data_movement import contiguous, in_dtype
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, new_place

LEAF = 64
"""Triangles up to this size are inverted by LAPACK alone."""

COLUMNS = 8
"""Columns of a triangle that are mirrored at a time: a cache line in double precision."""


# Where the program does it.


def with_diagonals(tape: Tape) -> Tape:
    """The tape with `pull_diagonal` in place of what it stands for."""
    if not any(eqn.primitive.name == "cholesky" for eqn in tape.equations):
        return tape
    made_by = {v: eqn for eqn in tape.equations for v in eqn.outputs}
    equations = [_shorter(made_by, eqn) or eqn for eqn in tape.equations]
    equations = needed(_without_transposes(equations), tape.outputs)
    return Tape(tape.name, tape.inputs, equations, tape.outputs, tape.in_tree, tape.out_tree)


def _without_transposes(equations: list[Equation]) -> list[Equation]:
    """The equations with the results of `pull_diagonal` for their transposes."""
    stands: dict[Any, Var] = {}
    found = []
    for eqn in equations:
        if eqn.primitive is pull_diagonal:
            stands[eqn.outputs[0]] = eqn.outputs[0]
        elif (
            eqn.primitive.name == "transpose"
            and isinstance(eqn.inputs[0], Var)
            and eqn.inputs[0] in stands
        ):
            stands[eqn.outputs[0]] = stands[eqn.inputs[0]]
        found.append(
            eqn.with_inputs(
                tuple([stands.get(a, a) if isinstance(a, Var) else a for a in eqn.inputs])
            )
        )
    return found


def _shorter(made_by: dict[Var, Equation], eqn: Equation) -> Equation | None:
    """The short form of a second solution, where it is one."""

    def operands(a: Any, name: str) -> tuple[Any, ...] | None:
        maker = made_by.get(a) if isinstance(a, Var) else None
        return maker.inputs if maker is not None and maker.primitive.name == name else None

    if eqn.primitive.name != "solve" or len(eqn.outputs[0].shape) != 2:
        return None
    upper, right = eqn.inputs
    turned = operands(right, "transpose")
    first = operands(turned[0], "solve") if turned else None
    halved = operands(first[1], "multiply") if first and first[0] is upper else None
    factor = operands(upper, "transpose")
    if not halved or not factor or not operands(factor[0], "cholesky"):
        return None
    lower = factor[0]
    for half, product in (halved, halved[::-1]):
        pair = operands(product, "matmul")
        if pair and pair[0] is upper and _is_half(half, upper.shape[0]):
            g = _diagonal_alone(made_by, pair[1])
            if g is not None and g.dtype == lower.dtype and lower.dtype.kind == "f":
                return Equation(pull_diagonal, (lower, g), {}, eqn.outputs, eqn.source)
    return None


def _is_half(a: Array, n: int) -> bool:
    if not isinstance(a, np.ndarray) or a.shape != (n, n):
        return False
    return np.array_equal(a, np.tri(n) - 0.5 * np.eye(n))


def _diagonal_alone(made_by: dict[Var, Equation], a: Any) -> Any:
    """g where ``a`` is made as diag(g), or as a transpose of it, or is known to be that."""
    if isinstance(a, np.ndarray):
        diagonal = lone_diagonal(a)
        return None if diagonal is None else np.ascontiguousarray(diagonal)
    maker = made_by.get(a) if isinstance(a, Var) else None
    while maker is not None and maker.primitive.name == "transpose":
        maker = made_by.get(maker.inputs[0])
    if maker is None or maker.primitive.name != "add_at":
        return None
    index, n = maker.params["index"], a.shape[0]
    if len(index) != 2 or a.shape != (n, n) or maker.inputs[0].shape != (n,):
        return None
    steps = np.arange(n)
    whole = all(isinstance(i, np.ndarray) and np.array_equal(i, steps) for i in index)
    return maker.inputs[0] if whole else None


# How it is computed.


@routine("pull_diagonal")
def lower_pull_diagonal(lowering: Any, eqn: Equation) -> bool:
    out = eqn.outputs[0]
    dtype, n = out.dtype, out.shape[0]
    if name_of_dtype(dtype) not in ("f4", "f8"):
        return False
    lower, g = [
        contiguous(lowering, in_dtype(lowering, lowering.place_of(a), dtype)) for a in eqn.inputs
    ]
    target = lowering.result(out)
    inverse, weights = new_place(out.shape, dtype), new_place((n,), dtype)
    alike, sign = new_place((), np.dtype(bool)), new_place((), dtype)
    lowering.copy(inverse, lower)
    invert(lowering, inverse)
    _weigh(lowering, (lower, g, weights, sign, alike), n)
    _scale(lowering, (inverse, weights, target), n)
    first = LETTERS[name_of_dtype(dtype) or ""]
    info = new_place((), INTEGER)
    # Fortran's upper triangle is what lies in the lower one, row by row.
    lowering.target.invoke(
        lowering, f"{first}lauum", "U", n, target, n, info, only=(alike, True), label="lauum"
    )
    product = ["R", "U", "T", "N", n, n, one(dtype), inverse, n, target, n]
    lowering.target.invoke(lowering, f"{first}trmm", *product, only=(alike, False), label="trmm")
    _mirror(lowering, (target, sign, alike), n)
    return True


def invert(lowering: Any, w: Place) -> None:
    """The inverse of a lower triangle, in its place; ``w`` has rows of ``leading`` entries."""
    n, leading, item = w.shape[0], w.strides[0] // w.dtype.itemsize, w.dtype.itemsize
    first = LETTERS[name_of_dtype(w.dtype) or ""]
    if n <= LEAF:
        info = new_place((), INTEGER)
        call = lowering.target.invoke
        call(lowering, f"{first}trtri", "U", "N", n, w, leading, info, info=5, label="trtri")
        return
    m = n // 2

    def part(i: int, j: int, shape: tuple[int, int]) -> Place:
        offset = w.offset + (i * leading + j) * item
        return Place(w.buffer, offset, shape, w.strides, w.dtype)

    above, below = part(0, 0, (m, m)), part(m, m, (n - m, n - m))
    beside = part(m, 0, (n - m, m))
    invert(lowering, above)
    invert(lowering, below)
    minus = w.dtype.type(-1)
    for side, triangle, factor in (("L", above, minus), ("R", below, one(w.dtype))):
        lowering.target.invoke(
            lowering,
            f"{first}trmm",
            side,
            "U",
            "N",
            "N",
            m,
            n - m,
            factor,
            triangle,
            leading,
            beside,
            leading,
            label="trmm",
        )


def _weigh(lowering: Any, places: tuple[Place, ...], n: int) -> None:
    """s, or the roots of its sizes where all of it is finite and has one sign."""
    d = name_of_dtype(places[0].dtype)
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    g = operand(p, 1)\n    w = operand(p, 2)\n"
        "    y = operand(p, 3)\n    e = operand(p, 4)\n    n = operand(p, 5)\n"
        "    for o in range(start, stop):\n"
        f"        low = to_{d}(0)\n        high = to_{d}(0)\n        bad = to_{d}(0)\n"
        "        for i in range(n):\n"
        f"            s = to_{d}(to_{d}(0.5) * get_{d}(q, i * n + i, -1) * get_{d}(g, i, -1))\n"
        f"            set_{d}(w, i, s, 0)\n"
        "            low = select(s < low, s, low)\n            high = select(s > high, s, high)\n"
        # s - s is 0 where s is finite, and NaN where it is not.
        f"            bad = to_{d}(bad + (s - s))\n"
        "        alike = bad == 0.0 and (low == 0.0 or high == 0.0)\n"
        "        set_b1(e, 0, alike, 1)\n"
        f"        set_{d}(y, 0, select(low < 0.0, to_{d}(-1), to_{d}(1)), 2)\n"
        "        if alike:\n"
        "            for i in range(n):\n"
        f"                set_{d}(w, i, to_{d}(np.sqrt(abs(get_{d}(w, i, 0)))), 0)\n"
        "    return 0\n"
    )
    lowering.emit(text, 1, [*[(p.buffer, p.offset) for p in places], n], "weights")


def _scale(lowering: Any, places: tuple[Place, ...], n: int) -> None:
    """y = w[:, None] * x"""
    d = name_of_dtype(places[0].dtype)
    text = (
        "def kernel(p, start, stop):\n"
        "    x = operand(p, 0)\n    w = operand(p, 1)\n    y = operand(p, 2)\n"
        "    n = operand(p, 3)\n"
        "    for i in range(start, stop):\n"
        f"        factor = get_{d}(w, i, -1)\n"
        "        for j in range(n):\n"
        f"            set_{d}(y, i * n + j, to_{d}(factor * get_{d}(x, i * n + j, -1)), 0)\n"
        "    return 0\n"
    )
    lowering.emit(text, n, [*[(p.buffer, p.offset) for p in places], n], "scale rows")


def _mirror(lowering: Any, places: tuple[Place, ...], n: int) -> None:
    """The lower triangle times the sign in both, where LAUUM has made it; else both's mean.

    Some columns at a time: what lies below the diagonal is read by cache lines.
    """
    d = name_of_dtype(places[0].dtype)
    loops = (
        f"            for j in range({COLUMNS} * b, n):\n"
        f"                for i in range({COLUMNS} * b, min({COLUMNS} * (b + 1), j + 1)):\n"
        f"                    held = get_{d}(q, j * n + i, 0)\n"
    )
    stores = (
        f"                    set_{d}(q, j * n + i, held, 0)\n"
        f"                    set_{d}(q, i * n + j, held, 0)\n"
    )
    text = (
        "def kernel(p, start, stop):\n"
        "    q = operand(p, 0)\n    f = operand(p, 1)\n    e = operand(p, 2)\n"
        "    n = operand(p, 3)\n"
        f"    sign = get_{d}(f, 0, -1)\n    half = to_{d}(0.5)\n"
        "    alike = get_b1(e, 0, -1)\n"
        "    for b in range(start, stop):\n"
        f"        if alike:\n{loops}"
        f"                    held = to_{d}(sign * held)\n{stores}"
        f"        else:\n{loops}"
        f"                    other = get_{d}(q, i * n + j, 0)\n"
        f"                    held = to_{d}(half * held + half * other)\n{stores}"
        "    return 0\n"
    )
    words = [*[(p.buffer, p.offset) for p in places], n]
    lowering.emit(text, -(-n // COLUMNS), words, "mirror")
