"""Jacobians as matrices: dense and sparse, against sweeps and against assembly by hand."""

import numpy as np
import scipy.sparse

import linad
from linad.linalg.sparsity import pattern_keys as structure
from linad.linalg.sparsity.compress import plan_for
from linad.linalg.sparsity.reach import Compact

from . import ratio
from .workloads.limit import exp, limit


def stencil(u):
    """The 5-point Laplacian, without its factor."""
    v = np.pad(u, 1)
    return v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * u


def bratu(u, lam=6.0):
    return stencil(u) * (len(u) + 1) ** 2 + lam * np.exp(u)


class ByHand:
    """The Jacobian of `bratu`, written with NumPy and SciPy."""

    def __init__(self, n):
        self.n = n
        self.k = np.arange(n * n)
        line = scipy.sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
        eye = scipy.sparse.eye_array(n)
        grid = scipy.sparse.kron(eye, line) + scipy.sparse.kron(line, eye)
        self.laplacian = (grid * (n + 1) ** 2).tocsr()

    def triplets(self, u):
        """From rows, columns and values."""
        n, k = self.n, self.k
        i, j = k // n, k % n
        rows, columns = [k], [k]
        values = [-4.0 * (n + 1) ** 2 + 6.0 * np.exp(u.ravel())]
        for inside, step in ((i > 0, -n), (i < n - 1, n), (j > 0, -1), (j < n - 1, 1)):
            rows.append(k[inside])
            columns.append(k[inside] + step)
            values.append(np.full(inside.sum(), (n + 1.0) ** 2))
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return scipy.sparse.csr_array(entries, shape=(n * n, n * n))

    def diagonals(self, u):
        """From five diagonals."""
        n = self.n
        middle = -4.0 * (n + 1) ** 2 + 6.0 * np.exp(u.ravel())
        far = np.full(n * n - n, (n + 1.0) ** 2)
        near = np.full(n * n - 1, (n + 1.0) ** 2)
        near[n - 1 :: n] = 0
        diagonals = [middle, near, near, far, far]
        return scipy.sparse.diags_array(diagonals, offsets=[0, 1, -1, n, -n]).tocsr()

    def sum(self, u):
        """A Laplacian made beforehand, and a diagonal."""
        return (self.laplacian + scipy.sparse.diags_array(6.0 * np.exp(u.ravel()))).tocsr()


class Stencil:
    """The 5-point stencil on a grid."""

    params = [64, 256]
    param_names = ["side"]

    def setup(self, side):
        self.u = np.random.default_rng(0).standard_normal((side, side))
        self.v = self.u.ravel()
        _, self.J = linad.linearize(stencil, self.u)
        assert self.J.tosparse().nnz == 5 * side**2 - 4 * side

    def time_tosparse(self, side):
        self.J.tosparse()

    def time_tosparse_of_a_new_structure(self, side):
        structure._kept.clear()
        linad.sparse_jacobian(stencil, self.u)

    def time_colouring(self, side):
        plan_for(Compact(self.J.flat).relation)

    def track_colours(self, side):
        return plan_for(Compact(self.J.flat).relation).count

    def track_tosparse_in_sweeps(self, side):
        return ratio(self.J.tosparse, lambda: self.J @ self.v)


class Bratu:
    """The Jacobian at a new point, the run of the function included."""

    params = [["triplets", "diagonals", "sum"]]
    param_names = ["by_hand"]

    def setup(self, by_hand):
        self.u = np.random.default_rng(0).standard_normal((128, 128))
        self.by_hand = getattr(ByHand(128), by_hand)
        difference = linad.sparse_jacobian(bratu, self.u) - self.by_hand(self.u)
        assert abs(difference).max() < 1e-8

    def time_sparse_jacobian(self, by_hand):
        linad.sparse_jacobian(bratu, self.u)

    def track_sparse_jacobian_to_by_hand(self, by_hand):
        return ratio(lambda: linad.sparse_jacobian(bratu, self.u), lambda: self.by_hand(self.u))


@limit
def bratu_entries(u, constant, places, data):
    """What a new point changes in the Jacobian of `bratu`, by hand, into memory that is there."""
    data[:] = constant
    for k, x in enumerate(u):
        data[places[k]] += 6.0 * exp(x)


class CompiledBratu:
    """The Jacobian of a jitted function at a new point, over the least that has to be done."""

    def setup(self):
        rng = np.random.default_rng(0)
        self.u = rng.standard_normal((128, 128))
        self.f = linad.jit(bratu)
        for _ in range(3):
            self.held = linad.sparse_jacobian(self.f, self.u)
        n = self.u.size
        rows = np.repeat(np.arange(n), np.diff(self.held.indptr))
        self.places = np.flatnonzero(rows == self.held.indices)
        self.constant = self.held.data.copy()
        self.constant[self.places] -= 6.0 * np.exp(self.u.ravel())
        self.data = np.empty(self.held.nnz)
        self.by_hand()
        np.testing.assert_allclose(self.data, self.held.data, rtol=1e-12)

    def by_hand(self):
        bratu_entries(self.u.ravel(), self.constant, self.places, self.data)

    def time_sparse_jacobian(self):
        linad.sparse_jacobian(self.f, self.u)

    def track_sparse_jacobian_over_entries_by_hand(self):
        """A matrix of its own, two copies of indices included; wanted: 1.25 or less."""
        return ratio(lambda: linad.sparse_jacobian(self.f, self.u), self.by_hand)

    track_sparse_jacobian_over_entries_by_hand.unit = "ratio"

    def track_refilled_over_entries_by_hand(self):
        return ratio(lambda: linad.sparse_jacobian(self.f, self.u, out=self.held), self.by_hand)

    track_refilled_over_entries_by_hand.unit = "ratio"


def chain(x):
    return np.sum((x[1:] - x[:-1] ** 2) ** 2)


class Dense:
    """Jacobian and Hessian as dense arrays: of a matrix function, and of one that is sparse."""

    params = [[20, 200], ["eager", "compiled"]]
    param_names = ["size", "mode"]

    def setup(self, size, mode):
        rng = np.random.default_rng(0)
        self.x, A = rng.standard_normal(size), rng.standard_normal((size, size)) / size

        def f(x):
            return np.tanh(A @ x)

        self.value, self.A = f, A
        self.functions = linad.jacobian(f), linad.hessian(chain)
        if mode == "compiled":
            self.functions = tuple([linad.jit(g) for g in self.functions])
            for _ in range(2):
                for g in self.functions:
                    g(self.x)
        self.jacobian, self.hessian = self.functions
        np.testing.assert_allclose(self.jacobian(self.x), self.by_hand(), atol=1e-12)

    def by_hand(self):
        y = np.tanh(self.A @ self.x)
        return (1.0 - y * y)[:, None] * self.A

    def time_jacobian(self, size, mode):
        self.jacobian(self.x)

    def time_hessian(self, size, mode):
        self.hessian(self.x)

    def track_jacobian_over_value(self, size, mode):
        return ratio(lambda: self.jacobian(self.x), lambda: self.value(self.x))

    def track_jacobian_over_by_hand(self, size, mode):
        return ratio(lambda: self.jacobian(self.x), self.by_hand)

    def track_hessian_over_value(self, size, mode):
        return ratio(lambda: self.hessian(self.x), lambda: chain(self.x))

    track_jacobian_over_value.unit = "ratio"
    track_jacobian_over_by_hand.unit = "ratio"
    track_hessian_over_value.unit = "ratio"


class SparseHessian:
    """Of the same chain, as a sparse array of SciPy's."""

    params = [20, 200, 20_000]
    param_names = ["size"]

    def setup(self, size):
        self.x = np.random.default_rng(0).standard_normal(size)
        self.time_hessian(size)

    def time_hessian(self, size):
        linad.sparse_hessian(chain, self.x)

    def track_hessian_over_value(self, size):
        return ratio(lambda: linad.sparse_hessian(chain, self.x), lambda: chain(self.x))

    track_hessian_over_value.unit = "ratio"
