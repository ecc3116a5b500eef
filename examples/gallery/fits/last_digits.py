"""
How many digits a fit can have
==============================

Lanczos1 is the hardest of NIST's regressions for a standard deviation: 24 values of a sum of three
exponentials, written with 13 digits. What the model leaves of them is their last digit, 1e-13 of
numbers near 1, and a standard deviation is proportional to that. How much of it does a double hold?
"""

from decimal import Decimal, getcontext

import matplotlib.pyplot as plt
import numpy as np

import linad

text = """2.5134 2.044333373291 1.668404436564 1.366418021208 1.123232487372 0.9268897180037
0.7679338563728 0.6388775523106 0.5337835317402 0.4479363617347 0.377584788435 0.3197393199326
0.2720130773746 0.2324965529032 0.1996589546065 0.1722704126914 0.1493405660168 0.1300700206922
0.1138119324644 0.1000415587559 0.0883320908454 0.0783354401935 0.06976693743449
0.06239312536719"""
values = text.split()
times = [f"{k / 20}" for k in range(24)]
certified = 1e-11 * np.array(  # standard deviations, by NIST
    [5.3347304234, 27.473038179, 13.576062225, 33.308253069, 18.815731448, 11.057500538]
)

# %%
# Gauss's and Newton's method with 50 digits, on the decimals as they are printed, and on the
# doubles next to them:
getcontext().prec = 50


def exact_fit(t, y):
    """Parameters, standard deviations and residuals, in decimal arithmetic."""
    p = np.array([Decimal(v) for v in ("0.0951", "1", "0.8607", "3", "1.5576", "5")])
    for _ in range(6):
        decays = np.array([[(-rate * time).exp() for rate in p[1::2]] for time in t])
        J = np.empty((len(t), 6), object)
        J[:, ::2], J[:, 1::2] = decays, -decays * p[::2] * t[:, np.newaxis]
        r = decays @ p[::2] - y
        inverse = exact_inverse(J.T @ J)
        p = p - inverse @ (J.T @ r)
    return p, np.array([(r @ r / 18 * v).sqrt() for v in np.diag(inverse)]), r


def exact_inverse(A):
    """Gauss and Jordan's method; A is positive definite."""
    n = len(A)
    both = np.concatenate([A, np.array([[Decimal(i == j) for j in range(n)] for i in range(n)])], 1)
    for k in range(n):
        both[k] /= both[k, k]
        rest = np.arange(n) != k
        both[rest] -= both[rest, k : k + 1] * both[k]
    return both[:, n:]


def decimals(numbers):
    return np.array([Decimal(number) for number in numbers])


def digits(found):
    return -np.log10(np.max(np.abs(np.array(found, float) / certified - 1)))


t, y = np.array(times, float), np.array(values, float)
_, of_decimals, r = exact_fit(decimals(times), decimals(values))
_, of_doubles, _ = exact_fit(decimals(t), decimals(y))
print(f"exact arithmetic, decimals: {digits(of_decimals):.1f} digits of NIST's standard deviations")
print(f"exact arithmetic, doubles:  {digits(of_doubles):.1f} digits")

# %%
# So all but three digits are lost by storing the data as doubles, before anything is computed.
# Rounding in the model is as large again. linad's fit, from the start that is further away:


def model(t, b1, b2, b3, b4, b5, b6):
    return b1 * np.exp(-b2 * t) + b3 * np.exp(-b4 * t) + b5 * np.exp(-b6 * t)


found = linad.solve.curve_fit(model, t, y, [1.2, 0.3, 5.6, 5.5, 6.5, 7.6])
print(f"linad:                      {digits(found.errors):.1f} digits")

# %%
# What is lost is lost in the length of the residual alone. The other factor of a standard
# deviation, from the Jacobian, has all of NIST's digits:
of_exact_length = found.errors * np.sqrt(float(r @ r) / found.chi_square)
print(f"linad, of the exact length: {digits(of_exact_length):.1f} digits")

fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.semilogy(t, np.abs(np.array(r, float)), "o", label="|residual|, exact")
ax.semilogy(t, np.abs(found.residuals), "C1.", label="|residual|, linad")
ax.semilogy(t, np.spacing(y) / 2, "k", label="rounding of y to a double", drawstyle="steps-mid")
ax.set(xlabel="t", title="What is fitted, and what a double holds")
fig.legend(loc="outside lower center", ncols=3)
plt.show()

# %%
# **Try next.** The parameters have ten digits. Round the values to five digits, as in Lanczos3:
# how many does the standard deviation of doubles have then?
