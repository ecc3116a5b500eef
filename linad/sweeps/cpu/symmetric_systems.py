"""Systems whose matrix the program decomposes by Cholesky as well.

A Gaussian likelihood asks for the determinant and for a solution: `cholesky(A)` and
`solve(A, b)`. A symmetric A has been factorised by the first, A = L L^T, and

    A x = b      L z = b,  L^T x = z          POTRS, n^2 operations; GETRF takes 2/3 n^3

What `linad.rules.decompositions` records for `cholesky(A)` says at run time whether A is
exactly symmetric (``exact``):

    exact = all(A == A^T)        L = cholesky(where(exact, A / 2 + A^T / 2, A))

So the solution comes from L where ``exact`` holds, and from A = P L U where not. The mean is for
derivatives alone: as a number it is A, so A is what is factorised.

Source: G. Golub and C. Van Loan, "Matrix Computations", 4.2.
"""

from typing import Any, NamedTuple

from linad.core.shapes import size_of
from linad.core.tape import Equation, Tape, Var, needed
from linad.sweeps.cpu.blas_lapack import INTEGER, LETTERS, fortran_place
from linad.sweeps.kernel_dtypes import name_of_dtype
from linad.sweeps.places import Place, new_place
from linad.transforms.rewriting import number_of


class Decomposed(NamedTuple):
    """L of a matrix, and whether the matrix is L L^T."""

    lower: Var
    exact: Var


def decomposed(tape: Tape) -> tuple[Tape, dict[Equation, Decomposed]]:
    """The systems with one right side, each with the decomposition of its matrix.

    Returns
    -------
    tape : Tape
        With decompositions before the systems that use them, of A itself.
    found : dict
    """
    made_by = {v: eqn for eqn in tape.equations for v in eqn.outputs}
    known: dict[Any, Decomposed] = {}
    equations = list(tape.equations)
    for k, eqn in enumerate(equations):
        if eqn.primitive.name == "cholesky" and eqn.outputs[0].dtype.kind == "f":
            argument = _argument(made_by, eqn.inputs[0])
            if argument is not None:
                a, exact = argument
                known[a] = Decomposed(eqn.outputs[0], exact)
                equations[k] = eqn.with_inputs((a,))
    if not known:
        return tape, {}
    found = {}
    for eqn in equations:
        if eqn.primitive.name == "solve" and eqn.outputs[0].shape[-1] == 1:
            a = _untransposed(made_by, eqn.inputs[0])
            if a in known and a.dtype == eqn.outputs[0].dtype:
                found[eqn] = known[a]
    read_too = [v for pair in found.values() for v in pair]
    equations = _reordered(needed(equations, [*tape.outputs, *read_too]), found)
    return Tape(tape.name, tape.inputs, equations, tape.outputs, tape.in_tree, tape.out_tree), found


def _reordered(equations: list[Equation], found: dict[Equation, Decomposed]) -> list[Equation]:
    """The equations with whatever a system reads before it."""
    made_by = {v: eqn for eqn in equations for v in eqn.outputs}
    taken: dict[Equation, None] = {}

    def take(eqn: Equation) -> None:
        waiting = [eqn]
        while waiting:
            top = waiting[-1]
            reads = [*top.inputs, *found.get(top, ())]
            missing = [m for a in reads if (m := _maker(made_by, a)) is not None]
            missing = [m for m in missing if m not in taken]
            if missing:
                waiting += missing
            else:
                taken[waiting.pop()] = None

    for eqn in equations:
        if eqn not in taken:
            take(eqn)
    return list(taken)


def _maker(made_by: dict[Var, Equation], a: Any) -> Equation | None:
    return made_by.get(a) if isinstance(a, Var) else None


def _made(made_by: dict[Var, Equation], a: Any, name: str) -> tuple[Any, ...] | None:
    """The operands of what made ``a``, if that was the primitive of this name."""
    eqn = _maker(made_by, a)
    return eqn.inputs if eqn is not None and eqn.primitive.name == name else None


def _untransposed(made_by: dict[Var, Equation], a: Any) -> Any:
    """The matrix, or what it is the transpose of."""
    operands = _made(made_by, a, "transpose")
    return a if operands is None or len(a.shape) != 2 else operands[0]


def _argument(made_by: dict[Var, Equation], m: Any) -> tuple[Var, Var] | None:
    """``(A, exact)`` where m is ``where(exact, A / 2 + A^T / 2, A)`` and exact is what it says."""

    def is_pair(x: Any, y: Any) -> bool:
        """Whether x and y are A and its transpose, in either order."""
        other = y if x is a else x
        return (x is a or y is a) and other is not a and _untransposed(made_by, other) is a

    def half_of(x: Any) -> Any:
        """What x is half of."""
        factors = _made(made_by, x, "multiply") or (None, None)
        return next((b for a, b in (factors, factors[::-1]) if number_of(a) == 0.5), None)

    chosen = _made(made_by, m, "where")
    if chosen is None:
        return None
    exact, mean, a = chosen
    if not isinstance(a, Var) or not isinstance(exact, Var) or len(a.shape) != 2 or exact.shape:
        return None
    compared, halves = _made(made_by, exact, "all"), _made(made_by, mean, "add")
    sides = _made(made_by, compared[0], "equal") if compared else None
    if sides is None or halves is None or not is_pair(sides[0], sides[1]):
        return None
    return (a, exact) if is_pair(half_of(halves[0]), half_of(halves[1])) else None


def by_cholesky(lowering: Any, a: Place, flipped: bool, x: Place, found: Decomposed) -> None:
    """Solve with a matrix, in place of the right sides ``x``, a stack of columns.

    Parameters
    ----------
    lowering : Lowering
    a : Place
        The matrix of which ``found`` is known.
    flipped : bool
        Whether to solve with its transpose.
    x : Place
    found : Decomposed
    """
    lower, exact = lowering.place_of(found.lower), lowering.place_of(found.exact)
    first, n = LETTERS[name_of_dtype(x.dtype) or ""], x.shape[-2]
    factors = lowering.factors.get(found)
    if factors is None:
        factors = lowering.factors[found] = _factorised(lowering, a, exact)
    lu, pivots = factors
    count, info = size_of(x.shape[:-2]), new_place((), INTEGER)
    # Fortran's upper triangle is what lies in the lower one, row by row.
    by_lower: list[Any] = ["U", n, count, lower, n, x, n, info]
    by_both: list[Any] = ["T" if flipped else "N", n, count, lu, n, pivots, x, n, info]
    lowering.target.invoke(lowering, f"{first}potrs", *by_lower, only=(exact, True), label="potrs")
    lowering.target.invoke(lowering, f"{first}getrs", *by_both, only=(exact, False), label="getrs")


def _factorised(lowering: Any, a: Place, exact: Place) -> tuple[Place, Place]:
    """L U and the exchanges of a matrix that is not symmetric; of others nothing is written."""
    n, d, item = a.shape[0], name_of_dtype(a.dtype), a.dtype.itemsize
    lu, pivots = fortran_place(a.shape, a.dtype), new_place((n,), INTEGER)
    text = (
        "def kernel(p, start, stop):\n"
        "    e = operand(p, 0)\n    q = operand(p, 1)\n    y = operand(p, 2)\n"
        "    n = operand(p, 3)\n    s = operand(p, 4)\n    t = operand(p, 5)\n"
        "    if get_b1(e, 0, -1):\n"
        "        return 0\n"
        "    for j in range(start, stop):\n"
        "        for i in range(n):\n"
        f"            set_{d}(y, j * n + i, get_{d}(q, i * s + j * t, -1), 0)\n"
        "    return 0\n"
    )
    steps = [stride // item for stride in a.strides]
    places = [(p.buffer, p.offset) for p in (exact, a, lu)]
    lowering.emit(text, n, [*places, n, *steps], "copy unless symmetric")
    first, info = LETTERS[d or ""], new_place((), INTEGER)
    arguments = n, n, lu, n, pivots, info
    lowering.target.invoke(
        lowering, f"{first}getrf", *arguments, info=5, only=(exact, False), label="getrf"
    )
    return lu, pivots
