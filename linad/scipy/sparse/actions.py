"""The action of the exponential of a sparse matrix, scipy.sparse.linalg.expm_multiply; traced.

With A = B + μ I, μ = tr A / n, and s so large that |B| t / s is below a limit θ_m,

    e^(t A) V = (e^(t μ / s) T_m(t B / s))^s V

where T_m is the Taylor polynomial of degree m. Of pairs (m, θ_m) that keep the backward error below
2^-53 the cheapest is taken. For a traced A or traced times it is made of sparse products, and
derivatives are those of the polynomial; two more terms keep their error as small. With constant
ones it is a linear map of V, whose adjoint is the action of the exponential of A^H.

Source: A. Al-Mohy, N. Higham, "Computing the action of the matrix exponential, with an application
to exponential integrators", SIAM Journal on Scientific Computing 33, 2011, table 3.1.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from scipy.sparse.linalg import LinearOperator

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import OptionError, ShapeError, UnsupportedError
from linad.rules import sparse as products
from linad.rules.shaping import astype, still
from linad.scipy.mirror import bound_form, holds_traced, inexact
from linad.scipy.plain_results import by_scipy
from linad.scipy.sparse.arrays import SparseArray

DEGREES = np.arange(5, 60, 5)
LIMITS = np.array([2.4e-3, 1.4e-1, 6.4e-1, 1.4, 2.4, 3.5, 4.7, 6.0, 7.2, 8.5, 9.9])
"""m, and θ_m for double precision."""

MORE = 2
"""Terms for the derivatives, the first and the second."""


class _Constant:
    """A plain matrix: its action is linear in V, and SciPy's own."""

    def __init__(self, A: Any, trace: Any) -> None:
        self.A, self.trace = A.copy() if hasattr(A, "copy") else A, trace

    def acts(self, t: Any, V: Array) -> Any:
        """e^(t A) V, of a plain time."""
        A = t * self.A
        forth, back = self._action(A, t), self._action(A.conj().T if hasattr(A, "conj") else A.H, t)
        dtype = np.promote_types(A.dtype, np.float32)
        op = LinearOperator(
            A.shape, matvec=forth, matmat=forth, rmatvec=back, rmatmat=back, dtype=dtype
        )
        return products.apply(op, V)

    def _action(self, A: Any, t: Any) -> Callable[[Any], Any]:
        trace = None if self.trace is None else t * self.trace
        return functools.partial(scipy.sparse.linalg.expm_multiply, A, traceA=trace)


class _Moving:
    """A matrix that is traced, or whose action is asked at traced times."""

    def __init__(self, A: Any, trace: Any) -> None:
        self.A, n = A, A.shape[0]
        if isinstance(A, LinearOperator):
            raise UnsupportedError(
                "expm_multiply: a LinearOperator at traced times is not traced by linad; pass a "
                "sparse array"
            )
        self.shift = (A.trace() if trace is None else trace) / n
        data, shift = A.data if isinstance(A, SparseArray) else A, still(self.shift)
        self.norm = by_scipy(self._norm, data, shift, n=n)

    def _norm(self, data: Any, shift: Any, *, n: int) -> Any:
        """|B|, the greatest sum of a column, of plain entries."""
        if isinstance(self.A, SparseArray):
            data = self.A.pattern.matrix(data)
        eye = scipy.sparse.eye_array(n) if scipy.sparse.issparse(data) else np.eye(n)
        return np.max(abs(data - eye * shift).sum(axis=0), initial=0.0)

    def times(self, V: Array) -> Any:
        """B V."""
        return self.A @ V - self.shift * V

    def acts(self, t: Array, V: Array) -> Any:
        """e^(t A) V."""
        # Both are decided: a recorded program holds for them, whatever the norm is.
        steps = np.ceil(self.norm * abs(still(t)) / LIMITS).astype(int)
        best = int(np.argmin(DEGREES * steps))
        m, s = int(DEGREES[best]), max(int(steps[best]), 1)
        grown = np.exp(t * self.shift / s)
        for _ in range(s):
            term = V
            for j in range(1, m + MORE + 1):
                term = self.times(term) * (t / (s * j))
                V = V + term
            V = grown * V
        return V


@bound_form(scipy.sparse.linalg.expm_multiply)
def expm_multiply(
    A: Any, B: Array, start: Any, stop: Array | None, num: Any, endpoint: Any, traceA: Any
) -> Any:
    B = inexact(B)
    if len(A.shape) != 2 or A.shape[1] != A.shape[0]:
        raise ShapeError(f"expm_multiply: A must be a square matrix, got shape {A.shape}")
    if B.ndim not in (1, 2) or B.shape[0] != A.shape[1]:
        raise ShapeError(f"expm_multiply: A has shape {A.shape} and B {B.shape}")
    if traceA is not None and not np.isfinite(still(traceA)):
        raise OptionError(f"expm_multiply: traceA must be finite, got {still(traceA)}")
    moves = isinstance(A, (SparseArray, Traced)) or holds_traced((start, stop, traceA))
    matrix: Any = _Moving(A, traceA) if moves else _Constant(A, traceA)
    if start is None and stop is None and num is None and endpoint is None:
        return matrix.acts(1.0, B)
    if start is None or stop is None:
        raise ValueError("expm_multiply: start and stop must both be given, or neither")
    count = 50 if num is None else int(num)
    if count < 2:
        raise UnsupportedError(
            f"expm_multiply: num={num!r} is not traced by linad; ask for 2 times"
        )
    step = (stop - start) / (count - 1 if endpoint is None or endpoint else count)
    states = [matrix.acts(start, B) if holds_traced(start) or start else B]
    for _ in range(count - 1):
        states.append(matrix.acts(step, states[-1]))
    made = np.stack(states)
    return astype(made, np.result_type(A.dtype, B.dtype, float), copy=False)
