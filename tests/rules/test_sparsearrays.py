"""Products and systems of sparse matrices, in their entries."""

import numpy as np
import pytest

import linad
from linad.rules.sparsearrays import Factorized, Pattern, sparse_product, sparse_solve
from linad.scipy.sparse.eigen import EigenProblem, eigenpairs
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)

# The place (1, 2) occurs twice, and row 3 is empty.
WIDE = Pattern(np.array([2, 0, 1, 1, 0, 1]), np.array([1, 0, 2, 0, 4, 2]), (4, 5))
SQUARE = Pattern(np.array([0, 1, 2, 0, 2, 2]), np.array([0, 1, 2, 1, 0, 2]), (3, 3))
ENTRIES = np.array([4.0, -3.0, 2.0, 0.5, 0.7, 1.5])
Y = np.array([1.0, -2.0, 0.5])
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


FULL = Pattern(*(k.ravel() for k in np.indices((3, 3))), (3, 3))


WEIGHTS = Pattern(np.array([0, 1, 2, 0, 1]), np.array([0, 1, 2, 1, 0]), (3, 3))


def largest_two(matrix, weights):
    """The largest eigenvalues of real matrices A and M, with vectors for which v^T M v = 1."""
    M = weights.toarray()
    w, v = np.linalg.eig(np.linalg.solve(M, matrix.toarray()))
    first = np.argsort(-w.real)[:2]
    w, v = w[first], v[:, first]
    v = v / np.sqrt(np.sum(v * (M @ v), axis=0))
    return w, v * np.abs(v[0]) / v[0]


CASES = [
    Case(
        eigenpairs,
        np.diag([5.0, 2.0, 1.0]).ravel() + 0.3 * array(9),
        np.ones(3),
        problem=EigenProblem("eigs", FULL, largest_two),
    ),
    Case(
        eigenpairs,
        np.diag([5.0, 2.0, 1.0]).ravel() + 0.3 * array(9),
        np.array([2.0, 1.5, 1.2, 0.3, 0.3]),
        problem=EigenProblem("eigs", FULL, largest_two, WEIGHTS),
    ),
    Case(sparse_product, array(6), array(5), pattern=WIDE, check=COMPLEX),
    Case(sparse_product, array(6), array(2, 5), pattern=WIDE, check=COMPLEX),
    Case(sparse_product, array(6), array(2, 4), pattern=WIDE.T),
    Case(sparse_product, array(0), array(2), pattern=Pattern(*np.zeros((2, 0), int), (3, 2))),
    Case(
        *(sparse_solve, ENTRIES, array(3)),
        system=Factorized(SQUARE),
        transposed=False,
        check=COMPLEX,
    ),
    Case(
        *(sparse_solve, ENTRIES, array(2, 3)),
        system=Factorized(SQUARE),
        transposed=True,
        check=COMPLEX,
    ),
]


def dense(data, pattern):
    a = np.zeros(pattern.shape, data.dtype)
    np.add.at(a, (pattern.rows, pattern.cols), data)
    return a


def test_against_dense():
    d, x = array(6), array(2, 5)
    a = dense(d, WIDE)
    np.testing.assert_allclose(sparse_product(d, x, pattern=WIDE), x @ a.T)
    z = ENTRIES + 1j * array(6)
    a, b = dense(z, SQUARE), array(3)
    system = Factorized(SQUARE)
    solve = {"system": system, "transposed": False}
    np.testing.assert_allclose(sparse_solve(z, b, **solve), np.linalg.solve(a, b))
    np.testing.assert_allclose(sparse_solve(z.conj(), b, **solve), np.linalg.solve(a.conj(), b))
    solve["transposed"] = True
    np.testing.assert_allclose(sparse_solve(z, b, **solve), np.linalg.solve(a.T, b))
    np.testing.assert_allclose(sparse_solve(z.conj(), b, **solve), np.linalg.solve(a.T.conj(), b))


@pytest.mark.parametrize("kind", [float, complex])
def test_a_system_is_factorised_once(kind, monkeypatch):
    made = []
    prepare = Factorized.prepare
    monkeypatch.setattr(Factorized, "prepare", lambda *a: made.append(1) or prepare(*a))
    system = Factorized(SQUARE)

    def f(d, b):
        x = sparse_solve(d, b, system=system, transposed=False)
        return np.sum(np.abs(x) ** 2)

    point = ENTRIES.astype(kind) * (1 + (0.5j if kind is complex else 0)), array(3).astype(kind)
    _, J = linad.linearize(f, *point)
    for _ in range(3):
        J.pullback(1.0)
        J.pushforward(point)
    linad.hvp(f, point, point)
    assert len(made) == 1


def test_singular():
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        linad.grad(
            lambda d: np.sum(
                sparse_solve(d, np.ones(3), system=Factorized(SQUARE), transposed=False)
            )
        )(0 * ENTRIES)


def test_patterns():
    """Sparse Jacobians are those of the dense ones' nonzeros, or a little more."""
    for f, point in [
        (lambda d: sparse_product(d, np.arange(1.0, 6), pattern=WIDE), array(6)),
        (lambda d: sparse_product(d, 1 + np.arange(10.0).reshape(2, 5), pattern=WIDE), array(6)),
        (lambda x: sparse_product(np.arange(1.0, 7), x, pattern=WIDE), array(2, 5)),
        (lambda d: sparse_solve(d, Y, system=Factorized(SQUARE), transposed=False), ENTRIES),
        (lambda b: sparse_solve(ENTRIES, b, system=Factorized(SQUARE), transposed=True), Y),
    ]:
        J = linad.linearize(f, point)[1]
        found = J.tosparse()
        np.testing.assert_allclose(found.toarray(), J.todense(), atol=1e-14)
    J = linad.linearize(lambda x: sparse_product(np.ones(6), x, pattern=WIDE), array(5))[1]
    assert J.tosparse().nnz == 5  # of six entries two are at one place
