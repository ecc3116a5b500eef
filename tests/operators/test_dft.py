"""Fourier operators against the dense matrices of the transforms."""

import numpy as np
import operator_zoo as zoo
import pytest

from linad.operators.dft import CropOrPad, Fourier, HermitianFourier, RealFourier

rng = np.random.default_rng(0)
F8, C16 = np.dtype(float), np.dtype(complex)
NORMS = ["backward", "ortho", "forward"]


def check_adjoint(op):
    v = zoo.numbers(rng, (2, 3, *op.in_shape), op.in_dtype)
    w = zoo.numbers(rng, (2, 3, *op.out_shape), op.out_dtype)
    pushed, pulled = op.pushforward(v), op.pullback(w)
    assert pushed.dtype == op.out_dtype
    assert pulled.dtype == op.in_dtype
    assert pushed.shape == (2, 3, *op.out_shape)
    assert pulled.shape == (2, 3, *op.in_shape)
    for k in np.ndindex(2, 3):
        left, right = np.vdot(w[k], pushed[k]).real, np.vdot(pulled[k], v[k]).real
        np.testing.assert_allclose(left, right, atol=1e-13)
    np.testing.assert_allclose(op.pushforward(v[1, 2]), pushed[1, 2], atol=1e-14)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("inverse", [False, True])
def test_complex_transform(norm, inverse):
    op = Fourier((-1,), inverse, norm, (2, 3), C16)
    transform = np.fft.ifft if inverse else np.fft.fft
    matrix = np.kron(np.eye(2), transform(np.eye(3), norm=norm))
    np.testing.assert_allclose(op.todense(), matrix, atol=1e-14)
    np.testing.assert_allclose(op.H.todense(), np.conj(matrix.T), atol=1e-14)
    check_adjoint(Fourier((-3, -1), inverse, norm, (2, 3, 4), C16))


@pytest.mark.parametrize("n", [1, 2, 5, 6])
@pytest.mark.parametrize("norm", NORMS)
def test_transforms_of_real_entries(n, norm):
    half = n // 2 + 1
    forward = RealFourier(-2, norm, (half, 2), (n, 2), C16, F8)
    check_adjoint(forward)
    matrix = np.kron(np.fft.rfft(np.eye(n), axis=0, norm=norm), np.eye(2))
    np.testing.assert_allclose(forward.todense(), matrix, atol=1e-14)
    check_adjoint(HermitianFourier(-2, norm, (n, 2), (half, 2), C16, F8))


def test_fit():
    op = CropOrPad((3, 2), (2, 4), F8)
    check_adjoint(op)
    x = rng.standard_normal((2, 4))
    np.testing.assert_array_equal(op.pushforward(x), np.vstack([x[:, :2], np.zeros((1, 2))]))
