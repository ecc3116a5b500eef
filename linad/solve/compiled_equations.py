"""Equations of a jitted function with a sparse Jacobian: residual and entries by one program."""

from collections.abc import Callable
from typing import Any

from scipy.sparse.linalg import aslinearoperator

from linad.api.derivatives import linearize
from linad.api.differentiated_call import DifferentiatedCall
from linad.api.sparse_programs import program_of
from linad.core.array_type import Array
from linad.core.shapes import name_of
from linad.jit.jitted import Jitted
from linad.linalg.sparsity.compress import stored
from linad.operators.foreign import Foreign
from linad.solve.problems import CountedOperator, Equations, quiet
from linad.solve.step_systems import choose, seen_through
from linad.solve.waiting import Waiting


def _with_values(f: Callable[..., Any], args: tuple[Any, ...], argnums: int) -> tuple[Any, Any]:
    return DifferentiatedCall(f, args, {}, argnums).linearize()


class CompiledEquations(Equations):
    """F(x) = 0; where its systems are solved by sparse factors, `linearize` runs one program.

    Parameters
    ----------
    f : Jitted
    x0, args, name
        As for `Equations`.
    linear_solver : str
    """

    def __init__(
        self, f: Jitted, x0: Any, args: tuple[Any, ...], name: str, linear_solver: str
    ) -> None:
        super().__init__(seen_through(f, linear_solver, x0), x0, args, name)
        self.waiting = Waiting(name, name_of(f), f, f)
        self.jitted, self.linear_solver = f, linear_solver
        self.sparse: bool | None = None  # not known before the first point

    def linearize(self, x: Array) -> tuple[Any, CountedOperator]:
        if self.sparse is None:
            r, J = super().linearize(x)
            self.sparse = choose(J, self.linear_solver) == "sparse"
            return r, J
        found = None
        if self.sparse:
            program = program_of(self.jitted, _with_values, 0, False)
            with quiet():
                found = program((self.x.container(x), *self.args))
        if found is None:
            return super().linearize(x)
        values, pattern, data = found
        self.counts.nfev += 1
        self.counts.njev += 1
        J = Foreign(aslinearoperator(stored(pattern, data)))
        return self._vector(values), CountedOperator(J, self)

    def operator(self, x: Array, J: CountedOperator) -> Any:
        if not self.sparse:
            return super().operator(x, J)
        with quiet():
            return linearize(lambda x: self.f(x, *self.args), self.x.container(x))[1]


def equations(f: Any, x0: Any, args: Any, name: str, linear_solver: str) -> Equations:
    """The equations ``f(x) = 0``, compiled where ``f`` is."""
    if isinstance(f, Jitted):
        return CompiledEquations(f, x0, args, name, linear_solver)
    return Equations(f, x0, args, name)
