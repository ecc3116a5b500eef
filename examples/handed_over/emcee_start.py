"""emcee: walkers that start where they belong, by an exact gradient and Hessian."""

import emcee
import numpy as np
import scipy.optimize

import linad

rng = np.random.default_rng(4)
t = np.linspace(0.0, 5.0, 40)
data = 2.0 * np.exp(-0.8 * t) + 0.5 + 0.1 * rng.standard_normal(40)


def log_probability(p):
    return -0.5 * np.sum(((p[0] * np.exp(-p[1] * t) + p[2] - data) / 0.1) ** 2)


best = scipy.optimize.minimize(
    lambda p: -log_probability(p),
    [1.0, 1.0, 0.0],
    jac=linad.grad(lambda p: -log_probability(p)),
).x
covariance = np.linalg.inv(-linad.hessian(log_probability)(best))

start = rng.multivariate_normal(best, covariance, size=16)
sampler = emcee.EnsembleSampler(16, 3, log_probability)
sampler.random_state = np.random.RandomState(5).get_state()
sampler.run_mcmc(start, 2000)
drawn = sampler.get_chain(discard=100, flat=True)
for k, name in enumerate(("height", "rate", "level")):
    print(
        f"{name:6} {drawn[:, k].mean():.2f} +- {drawn[:, k].std():.2f}"
        f" (Laplace: {np.sqrt(covariance[k, k]):.2f})"
    )
