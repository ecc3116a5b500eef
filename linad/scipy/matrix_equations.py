"""Matrix equations of scipy.linalg, and the polar decomposition; traced.

A linear one is a system of its own. For the others SciPy's solution is a constant that a step of
Newton's method gives its derivative (`linad.scipy.implicit_solutions`).
"""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.errors import UnsupportedError
from linad.rules import linalg, matrixfunctions
from linad.rules.shaping import ravel
from linad.scipy.implicit_solutions import plain, root_of_vector
from linad.scipy.mirror import bound_form, doubled, inexact, traced_form


@traced_form(scipy.linalg.solve_sylvester)
def solve_sylvester(a: Array, b: Array, q: Array) -> Any:
    return matrixfunctions.sylvester_(inexact(a), inexact(b), inexact(q))


@traced_form(scipy.linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    a = inexact(a)
    return solve_sylvester(a, linalg.adjoint(a), q)


solve_lyapunov = solve_continuous_lyapunov


@traced_form(scipy.linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: str | None = None) -> Any:
    a, q = doubled(a), inexact(q)
    n = a.shape[0]
    system = np.eye(n * n, dtype=a.dtype) - np.kron(a, np.conj(a))
    return linalg.solve(system, ravel(q)).reshape(q.shape)


def _solution(name: str, found: Any, residual: Any) -> Any:
    """The solution of a matrix equation F(X) = 0, with its derivative."""
    shape = found.shape

    def flat(x: Any) -> Any:
        return residual(x.reshape(shape)).reshape(-1)

    return root_of_vector(name, flat, found.reshape(-1)).reshape(shape)


def _riccati(
    name: str, a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, **rest: Any
) -> Any:
    """Check what is asked for, and return SciPy's solution and the arrays."""
    if e is not None:
        raise UnsupportedError(f"{name}: e= is not traced by linad; multiply by its inverse first")
    arrays = [inexact(m) for m in (a, b, q, r)]
    arrays.append(np.zeros(arrays[1].shape) if s is None else inexact(s))
    found = getattr(scipy.linalg, name)(*[plain(m) for m in arrays[:4]], None, plain(s), **rest)
    return found, arrays


# Both residuals are linear in X on either side, without X^H: their derivatives at the stabilizing
# solution are dX C + C^H dX and C^H dX C - dX for the closed loop C, which no dX makes zero. With
# X^H, which is X there, some that are not Hermitian may.


@bound_form(scipy.linalg.solve_continuous_are)
def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, **rest: Any) -> Any:
    found, (a, b, q, r, s) = _riccati("solve_continuous_are", a, b, q, r, **rest)

    def residual(X: Any) -> Any:
        right = np.linalg.solve(r, b.conj().T @ X + s.conj().T)
        return a.conj().T @ X + X @ a - (X @ b + s) @ right + q

    return _solution("solve_continuous_are", found, residual)


@bound_form(scipy.linalg.solve_discrete_are)
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, **rest: Any) -> Any:
    found, (a, b, q, r, s) = _riccati("solve_discrete_are", a, b, q, r, **rest)

    def residual(X: Any) -> Any:
        right = np.linalg.solve(r + b.conj().T @ X @ b, b.conj().T @ X @ a + s.conj().T)
        return a.conj().T @ X @ a - X - (a.conj().T @ X @ b + s) @ right + q

    return _solution("solve_discrete_are", found, residual)


@traced_form(scipy.linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    a = inexact(a)
    if side == "left":
        u, p = polar(np.swapaxes(a, -1, -2).conj())
        return np.swapaxes(u, -1, -2).conj(), p
    if a.shape[0] < a.shape[1]:
        raise UnsupportedError(
            "polar: of a matrix with more columns than rows the factors have no derivative; use "
            'side="left"'
        )
    found = scipy.linalg.polar(plain(a))[1]
    gram = a.conj().T @ a
    p = _solution("polar", found, lambda x: x @ x - gram)
    return np.linalg.solve(p.T, a.T).T, p
