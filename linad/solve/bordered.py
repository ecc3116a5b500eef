"""Systems of a sparse matrix with a column and a row beside it, by the factors of the matrix.

    [J c]
    [r ρ]

J may be singular, or nearly so, where the whole is not: at a fold.
"""

from typing import Any

import numpy as np
import scipy.sparse

from linad.core.array_type import Array
from linad.errors import SingularError
from linad.linalg.linear_systems import LinearSystem
from linad.operators.algebra import as_operator
from linad.operators.factors import SparseLU
from linad.solve.newton import largest

ACCURATE = 1e-9
"""Relative residual of tangents, whose sign tells folds."""


class BorderedSystem:
    """[J c; r ρ] by the factors of J, which has less fill than the whole.

    x = J^-1 (a - μ c), μ = (β - r J^-1 a) / (ρ - r J^-1 c); refined, since J may be nearly
    singular where the whole is not.
    """

    method = "sparse LU"
    iteration = None

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.inner = SparseLU(whole[:-1, :-1], "the Jacobian")
        self.row, self.corner = whole[[-1], :-1].toarray()[0], whole[-1, -1]
        self.column = self.inner @ whole[:-1, [-1]].toarray()[:, 0]
        self.pivot = self.corner - self.row @ self.column
        if self.pivot == 0:
            raise SingularError("the bordered Jacobian is singular")

    def solve(self, b: Array) -> Any:
        """The solution, refined until its residual is small.

        Raises
        ------
        SingularError
            If refinement does not get there.
        """
        x = self.apply(b)
        for _ in range(4):
            left = b - self.whole @ x
            if not np.isfinite(left).all():
                break
            if largest(left) <= ACCURATE * largest(b):
                return x
            x = x + self.apply(left)
        raise SingularError("J is too near to a singular matrix")

    def sign(self) -> float:
        """Of the determinant, det J (ρ - r J^-1 c)."""
        return self.inner.sign() * float(np.sign(self.pivot))

    def apply(self, b: Array) -> Any:
        """About the solution, as a preconditioner needs it."""
        w = self.inner @ b[:-1]
        mu = (b[-1] - self.row @ w) / self.pivot
        return np.append(w - mu * self.column, mu)


def bordered_matrix(matrix: Any, row: Array) -> Any:
    """A sparse matrix with a row below."""
    return scipy.sparse.vstack([matrix, row[None, :]], format="csc")


def bordered_system(matrix: Any, row: Array, b: Array) -> Any:
    """A system with a row below, factorised by parts, or whole where that does not serve ``b``."""
    whole = bordered_matrix(matrix, row)
    try:
        found = BorderedSystem(whole)
        found.solve(b)
    except SingularError:
        return LinearSystem(as_operator(whole), "sparse", what="the bordered Jacobian")
    return found
