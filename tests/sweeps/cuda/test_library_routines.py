"""Systems, factors, spectra and transforms of programs on a device."""

import numpy as np
import pytest
from fake_device import fake_gpu
from runs_on_fake_device import DTYPES, check, numbers

import linad

N = 6


def square(dtype, *batch):
    return numbers(dtype, *batch, N, N) + 4 * np.eye(N, dtype=dtype)


def definite(dtype, *batch):
    a = numbers(dtype, *batch, N, N)
    return (a @ a.conj().mT + 2 * np.eye(N, dtype=dtype)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems(dtype):
    def f(a, b):
        solve = np.linalg.solve
        return solve(a, b), solve(a.T, b), solve(a, b[:, 0]), np.linalg.inv(a), solve(a.T, b[:, 1])

    calls = check(f, square(dtype), numbers(dtype, N, 3))
    assert calls.count("getrf") < calls.count("getrs")  # a matrix is factorised once


@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_stacks_of_systems(dtype):
    def f(a, b):
        return np.linalg.solve(a, b), np.linalg.inv(a), np.linalg.det(a), np.linalg.solve(a[0], b)

    calls = check(f, square(dtype, 3), numbers(dtype, 3, N, 2))
    assert "getrfBatched" in calls


@pytest.mark.parametrize("dtype", DTYPES)
def test_factors(dtype):
    def f(a):
        return np.linalg.cholesky(a), np.linalg.slogdet(a), np.linalg.det(a[:3, :3])

    assert "potrf" in check(f, definite(dtype))


def test_stacks_of_factors():
    assert "potrfBatched" in check(np.linalg.cholesky, definite("f8", 4))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_spectra(dtype, batch):
    """Eigenvectors have any sign, or phase; what they are of counts."""

    def f(a):
        w, v = np.linalg.eigh(a)
        return w, (v * w[..., None, :]) @ v.conj().mT

    assert "evd" in check(f, definite(dtype, *batch), tolerance=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (2, 5, 5)])
def test_singular_values(dtype, shape):
    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return s, (u * s[..., None, :]) @ vh

    assert "gesvd" in check(f, numbers(dtype, *shape), tolerance=1e-3)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("dtype", ["f8", "c8"])
def test_transforms(norm, dtype):
    def f(x):
        fft = np.fft
        found = [fft.fft(x, axis=0, norm=norm), fft.ifft(x, norm=norm), fft.fft2(x, norm=norm)]
        found.append(fft.ifftn(x, norm=norm))
        if x.dtype.kind == "f":
            half = fft.rfft(x, axis=1, norm=norm)
            found += [half, fft.irfft(half, 6, axis=1, norm=norm), fft.irfft(half, 7, 1, norm)]
        return found

    check(f, numbers(dtype, 3, 6, 5))


LOSSES = {
    "solve": lambda a, b: np.sum(np.linalg.solve(a, b) ** 2),
    "rfft, slogdet": lambda a, b: (
        np.sum(np.abs(np.fft.rfft(b, axis=0)) ** 3) + np.linalg.slogdet(a)[1]
    ),
    "cholesky": lambda a, b: np.sum(np.linalg.cholesky(a @ a.T) @ b),
    "eigh, svd": lambda a, b: (
        np.sum(np.linalg.eigh(a + a.T)[1][:, 0] ** 4) + np.sum(np.linalg.svd(b)[1])
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name):
    gradient = linad.grad(LOSSES[name], argnums=(0, 1))
    check(gradient, square("f8"), numbers("f8", N, 3), tolerance=1e-8)


def test_nothing_to_do():
    a = np.empty((0, 3, 3))
    check(lambda a: (np.linalg.inv(a), np.linalg.solve(a, a), np.fft.fft(a), a @ a), a)


def test_singular():
    """NumPy says what is wrong."""
    with fake_gpu():
        f = linad.jit(np.linalg.inv, device="cuda")
        f(np.eye(3))
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            f(np.ones((3, 3)))
        g = linad.jit(np.linalg.cholesky, device="cuda")
        g(np.eye(3))
        with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
            g(-np.eye(3))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 4, 3)])
def test_qr(dtype, shape):
    calls = check(np.linalg.qr, numbers(dtype, *shape))
    assert calls[0] == "geqrf"
    assert calls[-1] in ("orgqr", "ungqr")


def test_the_derivative_of_qr():
    check(linad.grad(lambda a: np.sum(np.linalg.qr(a)[1] ** 3)), numbers("f8", 5, 3))
