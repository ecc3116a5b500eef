"""scikit-learn: a kernel of one's own in a Gaussian process, its gradient exact."""

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

import linad


def decaying_wave(theta, X, Y):
    """Covariances of a wave of period e^θ_0 that loses its phase within a length e^θ_1."""
    distance = np.abs(X[:, 0][:, None] - Y[:, 0][None, :])
    period, length = np.exp(theta)
    return np.cos(2 * np.pi * distance / period) * np.exp(-0.5 * (distance / length) ** 2)


class DecayingWave(Kernel):
    """As scikit-learn's own kernels are written, but for the gradient."""

    def __init__(self, period=1.0, length=1.0):
        self.period, self.length = period, length

    hyperparameter_period = property(lambda self: Hyperparameter("period", "numeric", (0.1, 10.0)))
    hyperparameter_length = property(lambda self: Hyperparameter("length", "numeric", (0.1, 10.0)))

    def __call__(self, X, Y=None, eval_gradient=False):
        X = np.atleast_2d(X)
        K = decaying_wave(np.log([self.period, self.length]), X, X if Y is None else Y)
        if not eval_gradient:
            return K
        theta = np.log([self.length, self.period])  # by name, as scikit-learn sorts them
        return K, linad.jacobian(lambda t: decaying_wave(t[::-1], X, X))(theta)

    def diag(self, X):
        return np.ones(len(X))

    def is_stationary(self):
        return True


rng = np.random.default_rng(3)
t = np.sort(rng.uniform(0.0, 6.0, 40))
truth = decaying_wave(np.log([1.7, 2.0]), t[:, None], t[:, None]) + 0.01 * np.eye(40)
y = np.linalg.cholesky(truth) @ rng.standard_normal(40)
process = GaussianProcessRegressor(DecayingWave(1.5, 1.0), alpha=0.01).fit(t[:, None], y)
print(f"period {process.kernel_.period:.1f}, length {process.kernel_.length:.1f}")

theta = process.kernel_.theta
_, slope = process.log_marginal_likelihood(theta + 0.1, eval_gradient=True)
step = 1e-5 * np.eye(2)
likelihood = process.log_marginal_likelihood
difference = [(likelihood(theta + 0.1 + d) - likelihood(theta + 0.1 - d)) / 2e-5 for d in step]
print("gradient and differences agree:", np.allclose(slope, difference, rtol=1e-4))
