"""
Hidden Markov model
===================

The forward recursion in log space: ``np.logaddexp.reduce`` sums probabilities whose logarithms
are given. The gradient of this recursion is what the Baum-Welch algorithm computes.
"""

import matplotlib.pyplot as plt
import numpy as np

import linad

rng = np.random.default_rng(0)


def log_likelihood(model, symbols):
    """Log probability of a sequence of observed symbols, summed over all hidden paths.

    Entries of the model are logarithms and need not be normalised: ``start`` (K,),
    ``transition`` (K, K) from row to column, ``emission`` (K, M).
    """
    log_b = model["emission"][:, symbols].T
    alpha = model["start"] + log_b[0]
    for t in range(1, len(symbols)):
        arrivals = alpha[:, np.newaxis] + model["transition"]
        alpha = log_b[t] + np.logaddexp.reduce(arrivals, axis=0)
    return np.logaddexp.reduce(alpha)


# %%
# Its gradient in the logarithm of a probability is the expected number of times that this step
# was taken, given what was seen: what the Baum-Welch algorithm computes by a backward recursion
# of its own. Reverse mode is that recursion.
states = {
    "start": np.log([0.5, 0.5]),
    "transition": np.log([[0.9, 0.1], [0.2, 0.8]]),
    "emission": np.log([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]]),
}
symbols = np.array([0, 0, 1, 0, 2, 2, 1, 2, 2, 0])
counts = linad.grad(log_likelihood)(states, symbols)
print(counts["transition"].round(3))

# %%
# Ten symbols, nine steps between them:
print(counts["transition"].sum(), counts["emission"].sum())

# %%
# For the probability of being in a state at each time, every time gets emissions of its own. A
# longer chain, in which state 1 prefers the third symbol:
T = 120
hidden = np.zeros(T, int)
for t in range(1, T):
    hidden[t] = hidden[t - 1] ^ (
        rng.random() < np.exp(states["transition"][hidden[t - 1], 1 - hidden[t - 1]])
    )
emission = np.exp(states["emission"])
symbols = np.array([rng.choice(3, p=emission[k]) for k in hidden])

by_time = states | {"emission": states["emission"][:, symbols]}
posterior = linad.grad(log_likelihood)(by_time, np.arange(T))["emission"]
print("sums over the states:", posterior.sum(axis=0).min(), posterior.sum(axis=0).max())

fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.fill_between(np.arange(T), hidden, step="mid", color="0.85", label="hidden state")
ax.plot(posterior[1], "C3", label="probability of state 1")
ax.plot(symbols / 2, "k.", markersize=3, label="symbols 0, 1, 2")
ax.set(xlabel="time")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))

plt.show()

# %%
# **Try next.** Make Baum-Welch of it: divide the rows of ``counts["transition"]`` by their sums,
# take the logarithm, and begin again. The likelihood grows with each step.
