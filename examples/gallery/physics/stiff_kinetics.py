"""
A reaction that oscillates
==========================

The Oregonator, a model of the Belousov-Zhabotinsky reaction: concentrations stay low for minutes
and then shoot up by four orders of magnitude in a second. Implicit methods need the Jacobian of
the rates, and get it exact; then the solution itself is differentiated in a rate constant.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate

import linad
from linad.scipy.integrate import solve_ivp


def rates(t, y, s=77.27, w=0.161, q=8.375e-6):
    """Field and Noyes, scaled: bromous acid, bromide, and oxidised catalyst."""
    return np.stack(
        [
            s * (y[1] - y[0] * y[1] + y[0] - q * y[0] ** 2),
            (-y[1] - y[0] * y[1] + y[2]) / s,
            w * (y[0] - y[2]),
        ]
    )


start = np.array([1.0, 2.0, 3.0])
found = scipy.integrate.solve_ivp(
    t_span=(0, 360),
    y0=start,
    rtol=1e-7,
    atol=1e-7,
    **linad.scipy_args(rates, "solve_ivp", method="BDF"),
)
print(f"{found.t.size} steps, {found.njev} Jacobians")

# %%
# The reference at the end of this stretch, from Bari's test set for initial value problems:
reference = np.array([1.000814870318523, 1.228178521549917e3, 1.320554942846706e2])
print("differs by", np.abs(found.y[:, -1] / reference - 1).max().round(6))

# %%
# How does the reaction answer to a faster third step, w? ``linad.scipy.integrate.solve_ivp`` is
# SciPy's, and can be differentiated.
times = np.linspace(0, 20, 41)


def catalyst(w):
    return solve_ivp(
        rates, (0, 20), start, "Radau", t_eval=times, args=(77.27, w), rtol=1e-6, atol=1e-8
    ).y[2]


values, slope = linad.jvp(catalyst, (0.161,), (1.0,))
h = 1e-4
difference = (catalyst(0.161 + h) - catalyst(0.161 - h)) / (2 * h)
print(
    "differences say the same to", f"{np.abs(slope - difference).max() / np.abs(slope).max():.0e}"
)

fig, (left_ax, right_ax) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left_ax.semilogy(found.t, found.y.T, label=["bromous acid", "bromide", "catalyst"])
left_ax.set(xlabel="time", ylabel="scaled concentration")
left_ax.legend()
right_ax.plot(times, values, "C2", label="catalyst")
right_ax.plot(times, slope / 10, "C2--", label="its derivative in w, / 10")
right_ax.set(xlabel="time")
right_ax.legend()
plt.show()

# %%
# **Try next.** Fit ``s``, ``w`` and ``q`` to a measured potential with ``linad.solve.curve_fit``:
# the model is the solution of the equations.
