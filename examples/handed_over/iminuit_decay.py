"""iminuit: a lifetime from single decays, the gradient of the likelihood exact."""

import numpy as np
from iminuit import Minuit

import linad

rng = np.random.default_rng(1)
times = rng.exponential(2.0, 300)
background = rng.uniform(0.0, 10.0, 100)
seen = np.concatenate([times[times < 10.0], background])


def minus_log_likelihood(p):
    """Decays with lifetime p[0], a fraction p[1] of all; the others come at any time until 10."""
    decays = np.exp(-seen / p[0]) / p[0] / (1.0 - np.exp(-10.0 / p[0]))
    return -np.sum(np.log(p[1] * decays + (1.0 - p[1]) / 10.0))


minuit = Minuit(minus_log_likelihood, np.array([1.0, 0.5]), grad=linad.grad(minus_log_likelihood))
minuit.errordef = Minuit.LIKELIHOOD
minuit.limits = [(0.1, None), (0.0, 1.0)]
minuit.migrad()
minuit.hesse()
exact = np.sqrt(
    np.diag(np.linalg.inv(linad.hessian(minus_log_likelihood)(np.array(minuit.values))))
)
for name, value, error, other in zip(
    ("lifetime", "fraction"), minuit.values, minuit.errors, exact, strict=True
):
    print(f"{name} {value:.2f} +- {error:.2f} (from the exact Hessian: {other:.2f})")
print("gradients asked for:", minuit.ngrad > 0)
