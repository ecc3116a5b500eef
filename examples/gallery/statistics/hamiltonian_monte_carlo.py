"""
Hamiltonian Monte Carlo
=======================

Fifteen lines of NumPy sample any log-density that has a gradient. linad differentiates the
likelihood, a regression with outliers here, and compiles it: each step costs microseconds.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import gammaln

import linad


def sample(log_density, start, draws, step, leaps, rng):
    """Draws (draws, n) by Hamiltonian Monte Carlo, and the share of proposals accepted."""
    value_and_slope = linad.jit(linad.value_and_grad(log_density))
    q, (value, slope) = start, value_and_slope(start)
    chain, accepted = np.empty((draws, len(start))), 0
    for k in range(draws):
        momentum = rng.standard_normal(len(start))
        energy = value - momentum @ momentum / 2
        q_new, slope_new = q, slope
        for _ in range(leaps):
            momentum = momentum + step / 2 * slope_new
            q_new = q_new + step * momentum
            value_new, slope_new = value_and_slope(q_new)
            momentum = momentum + step / 2 * slope_new
        if np.log(rng.random()) < value_new - momentum @ momentum / 2 - energy:
            q, value, slope, accepted = q_new, value_new, slope_new, accepted + 1
        chain[k] = q
    return chain, accepted / draws


# %%
# The data: a line, and now and then a wild value. The likelihood is Student's, whose degrees of
# freedom are a parameter like the others.
rng = np.random.default_rng(0)
x = np.linspace(-1, 1, 40)
y = 0.5 + 2.0 * x + 0.15 * rng.standard_t(2, 40)


def log_posterior(p):
    intercept, slope, log_scale, log_freedom = p
    nu = np.exp(log_freedom)
    z = (y - intercept - slope * x) / np.exp(log_scale)
    log_t = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
    likelihood = np.sum(log_t - log_scale - (nu + 1) / 2 * np.log1p(z**2 / nu))
    return likelihood - 0.5 * (log_freedom - 1) ** 2 - 0.5 * (log_scale + 1) ** 2


# %%
# The Hessian at the maximum gives the scales, in which a step of one size fits all:
top = linad.solve.trust_region(lambda p: -log_posterior(p), np.array([0.0, 1.0, -1.0, 1.0])).x
scales = np.linalg.cholesky(np.linalg.inv(-linad.hessian(log_posterior)(top)))
chain, accepted = sample(lambda z: log_posterior(top + scales @ z), np.zeros(4), 3000, 0.5, 6, rng)
chain = top + chain @ scales.T
print(f"accepted {accepted:.0%}")
for name, draws in zip(("intercept", "slope"), chain.T, strict=False):
    print(f"{name:9s} {draws.mean():.3f} ± {draws.std():.3f}")

fig, (left_ax, right_ax) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for p in chain[::50]:
    left_ax.plot(x, p[0] + p[1] * x, "C0", alpha=0.1)
left_ax.plot(x, y, "k.")
left_ax.set(title="lines that the data allow", xticks=[-1, 0, 1])
right_ax.plot(chain[:, 1], np.exp(chain[:, 3]), ".", markersize=2, alpha=0.5)
right_ax.set(xlabel="slope", ylabel="degrees of freedom", yscale="log")
plt.show()

# %%
# **Try next.** Your own likelihood: everything but ``log_posterior`` stays. Samplers from
# packages take ``linad.jit(linad.value_and_grad(log_posterior))`` as well.
