"""Functions that other processes can import, and data for them."""

import os
import time

import numpy as np

ROWS, COLUMNS = 1_000_000, 20


def logistic(w, X, y):
    return np.sum(np.logaddexp(0, -y * (X @ w)))


def rows(k, count, columns=COLUMNS):
    """Shard k: what is known of its rows, made of its number alone."""
    rng = np.random.default_rng(k)
    X = rng.standard_normal((count, columns))
    chance = 1 / (1 + np.exp(-X @ np.linspace(-1, 1, columns)))
    return X, np.where(rng.random(count) < chance, 1.0, -1.0)


def dies(w, k):
    if k == 2:
        os._exit(1)
    return np.sum(w) * k


def slow_where_it_fails(w, k):
    if k == 1:
        time.sleep(0.2)
    if k >= 1:
        raise ValueError(f"row {k}")
    return np.sum(w)


def squares(w, X, y):
    return np.sum((X @ w - y) ** 2)


def fails_without_rows(w, X, y):
    return X[0] @ w
