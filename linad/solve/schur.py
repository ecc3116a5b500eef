"""Normal equations with a large block diagonal part, as in bundle adjustment.

    [ U   W ] [ a ]   [ f ]        S = U - W V^-1 W^H
    [ W^H V ] [ b ] = [ g ]        S a = f - W V^-1 g        b = V^-1 (g - W^H a)

V, of the unknowns b, is block diagonal with small equal blocks (the points), so its inverse
costs next to nothing; S, of the unknowns a (the cameras), is small and dense. Which unknowns
are which is read from the pattern.

Source: B. Triggs and others, "Bundle adjustment: a modern synthesis", 2000, section 6.
"""

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from linad.solve.systems import SingularError

SMALL_BLOCK = 12
LARGEST_COMPLEMENT = 2000
FEWEST_BLOCKS = 50
MOST_COUPLINGS = 50_000_000
"""Entries of W, which is made dense."""


class Elimination:
    """Unknowns first..last in blocks of ``block`` are eliminated; the others are kept.

    Parameters
    ----------
    n : int
        Number of unknowns.
    first, last, block : int
        The unknowns b are ``first:last``, in blocks of this length.
    """

    def __init__(self, n: int, first: int, last: int, block: int) -> None:
        self.first, self.last, self.block = first, last, block
        self.kept = np.concatenate([np.arange(first), np.arange(last, n)])
        self.inner = np.arange(first, last)

    def solve(self, normal: Any, damping: Any, rhs: Any) -> Any:
        """Solve (normal + diag(damping)) x = rhs.

        Raises
        ------
        numpy.linalg.LinAlgError
            If the matrix is not positive definite.
        """
        kept, inner, k = self.kept, self.inner, self.block
        columns = normal[:, self.first : self.last]
        blocks = self._blocks(columns)
        index = np.arange(k)
        blocks[:, index, index] += damping[inner].reshape(-1, k)
        try:
            L = np.linalg.cholesky(blocks)
        except np.linalg.LinAlgError as error:
            raise SingularError(f"a block of the normal equations is singular: {error}") from error
        # Rows of W^H, solved with the Cholesky factors block by block: Y = L^-1 W^H.
        count = len(blocks)
        W = self._couplings(columns)
        inverse = np.linalg.inv(L)
        Y = (inverse @ W.conj().T.reshape(count, k, kept.size)).reshape(count * k, kept.size)
        y = (inverse @ rhs[inner].reshape(count, k, 1)).reshape(count * k)
        x = np.empty(rhs.shape, np.result_type(rhs, Y))
        if kept.size:
            U = normal[:, kept][kept, :].toarray()
            U[np.arange(kept.size), np.arange(kept.size)] += damping[kept]
            S = U - Y.conj().T @ Y
            try:
                factor = cho_factor(S, lower=True, check_finite=False)
            except np.linalg.LinAlgError as error:
                raise SingularError(f"the Schur complement is singular: {error}") from error
            x[kept] = cho_solve(factor, rhs[kept] - Y.conj().T @ y, check_finite=False)
            y = y - Y @ x[kept]
        back = inverse.conj().swapaxes(1, 2) @ y.reshape(count, k, 1)
        x[inner] = back.reshape(count * k)
        return x

    def _blocks(self, columns: Any) -> Any:
        """The diagonal blocks (count, k, k) of V, from its columns in CSC form."""
        k = self.block
        count = (self.last - self.first) // k
        entry = columns.tocoo()
        row, column = entry.coords if hasattr(entry, "coords") else (entry.row, entry.col)
        row = row - self.first
        inside = (row >= 0) & (row < self.last - self.first)
        row, column, data = row[inside], column[inside], entry.data[inside]
        blocks = np.zeros((count, k, k), entry.data.dtype)
        blocks[row // k, row % k, column % k] = data
        return blocks

    def _couplings(self, columns: Any) -> Any:
        """W, the rows of the kept unknowns, dense (kept, inner)."""
        return columns[self.kept, :].toarray()


def elimination_for(normal: Any) -> Elimination | None:
    """Find unknowns to eliminate in the pattern of normal equations; None where none pay.

    Parameters
    ----------
    normal : csc_array (n, n)
        J^H J.

    Returns
    -------
    Elimination or None

    Notes
    -----
    Looks for the longest run of consecutive unknowns that are tied to each other only within
    blocks of k neighbours, for k up to `SMALL_BLOCK`. Costs a few passes over the pattern.
    """
    n = normal.shape[0]
    entry = normal.tocoo()
    row, column = entry.coords if hasattr(entry, "coords") else (entry.row, entry.col)
    best: Elimination | None = None
    for first, last, k in _runs(row, column, n):
        kept = n - (last - first)
        pays = (
            (last - first) // k >= FEWEST_BLOCKS
            and kept <= min(LARGEST_COMPLEMENT, (last - first) // 2)
            and kept * (last - first) <= MOST_COUPLINGS
        )
        if pays and (best is None or last - first > best.last - best.first):
            best = Elimination(n, first, last, k)
    return best


def _runs(row: Any, column: Any, n: int) -> list[tuple[int, int, int]]:
    """Candidates (first, last, k): tails and heads that are block diagonal with blocks of k."""
    found = []
    for k in range(1, SMALL_BLOCK + 1):
        # Counted from the end: the last unknowns, in blocks that end with n.
        tail = _longest(n - 1 - row, n - 1 - column, n, k)
        found.append((n - tail, n, k))
        found.append((0, _longest(row, column, n, k), k))
    return found


def _longest(row: Any, column: Any, n: int, k: int) -> int:
    """How many unknowns from 0 on are tied only within blocks of k; a multiple of k."""
    across = row // k != column // k
    # An entry that crosses blocks is harmless only if one of its ends lies outside of the run.
    outer = np.maximum(row[across], column[across])
    end = int(outer.min()) if outer.size else n
    return end // k * k
