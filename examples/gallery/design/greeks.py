"""
Greeks of options
=================

The sensitivities of a price are its derivatives: exact for a formula, unbiased for a simulation
whose paths move smoothly. For a digital option they do not, and linad warns in place of a silent
zero.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, ndtr

import linad


def black_scholes(spot, volatility, time, rate, strike=100.0):
    """The price of a European call."""
    total = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + rate * time) / total + total / 2
    return spot * ndtr(d1) - strike * np.exp(-rate * time) * ndtr(d1 - total)


market = {"spot": 95.0, "volatility": 0.25, "time": 0.75, "rate": 0.03}


def price(m):
    return black_scholes(**m)


greeks = linad.grad(price)(market)
gamma = linad.grad(linad.grad(black_scholes))(*market.values())
print(f"price {price(market):.4f}, gamma {gamma:.5f}")
print(
    "delta {spot:.4f}, vega {volatility:.3f}, minus theta {time:.3f}, rho {rate:.3f}".format(
        **greeks
    )
)

# %%
# By simulation: the same path moves smoothly with the market, so the derivative of the mean is
# the mean of the derivatives. One reverse sweep has all of them.
draws = np.random.default_rng(0).standard_normal((40_000, 12))


def end(m):
    """Where the price is after twelve steps, on each path, and its mean on the way."""
    dt = m["time"] / 12
    moves = (m["rate"] - m["volatility"] ** 2 / 2) * dt + m["volatility"] * np.sqrt(dt) * draws
    path = m["spot"] * np.exp(np.cumsum(moves, axis=1))
    return path[:, -1], np.mean(path, axis=1)


def simulated(m, payoff):
    return np.exp(-m["rate"] * m["time"]) * np.mean(payoff(*end(m)))


def call(last, mean):
    return np.maximum(last - 100.0, 0.0)


def asian(last, mean):
    return np.maximum(mean - 100.0, 0.0)


for payoff in (call, asian):
    g = linad.grad(simulated)(market, payoff)
    print(f"{payoff.__name__}: delta {g['spot']:.4f}, vega {g['volatility']:.3f}")

# %%
# A digital option pays 1 if the price ends above the strike. Each path's pay is constant where it
# has a derivative, and the mean of these zeros is not the derivative of the mean. linad says so:


def digital(last, mean):
    return np.where(last > 100.0, 1.0, 0.0)


with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    linad.grad(lambda s: np.mean(digital(end(market | {"spot": s})[0], None)))(95.0)
print(told[0].category.__name__, "-", str(told[0].message)[:90], "...")

# %%
# Smoothed, the step has a derivative, with a bias that falls with the width and an error that
# grows. The exact delta is that of the formula, minus the call's derivative in the strike.


def smooth(width):
    return lambda last, mean: expit((last - 100.0) / width)


def exact(spot):
    return -linad.grad(lambda k, s: black_scholes(s, 0.25, 0.75, 0.03, k))(100.0, spot)


exact_delta = linad.derivative(exact)(95.0)
widths = np.geomspace(0.03, 20, 25)
deltas = [linad.grad(simulated)(market, smooth(w))["spot"] for w in widths]

fig, (left_ax, right_ax) = plt.subplots(1, 2, figsize=(9.5, 3.4), layout="constrained")
spots = np.linspace(60, 140, 81)
for time in (0.05, 0.25, 0.75):
    gammas = linad.derivative(linad.derivative(lambda s, t=time: black_scholes(s, 0.25, t, 0.03)))
    left_ax.plot(spots, [gammas(s) for s in spots], label=f"{time} years")
left_ax.set(title="gamma of the call", xlabel="spot")
left_ax.legend()
right_ax.semilogx(widths, deltas, "o-", markersize=3, label="smoothed, simulated")
right_ax.axhline(exact_delta, color="k", linestyle=":", label="exact")
right_ax.set(title="delta of the digital option", xlabel="width of the step", ylim=(0.014, 0.022))
right_ax.legend()
plt.show()

# %%
# **Try next.** Compile ``linad.grad(simulated)`` with ``linad.jit``, or write a barrier option,
# and see what linad says of it.
