"""Solutions as primitives: x(θ) defined by g(x, θ) = 0, differentiated by the implicit function
theorem.

    dx = -J_x^-1 J_θ dθ          J_x = ∂g/∂x, J_θ = ∂g/∂θ at the solution

Two primitives, each of which has the other in its derivative, so all orders follow:

    x = solution(x0, θ)          dx = -A^-1 (J_θ dθ)             A = J_x(x, θ)
    z = apply_inverse(t, x, θ)   dz = A^-1 (dt - (dA) z)         A z = t
    z = apply_inverse^H          dz = A^-H (dt - (dA)^H z)       A^H z = t

(dA) z is the derivative of J_x(x, θ) z in x and θ at fixed z. Nothing is unrolled: what the
solver did to find x plays no part. x does not depend on x0 but by jumps, so its derivative
there is zero.

Source: A. Griewank, A. Walther, "Evaluating Derivatives", 2nd edition, 2008, section 15.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from linad.api.derivatives import linearize
from linad.core import tape, tree
from linad.core.array_type import Array
from linad.core.former_names import class_from
from linad.core.marks import outside_of_traces
from linad.core.primitive import Primitive, Traced
from linad.core.shapes import Shape, is_inexact, size_of
from linad.errors import (
    ConvergenceError,
    DTypeError,
    OutputError,
    ShapeError,
    TracerError,
    TreeError,
)
from linad.operators.base import JacobianOperator
from linad.operators.linear_solves import LinearSolve, solution_rules
from linad.operators.structured import Zero
from linad.solve.compiled_systems import as_tape, kind_of, solved_with
from linad.solve.multiple_roots import unless_rounding
from linad.solve.problems import as_point
from linad.solve.step_systems import system
from linad.solve.vector_forms import VectorForm, has_derivative, pack
from linad.transforms.spaces import joined


def __getattr__(name: str) -> Any:
    return class_from(__name__, name)


class ImplicitEquation:
    """g(x, θ) = 0, and how it is solved.

    Parameters
    ----------
    name : str
        For messages.
    residual : callable
        ``residual(x, *theta)`` on containers; traced for derivatives.
    solve : callable
        ``solve(x0, theta) -> OptimizeResult`` on containers.
    x0, theta : VectorForm
    linear_solver : str
        For systems with J_x, "dense", "sparse", "krylov" or "auto".
    rtol : float or None
        Of Krylov iterations; by default 1e-10, or 100 eps in single precision.
    loop : callable, optional
        ``loop(equation) -> program``: what `solve` is in a compiled program, a function of x0 and
        θ as vectors; None if it cannot be one.
    """

    def __init__(
        self,
        name: str,
        residual: Callable[..., Any],
        solve: Callable[[Any, Any], Any],
        x0: VectorForm,
        theta: VectorForm,
        linear_solver: str,
        rtol: float | None,
        loop: Callable[[Any], Any] | None = None,
    ) -> None:
        self.name, self.solve, self.linear_solver, self.loop = name, solve, linear_solver, loop
        self.f, self.x0, self.theta = residual, x0, theta
        self.rtol = rtol or max(1e-10, 100 * float(np.finfo(x0.dtype).eps))
        self._latest: tuple[Any, Any, Any] | None = None
        self.eps = float(max([np.finfo(slot.dtype).eps for slot in x0.slots], default=0.0))
        self.example: tuple[Any, Any] | None = None
        self._kinds: dict[str, str] = {}
        self._programs: dict[Any, tape.Tape | None] = {}

    def residual(self, x: Array, theta: Array) -> Any:
        """g on vectors."""
        r = self.f(self.x0.container(x), *self.theta.container(theta))
        leaves = tree.flatten(r)[0]
        return joined(leaves, (), np.result_type(*leaves, self.x0.dtype))

    def jacobian(self, x: Array, theta: Array) -> Any:
        """J_x as an operator on vectors."""
        return linearize(lambda x: self.residual(x, theta), x)[1]

    def system(self, x: Array, theta: Array) -> Any:
        """J_x ready to be solved with. The latest is kept: sweeps at one point share it."""
        known = self._latest
        if known is not None and _same(known[0], x) and _same(known[1], theta):
            return known[2]
        J = self.jacobian(x, theta)
        try:
            found = system(J, self.linear_solver, self.rtol)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(
                f"{self.name}: the solution has no derivative here: {error}"
            ) from error
        self._latest = (x.copy(), theta.copy(), found)
        return found

    def program(self, key: Any, make: Callable[[], Any], *before: Any) -> tape.Tape | None:
        """A function of x and θ, with operands before these, as a program; None if it cannot.

        Parameters
        ----------
        key : hashable
            By which it is known.
        make : callable
            Returns the function, or None.
        *before : Var or array
        """
        if self.example is None:
            return None
        if key not in self._programs:
            with outside_of_traces():
                f = make() if self._holds() else None
            ones = [np.ones(np.shape(v), v.dtype) for v in before]
            made = None if f is None else as_tape(self.name, f, [*ones, *self.example])
            self._programs[key] = made
        return self._programs[key]

    def _holds(self) -> bool:
        """Whether there is anything to solve, and a matrix to solve with."""
        n = sum([slot.size for slot in self.x0.slots])
        return n > 0 and (self.x0.dtype.kind == "f" or self._jacobian_of_example().clinear)

    def _jacobian_of_example(self) -> Any:
        assert self.example is not None
        return self.jacobian(*self.example)

    def kind_of_system(self, linear_solver: str) -> str:
        """How programs solve systems with J_x; see `linad.solve.compiled_systems.kind_of`."""
        if linear_solver not in self._kinds:
            n = sum([slot.size for slot in self.x0.slots])
            found = kind_of(self._jacobian_of_example, n, linear_solver, self.rtol)
            self._kinds[linear_solver] = found
        return self._kinds[linear_solver]


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool(np.all(a == b))


def _solution(x0: Array, theta: Array, *, equation: ImplicitEquation) -> Any:
    equation.example = x0, theta
    given = equation.theta.container(theta)
    with outside_of_traces():
        found = equation.solve(equation.x0.container(x0), given)
    if not (hasattr(found, "success") and hasattr(found, "x")):
        raise OutputError(
            f"{equation.name}: the solver must return an OptimizeResult with x and success, it "
            f"returned a {type(found).__name__}"
        )
    if not found.success:
        raise ConvergenceError(f"{equation.name}: {found.message}", found)
    x = joined([np.asarray(v) for v in tree.flatten(found.x)[0]], (), x0.dtype)
    if x.shape != x0.shape:
        raise ShapeError(
            f"{equation.name}: the solver returned {x.size} numbers for {x0.size} unknowns"
        )
    return x.astype(x0.dtype, copy=False)


def _solution_program(eqn: tape.Equation) -> tape.Tape | None:
    equation: ImplicitEquation = eqn.params["equation"]
    loop = equation.loop
    if loop is None:
        return None
    return equation.program("solution", lambda: loop(equation))


solution = Primitive("solution", _solution, register=False)
solution.__module__ = __name__  # where a pickle finds it
solution.expansion = _solution_program
"""x with g(x, θ) = 0, as a vector."""


@solution.jacobian(wrt=0)
def solution_wrt_x0(
    y: Array, x0: Array, theta: Array, *, equation: ImplicitEquation
) -> JacobianOperator:
    return Zero(y.shape, x0.shape, y.dtype)


@solution.jacobian(wrt=1)
def solution_wrt_theta(
    y: Array, x0: Array, theta: Array, *, equation: ImplicitEquation
) -> JacobianOperator:
    return -(Inverse(equation, y, theta) @ _in_theta(equation, y, theta))


def _in_theta(equation: ImplicitEquation, x: Array, theta: Array) -> JacobianOperator:
    """J_θ. While x is plain, what g makes of it alone is not a part of the derivative.

    Only where g writes into an array that it has made like x, that has to belong to the trace.
    """

    def of_one_trace(theta: Any) -> Any:
        within = np.zeros(x.shape, x.dtype, like=theta)
        within[:] = x
        return equation.residual(within, theta)

    with suppress(TracerError):
        return linearize(lambda theta: equation.residual(x, theta), theta)[1]
    return linearize(of_one_trace, theta)[1]


def _apply_inverse(
    t: Array, x: Array, theta: Array, *, equation: ImplicitEquation, adjoint: bool
) -> Any:
    n = x.shape[0]
    equation.example = x, theta
    A = equation.system(x, theta)
    try:
        if t.ndim == 1:
            z = A.solve(t, adjoint)
        else:
            z = A.solve(t.reshape((size_of(t.shape[:-1]), n)).T, adjoint).T.reshape(t.shape)
    except ConvergenceError as error:
        raise ConvergenceError(f"{equation.name}: in its derivative: {error}") from error
    return z.astype(np.result_type(t.dtype, A.A.dtype), copy=False)


def _inverse_program(eqn: tape.Equation) -> tape.Tape | None:
    equation: ImplicitEquation = eqn.params["equation"]
    t, adjoint = eqn.inputs[0], eqn.params["adjoint"]

    def make() -> Any:
        kind = equation.kind_of_system(equation.linear_solver)
        if kind not in ("dense", "krylov"):
            return None
        return solved_with(equation.residual, kind, adjoint, equation.rtol)

    return equation.program(("inverse", adjoint, np.shape(t), t.dtype), make, t)


apply_inverse = Primitive("apply_inverse", _apply_inverse, register=False)
apply_inverse.__module__ = __name__
apply_inverse.expansion = _inverse_program
"""A^-1 t, or A^-H t, for rows t (..., n), with A = J_x(x, θ)."""


class Inverse(LinearSolve):
    """z = A^-1 t with A = J_x at a solution.

    Parameters
    ----------
    equation : ImplicitEquation
    x, theta : array (n,), (k,)
        Where; may be traced.
    lead : tuple of int
        Axes in front of the vectors.

    Notes
    -----
    The Jacobian is made and factorised at the first application, and kept with the equation.
    """

    axes = (-1,)

    def __init__(
        self, equation: ImplicitEquation, x: Array, theta: Array, lead: Shape = ()
    ) -> None:
        self.equation, self.x, self.theta = equation, x, theta
        super().__init__(lead + x.shape, lead + x.shape, x.dtype)

    def solve_for(self, b: Array, adjoint: bool) -> Array:
        return apply_inverse(b, self.x, self.theta, equation=self.equation, adjoint=adjoint)


def _inverse(
    z: Array,
    shape: Shape,
    t: Array,
    x: Array,
    theta: Array,
    *,
    equation: ImplicitEquation,
    adjoint: bool,
) -> JacobianOperator:
    A = Inverse(equation, x, theta, shape[:-1])
    return A.H if adjoint else A


def _product(z: Array, equation: ImplicitEquation, adjoint: bool) -> Callable[[Any, Any], Any]:
    """(x, θ) -> J_x(x, θ) z, or J_x^H z."""

    def product(x: Array, theta: Array) -> Any:
        J = equation.jacobian(x, theta)
        return J.pullback(z) if adjoint else J.pushforward(z)

    return product


def _change_in_x(
    z: Array, t: Array, x: Array, theta: Array, *, equation: ImplicitEquation, adjoint: bool
) -> JacobianOperator:
    product = _product(z, equation, adjoint)
    changed = linearize(lambda x: product(x, theta), x)[1]
    return -unless_rounding(changed, t, x, equation.name)


def _change_in_theta(
    z: Array, t: Array, x: Array, theta: Array, *, equation: ImplicitEquation, adjoint: bool
) -> JacobianOperator:
    product = _product(z, equation, adjoint)
    return -linearize(lambda theta: product(x, theta), theta)[1]


solution_rules(
    apply_inverse,
    right_side=0,
    inverse=_inverse,
    changes={1: _change_in_x, 2: _change_in_theta},
)


def solved(
    name: str,
    residual: Callable[..., Any],
    solve: Callable[[Any, Any], Any],
    x0: Array,
    theta: tuple[Any, ...],
    linear_solver: str,
    rtol: float | None,
    loop: Callable[[Any], Any] | None = None,
) -> Any:
    """The solution of an equation, differentiated in ``theta``; see `ImplicitEquation`."""
    point, start = pack(start_of(x0, theta, name))
    parameters, given = pack(theta)
    equation = ImplicitEquation(name, residual, solve, point, parameters, linear_solver, rtol, loop)
    return point.container(solution(start, given, equation=equation))


def start_of(x0: Array, theta: Any, name: str) -> Any:
    """x0 as arrays, at least as wide as the parameters: the solution depends on them."""
    leaves, structure = tree.flatten(as_point(x0))
    if not leaves:
        raise TreeError(f"{name}: x0 holds no array")
    wide = [t.dtype for t in tree.flatten(theta)[0] if has_derivative(t)]
    values = []
    for leaf in leaves:
        plain = leaf if isinstance(leaf, Traced) else np.asarray(leaf)
        if plain.dtype.kind not in "biufc":
            raise DTypeError(f"{name}: x0 must hold numbers, got dtype {plain.dtype}")
        weak = [leaf] if isinstance(leaf, (int, float, complex)) else [plain.dtype]
        dtype = np.result_type(*weak, *wide)
        dtype = dtype if is_inexact(dtype) else np.dtype(float)
        values.append(plain if plain.dtype == dtype else plain.astype(dtype))
    return tree.unflatten(structure, values)
