"""nutpie: a log-density and its gradient, both of NumPy code."""

import numpy as np
import nutpie

import linad

rng = np.random.default_rng(7)
t = np.linspace(0.0, 5.0, 40)
data = 2.0 * np.exp(-0.8 * t) + 0.1 * rng.standard_normal(40)


def log_density(p):
    return -0.5 * np.sum(((np.exp(p[0]) * np.exp(-np.exp(p[1]) * t) - data) / 0.1) ** 2)


with_gradient = linad.jit(linad.value_and_grad(log_density))


def make_logp():
    def logp(p):
        value, gradient = with_gradient(p)
        return float(value), gradient

    return logp


def make_expand(*seeds):
    return lambda p: {"height and rate": np.exp(p)}


model = nutpie.compiled_pyfunc.from_pyfunc(
    2, make_logp, make_expand, [np.dtype("float64")], [(2,)], ["height and rate"]
)
drawn = nutpie.sample(model, draws=1000, tune=500, chains=2, seed=8, progress_bar=False)
values = drawn.posterior["height and rate"].values.reshape(-1, 2)
for name, column in zip(("height", "rate"), values.T, strict=True):
    print(f"{name:6} {column.mean():.2f} +- {column.std():.2f}")
