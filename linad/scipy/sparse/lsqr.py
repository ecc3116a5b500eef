"""Least squares by iteration, scipy.sparse.linalg.lsqr and lsmr; traced in the right side.

The solution of least norm of (A; d I) x = (b; 0) is linear in b, and so is

    x = (A^H A + d^2)^-1 A^H b        adjoint:  y -> A (A^H A + d^2)^-1 y = (A A^H + d^2)^-1 A y,

which is what the same iteration finds for A^H. The derivative is as accurate as the tolerances.
Norms of the solution and of what it leaves move with it; those of A, of which b is no part, do not.

Source: C. Paige, M. Saunders, "LSQR: an algorithm for sparse linear equations and sparse least
squares", ACM Transactions on Mathematical Software 8, 1982.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import ShapeError, UnsupportedError
from linad.operators.foreign import apply_operator
from linad.rules.shaping import concrete
from linad.scipy.implicit_solutions import with_derivative
from linad.scipy.mirror import arguments_of, holds_traced, inexact, traced_form
from linad.scipy.sparse.arrays import SparseArray


def _norms(name: str, x: Array, x0: Any, r: Array, damp: Any) -> dict[int, Any]:
    """The norms that the solution x and its residuals r have, by their places in the result."""
    change = x if x0 is None else x - x0
    of_residuals = np.linalg.norm(r)
    of_both = np.sqrt(of_residuals**2 + damp**2 * np.linalg.norm(change) ** 2) if damp else None
    damped = of_residuals if of_both is None else of_both
    if name == "lsqr":  # its norm of the solution is of what it adds to x0
        return {3: of_residuals, 4: damped, 8: np.linalg.norm(change)}
    return {3: damped, 7: np.linalg.norm(x)}


def _mirror(name: str) -> Callable[..., Any]:
    original = getattr(scipy.sparse.linalg, name)
    by_name = arguments_of(original)

    @traced_form(original)
    def solve(*args: Any, **options: Any) -> Any:
        options = by_name(*args, **options)
        A, b = options.pop("A"), options.pop("b")
        if isinstance(A, (Traced, SparseArray)) or holds_traced(options):
            raise UnsupportedError(
                f"{name}: only b is traced; with a traced A solve the normal equations by "
                f"linad.scipy.sparse.linalg.spsolve, or use np.linalg.lstsq"
            )
        b = inexact(b)
        if b.ndim == 2 and b.shape[1] == 1:
            b = b[:, 0]
        if b.ndim != 1 or b.shape[0] != A.shape[0]:
            raise ShapeError(f"{name}: A has shape {A.shape} and b {b.shape}")
        op = scipy.sparse.linalg.aslinearoperator(A.copy() if hasattr(A, "copy") else A)
        found = list(original(op, concrete(b), **options))
        calm = {key: value for key, value in options.items() if key not in ("x0", "show")}

        def of(matrix: Any) -> Callable[[Any], Any]:
            def columns(w: Array) -> Any:
                if w.ndim == 2:
                    return np.stack([columns(c) for c in w.T], axis=1)
                if w.dtype.kind == "c" and np.dtype(matrix.dtype).kind != "c":
                    return columns(w.real) + 1j * columns(w.imag)
                return original(matrix, w, **calm)[0]

            return columns

        forth, back = of(op), of(op.H)
        inverse = LinearOperator(
            op.shape[::-1],
            matvec=forth,
            matmat=forth,
            rmatvec=back,
            rmatmat=back,
            dtype=np.promote_types(op.dtype, np.float32),
        )
        found[0] = x = apply_operator(b, op=inverse, adjoint=False)
        r = b - apply_operator(x, op=op, adjoint=False)
        for place, norm in _norms(name, x, options.get("x0"), r, options.get("damp", 0.0)).items():
            found[place] = with_derivative(np.asarray(found[place])[()], norm)
        return tuple(found)

    return solve


lsqr = _mirror("lsqr")
lsmr = _mirror("lsmr")
