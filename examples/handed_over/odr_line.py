"""scipy.odr: errors in both coordinates, both Jacobians exact."""

import warnings

import numpy as np

import linad

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # SciPy passes the code on to odrpack
    from scipy import odr

rng = np.random.default_rng(2)
truth = np.array([2.0, 0.7])
x = np.linspace(0.0, 4.0, 30)
y = truth[0] * np.exp(-truth[1] * x)
x_seen, y_seen = x + 0.05 * rng.standard_normal(30), y + 0.02 * rng.standard_normal(30)


def decay(beta, x):
    return beta[0] * np.exp(-beta[1] * x)


def in_parameters(beta, x):
    return linad.jacobian(lambda b: decay(b, x))(beta).T


def in_points(beta, x):
    """Each value depends on its own point alone: one product gives all the slopes."""
    return linad.jvp(lambda x: decay(beta, x), (x,), (np.ones_like(x),))[1]


data = odr.RealData(x_seen, y_seen, sx=0.05, sy=0.02)
model = odr.Model(decay, fjacb=in_parameters, fjacd=in_points)
problem = odr.ODR(data, model, beta0=[1.0, 1.0])
problem.set_job(fit_type=0, deriv=2)  # the derivatives are checked, and used
found = problem.run()
for name, value, error in zip(("height", "rate"), found.beta, found.sd_beta, strict=True):
    print(f"{name:6} {value:.3f} +- {error:.3f}")
