"""Circulant operators against scipy.linalg.circulant."""

import numpy as np
import operator_zoo as zoo
import pytest
import scipy.linalg

import linad
from linad.operators.circulant import Circulant, circulant
from linad.operators.matrices import Matrix
from linad.operators.placement import Roll

F8, C16 = np.dtype(float), np.dtype(complex)


@pytest.mark.parametrize("dtype", zoo.REAL + zoo.COMPLEX, ids=str)
@pytest.mark.parametrize("n", [1, 4, 5])
def test_is_the_matrix(n, dtype):
    c = zoo.numbers(np.random.default_rng(0), (n,), dtype)
    op = Circulant(np.fft.fft(c), (-1,), (n,), dtype)
    C = scipy.linalg.circulant(c)
    tolerance = {"rtol": 0, "atol": zoo.tolerance(dtype)}
    assert op.dtype == dtype
    np.testing.assert_allclose(op.todense(), C, **tolerance)
    np.testing.assert_allclose(op.H.todense(), C.conj().T, **tolerance)
    np.testing.assert_allclose(op.T.todense(), C.T, **tolerance)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize(
    "f",
    [
        lambda c, x, norm: np.fft.ifft(c * np.fft.fft(x, norm=norm), norm=norm).real,
        lambda c, x, norm: np.fft.fft(c * np.fft.ifft(x, norm=norm)).real,
        lambda c, x, norm: np.fft.irfft(
            c[: len(x) // 2 + 1] * np.fft.rfft(x, norm=norm), len(x), norm=norm
        ),
        lambda c, x, norm: np.roll(x, 2) - 3 * x + 0.5 * np.roll(x, -1),
    ],
    ids=["fft", "other direction", "rfft", "roll"],
)
def test_found_in_programs(f, norm, n):
    rng = np.random.default_rng(0)
    c = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    J = linad.linearize(lambda x: f(c, x, norm), rng.standard_normal(n))[1]
    found = circulant(J.simplified())
    assert found is not None
    np.testing.assert_allclose(found.todense(), J.todense(), atol=1e-13)


def test_complex_programs():
    rng = np.random.default_rng(0)
    c = zoo.numbers(rng, (3, 4), C16)
    for f in (
        lambda x: np.fft.ifft2(c * np.fft.fft2(x)),
        lambda x: np.fft.fft2(c * np.fft.ifft2(x)),
        lambda x: np.fft.ifft(c * np.fft.fft(x, axis=0), axis=0),
    ):
        J = linad.linearize(f, zoo.numbers(rng, (3, 4), C16))[1]
        assert type(J.simplified()) is Circulant
        np.testing.assert_allclose(J.simplified().todense(), J.todense(), atol=1e-13)


def test_what_is_not_circulant():
    shift = Roll((1,), (0,), (4,), F8)
    for op in (
        Matrix(np.eye(4)),
        shift @ Matrix(np.eye(4)),
        shift + Matrix(np.eye(4)),
        linad.linearize(lambda x: np.roll(x, 1) + x**2, np.arange(4.0))[1].simplified(),
        linad.linearize(lambda x: np.fft.fft(np.fft.fft(x)).real, np.arange(4.0))[1].simplified(),
    ):
        assert circulant(op) is None
    # Shifts along different axes do not share a transform.
    assert circulant(Roll((1,), (0,), (3, 4), F8) + Roll((1,), (1,), (3, 4), F8)) is None


def test_adjoints_and_products():
    a, b = Roll((1,), (0,), (5,), F8), 2 * linad.eye(5)
    for op in (a.T @ a, a.T + a, a @ (a + b), (a + b).T, 2.0 * (a - b)):
        np.testing.assert_allclose(circulant(op).todense(), op.todense(), atol=1e-14)
