"""While loops in machine code."""

import numpy as np

import linad
from linad.control import whiles


def test_large_integers_are_kept_as_they_are(monkeypatch):
    """A generator of random numbers, whose state no float64 holds, in rows that are thinned out."""
    monkeypatch.setattr(whiles, "LEAP", 2)
    factor, more = 6364136223846793005, 1442695040888963407

    def f(x):
        def body(carry):
            k, state, total = carry
            return k + 1, state * factor + more, total + x**2 * (state % 7)

        init = 0, np.int64(88172645463325252), 0.0 * x
        return linad.while_loop(lambda c: c[0] < 20, body, init, checkpoints=4)[2]

    state, total = 88172645463325252, 0
    for _ in range(20):
        total += state % 7
        state = (state * factor + more + 2**63) % 2**64 - 2**63
    gradient = linad.jit(linad.grad(f))
    for _ in range(3):
        np.testing.assert_allclose(gradient(1.5), 3.0 * total, rtol=1e-14)
