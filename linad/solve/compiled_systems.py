"""Equations in compiled programs: functions as tapes, and linear systems with their Jacobians.

A dense system A p = b is solved with rows and columns scaled, A' = R A C, and refused as
`linad.operators.factors.DenseLU` refuses it:

    1 / (|A'|_1 |A'^-1|_1) < eps          p = C A'^-1 R b
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.api.derivatives import jacobian, linearize
from linad.control.body_trace import BodyTrace
from linad.control.control_primitive import ControlPrimitive, uncompiled
from linad.control.loops import scan
from linad.core.array_type import Array
from linad.core.compiler_lock import compiling
from linad.core.tape import Tape, guard, needed, raises, tape_of, unchanged
from linad.errors import LinadError
from linad.linalg.iterative_inverses import METHODS, RESTART
from linad.linalg.linear_systems import SMALL
from linad.solve.compiled_krylov import gmres, length
from linad.solve.step_systems import system
from linad.sweeps.assurances import assured, on_examples
from linad.sweeps.instructions import Fallback
from linad.sweeps.lower import Lowering
from linad.sweeps.program import simplified
from linad.transforms.record import node_of


def as_tape(name: str, f: Callable[..., Any], example: list[Any]) -> Tape | None:
    """What a function of arrays computes, as a program without Python in it.

    None where there is none: it decides on values in Python, or NumPy has to run a part of it.
    """
    with compiling:
        from linad.sweeps.cpu.target import CPU  # it imports Numba

    try:
        tape = _recorded(name, f, example, unrepeated=True)
    except np.linalg.LinAlgError:  # of what a loop begins with; what it comes to may be another
        try:
            tape = _recorded(name, f, example, unrepeated=False)
        except (LinadError, np.linalg.LinAlgError):
            return None
    except LinadError:
        return None
    if _decides(tape):
        return None
    lowering = Lowering(simplified(tape), CPU)
    return None if any(isinstance(i, Fallback) for i in lowering.instructions) else tape


def _recorded(name: str, f: Callable[..., Any], example: list[Any], unrepeated: bool) -> Tape:
    recorder = BodyTrace()
    ins = [recorder.input(v) for v in example]
    quiet = np.errstate(all="ignore")
    with quiet, uncompiled(unrepeated=unrepeated), on_examples(), recorder:
        output = node_of(recorder, f(*ins))
    inputs = [t._node for t in ins]
    return tape_of(name, inputs, needed(recorder.equations, [output]), [output])


def _decides(tape: Tape) -> bool:
    """Whether Python decides on values that the program computes."""
    for eqn in tape.equations:
        owner = eqn.primitive
        if owner in (guard, unchanged, raises):
            return True
        if isinstance(owner, ControlPrimitive) and any(_decides(b.tape) for b in owner.parts):
            return True
    return False


# Linear systems.


class ScaledSystem(NamedTuple):
    """A matrix with its rows and columns scaled, and whether it can be solved with."""

    matrix: Any
    rows: Any
    columns: Any
    sound: Any

    def solve(self, b: Array) -> Any:
        """A^-1 b, for vectors b (..., n)."""
        if self.matrix.shape == (1, 1):
            return b / self.matrix[0, 0]
        z = np.linalg.solve(self.matrix, (self.rows * b)[..., None])[..., 0]
        return self.columns * z


def _scales(sizes: Array) -> Any:
    """Powers of two near the sizes; 1 for zero."""
    return np.exp2(-np.rint(np.log2(np.where(sizes > 0, sizes, 1.0))))


def scaled(A: Array) -> ScaledSystem:
    """A matrix (n, n), ready to be solved with."""
    n = A.shape[0]
    if n == 1:
        return ScaledSystem(A, 1.0, 1.0, np.isfinite(A[0, 0]) & (A[0, 0] != 0))
    rows = _scales(np.max(np.abs(A), axis=1))
    A = rows[:, None] * A
    columns = _scales(np.max(np.abs(A), axis=0))
    A = A * columns
    inverse = np.linalg.inv(A)
    norms = np.max(np.sum(np.abs(A), axis=0)) * np.max(np.sum(np.abs(inverse), axis=0))
    return ScaledSystem(A, rows, columns, norms * np.finfo(A.dtype).eps <= 1.0)


def solved_with(residual: Any, kind: str, adjoint: bool, rtol: float) -> Callable[..., Any]:
    """(t, x, θ) -> A^-1 t, or A^-H t, with A = ∂g/∂x and vectors t (..., n)."""
    solve = _by_iteration if kind == "krylov" else _by_factors
    return lambda t, x, theta: solve(lambda x: residual(x, theta), t, x, adjoint, rtol)


def _by_factors(F: Callable[..., Any], t: Array, x: Array, adjoint: bool, rtol: float) -> Any:
    A = jacobian(F)(x)
    system = scaled(np.conj(A.T) if adjoint else A)
    return assured(system.solve(t), system.sound)


def _by_iteration(F: Callable[..., Any], t: Array, x: Array, adjoint: bool, rtol: float) -> Any:
    """A row after the other by GMRES; rounding may keep it from ``rtol``, as SciPy's."""
    _, J = linearize(F, x)
    product = J.pullback if adjoint else J.pushforward
    enough = max(10 * rtol, 1e3 * float(np.finfo(x.dtype).eps))

    def solve(row: Array) -> tuple[Any, Any]:
        found = gmres(product, row, rtol, RESTART, max(1000, 10 * x.shape[0]))
        return found.x, found.reached <= enough

    if t.ndim == 1:
        return assured(*solve(t))
    rows = t.reshape((-1, x.shape[0]))
    _, (z, sound) = scan(lambda _, row: ((), solve(row)), (), rows)
    return assured(z.reshape(t.shape), np.all(sound))


def linear_loop(equation: Any) -> Callable[[Any, Any], Any] | None:
    """`linad.solve.linear` in a program, for g(x, θ) = A(θ) x - b; a step from zero shows whether A
    is linear."""
    kind, rtol = equation.kind_of_system(equation.linear_solver), equation.rtol
    if kind not in ("dense", "krylov"):
        return None
    solve = solved_with(equation.residual, kind, False, rtol)

    def solution(zero: Array, theta: Array) -> Any:
        r = equation.residual(zero, theta)
        x = zero - solve(r, zero, theta).astype(zero.dtype)
        left = length(equation.residual(x, theta))
        return assured(x, left <= max(100 * rtol, 1e-6) * length(r))

    return solution


def kind_of(J: Callable[[], Any], n: int, linear_solver: str, rtol: float) -> str:
    """How programs solve systems with a Jacobian: "dense" or "krylov"; what else there is, and
    "none", they leave to Python.

    Parameters
    ----------
    J : callable
        Returns the Jacobian operator at some point.
    n : int
        Unknowns.
    linear_solver : str
    rtol : float
    """
    if linear_solver != "auto":
        return linear_solver
    if n <= SMALL:
        return "dense"
    try:
        method = system(J(), "auto", rtol).method
    except (LinadError, np.linalg.LinAlgError):  # singular there: Python knows more ways
        return "none"
    if method in METHODS:
        return "krylov"
    return "dense" if method in ("Cholesky", "dense LU") else method
