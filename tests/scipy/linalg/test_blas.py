"""linad.scipy.linalg.blas: routines by their names there."""

import numpy as np
import pytest
import scipy.linalg

import linad
import linad.scipy.linalg as ll
from linad.errors import DTypeError, UnsupportedError
from linad.scipy.linalg.prefixes import PREFIXES
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
A, B, C = (
    rng.standard_normal((3, 3)) + 3 * np.eye(3),
    rng.standard_normal((3, 2)),
    rng.random((3, 3)),
)
X, Y = rng.standard_normal(3), rng.standard_normal(3)

CASES = {
    "gemm": (lambda f, a, b, c: f(1.5, a, b, 0.5, c), A, C, A.T),
    "gemm-turned": (lambda f, a, b: f(1.5, a, b, trans_a=1, trans_b=2), A, C),
    "gemv": (lambda f, a, x, y: f(2.0, a, x, 0.3, y, trans=1), A, X, Y),
    "symv": (lambda f, a, x: f(2.0, a, x, lower=1), A, X),
    "symm": (lambda f, a, b: f(2.0, a, b, side=1), A, C),
    "syrk": (lambda f, a, c: f(2.0, a, 0.5, c, trans=1, lower=1), B.T, C),
    "syrk-alone": (lambda f, a: f(2.0, a), B),
    "trsm": (lambda f, a, b: f(2.0, a, b, lower=1, trans_a=1), A, B),
    "trsm-right": (lambda f, a, b: f(2.0, a, b, side=1, diag=1), A, B.T),
    "trsm-right-turned": (lambda f, a, b: f(2.0, a, b, side=1, trans_a=1), A, B.T),
    "trsv": (lambda f, a, x: f(a, x, lower=1), A, X),
    "trmm": (lambda f, a, b: f(2.0, a, b, trans_a=1, diag=1), A, B),
    "trmm-right": (lambda f, a, b: f(2.0, a, b, side=1, lower=1), A, B.T),
    "ger": (lambda f, x, y, a: f(2.0, x, y, a=a), X, Y, A),
    "dot": (lambda f, x, y: f(x, y), X, Y),
    "axpy": (lambda f, x, y: f(x, 1.0 * y, a=0.3), X, Y),
    "axpy-first": (lambda f, x, y: f(x, 1.0 * y, 2, 0.3), X, Y),
    "scal": (lambda f, x: f(1.3, 1.0 * x), X),
    "nrm2": (lambda f, x: f(x), X),
    "asum": (lambda f, x: f(x), X),
}


@pytest.mark.parametrize("name", CASES)
def test_routines(name):
    f, *arrays = CASES[name]
    name = f"d{name.partition('-')[0]}"
    theirs, ours = getattr(scipy.linalg.blas, name), getattr(ll.blas, name)
    expected = f(theirs, *arrays)
    np.testing.assert_array_equal(f(ours, *arrays), expected)
    np.testing.assert_allclose(linad.linearize(lambda *a: f(ours, *a), *arrays)[0], expected, 1e-12)
    check_derivatives(lambda *a: f(ours, *a), *arrays, order=2)


@pytest.mark.parametrize("letter", PREFIXES)
@pytest.mark.parametrize("name", CASES)
def test_every_type_of_number(name, letter):
    f, *arrays = CASES[name]
    routine = letter + name.partition("-")[0]
    theirs = getattr(scipy.linalg.blas, routine, None)
    if theirs is None:  # complex numbers have no dot, but dotu and dotc
        return
    if np.dtype(PREFIXES[letter]).kind == "c":
        arrays = [a * (1 + 0.3j) + 0.2j * a**2 for a in arrays]
    arrays = [a.astype(PREFIXES[letter]) for a in arrays]
    expected = f(theirs, *arrays)
    found, J = linad.linearize(lambda *a: f(getattr(ll.blas, routine), *a), *arrays)
    assert found.dtype == J.dtype == PREFIXES[letter]
    np.testing.assert_allclose(found, expected, 50 * np.finfo(found.dtype).eps)


def test_routines_are_chosen_by_arrays():
    def f(x):
        dot, norm = ll.get_blas_funcs(("dot", "nrm2"), (x,))
        return dot(x, x) * norm(x) * ll.get_blas_funcs("asum", [x])(x)

    check_derivatives(f, X)
    assert ll.get_blas_funcs("dot", (X,)) is scipy.linalg.get_blas_funcs("dot", (X,))
    z = X + 1j * Y
    found = linad.linearize(lambda z: ll.get_blas_funcs("dot", (z,))(z, z), z)[0]
    np.testing.assert_allclose(found, scipy.linalg.blas.zdotu(z, z))
    single = linad.linearize(lambda x: ll.blas.sdot(x, x), X)[0]
    assert np.asarray(single).dtype == np.float32


def test_what_is_written_into_is_returned():
    def f(x, y):
        x, y = 1.0 * x, 1.0 * y
        ll.blas.daxpy(x, y, a=0.3)
        ll.blas.dscal(2.0, x)
        return x * y

    np.testing.assert_allclose(f(X, Y), 2 * X * (Y + 0.3 * X))
    np.testing.assert_allclose(linad.linearize(f, X, Y)[0], f(X, Y))
    check_derivatives(f, X, Y)


def test_errors():
    with pytest.raises(UnsupportedError, match="plain array"):
        linad.linearize(lambda x: ll.blas.daxpy(x, np.ones(3)), X)
    with pytest.raises(UnsupportedError, match="slices"):
        linad.linearize(lambda x: ll.blas.ddot(x, x, incx=2), X)
    with pytest.raises(DTypeError, match="real"):
        linad.linearize(lambda x: ll.blas.ddot(x, x), X + 1j)
