"""Functions of matrices and pseudoinverses in ONNX models, by the reference evaluator."""

import numpy as np
import pytest

import linad
import linad.scipy.linalg
from linad.errors import GuardError

rng = np.random.default_rng(3)
A = rng.standard_normal((4, 4))


def gradient_of(f, seed):
    return linad.onnx(linad.value_and_grad(lambda a: np.sum(np.cos(seed) * f(a))))


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 9.0])
def test_exponentials(scale):
    exported = linad.onnx(linad.scipy.linalg.expm)(A)
    assert exported.check(scale * A) < 1e-13


def test_stacks_are_squared_as_often_as_each_needs():
    stack = np.stack([0.1 * A, A, 8 * A])
    exported = linad.onnx(linad.scipy.linalg.expm)(stack)
    exported.check(stack[::-1].copy())


@pytest.mark.full
@pytest.mark.parametrize("name", ["expm", "coshm", "sinhm", "tanhm"])
def test_derivatives(name):
    gradient_of(getattr(linad.scipy.linalg, name), np.arange(16.0).reshape(4, 4))(A).check(A / 2)


def test_sylvester_equations():
    B, Q = rng.standard_normal((3, 3)), rng.standard_normal((4, 3))
    exported = linad.onnx(linad.grad(lambda a: np.sum(linad.scipy.linalg.solve_sylvester(a, B, Q))))
    assert exported(A).check() < 1e-12


@pytest.mark.parametrize("shape", [(5, 3), (3, 5)])
def test_least_squares(shape):
    a, b = rng.standard_normal(shape), rng.standard_normal(shape[0])

    def f(a, b):
        return np.sum(np.linalg.lstsq(a, b)[0] ** 2) + np.sum(np.sin(np.linalg.pinv(a)))

    exported = linad.onnx(linad.value_and_grad(f, argnums=(0, 1)))(a, b)
    assert list(exported.outputs)[-1] == "decisions_hold"
    exported.check()
    exported.check(2 * a + 0.1, b[::-1].copy())
    a[1] = a[0]
    a[:, 1] = a[:, 0]
    with pytest.raises(GuardError, match="decisions_hold is False"):
        exported.check(a, b)
