"""
An epidemic: a fit of differential equations
============================================

The course of an influenza in a school of 763 boys, as numbers in bed on fourteen days (British
Medical Journal, 4 March 1978). The model has those who may fall ill, those who are ill, and those
who have recovered; its rates are found by a fit through 1300 steps of a Runge-Kutta method.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad

day = np.arange(14.0)
in_bed = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4.0])
BOYS = 763
STEPS = 100  # a day


def rates(y, infection, recovery):
    """Time derivatives of (susceptible, ill)."""
    falling_ill = infection * y[0] * y[1] / BOYS
    return np.stack([-falling_ill, falling_ill - recovery * y[1]])


def ill(day, infection, recovery):
    """How many are ill on each day, by the classical Runge-Kutta method."""
    h = 1 / STEPS

    def step(y, _):
        k1 = rates(y, infection, recovery)
        k2 = rates(y + h / 2 * k1, infection, recovery)
        k3 = rates(y + h / 2 * k2, infection, recovery)
        k4 = rates(y + h * k3, infection, recovery)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), y[1]

    start = np.array([BOYS - 3.0, 3.0])
    _, path = linad.scan(step, start, length=STEPS * len(day))
    return path[::STEPS]


# %%
# ``linad.scan`` is the loop over time. Its body is compiled once, and so is its derivative. In
# everything else it is a fit like any other:
found = linad.solve.curve_fit(ill, day, in_bed, {"infection": 1.0, "recovery": 0.3})
print(found.report())

# %%
# An ill boy infects this many others in the beginning, before he is well again. Its error is that
# of a function of the two rates, which are correlated:
number = found.propagate(lambda infection, recovery: infection / recovery)
print("basic reproduction number:", number)

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
band = 2 * found.prediction_errors(day)
ax.fill_between(day, found.predict(day) - band, found.predict(day) + band, color="C3", alpha=0.2)
ax.plot(day, found.predict(day), "C3", label="model ± 2 σ")
ax.plot(day, in_bed, "ko", label="boys in bed")
ax.set(xlabel="day")
ax.legend()
plt.show()

# %%
# **Try next.** Let the number who are ill on the first day be a third parameter, or count those
# who stay in bed after they have ceased to be infectious: a third equation and one more rate.
