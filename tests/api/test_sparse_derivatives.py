"""`sparse_jacobian` and `sparse_hessian` where SciPy takes a sparse matrix."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse.linalg
from scipy.integrate import solve_ivp
from scipy.optimize import NonlinearConstraint, least_squares, minimize

import linad
from linad.errors import DTypeError, OutputError


def chain(x):
    """Residuals of Rosenbrock's function of neighbours; zero where all x are 1."""
    return np.concatenate([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])


def rosenbrock(x):
    return np.sum(chain(x) ** 2)


def heat(t, u):
    """u' = u'' + u (1 - u), insulated ends."""
    v = np.pad(u, 1, mode="edge")
    return 100.0 * (v[2:] - 2 * u + v[:-2]) + u * (1 - u)


def test_least_squares():
    fit = least_squares(chain, np.zeros(60), jac=partial(linad.sparse_jacobian, chain))
    np.testing.assert_allclose(fit.x, 1.0)
    assert scipy.sparse.issparse(fit.jac)


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_solve_ivp(method):
    u = np.linspace(0.1, 0.5, 30)
    sparse = partial(linad.sparse_jacobian, heat, argnums=1)
    assert sparse(0.0, u).nnz == 3 * 30 - 2
    found = solve_ivp(heat, (0, 1), u, method=method, jac=sparse, rtol=1e-6, atol=1e-9)
    expected = solve_ivp(heat, (0, 1), u, method="LSODA", rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.y[:, -1], expected.y[:, -1], rtol=1e-4)


def test_trust_constr():
    constraint = NonlinearConstraint(
        lambda x: x[1:] * x[:-1],
        0.25,
        0.25,
        jac=partial(linad.sparse_jacobian, lambda x: x[1:] * x[:-1]),
        hess=lambda x, v: linad.sparse_hessian(lambda x: v @ (x[1:] * x[:-1]), x),
    )
    fit = minimize(
        lambda x: np.sum((x - 1) ** 2),
        np.full(5, 0.6),
        jac=linad.grad(lambda x: np.sum((x - 1) ** 2)),
        hess=partial(linad.sparse_hessian, lambda x: np.sum((x - 1) ** 2)),
        method="trust-constr",
        constraints=constraint,
    )
    np.testing.assert_allclose(fit.x[1:] * fit.x[:-1], 0.25, rtol=1e-6)


def test_newton_with_superlu():
    x = np.full(40, 0.9)
    for _ in range(12):
        H = linad.sparse_hessian(rosenbrock, x, format="csc")
        x = x - scipy.sparse.linalg.splu(H).solve(linad.grad(rosenbrock)(x))
    np.testing.assert_allclose(x, 1.0)
    assert H.indices.dtype == np.int32
    assert H.nnz == 3 * 40 - 2
    np.testing.assert_array_equal(H.toarray(), H.T.toarray())
    np.testing.assert_allclose(H.toarray(), linad.hessian(rosenbrock)(x), atol=1e-10)


def test_arguments():
    def f(a, b, *, scale):
        return {"sum": a + b[::-1] * scale, "first": a[0] * b}

    a, b = np.arange(1.0, 4.0), np.ones(3)
    _, J = linad.linearize(partial(f, scale=2.0), a, b)
    both = linad.sparse_jacobian(partial(f, scale=2.0), a, b, argnums=(0, 1))
    np.testing.assert_array_equal(both.toarray(), J.todense())
    np.testing.assert_array_equal(
        linad.sparse_jacobian(partial(f, scale=2.0), a, b, argnums=1).toarray(), J.todense()[:, 3:]
    )
    H = linad.sparse_hessian(lambda a, b: np.sum(a**2 * b), a, b, argnums=(0, 1))
    assert H.nnz == 9
    np.testing.assert_allclose(H.toarray()[:3, 3:], np.diag(2 * a))


def test_numbers_in_and_out():
    assert linad.sparse_jacobian(np.sin, 0.0).toarray() == [[1.0]]
    assert linad.sparse_hessian(np.sin, np.pi / 2).toarray() == [[-1.0]]
    assert linad.sparse_jacobian(lambda x: linad.stop_gradient(np.ones(3)), np.ones(2)).nnz == 0
    assert linad.sparse_jacobian(lambda x: x[:0], np.ones(2)).shape == (0, 2)
    assert linad.sparse_hessian(np.sum, np.ones(4)).nnz == 0


def test_bad_input():
    with pytest.raises(DTypeError, match="not differentiable"):
        linad.sparse_jacobian(np.diff, np.arange(4))
    with pytest.raises(OutputError, match="must return a scalar"):
        linad.sparse_hessian(np.diff, np.ones(4))
