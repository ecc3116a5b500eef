"""Sums of Kronecker products, as of a Laplacian on a box, and what applies their inverses.

Matrices that act along different axes of an array,

    A X + X B^T            A ⊗ I + I ⊗ B
    A ⊗ I ⊗ I + I ⊗ B ⊗ I + I ⊗ I ⊗ C + α I

are inverted through the factors alone. Two of any kind by their Schur forms A = U R U^H and
B = V S V^H (Bartels and Stewart): R Y + Y S^T = U^H C V* is solved by substitution. More of them,
if all are hermitian, by their eigenvalues: in the basis of eigenvectors the sum is the diagonal
λ_i + μ_j + ν_k. Two products with factors on both axes come down to that,

    A_1 X B_1^T + A_2 X B_2^T = C      (A_1^-1 A_2) X + X (B_2^-1 B_1)^T = A_1^-1 C B_2^-T

Sources: R. H. Bartels, G. W. Stewart, "Solution of the matrix equation AX + XB = C", 1972;
R. E. Lynch, J. R. Rice, D. H. Thomas, "Direct solution of partial difference equations by tensor
product methods", 1964; K.-W. E. Chu, "The solution of the matrix equations AXB - CXD = E", 1987.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs, schur

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import size_of
from linad.operators.algebra import compose, matching
from linad.operators.base import JacobianOperator
from linad.operators.composites import Chain, Sum, recognises
from linad.operators.factors import (
    WHAT,
    DenseLU,
    Factored,
    check_condition,
    check_finite,
    double,
    reciprocal_condition,
)
from linad.operators.facts import NOTHING, is_hermitian
from linad.operators.foreign import Foreign
from linad.operators.matrices import Kronecker
from linad.operators.reordering import Permutation, Reshape
from linad.operators.structured import Diagonal, Identity
from linad.operators.tagged import Tagged
from linad.operators.wrappers import Reshaped, Scaled

LONGEST = 2000
"""Largest matrix along an axis: its Schur form costs 25 n^3 operations."""

MOST_TERMS = 64

TRUSTED = 1e8
"""Condition number up to which factors are divided away."""

Piece = dict[int, Any]
"""A Kronecker product: the matrices, by how many entries lie before their axis (in C order, the
product of the lengths of the axes in front); at `IDENTITY` a multiple of the identity."""

IDENTITY = 0


@dataclass
class KroneckerSum:
    """The sum of Kronecker products, each along some axes of one array.

    Attributes
    ----------
    axes : list of (before, length)
        Where matrices act, from the first axis to the last.
    pieces : list of dict
        See `Piece`; factors of one are included.
    op : JacobianOperator
        What was seen to be this.
    """

    axes: list[tuple[int, int]]
    pieces: list[Piece]
    op: JacobianOperator

    def pattern_names(self) -> set[str]:
        return {"kronecker sum" if len(self.pieces) > 1 else "kronecker"}

    def definiteness(self) -> int:
        return NOTHING  # which its terms tell as well

    def inverse_form(self) -> JacobianOperator | None:
        """The inverse through the factors, or None where it is of no use.

        Raises
        ------
        SingularError
            If the sum is singular.
        """
        axes, pieces, op = self.axes, self.pieces, self.op
        plain = all([len(piece) == 1 for piece in pieces])
        if plain and len(axes) > 2:
            if not all([is_hermitian(a) for piece in pieces for a in piece.values()]):
                return None
        elif len(axes) > 2 or len(pieces) != len(axes):
            return None
        lengths = [n for _, n in axes]
        rows = [[piece.get(before) for before, _ in axes] for piece in pieces]
        try:
            if len(axes) == 1:
                ((matrix,),) = [piece.values() for piece in pieces]
                inverse: Factored = DenseLU(matrix.astype(op.dtype, copy=False))
            else:
                inverse = KroneckerSumInverse(rows, lengths, op.dtype)
        except NotSeparableError:
            return None
        return matching(_along_axes(inverse, axes, op.shape[0]), op.in_shape, op.out_shape)


@recognises(Sum, Chain)
def kronecker_sum(op: JacobianOperator) -> KroneckerSum | None:
    """What a square, simplified operator is as a sum of Kronecker products, or None."""
    pieces: list[Piece] = []
    if op.shape[0] != op.shape[1] or 0 in op.shape or not _gathered(op, 1.0, pieces):
        return None
    lengths: dict[int, int] = {}
    for piece in pieces:
        for before, a in piece.items():
            if before != IDENTITY and lengths.setdefault(before, len(a)) != len(a):
                return None
    axes = sorted(lengths.items())
    for (before, n), (after, _) in itertools.pairwise(axes):
        if after % (before * n):
            return None
    return KroneckerSum(axes, _merged(pieces), op) if axes else None


def _gathered(op: Any, factor: Any, pieces: list[Piece]) -> bool:
    """Add the terms of an operator times a number; False if one is something else."""
    kind = type(op)
    if kind is Sum:
        return all(_gathered(term, factor, pieces) for term in op.terms)
    if kind is Scaled:
        return not isinstance(op.alpha, Traced) and _gathered(op.op, factor * op.alpha, pieces)
    if kind in (Reshaped, Tagged):
        return _gathered(op.op, factor, pieces)
    if kind is Chain:
        inner = []
        for f in op.factors:
            if _is_number(f):
                factor = factor * f.entries
            elif type(f) is not Reshape and type(f) is not Identity:
                inner.append(f)
        if len(inner) == 1:
            return _gathered(inner[0], factor, pieces)
        if inner:
            return False
        op, kind = Identity(op.in_shape, op.dtype), Identity
    if len(pieces) == MOST_TERMS:
        return False
    if kind is Identity or _is_number(op):
        pieces.append({IDENTITY: np.array([[factor * getattr(op, "entries", 1.0)]], op.dtype)})
        return True
    piece = _piece_of(op, factor) if kind is Kronecker and op.in_shape == op.out_shape else None
    if piece is not None:
        pieces.append(piece)
    return piece is not None


def _piece_of(op: Kronecker, factor: Any) -> Piece | None:
    """A Kronecker product times a number, by its axes; None if a matrix is long or traced."""
    found: Piece = {}
    lead, m = size_of(op.in_shape[:-2]), op.in_shape[-2]
    for before, a in ((lead, op.left), (lead * m, op.right)):
        if a is not None:
            if isinstance(a, Traced) or a.ndim != 2 or len(a) > LONGEST:
                return None
            found[before] = a
    first = min(found)
    found[first] = factor * found[first]
    return found


def _is_number(op: Any) -> bool:
    """Whether an operator multiplies by one number."""
    return type(op) is Diagonal and not isinstance(op.entries, Traced) and np.ndim(op.entries) == 0


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Terms along one and the same axis as one; multiples of the identity added to one of them."""
    shift = sum([piece[IDENTITY][0, 0] for piece in pieces if IDENTITY in piece])
    single: Piece = {}
    several = []
    for piece in pieces:
        if IDENTITY in piece:
            continue
        if len(piece) > 1:
            several.append(piece)
            continue
        ((before, a),) = piece.items()
        single[before] = single[before] + a if before in single else a
    found = [{before: a} for before, a in sorted(single.items())]
    if any(IDENTITY in piece for piece in pieces):
        place = found[0] if found else {min(several[0]): np.zeros_like(several[0][min(several[0])])}
        ((before, a),) = place.items()
        place[before] = a + shift * np.eye(len(a), dtype=a.dtype)
        found = found or [place]
    return found + several


class NotSeparableError(Exception):
    """Factors that would have to be divided away are nearly singular; the sum need not be."""


class KroneckerSumInverse(Factored):
    """The inverse of a sum of Kronecker products, on arrays with those axes alone.

    Parameters
    ----------
    pieces : list of list of (array or None)
        Of each term the matrix along each axis; None is the identity.
    lengths : list of int
        Of the axes.
    dtype : numpy.dtype

    Raises
    ------
    SingularError
        If the sum is singular.
    NotSeparableError
        If only a factorisation of the whole can tell.

    Notes
    -----
    25 Σ n_i^3 operations at first, then about 2 N Σ n_i per right side of N numbers.
    """

    def __init__(
        self, pieces: list[list[Any]], lengths: list[int], dtype: np.dtype[Any], what: str = WHAT
    ) -> None:
        n = math.prod(lengths)
        super().__init__(dtype, n)
        self.lengths = lengths
        self.before: list[Any] = [None] * len(lengths)
        for piece in pieces:
            for a in piece:
                if a is not None:
                    check_finite(a, what)
        matrices = self._separated(pieces, what)
        if all(map(is_hermitian, matrices)):
            self.method = "eigenvectors"
            found = [np.linalg.eigh(a) for a in matrices]
            self.vectors = [q for _, q in found]
            self.sums = np.zeros(lengths)
            for k, (values, _) in enumerate(found):
                self.sums += values.reshape([-1 if j == k else 1 for j in range(len(lengths))])
            sizes = np.abs(self.sums)
            check_condition(float(sizes.min() / (sizes.max() or 1.0)), dtype, what)
            return
        self.method = "Schur forms"
        a, b = matrices
        form = "complex" if self.dtype.kind == "c" else "real"
        (self.R, self.U), (self.S, self.V) = schur(a, form), schur(b, form)
        norm = sum([float(np.abs(x).sum(axis=1).max()) for x in (a, b)])
        check_condition(reciprocal_condition(self._sylvester, norm, n), dtype, what)

    def _separated(self, pieces: list[list[Any]], what: str) -> list[Any]:
        """The matrix along each axis, if need be after factors are divided away."""
        lengths, kind = self.lengths, double(self.dtype)
        if all([sum([a is not None for a in piece]) == 1 for piece in pieces]):
            found = [np.zeros((k, k), kind) for k in lengths]
            for piece in pieces:
                for k, a in enumerate(piece):
                    if a is not None:
                        found[k] = found[k] + a
            return found
        (a1, b1), (a2, b2) = [
            [np.eye(k, dtype=kind) if a is None else a for a, k in zip(piece, lengths, strict=True)]
            for piece in pieces
        ]
        # Divide by the factors that are better conditioned.
        if _worst(a2, b1) < _worst(a1, b2):
            a1, b1, a2, b2 = a2, b2, a1, b1
        if not _worst(a1, b2) <= TRUSTED:
            raise NotSeparableError
        self.before = [DenseLU(a1.astype(kind), what), DenseLU(b2.astype(kind), what)]
        return [self.before[0] @ a2, self.before[1] @ b1]

    def solve(self, b: Array, adjoint: bool) -> Any:
        x = b.astype(double(self.dtype), copy=False)
        x = x if adjoint else self._divided(x, False)
        if self.method == "eigenvectors":
            x = self._by_eigenvectors(x)
        else:
            x = self._sylvester(x, adjoint)
        return self._divided(x, True) if adjoint else x

    def _divided(self, x: Array, adjoint: bool) -> Any:
        """By the factors in front."""
        for axis, factors in enumerate(self.before):
            if factors is not None:
                columns = self._along(x, axis)
                solved = (factors.H if adjoint else factors) @ columns.reshape(len(columns), -1)
                x = self._back(solved.reshape(columns.shape), axis)
        return x

    def _along(self, x: Array, axis: int) -> Any:
        """Columns (N, k) as an array (n_axis, the other axes, k)."""
        return np.moveaxis(x.reshape((*self.lengths, -1)), axis, 0)

    def _back(self, x: Array, axis: int) -> Any:
        return np.moveaxis(x, 0, axis).reshape((self.shape[0], -1))

    def _by_eigenvectors(self, x: Array) -> Any:
        """The inverse, which is its own adjoint."""
        for axis, q in enumerate(self.vectors):
            x = self._back(np.tensordot(q.conj().T, self._along(x, axis), 1), axis)
        x = (x.reshape((*self.lengths, -1)) / self.sums[..., None]).reshape(x.shape)
        for axis, q in enumerate(self.vectors):
            x = self._back(np.tensordot(q, self._along(x, axis), 1), axis)
        return x

    def _sylvester(self, x: Array, adjoint: bool) -> Any:
        """A X + X B^T = C, or A^H X + X B* = C, for each column."""
        (trsyl,) = get_lapack_funcs(("trsyl",), (self.R, self.S))
        found = np.empty(x.shape, self.R.dtype)
        first, second = ("C", "N") if adjoint else ("N", "C")
        for k in range(x.shape[1]):
            # In Y = U^H X V* this is R Y + Y S^T, or R^H Y + Y S*.
            F = self.U.conj().T @ x[:, k].reshape(self.lengths) @ self.V.conj()
            Y, scale, _ = trsyl(self.R, self.S.conj(), F, trana=first, tranb=second)
            found[:, k] = (self.U @ (Y / scale) @ self.V.T).reshape(-1)
        return found


def _worst(*matrices: Any) -> float:
    return max([float(np.linalg.cond(a)) for a in matrices])


def _along_axes(inverse: Any, axes: list[tuple[int, int]], size: int) -> JacobianOperator:
    """An operator on arrays of some axes, for vectors of arrays that have others as well."""
    shape, here = [], 1
    for before, n in axes:
        shape += [before // here, n]
        here = before * n
    shape.append(size // here)
    others, own = list(range(0, len(shape), 2)), list(range(1, len(shape), 2))
    lead = size_of([shape[k] for k in others])
    if lead == 1:
        return Foreign(inverse)
    apart = Permutation((*others, *own), tuple(shape), inverse.dtype)
    rows = (lead, size // lead)
    into = compose(
        Reshape(rows, apart.out_shape, inverse.dtype),
        compose(apart, Reshape(tuple(shape), (size,), inverse.dtype)),
    )
    return compose(into.H, compose(Foreign(inverse, lead=(lead,)), into))
