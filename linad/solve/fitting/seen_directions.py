"""What residuals tell of the parameters they were fitted by: the directions in which they change.

    J D^-1 = U Σ V^T        (J^T J)^-1 = D^-1 V Σ^-2 V^T D^-1

with D the norms of the columns of J, so that units do not count. A direction v of V with σ = 0 is
open: no residual changes along D^-1 v.
"""

from typing import Any

import numpy as np

FAINT = np.finfo(float).tiny / np.finfo(float).eps
"""What columns of a Jacobian are not above are rounding errors of zero, whose inverse overflows."""

SEEN = 1e-6
"""Relative to the largest, components of a direction that count."""

PART = 0.1
"""The same of those that are named."""


class SeenDirections:
    """The singular values of a Jacobian, and their directions.

    Parameters
    ----------
    J : ndarray (m, n)
        Of the residuals in the free parameters.

    Attributes
    ----------
    known : bool
        Whether the Jacobian is finite: else nothing is known, not even what is open.
    """

    def __init__(self, J: Any) -> None:
        n = J.shape[1]
        self.known = bool(np.isfinite(J).all())
        if not self.known:
            self._s, self._vt = np.full(n, np.nan), np.eye(n)
            self._kept, self._scale = np.ones(n, bool), np.ones(n)
            return
        largest = np.abs(J).max(axis=0, initial=0.0)
        largest = np.where(largest > 0, largest, 1.0)  # their squares may overflow
        norms = np.linalg.norm(J / largest, axis=0) * largest
        J = np.where(norms > FAINT, J, 0.0)
        self._scale = np.where(norms > FAINT, norms, 1.0)
        R = J / self._scale
        if len(R) > n:
            R = np.linalg.qr(R, mode="r")  # it has the same singular values and directions
        _, s, self._vt = np.linalg.svd(R, full_matrices=len(R) < n)
        self._s = s = np.concatenate([s, np.zeros(n - len(s))])
        self._kept = s > np.finfo(float).eps * max(J.shape) * s.max(initial=0.0)

    def covariance(self, variance: float, rows: Any = None) -> Any:
        """s² (J^T J)^-1, or what a x for each row a of a matrix has of it; infinite in what an
        open direction changes."""
        scaled = (np.eye(len(self._scale)) if rows is None else rows) / self._scale
        half = self._seen(scaled)
        found = variance * (half @ half.T)
        left = self._is_open(scaled)
        # Of a number that nothing changes the covariance with anything is zero.
        still = ~scaled.any(axis=1)
        found[left, :] = found[:, left] = np.inf
        found[still, :] = found[:, still] = 0.0
        return found

    def unseen(self) -> list[tuple[Any, Any]]:
        """Open directions: the places of their components, and these.

        As few as may be in each, by Gauss-Jordan elimination; the first is 1.
        """
        basis = self._vt[~self._kept].copy()
        for done in range(len(basis)):
            rest = np.abs(basis[done:])
            row, column = map(int, np.unravel_index(np.argmax(rest), rest.shape))
            basis[[done, done + row]] = basis[[done + row, done]]
            basis[done] /= basis[done, column]
            others = np.arange(len(basis)) != done
            basis[others] -= np.outer(basis[others, column], basis[done])
        found = []
        for v in basis:
            moved = np.flatnonzero(np.abs(v) > SEEN)
            steps = v[moved] / self._scale[moved]
            found.append((moved, steps / steps[0]))
        return found

    def weakest(self) -> tuple[float, list[int]]:
        """How much less residuals change along the direction that they know least than along that
        which they know best, for columns of one length; and the places of its components."""
        if not self._kept.any() or not self._s.max() > 0:
            return 1.0, []
        last = int(np.flatnonzero(self._kept)[-1])
        v = np.abs(self._vt[last])
        return float(self._s[last] / self._s.max()), np.flatnonzero(v > PART * v.max()).tolist()

    def spread(self, rows: Any, variance: float) -> Any:
        """The standard error of a x for each row a of a matrix; infinite where an open direction
        changes it."""
        scaled = rows / self._scale
        errors = np.sqrt(variance) * np.linalg.norm(self._seen(scaled), axis=1)
        return np.where(self._is_open(scaled), np.inf, errors)

    def _seen(self, scaled: Any) -> Any:
        """Rows along the directions that are seen, divided by how well."""
        return scaled @ (self._vt[self._kept] / self._s[self._kept, None]).T

    def _is_open(self, scaled: Any) -> Any:
        """Which rows have a part along an open direction."""
        seen = SEEN * np.linalg.norm(scaled, axis=1)
        return (np.abs(scaled @ self._vt[~self._kept].T) > seen[:, None]).any(axis=1)
