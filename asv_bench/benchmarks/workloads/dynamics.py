"""A differential equation, stepped a thousand times: in Python, and by a while loop."""

import importlib.util

import numpy as np
from numba import njit

import linad

from .limit import limit
from .workload import Family, Workload

STEPS, H = 1000, 0.01


def _rates(y, t, numpy):
    a, b, c, d = t
    return numpy.stack([y[0] * (a - b * y[1]), y[1] * (d * y[0] - c)])


def _parts(theta):
    """The four rates, and the start."""
    return (theta[0], theta[1], theta[2], theta[3]), theta[4:]


def _step(y, t, numpy):
    k1 = _rates(y, t, numpy)
    k2 = _rates(y + H / 2 * k1, t, numpy)
    k3 = _rates(y + H / 2 * k2, t, numpy)
    k4 = _rates(y + H * k3, t, numpy)
    return y + H / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def lotka_volterra(theta, numpy=np):
    """Rates theta[:4], start theta[4:]; the squared norm after a thousand steps of RK4."""
    return _after(STEPS, theta, numpy)


def over_times(theta, times, numpy=np):
    """The same, one step for each time."""
    return _after(len(times), theta, numpy)


def _after(steps, theta, numpy):
    rates, y = _parts(theta)
    for _ in range(steps):
        y = _step(y, rates, numpy)
    return numpy.sum(y * y)


START = np.array([0.55, 0.028, 0.8, 0.024, 30.0, 4.0])


def _by_hand(compiled):
    """The gradient by hand, written into an array, as a compiler of Numba's compiles it."""

    @compiled
    def rates(p, q, t):
        return p * (t[0] - t[1] * q), q * (t[3] * p - t[2])

    @compiled
    def pull(p, q, t, wp, wq, g):
        """Adds to the gradient in t; returns the cotangents of p and q."""
        g[0] += wp * p
        g[1] -= wp * p * q
        g[2] -= wq * q
        g[3] += wq * q * p
        return (
            wp * (t[0] - t[1] * q) + wq * q * t[3],
            -wp * p * t[1] + wq * (t[3] * p - t[2]),
        )

    @compiled
    def gradient(theta, g):
        t = theta
        ps, qs = np.empty(STEPS), np.empty(STEPS)
        p, q = theta[4], theta[5]
        for n in range(STEPS):
            ps[n], qs[n] = p, q
            a1, b1 = rates(p, q, t)
            a2, b2 = rates(p + H / 2 * a1, q + H / 2 * b1, t)
            a3, b3 = rates(p + H / 2 * a2, q + H / 2 * b2, t)
            a4, b4 = rates(p + H * a3, q + H * b3, t)
            p += H / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            q += H / 6 * (b1 + 2 * b2 + 2 * b3 + b4)
        g[:] = 0.0
        u, v = 2 * p, 2 * q
        for n in range(STEPS - 1, -1, -1):
            p, q = ps[n], qs[n]
            a1, b1 = rates(p, q, t)
            p2, q2 = p + H / 2 * a1, q + H / 2 * b1
            a2, b2 = rates(p2, q2, t)
            p3, q3 = p + H / 2 * a2, q + H / 2 * b2
            a3, b3 = rates(p3, q3, t)
            p4, q4 = p + H * a3, q + H * b3
            x4, y4 = pull(p4, q4, t, H / 6 * u, H / 6 * v, g)
            x3, y3 = pull(p3, q3, t, H / 3 * u + H * x4, H / 3 * v + H * y4, g)
            x2, y2 = pull(p2, q2, t, H / 3 * u + H / 2 * x3, H / 3 * v + H / 2 * y3, g)
            x1, y1 = pull(p, q, t, H / 6 * u + H / 2 * x2, H / 6 * v + H / 2 * y2, g)
            u += x1 + x2 + x3 + x4
            v += y1 + y2 + y3 + y4
        g[4], g[5] = u, v

    return gradient


_hand_gradient = _by_hand(njit)


@njit
def lotka_volterra_gradient(theta):
    """As one writes it with Numba, rounded as it is written."""
    g = np.empty(6)
    _hand_gradient(theta, g)
    return g


def _scanned(theta, numpy):
    """With JAX's loop that is compiled once."""
    import jax

    rates, y = _parts(theta)
    y, _ = jax.lax.scan(lambda y, _: (_step(y, rates, numpy), None), y, None, length=STEPS)
    return numpy.sum(y * y)


def _folded(theta, numpy):
    """With CasADi's loop: a step is a function of its own."""
    import casadi

    y, t = casadi.SX.sym("y", 2), casadi.SX.sym("t", 6)
    step = casadi.Function("step", [y, t], [_step(y, _parts(t)[0], numpy)])
    return numpy.sum(step.fold(STEPS)(theta[4:], theta) ** 2)


def _pytensor_scanned(theta, numpy):
    """With PyTensor's loop."""
    import pytensor

    rates, y = _parts(theta)
    states = pytensor.scan(
        lambda y, *t: _step(y, t, numpy),
        outputs_info=[y],
        non_sequences=list(rates),
        n_steps=STEPS,
        return_updates=False,
    )
    return numpy.sum(states[-1] ** 2)


def to_the_end(theta, numpy=np):
    """The same by a loop that ends when the time has come."""
    rates, y = _parts(theta)
    y, _ = linad.while_loop(
        lambda c: c[1] < STEPS, lambda c: (_step(c[0], rates, numpy), c[1] + 1), (y, 0)
    )
    return numpy.sum(y * y)


def _checkpointed(theta, numpy):
    """With Equinox's loop, which is JAX's way to a while loop with a reverse mode."""
    from equinox.internal import while_loop

    rates, y = _parts(theta)
    y, _ = while_loop(
        lambda c: c[1] < STEPS,
        lambda c: (_step(c[0], rates, numpy), c[1] + 1),
        (y, 0),
        max_steps=STEPS,
        kind="checkpointed",
    )
    return numpy.sum(y * y)


WITHOUT_WHILE = ("enzyme", "autograd", "casadi", "pytensor", "torch", "torch.compile")
if importlib.util.find_spec("equinox") is None:
    WITHOUT_WHILE += ("jax",)

WORKLOADS = [
    Workload(
        "Lotka-Volterra, RK4, 1000 steps",
        "dynamics",
        lotka_volterra,
        lambda rng: (START,),
        by_hand={"gradient": _by_hand(limit)},
        forms={"jax": _scanned, "casadi": _folded, "pytensor": _pytensor_scanned},
        without=("torch.compile",),
        long=True,
    ),
    Workload(
        "Lotka-Volterra, RK4, while",
        "dynamics",
        to_the_end,
        lambda rng: (START,),
        by_hand={"gradient": _by_hand(limit)},
        forms={"jax": _checkpointed},
        without=WITHOUT_WHILE,
        long=True,
    ),
]

FAMILIES = [
    Family(
        "Lotka-Volterra, RK4, n steps",
        "dynamics",
        over_times,
        lambda n: lambda rng: (START, H * np.arange(n)),
        sizes=(10, 100),
    ),
]
