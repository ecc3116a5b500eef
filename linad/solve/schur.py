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

from linad.core.array_type import Array
from linad.errors import SingularError

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

    def solve(self, normal: Any, damping: Array, rhs: Array) -> Any:
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
        inverse = np.linalg.inv(L)
        W = self._couplings(columns).reshape(count, k, kept.size)
        Y = (inverse @ W).reshape(count * k, kept.size)
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
        """W^H, dense (inner, kept)."""
        rows = columns.T  # CSR, and for real matrices the rows b of the symmetric matrix
        if rows.dtype.kind == "c":
            rows = rows.conj()
        head, tail = rows[:, : self.first], rows[:, self.last :]
        return np.concatenate([head.toarray(), tail.toarray()], axis=1)


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


def _runs(row: Array, column: Array, n: int) -> list[tuple[int, int, int]]:
    """Candidates (first, last, k): tails and heads that are block diagonal with blocks of k.

    An entry between two blocks is harmless only if one of its ends lies outside of the run.
    """
    upper = column > row
    row, column = row[upper].astype(np.int64), column[upper].astype(np.int64)
    far = column - row >= SMALL_BLOCK  # between two blocks, whatever their size
    start = int(row[far].max(initial=-1)) + 1
    end = int(column[far].min(initial=n))
    tail, head = ~far & (row >= start), ~far & (column < end)
    found = []
    for k in range(1, SMALL_BLOCK + 1):
        # Tails are counted from the end: their last block ends with n.
        r, c = row[tail], column[tail]
        first = max(start, int(r[(n - 1 - r) // k != (n - 1 - c) // k].max(initial=-1)) + 1)
        found.append((n - (n - first) // k * k, n, k))
        r, c = row[head], column[head]
        last = min(end, int(c[r // k != c // k].min(initial=n)))
        found.append((0, last // k * k, k))
    return found
