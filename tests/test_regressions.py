"""Programs that once gave a wrong derivative, or took too long."""

import numpy as np

import linad

X = np.array([0.3, 0.5, 0.7])


def check_hessian(f, x):
    """The Hessian of ``f`` three ways, and its slope by central differences."""
    H = linad.hessian(f)(x)
    n = x.size
    columns = np.stack([linad.hvp(f, (x,), (e,)) for e in np.eye(n)], axis=-1)
    np.testing.assert_allclose(columns, H, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(linad.jacobian(lambda x: linad.grad(f)(x))(x), H, atol=1e-12)
    h = 1e-6
    slopes = [(linad.grad(f)(x + h * e) - linad.grad(f)(x - h * e)) / (2 * h) for e in np.eye(n)]
    np.testing.assert_allclose(H, np.stack(slopes), rtol=1e-7, atol=1e-7)


def test_a_cotangent_that_is_a_traced_view_is_not_written_into():
    # The cotangent of z is a broadcast array when the slice comes to add its own.
    check_hessian(lambda z: np.sum(np.sin(z[::2]) ** 2) * z.sum(), X)
    check_hessian(lambda z: np.sum(np.sin(z[[0, 2]]) ** 2) * z.reshape(3, 1).sum(), X)


def test_a_traced_view_as_cotangent_of_an_array_that_was_written():
    def f(z):
        y = z * z
        y[0] = np.sin(y[1])
        return np.sum(y[1:] * y[:2]) * y.reshape(3, 1).T.sum()

    check_hessian(f, X)
