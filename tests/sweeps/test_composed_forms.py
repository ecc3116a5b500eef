"""Functions that are composed of others in programs, bit by bit what NumPy gives."""

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.core.primitive import Primitive
from linad.rules.sparsearrays import Pattern

X = np.random.default_rng(0).standard_normal((50, 9))
EDGES = np.array([0.0, -0.0, 1.0, 2.5, -1.0, 1e-300, np.inf, np.nan, 1e300])

sparse_product = Primitive.registry["sparse_product"]
spherical_jn = Primitive.registry["spherical_jn"]
overlap_add = Primitive.registry["overlap_add"]
WINDOWS = {"window": (4, 9), "axes": (-2, -2), "shape": (17, 2)}

CASES = {
    "all": lambda x: np.all(x > 0, axis=1, keepdims=True),
    "any of all axes": lambda x: (x > 3).any((0, 1), keepdims=True),
    "all of no axis": lambda x: np.all(x, keepdims=True),
    "argmax": lambda x: np.argmax(x, axis=-1, keepdims=True),
    "argmin": lambda x: np.argmin(x, keepdims=True),
    "count": lambda x: np.count_nonzero(x > 0, axis=0, keepdims=True),
    "isclose": lambda x: np.isclose(x, x + 1e-9, rtol=1e-9),
    "isclose to an integer": lambda x: np.isclose(np.round(x), 1),
    "isclose, edges": lambda x: np.isclose(x[:9, 0] * EDGES, EDGES, equal_nan=True),
    "allclose": lambda x: (np.allclose(x, 1.0), np.allclose(x, x)),
    "array_equal": lambda x: (np.array_equal(x, x[:3]), np.array_equal(x, 1 * x)),
    "round": lambda x: (np.round(x, 2), np.round(1000 * x, -2), x.round()),
    "round, edges": lambda x: np.round(x[:9, 0] * EDGES, 12),
    "cross": lambda x: np.cross(x[:, :3], x[:, 3:6]),
    "cross, other axis": lambda x: np.cross(x[:3], x[3:6, :1], axis=0),
    "cross, complex": lambda x: np.cross(x[:, :3] + 1j, x[0, 3:6]),
    "fraction": lambda x: np.modf(np.append(5 * x, [EDGES, -EDGES])),
    "unwrap": lambda x: (np.unwrap(5 * x), np.unwrap(9 * x, 4, axis=0, period=3)),
    "unwrap, edges": lambda x: np.unwrap(np.append(x[0], EDGES)),
    "unwrap, at a half": lambda x: np.unwrap(np.rint(4 * x), period=8),
    "unwrap, single": lambda x: np.unwrap(5 * np.astype(x, np.float32)),
    "unwrap, of one": lambda x: np.unwrap(x[:, :1]),
    "overlap_add": lambda x: overlap_add(x[:48].reshape(6, 2, 4, 9), **WINDOWS),
    "polyval": lambda x: np.polyval(x[:4, 0], x),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", CASES)
def test_values(name):
    f = linad.jit(CASES[name])
    with np.errstate(all="ignore"):
        for _ in range(2):
            np.testing.assert_equal(f(X), CASES[name](X))
        assert not linad.explain(f)(X).fallbacks


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", ["cross", "polyval"])
def test_gradients(name):
    f = {
        "cross": lambda x: np.cross(x[:3], x[3:6]),
        "fraction": lambda x: np.modf(np.append(5 * x, [EDGES, -EDGES])),
    "unwrap": lambda x: (np.unwrap(5 * x), np.unwrap(9 * x, 4, axis=0, period=3)),
    "unwrap, edges": lambda x: np.unwrap(np.append(x[0], EDGES)),
    "unwrap, at a half": lambda x: np.unwrap(np.rint(4 * x), period=8),
    "unwrap, single": lambda x: np.unwrap(5 * np.astype(x, np.float32)),
    "unwrap, of one": lambda x: np.unwrap(x[:, :1]),
    "overlap_add": lambda x: overlap_add(x[:48].reshape(6, 2, 4, 9), **WINDOWS),
    "polyval": lambda x: np.polyval(x, x[:2]),
    }[name]
    gradient = linad.jit(linad.grad(lambda x: np.sum(f(x) ** 2)))
    expected = linad.grad(lambda x: np.sum(f(x) ** 2))(X[0])
    for _ in range(2):
        np.testing.assert_allclose(gradient(X[0]), expected, rtol=1e-12)
    assert not linad.explain(gradient)(X[0]).fallbacks


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("shape", [(9, 3), (3, 9), (2, 4, 3)])
def test_least_squares_take_one_decomposition(shape):
    a = np.random.default_rng(1).standard_normal(shape)
    a[-1] = 2 * a[0]  # of lower rank, if it is one matrix of few rows
    b = np.arange(shape[-2] * 1.0)

    def f(a):
        return np.linalg.pinv(a) if a.ndim > 2 else np.linalg.lstsq(a, b)[0]

    def loss(a):
        return np.sum(f(a) ** 2)

    gradient, value = linad.jit(linad.grad(loss)), linad.jit(f)
    for _ in range(2):
        np.testing.assert_allclose(value(a), f(a), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(gradient(a), linad.grad(loss)(a), rtol=1e-9, atol=1e-12)
    report = linad.explain(gradient)(a)
    assert [s.primitives for s in report.steps if s.name == "svd"] == [["svd"]]
    assert not report.fallbacks


@pytest.mark.usefixtures("kernels")
def test_differences_of_unsigned_numbers_do_not_wrap_around():
    x = np.array([1, 2, 250], np.uint8)
    f = linad.jit(lambda x: np.isclose(x, np.uint8(2)))
    for _ in range(2):
        np.testing.assert_array_equal(f(x), [False, True, False])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("entries", [0, 1, 30])
def test_products_with_sparse_matrices_whose_entries_move(entries):
    rng = np.random.default_rng(2)
    pattern = Pattern(rng.integers(0, 7, entries), rng.integers(0, 5, entries), (7, 5))
    for dtype in (np.float32, np.complex128):
        for lead in ((), (3,), (2, 0), (2, 2)):
            x = rng.normal(size=(*lead, 5)).astype(dtype)
            data = rng.normal(size=entries).astype(dtype)
            check_compiled(lambda d, x: sparse_product(d, x, pattern=pattern), data, x, rtol=1e-6)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2])
def test_spherical_bessel_functions_of_low_order(n, dtype):
    edges = [0.0, -0.0, 2.0, np.nextafter(2.0, 0), -2.0, np.inf, -np.inf, np.nan, 1e-300, 1e9]
    x = np.append(np.linspace(-12, 12, 97), edges)
    rtol = 1e-6 if dtype == np.float32 else 1e-15  # SciPy computes those in single precision
    check_compiled(lambda x: spherical_jn(n, np.astype(x, dtype)), x, rtol=rtol)


def test_sinc_and_its_derivatives():
    x = np.append(np.linspace(-3, 3, 13), 1e-9)
    for derivative in (linad.grad, linad.hessian):
        f = derivative(lambda x: np.sum(np.sinc(x)))
        compiled = linad.jit(f)
        for _ in range(2):
            np.testing.assert_allclose(compiled(x), f(x), rtol=1e-13, atol=1e-14)
        assert not linad.explain(compiled)(x).fallbacks


@pytest.mark.usefixtures("kernels")
def test_what_rules_of_eigenvectors_say_of_their_values_runs_nothing():
    def f(x):
        w, V = np.linalg.eigh(np.outer(x, x) + np.diag(np.arange(3.0)))
        return np.sum((V * np.tanh(w)) @ V.T * np.arange(9.0).reshape(3, 3))

    x = np.array([0.3, 0.5, 0.7])
    gradient = linad.jit(linad.grad(f))
    np.testing.assert_allclose(gradient(x), linad.grad(f)(x), rtol=1e-12)
    assert not linad.explain(gradient)(x).fallbacks
