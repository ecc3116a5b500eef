"""Operators side by side: identity matrices, stacks and block diagonals.

What `scipy.sparse` has for matrices and lacks for operators. The parts are anything that
acts as a matrix; they are applied one after the other, never formed.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.options import COUNT, DTYPE, takes
from linad.core.showing import shown
from linad.errors import DTypeError, OperandError, ShapeError, SingularError
from linad.operators.algebra import as_operator, common_dtypes, fitted, matching
from linad.operators.base import JacobianOperator
from linad.operators.block_substitution import BlockTriangularSolve
from linad.operators.composites import bare
from linad.operators.facts import (
    NOTHING,
    both,
    column_squares_of,
    diagonal_of,
    norm_of,
    real_dtype,
    triangle_names,
)
from linad.operators.structured import Identity, Zero
from linad.operators.typed import Typed
from linad.operators.wrappers import matched


class Blocks(Typed):
    """A matrix of blocks, of which the missing ones are zero.

    Parameters
    ----------
    blocks : list of (row, column, operator)
        Operators on flat vectors, of the same dtypes; every block row and every block column
        holds at least one.
    heights, widths : list of int
        Rows of each block row, columns of each block column.

    Notes
    -----
    One application of every block, and one copy of the result.
    """

    unknown = "adjoint_form multiple relation"

    owns_result = True

    def __init__(
        self,
        blocks: list[tuple[int, int, JacobianOperator]],
        heights: list[int],
        widths: list[int],
    ) -> None:
        self.blocks = blocks
        self.heights, self.widths = heights, widths
        self._rows, self._columns = _slices(heights), _slices(widths)
        ops = [op for _, _, op in blocks]
        self._in_dtype, self._out_dtype = ops[0].in_dtype, ops[0].out_dtype
        self.clinear = all(op.clinear for op in ops)
        self.wide = any(op.wide for op in ops)
        super().__init__((sum(heights),), (sum(widths),), np.result_type(*[op.dtype for op in ops]))

    def pushforward(self, tangent: Array) -> Array:
        return self._apply(tangent, False, lambda op, x: op.pushforward(x))

    def pullback(self, cotangent: Array) -> Array:
        return self._apply(cotangent, True, lambda op, x: op.pullback(x))

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
        if self.wide:
            return self._apply(x, adjoint, lambda op, part: op._apply_rows(part, adjoint))
        return super()._apply_rows(x, adjoint)

    def _apply(self, x: Array, adjoint: bool, apply: Callable[..., Any]) -> Any:
        """Apply every block to its part of x (..., n) and join what they give."""
        taken = self._rows if adjoint else self._columns
        parts: list[Any] = [None] * len(self._columns if adjoint else self._rows)
        for i, j, op in self.blocks:
            source, target = (i, j) if adjoint else (j, i)
            part = apply(op, x[..., taken[source]])
            parts[target] = part if parts[target] is None else parts[target] + part
        return np.concatenate(parts, axis=-1)

    def places(self) -> set[tuple[int, int]]:
        """Block rows and columns of the blocks that are not zero."""
        return {(i, j) for i, j, block in self.blocks if type(block) is not Zero}

    def pattern_names(self) -> set[str]:
        places, square = self.places(), self.heights == self.widths
        names = triangle_names(self)
        if all(i == j for i, j in places):
            return names | {"block diagonal"}
        if square and all(i >= j for i, j in places):
            return names | {"block lower triangular"}
        if square and all(i <= j for i, j in places):
            return names | {"block upper triangular"}
        return names

    def triangles(self) -> tuple[bool, bool]:
        if self.heights != self.widths:
            return False, False
        blocks = [(i, j, block) for i, j, block in self.blocks if type(block) is not Zero]
        return both(block.triangles() if i == j else (i > j, i < j) for i, j, block in blocks)

    def definiteness(self) -> int:
        if self.heights != self.widths or any(i != j for i, j, _ in self.blocks):
            return NOTHING
        return min(block.definiteness() for _, _, block in self.blocks)

    def diagonal_entries(self) -> Any:
        if self.heights != self.widths:
            return None
        parts = [np.zeros(k, self.dtype) for k in self.heights]
        for i, j, block in self.blocks:
            if i == j:
                found = diagonal_of(bare(block))
                if found is None:
                    return None
                parts[i] = parts[i] + found
        return np.concatenate(parts)

    def column_squares(self) -> Any:
        if len({(i, j) for i, j, _ in self.blocks}) < len(self.blocks):
            return None
        parts = [np.zeros(k, real_dtype(self.dtype)) for k in self.widths]
        for _, j, block in self.blocks:
            found = column_squares_of(bare(block))
            if found is None:
                return None
            parts[j] = parts[j] + found
        return np.concatenate(parts)

    def spectral_norm(self) -> Any:
        if any(i != j for i, j, _ in self.blocks) or len(self.blocks) < len(self.heights):
            return None
        found = [norm_of(bare(block)) for _, _, block in self.blocks]
        return None if None in found else max(found)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        # Block by block
        blocks = [(i, j, simplify(block)) for i, j, block in self.blocks]
        if all(new is old for (_, _, new), (_, _, old) in zip(blocks, self.blocks, strict=True)):
            return None
        return Blocks(blocks, self.heights, self.widths)

    def inverse_form(self) -> JacobianOperator | None:
        if self.heights != self.widths or self.wide:
            return None
        places = [(i, j) for i, j, _ in self.blocks]
        lower, upper = all(i >= j for i, j in places), all(i <= j for i, j in places)
        if not (lower or upper) or len(set(places)) < len(places):
            return None
        diagonal: dict[int, JacobianOperator] = {}
        for i, j, block in self.blocks:
            if i == j:
                found = block.inverse_form()
                if found is None:
                    return None
                diagonal[i] = matched(found, (self.heights[i],), (self.heights[i],))
        missing = set(range(len(self.heights))) - set(diagonal)
        if any(self.heights[i] for i in missing):
            raise SingularError(
                f"inverse: {self._label()} is block triangular, and block {min(missing)} "
                f"on its diagonal is zero"
            )
        if missing:
            return None
        inverses = [diagonal[i] for i in range(len(self.heights))]
        if lower and upper:
            return Blocks([(i, i, b) for i, b in enumerate(inverses)], self.heights, self.widths)
        rest = [(i, j, block) for i, j, block in self.blocks if i != j]
        return BlockTriangularSolve(inverses, rest, self.heights, lower)


def _slices(lengths: list[int]) -> list[slice]:
    ends = np.cumsum([0, *lengths]).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


@takes(n=COUNT)
def eye(n: int, dtype: Any = float) -> JacobianOperator:
    """Return the identity on vectors of length n.

    Parameters
    ----------
    n : int
        Number of rows and columns.
    dtype : dtype
        Floating or complex. Taken from an operator (``J.dtype``), sums with it keep its dtype.

    Returns
    -------
    Identity
        A `scipy.sparse.linalg.LinearOperator` of shape (n, n).

    Raises
    ------
    DTypeError
        If dtype is neither floating nor complex.
    OptionError
        If n is not a number of rows.

    Examples
    --------
    >>> import numpy as np, linad
    >>> _, J = linad.linearize(np.sin, np.zeros(3))
    >>> (J.T @ J + 0.5 * linad.eye(3)) @ np.ones(3)
    array([1.5, 1.5, 1.5])
    """
    if not DTYPE.fits(dtype):
        raise DTypeError(f"eye: dtype must be {DTYPE.words}, got {shown(dtype)}")
    return Identity((int(n),), np.dtype(dtype))


def _operators(ops: Sequence[Any], name: str) -> list[JacobianOperator]:
    """Each as an operator on flat vectors."""
    if not isinstance(ops, Sequence) or not ops:
        raise OperandError(f"{name}: expected a list of one or more operators, got {shown(ops)}")
    found = [as_operator(op, f"{name}: ops[{k}]") for k, op in enumerate(ops)]
    return [matching(op, op.shape[:1], op.shape[1:]) for op in found]


def _blocks(ops: list[JacobianOperator], rows: Sequence[int], columns: Sequence[int]) -> Blocks:
    """Put operators at the given places of a matrix of blocks."""
    heights, widths = [0] * (max(rows) + 1), [0] * (max(columns) + 1)
    for i, j, op in zip(rows, columns, ops, strict=True):
        heights[i], widths[j] = op.shape
    dtypes = common_dtypes(ops)
    fits = [fitted(op, *dtypes) for op in ops]
    return Blocks(list(zip(rows, columns, fits, strict=True)), heights, widths)


def vstack(ops: Sequence[Any]) -> JacobianOperator:
    """Stack operators on top of each other: y is their results, one after the other.

    Parameters
    ----------
    ops : list of JacobianOperator, LinearOperator, sparse array or array (m_i, n)
        All with n columns. Operators of containers act on flat vectors.

    Returns
    -------
    JacobianOperator
        Of shape (sum of m_i, n).

    Raises
    ------
    ShapeError
        If the numbers of columns differ.
    OperandError
        If a part does not act as a matrix, or there is none.

    Examples
    --------
    Damped least squares, as a larger problem without damping:

    >>> import numpy as np, linad
    >>> from scipy.sparse.linalg import lsmr
    >>> _, J = linad.linearize(np.sin, np.zeros(3))
    >>> A = linad.vstack([J, 2.0 * linad.eye(3)])
    >>> lsmr(A, np.r_[np.ones(3), np.zeros(3)])[0]
    array([0.2, 0.2, 0.2])
    """
    found = _operators(ops, "vstack")
    if len({op.shape[1] for op in found}) > 1:
        raise ShapeError(
            f"vstack: the operators must have equally many columns, their shapes are "
            f"{[op.shape for op in found]}"
        )
    return _blocks(found, range(len(found)), [0] * len(found))


def hstack(ops: Sequence[Any]) -> JacobianOperator:
    """Put operators side by side: y is the sum of what each makes of its part of x.

    Parameters
    ----------
    ops : list of JacobianOperator, LinearOperator, sparse array or array (m, n_i)
        All with m rows. Operators of containers act on flat vectors.

    Returns
    -------
    JacobianOperator
        Of shape (m, sum of n_i).

    Raises
    ------
    ShapeError
        If the numbers of rows differ.
    OperandError
        If a part does not act as a matrix, or there is none.
    """
    found = _operators(ops, "hstack")
    if len({op.shape[0] for op in found}) > 1:
        raise ShapeError(
            f"hstack: the operators must have equally many rows, their shapes are "
            f"{[op.shape for op in found]}"
        )
    return _blocks(found, [0] * len(found), range(len(found)))


def block_diag(ops: Sequence[Any]) -> JacobianOperator:
    """Put operators on the diagonal of a matrix of blocks: each maps its own part of x.

    Parameters
    ----------
    ops : list of JacobianOperator, LinearOperator, sparse array or array (m_i, n_i)
        Operators of containers act on flat vectors.

    Returns
    -------
    JacobianOperator
        Of shape (sum of m_i, sum of n_i).

    Raises
    ------
    OperandError
        If a part does not act as a matrix, or there is none.
    """
    found = _operators(ops, "block_diag")
    return _blocks(found, range(len(found)), range(len(found)))
