"""lmfit: a peak on a slope, its Jacobian exact."""

import lmfit
import numpy as np

import linad

rng = np.random.default_rng(0)
x = np.linspace(0.0, 10.0, 60)


def model(p):
    height, centre, width, slope = p
    return height * np.exp(-0.5 * ((x - centre) / width) ** 2) + slope * x


data = model(np.array([3.0, 4.0, 0.8, 0.1])) + 0.05 * rng.standard_normal(x.size)


def residual(params):
    return model(np.array(list(params.valuesdict().values()))) - data


def jacobian(params):
    """Derivatives in the parameters as lmfit names them, one column each."""
    return linad.jacobian(model)(np.array(list(params.valuesdict().values())))


params = lmfit.Parameters()
params.add("height", 1.0, min=0.0)
params.add("centre", 5.0)
params.add("width", 1.0, min=0.0)
params.add("slope", 0.0)

fit = lmfit.minimize(residual, params, Dfun=jacobian)
for name, p in fit.params.items():
    print(f"{name:7} {p.value:6.3f} +- {p.stderr:.3f}")
