"""Calls of cuBLAS: flags, leading dimensions, steps, addresses; the libraries compute by SciPy."""

import numpy as np
import pytest
from fake_device import fake_gpu
from random_programs import assert_same
from runs_on_fake_device import DTYPES, check, numbers

import linad
from linad.errors import DeviceError
from linad.sweeps.cuda import opening
from linad.sweeps.program import simplified


@pytest.mark.parametrize("dtype", DTYPES)
def test_products(dtype):
    a, b = numbers(dtype, 6, 9), numbers(dtype, 9, 5)

    def f(a, b):
        return (
            a @ b,
            b.T @ a.T,
            a.T @ a[:, 2:7],
            a[1:5, 2:8] @ b[2:8],
            a[::2] @ b[:, ::-1],
            b @ b[:5, 1:4],
        )

    assert check(f, a, b).count("gemm") >= 6


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(dtype):
    a, x = numbers(dtype, 8, 11), numbers(dtype, 11)

    def f(a, x):
        return a @ x, x[:8] @ a, a[:, ::-1] @ x[::-1], a.T[:, :4] @ x[::3], x[:11:2][:5] @ a[:5]

    assert "gemv" in check(f, a, x)


def test_a_product_with_itself():
    a = numbers("f8", 30, 7)
    assert "syrk" in check(lambda a: (a @ a.T, np.tanh(a) @ np.tanh(a).T), a)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_stacks(dtype):
    a, b = numbers(dtype, 4, 5, 6), numbers(dtype, 4, 6, 7)
    calls = check(lambda a, b: (a @ b, a @ b[0], a[1] @ b, b.mT @ a.mT), a, b)
    assert "gemmStridedBatched" in calls
    # Two axes of a stack, one of them repeated: the steps are not equal.
    c = numbers(dtype, 2, 1, 6, 7)
    assert "gemmBatched" in check(lambda a, c: np.stack([a, a])[:, ::2] @ c, a, c)


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles(dtype):
    n = 7
    lower = np.tril(numbers(dtype, n, n)) + 4 * np.eye(n, dtype=dtype)
    b = numbers(dtype, n, 5)

    def f(t, b):
        from linad.scipy.linalg import solve_triangular

        return [
            solve_triangular(m, x, lower=low, trans=turned, unit_diagonal=unit)
            for m, low in ((t, True), (t.T, False))
            for x in (b, b[:, 0])
            for turned in (0, 1)
            for unit in (False, True)
        ]

    calls = check(f, lower, b)
    assert {"trsm", "trsv"} <= set(calls)


def test_stacks_of_triangles():
    t = np.tril(numbers("f8", 3, 5, 5)) + 4 * np.eye(5)

    def f(t, b):
        from linad.scipy.linalg import solve_triangular

        return solve_triangular(t, b, lower=True), solve_triangular(t, b[..., :1], lower=True)

    assert check(f, t, numbers("f8", 3, 5, 4)).count("trsmBatched") == 2


def test_operands_are_copied_once():
    """A graph keeps the addresses of what a library is called with, so arguments are copied."""

    def f(a, b):
        return a @ b + a @ (b * 2), a @ b.T

    a, b = numbers("f8", 6, 6), numbers("f8", 6, 6)
    with fake_gpu():
        _, tape = linad.trace(f, a, b)
        program = opening.target_here().compile(simplified(tape))
        for _ in range(3):
            a, b = numbers("f8", 6, 6), numbers("f8", 6, 6)
            assert_same([y.numpy() for y in program.run([a, b])], f(a, b), 1e-12)
        labels = [i.label for i in program.lowering.instructions]
        assert labels.count("argument") == 2


def test_without_libraries():
    """Kernels multiply matrices, too; systems have none."""
    a = numbers("f8", 6, 6) + 6 * np.eye(6)
    with fake_gpu(libraries=()) as device:
        np.testing.assert_allclose(linad.jit(lambda a: a @ a, device="cuda")(a), a @ a)
        assert not device.libraries.calls
        with pytest.raises(linad.errors.FallbackError, match="solve"):
            linad.jit(lambda a: np.linalg.solve(a, a[0]), device="cuda")(a)
        with pytest.raises(DeviceError, match="cublas is not installed"):
            device.library("cublas")


def test_a_status_is_an_error():
    a = numbers("f8", 6, 6)
    with fake_gpu() as device:
        device.libraries.functions["cublasDgemm_v2"].function = lambda *given: 13
        with pytest.raises(DeviceError, match="cublasDgemm_v2 returned the status 13"):
            linad.jit(lambda a: a @ a, device="cuda")(a)


def test_handles_go_with_their_program():
    import gc

    with fake_gpu() as device:
        f = linad.jit(lambda a: np.fft.fft(np.linalg.inv(a @ a)), device="cuda")
        f(numbers("f8", 6, 6))
        assert len(device.libraries.handles) >= 2
        assert device.libraries.plans
        del f
        gc.collect()
        assert not device.libraries.plans
        assert not [h for h in device.libraries.handles if isinstance(h, int)]
