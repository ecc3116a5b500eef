"""Exact Jacobian products for `scipy.optimize.newton_krylov`.

SciPy differentiates by differences there, and has no argument for a Jacobian. But it takes the
inner Krylov solver as a function, ``method(A, b, ...)``, with b = F(x) at the current point. So
the function handed to SciPy remembers where it was evaluated, and the inner solver finds the
point by its b and uses the Jacobian operator there in place of A.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import gmres

from linad.api.derivatives import linearize
from linad.core.array_type import Array
from linad.errors import LinadError

REMEMBERED = 4
"""Evaluations kept: a line search may look a little further than where it stops."""


class Remembering:
    """A function that knows where it was last evaluated, and can be linearized there."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self.latest: list[tuple[Any, tuple[Any, ...], Any]] = []

    def __call__(self, x: Any, *args: Any) -> Any:
        value = self.f(x, *args)
        self.latest = [*self.latest[1 - REMEMBERED :], (np.array(x), args, np.array(value))]
        return value

    def jacobian(self, b: Array) -> Any:
        """The Jacobian operator at the point where the value was b.

        Raises
        ------
        LinadError
            If there is no such point among the latest.
        """
        for x, args, value in reversed(self.latest):
            if value.size == b.size and np.array_equal(value.ravel(), b):
                x = x if x.dtype.kind in "fc" else x.astype(float)
                return linearize(lambda x, args=args: self.f(x, *args), x)[1]
        raise LinadError(
            "newton_krylov: SciPy asks for a step from a point where the function was not "
            "evaluated; its line search is one that linad does not know"
        )


def exact_newton_krylov(f: Callable[..., Any], solver: str) -> dict[str, Any]:
    """Keywords for `newton_krylov`, or for `root` with method="krylov"."""
    fun = Remembering(f)

    def exact_gmres(
        A: Any,
        b: Array,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int = 20,
        M: Array | None = None,
    ) -> Any:
        J = fun.jacobian(b)
        return gmres(J, b, rtol=rtol, atol=atol, restart=min(maxiter, b.size), maxiter=1, M=M)

    if solver == "root":
        return {"fun": fun, "options": {"jac_options": {"method": exact_gmres}}}
    return {"F": fun, "method": exact_gmres}
