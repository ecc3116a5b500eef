"""Hidden Markov model: the forward recursion in log space."""

import numpy as np


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
