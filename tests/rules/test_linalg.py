"""Linear systems, inverses, determinants."""

import numpy as np
import pytest

import linad
from linad.rules.linalg import adjugate_, det_, inv_, slogdet_, solve_
from linad.testing.derivative_checks import check_derivatives
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


def regular(*shape):
    """Well-conditioned matrices."""
    return 0.5 * array(*shape) + 2 * np.eye(shape[-1])


def singular(n, rank):
    """A matrix with singular values 1, 2, ..., rank, 0, ..."""
    u, v = (np.linalg.qr(array(n, n))[0] for _ in range(2))
    return (u * np.where(np.arange(n) < rank, np.arange(1.0, n + 1), 0)) @ v


CASES = [
    Case(solve_, regular(3, 3), array(3, 2), check=COMPLEX),
    Case(np.linalg.solve, regular(3, 3), array(3), check=COMPLEX),
    Case(np.linalg.solve, regular(2, 3, 3), array(3)),
    Case(np.linalg.solve, regular(2, 3, 3), array(3, 2)),
    Case(np.linalg.solve, regular(3, 3), array(2, 3, 1), check=COMPLEX),
    Case(np.linalg.solve, regular(3, 1, 2, 2), array(2, 2, 2), check=COMPLEX),
    Case(np.linalg.solve, np.zeros((0, 0)), np.zeros((0, 2))),
    Case(np.linalg.tensorsolve, regular(6, 6).reshape(2, 3, 6), array(2, 3)),
    Case(np.linalg.tensorsolve, regular(4, 4).reshape(2, 2, 4), array(4), axes=(0, 1)),
    Case(inv_, regular(3, 3), check=COMPLEX),
    Case(np.linalg.inv, regular(2, 2, 2)),
    Case(np.linalg.tensorinv, regular(4, 4).reshape(2, 2, 4), check=COMPLEX),
    Case(np.linalg.tensorinv, regular(4, 4).reshape(4, 2, 2), ind=1),
    Case(det_, regular(3, 3), check=COMPLEX),
    Case(np.linalg.det, regular(2, 2, 2)),
    Case(np.linalg.det, array(1, 1)),
    Case(adjugate_, regular(3, 3), check=COMPLEX),
    Case(adjugate_, regular(2, 4, 4)),
    Case(slogdet_, regular(3, 3), check=COMPLEX),
    Case(np.linalg.slogdet, regular(2, 2, 2), check=COMPLEX),
]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_det_at_singular_matrices(n):
    check_derivatives(np.linalg.det, singular(n, n - 1))


@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_derivatives_of_det_along_a_line(missing):
    a, da = singular(4, 4 - missing), array(4, 4)

    def along(t):
        return np.linalg.det(a + t * da)

    t = np.linspace(-1, 1, 5)
    expected = np.polyfit(t, [along(x) for x in t], 4)
    first = linad.derivative(along)
    zero = np.array(0.0)
    np.testing.assert_allclose(first(zero), expected[-2], atol=1e-12)
    np.testing.assert_allclose(linad.derivative(first)(zero), 2 * expected[-3], atol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_determinants_of_matrices_that_are_not_finite(bad, dtype):
    """NumPy gives NaN, and so are the derivatives, of that matrix of a stack alone."""
    a = np.stack([regular(3, 3), regular(3, 3)]).astype(dtype)
    a[0, 1, 2] = bad
    y, jacobian = linad.linearize(np.linalg.det, a)
    np.testing.assert_array_equal(y, np.linalg.det(a))
    for pull in (jacobian.pullback, linad.jit(lambda v: linad.vjp(np.linalg.det, a)[1](v)[0])):
        found = pull(np.ones_like(y))
        assert found.dtype == a.dtype
        assert np.isnan(found[0]).all()
        np.testing.assert_allclose(found[1], linad.vjp(np.linalg.det, a[1])[1](y.dtype.type(1))[0])
    if dtype == "f8":
        second = linad.hessian(lambda a: np.sum(np.linalg.det(a)))(a)
        assert np.isnan(second[0, :, :, 0]).all()
        assert np.isfinite(second[1, :, :, 1]).all()
    np.testing.assert_array_equal(linad.jit(np.linalg.det)(a), np.linalg.det(a))


def test_adjugate_of_a_singular_matrix():
    a = singular(3, 2)
    y = adjugate_(a)
    np.testing.assert_allclose(a @ y, np.zeros((3, 3)), atol=1e-14)
    b = regular(3, 3)
    np.testing.assert_allclose(adjugate_(b), np.linalg.det(b) * np.linalg.inv(b), rtol=1e-12)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n", [1, 2, 3])
def test_determinants_of_many_small_matrices_are_one_program(n):
    a = np.stack([regular(n, n), singular(n, n - 1), array(n, n)])
    expected = np.swapaxes(adjugate_(a), -1, -2)
    gradient = linad.jit(linad.grad(lambda a: np.sum(np.linalg.det(a))))
    for _ in range(2):
        np.testing.assert_allclose(gradient(a), expected, atol=1e-13)
    assert not linad.explain(gradient)(a).fallbacks


def test_empty_determinant():
    value, J = linad.linearize(np.linalg.det, np.zeros((2, 0, 0)))
    np.testing.assert_array_equal(value, [1.0, 1.0])
    assert J.shape == (2, 0)


def test_third_derivative_of_a_determinant():
    a, da = regular(3, 3), array(3, 3)

    def along(t):
        return np.linalg.det(a + t * da)

    third = linad.derivative(linad.derivative(linad.derivative(along)))(np.array(0.0))
    np.testing.assert_allclose(third, 6 * np.linalg.det(da), rtol=1e-10)


def test_slogdet_gives_numpys_named_tuple():
    result = linad.linearize(np.linalg.slogdet, regular(3, 3))[0]
    assert type(result) is type(np.linalg.slogdet(np.eye(2)))


def test_gradient_of_logdet_is_the_transposed_inverse():
    a = regular(4, 4)
    gradient = linad.grad(lambda a: np.linalg.slogdet(a)[1])(a)
    np.testing.assert_allclose(gradient, np.linalg.inv(a).T, rtol=1e-12)
    gradient = linad.grad(lambda a: np.linalg.slogdet(a)[0])(a)
    np.testing.assert_array_equal(gradient, np.zeros((4, 4)))


def test_solve_factorises_once(monkeypatch):
    import linad.operators.system_matrix as module

    calls = []
    large = array(40, 40) + 20 * np.eye(40)
    factor = module._lu_factor
    monkeypatch.setattr(module, "_lu_factor", lambda *a, **k: calls.append(1) or factor(*a, **k))
    _, J = linad.linearize(np.linalg.solve, large, array(40))
    for _ in range(3):
        J.pullback(array(40))
    J.pushforward((array(40, 40), array(40)))
    assert len(calls) == 1


@pytest.mark.parametrize(
    "name", ["inv", "det", "slogdet", "cholesky", "eig", "eigvals", "eigh", "eigvalsh"]
)
def test_matrices_must_be_square(name):
    for shape in [(2, 3), (3,)]:
        with pytest.raises(np.linalg.LinAlgError):
            linad.linearize(getattr(np.linalg, name), np.ones(shape))


ERRORS = {
    "singular": (lambda a: np.linalg.solve(0 * a, np.ones(2)), np.linalg.LinAlgError),
    "rows": (lambda a: np.linalg.solve(a, np.ones(3)), ValueError),
    "not square": (lambda a: np.linalg.solve(a[:1], np.ones(1)), np.linalg.LinAlgError),
    "tensorsolve": (lambda a: np.linalg.tensorsolve(a, np.ones(3)), np.linalg.LinAlgError),
    "tensorinv": (lambda a: np.linalg.tensorinv(a[:1], 1), np.linalg.LinAlgError),
    "ind": (lambda a: np.linalg.tensorinv(a, 0), ValueError),
    "logdet": (lambda a: np.linalg.slogdet(0 * a)[1], np.linalg.LinAlgError),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error = ERRORS[name]
    with pytest.raises(error):
        linad.linearize(function, np.eye(2))
