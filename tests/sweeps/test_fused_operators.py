"""Operators with compiled derivatives in them run as one program."""

import gc
import pickle
import weakref

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator, cg
from together import together

import linad
from linad.operators.composites import Chain, Sum
from linad.operators.matrices import Matrix
from linad.operators.structured import Diagonal, Identity
from linad.operators.tagged import Tagged
from linad.operators.wrappers import Adjoint, Scaled
from linad.sweeps.fused_operators import FORMS, FusedProgram, form_of
from linad.transforms.flat_vectors import FlatVectors
from linad.transforms.tape_operator import TapeOperator

rng = np.random.default_rng(0)
A, B = rng.normal(size=(7, 5)), rng.normal(size=(5, 7))
X = rng.normal(size=5)
D = rng.normal(size=7)


def f(x):
    return np.tanh(A @ x) * x[0]


def g(y):
    return B @ np.sin(y)


def diag(d):
    return Diagonal(d, d.shape, d.dtype)


def derivative(function, x):
    """Compiled, and its matrix."""
    jitted = linad.jit(function)
    jitted(x)
    J = linad.linearize(jitted, x)[1]
    return J, linad.linearize(function, x)[1].todense()


def operators():
    J, j = derivative(f, X)
    K, k = derivative(g, f(X))
    return {
        "J": (J, j),
        "J.T": (J.T, j.T),
        "J.T J": (J.T @ J, j.T @ j),
        "J J.T": (J @ J.T, j @ j.T),
        "K J": (K @ J, k @ j),
        "J.T D J + l I": (
            J.T @ diag(D) @ J + 0.3 * linad.eye(5),
            j.T @ np.diag(D) @ j + 0.3 * np.eye(5),
        ),
        "J.T D J of SciPy's diagonal": (
            J.T @ scipy.sparse.diags_array(D) @ J,
            j.T @ np.diag(D) @ j,
        ),
        "- 2 J.T J / 3": (-2 * (J.T @ J) / 3, -2 * (j.T @ j) / 3),
        "K J - I": (K @ J - linad.eye(5), k @ j - np.eye(5)),
        "with a matrix": (aslinearoperator(B) @ J, B @ j),
        "with a derivative that is not compiled": (
            linad.linearize(lambda x: B @ x, X.repeat(2)[:7])[1] @ J,
            B @ j,
        ),
        "(J.T J)^2": ((J.T @ J) ** 2, np.linalg.matrix_power(j.T @ j, 2)),
        "K J (K J).T": ((K @ J) @ (K @ J).T, (k @ j) @ (k @ j).T),
    }


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", operators())
def test_is_the_matrix(name):
    op, matrix = operators()[name]
    for _ in range(3):
        v, w = rng.normal(size=op.shape[1]), rng.normal(size=op.shape[0])
        kept = v.copy()
        np.testing.assert_allclose(op @ v, matrix @ v, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(op.T @ w, matrix.T @ w, rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(v, kept)
    V = rng.normal(size=(op.shape[1], 3))
    np.testing.assert_allclose(op @ V, matrix @ V, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(op @ V[:, 0][::-1], matrix @ V[::-1, 0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(op @ (1j * V[:, 0]), 1j * matrix @ V[:, 0], rtol=1e-11, atol=1e-11)


@pytest.fixture
def recorded(monkeypatch):
    """The programs that are made, by the number of residuals, diagonals and numbers in them."""
    found = []
    make = FusedProgram.run

    def run(self, form, adjoint, seed):
        before = self.program
        y = make(self, form, adjoint, seed)
        if self.program is not before:
            found.append(len(form.arrays))
        return y

    monkeypatch.setattr(FusedProgram, "run", run)
    return found


def test_one_program_for_all_points(recorded):
    jitted = linad.jit(f)
    for k in range(6):
        x = rng.normal(size=5)
        J = linad.linearize(jitted, x)[1]
        H = J.T @ diag(k + D) @ J + (k + 1.0) * linad.eye(5)
        j = linad.linearize(f, x)[1].todense()
        v = rng.normal(size=5)
        expected = j.T @ ((k + D) * (j @ v)) + (k + 1) * v
        np.testing.assert_allclose(H @ v, expected, rtol=1e-12, atol=1e-12)
    assert len(recorded) == 1


def test_the_number_of_sweeps(recorded):
    """After the first two, nothing but the program runs."""
    J, _ = derivative(f, X)
    H = J.T @ J
    v = rng.normal(size=5)
    H @ v, H @ v
    J.pushforward = J.pullback = None  # not asked any more
    H @ v
    assert len(recorded) == 1


def test_containers():
    @linad.jit
    def residual(p):
        return {"a": np.exp(A @ p["x"]), "b": p["y"] * p["x"].sum()}

    p = {"x": X, "y": np.array(0.7)}
    J = linad.linearize(residual, p)[1]
    matrix = J.todense()
    for _ in range(3):
        v = rng.normal(size=6)
        np.testing.assert_allclose(J @ v, matrix @ v, rtol=1e-12)
        np.testing.assert_allclose((J.T @ J) @ v, matrix.T @ (matrix @ v), rtol=1e-11)


@pytest.mark.usefixtures("kernels")
def test_single_precision():
    a = A.astype("f4")
    jitted = linad.jit(lambda x: np.tanh(a @ x))
    J = linad.linearize(jitted, X.astype("f4"))[1]
    H = J.T @ J + 0.5 * linad.eye(5, dtype=np.float32)
    for _ in range(3):
        y = H @ X.astype("f4")
        assert y.dtype == np.float32
    np.testing.assert_allclose(y, H.todense() @ X, rtol=1e-5)


@pytest.mark.usefixtures("kernels")
def test_complex_numbers():
    c = A + 1j * rng.normal(size=A.shape)
    jitted = linad.jit(lambda z: np.exp(c @ z))
    J = linad.linearize(jitted, X + 0.1j)[1]
    j = J.todense()
    v = rng.normal(size=5) + 1j
    for _ in range(3):
        np.testing.assert_allclose((J.H @ J) @ v, j.conj().T @ (j @ v), rtol=1e-11)
        np.testing.assert_allclose((J.T @ J) @ v, j.T @ (j @ v), rtol=1e-11)


@pytest.mark.usefixtures("kernels")
def test_derivatives_of_products():
    """Where residuals or seeds are traced, the factors are applied one by one."""
    jitted = linad.jit(f)

    def product(x, v):
        J = linad.linearize(jitted, x)[1]
        return np.sum((J.T @ J + linad.eye(5)) @ v)

    for _ in range(3):
        linad.check_derivatives(product, X, D[:5])


def test_threads():
    J, j = derivative(f, X)
    H = J.T @ J

    def work(seed):
        local = np.random.default_rng(seed)
        for _ in range(50):
            v = local.normal(size=5)
            assert np.allclose(H @ v, j.T @ (j @ v), rtol=1e-11)

    together(4, work)


def test_pickle_and_solvers():
    J, j = derivative(f, X)
    H = J.T @ J + 0.1 * linad.eye(5)
    x, info = cg(H, X, rtol=1e-12)
    assert info == 0
    again = pickle.loads(pickle.dumps(H))
    np.testing.assert_allclose(again @ x, X, rtol=1e-8)
    np.testing.assert_allclose((j.T @ j + 0.1 * np.eye(5)) @ x, X, rtol=1e-8)


def test_nothing_stays():
    jitted = linad.jit(f)
    jitted(X)
    J = linad.linearize(jitted, X)[1]
    H = J.T @ J
    H @ X, H @ X, H @ X
    gone = weakref.ref(H), weakref.ref(J)
    del J, H
    assert [r() for r in gone] == [None, None]
    gone = weakref.ref(jitted)
    del jitted
    gc.collect()
    assert gone() is None


def test_every_form_is_the_operator_again():
    """Of each kind that is taken apart."""
    J = derivative(f, X)[0]
    d = diag(D)
    cases = {
        Chain: Chain((d, J.flat)),
        Sum: Sum((d, d)),
        Adjoint: Adjoint(d),
        Tagged: linad.tag(d, "symmetric"),
        Identity: linad.eye(7),
        Scaled: Scaled(0.3, d),
        Diagonal: d,
        Matrix: Matrix(A, A.dtype),
        TapeOperator: J,
        FlatVectors: FlatVectors(J),
    }
    # Those of a device are in tests/jit/test_device_calls.py.
    here = {kind for kind in FORMS if not kind.__module__.startswith("linad.sweeps.cuda")}
    assert set(cases) == here
    for kind, op in cases.items():
        assert type(op) is kind
        form = form_of(op)
        again = form.built(iter(form.arrays))
        v, w = rng.normal(size=op.in_shape), rng.normal(size=op.out_shape)
        np.testing.assert_allclose(again.pushforward(v), op.pushforward(v), rtol=1e-14)
        np.testing.assert_allclose(again.pullback(w), op.pullback(w), rtol=1e-14)
