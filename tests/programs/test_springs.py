import numpy as np
import pytest
from programs import springs
from programs.references import assert_close, check_program
from scipy.optimize import minimize

import linad

N = 10
HOOKS = np.array([[0.0, 0.0], [1.0, 0.2]])
MASS, STIFFNESS, LENGTH = 0.01, 50.0, 0.15
START = (HOOKS[0] + np.linspace(0, 1, N + 2)[1:-1, np.newaxis] * (HOOKS[1] - HOOKS[0])).ravel()


def energy(free):
    return springs.energy(free, HOOKS, MASS, STIFFNESS, LENGTH)


def gradient(free, hooks, mass, stiffness, length):
    """Pull of the two springs at each node, and weight."""
    nodes = np.vstack([hooks[:1], free.reshape(-1, 2), hooks[1:]])
    gaps = np.diff(nodes, axis=0)
    lengths = np.linalg.norm(gaps, axis=1)
    stretch = lengths - length
    pull = stiffness * (stretch / lengths)[:, np.newaxis] * gaps
    by_node = np.zeros_like(nodes)
    by_node[1:] += pull
    by_node[:-1] -= pull
    by_node[1:-1, 1] += springs.GRAVITY * mass
    return (
        by_node[1:-1].ravel(),
        by_node[[0, -1]],
        springs.GRAVITY * np.sum(nodes[1:-1, 1]),
        0.5 * np.sum(stretch**2),
        -stiffness * np.sum(stretch),
    )


def test_derivatives():
    bent = START + 0.05 * np.random.default_rng(0).standard_normal(START.shape)
    check_program(springs.energy, gradient, bent, HOOKS, MASS, STIFFNESS, LENGTH, step=0.003)


@pytest.mark.parametrize(
    "method",
    [
        "Newton-CG",
        *[pytest.param(m, marks=pytest.mark.full) for m in ("trust-ncg", "trust-krylov")],
    ],
)
def test_minimisation(method):
    found = minimize(
        energy,
        START + 0.01 * np.sin(np.arange(START.size)),
        method=method,
        jac=linad.grad(energy),
        hessp=lambda x, p: linad.hvp(energy, (x,), (p,)),
        options={"gtol": 1e-8} if method != "Newton-CG" else {"xtol": 1e-10},
    )
    # In equilibrium nothing pulls at a mass, and the hooks carry the weight.
    forces = gradient(found.x, HOOKS, MASS, STIFFNESS, LENGTH)
    np.testing.assert_allclose(forces[0], 0, atol=1e-6)
    np.testing.assert_allclose(forces[1].sum(axis=0), [0, N * MASS * springs.GRAVITY], atol=1e-6)
    # There the Hessian is positive definite: it is a minimum.
    assert np.linalg.eigvalsh(linad.hessian(energy)(found.x))[0] > 0


def test_a_hanging_chain():
    # Both hooks on one vertical line: spring k carries the masses below it, less what the
    # lower hook pulls up; so the forces fall by one weight from spring to spring.
    hooks = np.array([[0.0, 0.0], [0.0, -3.0]])
    start = np.column_stack([np.zeros(N), np.linspace(0, -3, N + 2)[1:-1]]).ravel()

    def hanging(free):
        return springs.energy(free, hooks, MASS, STIFFNESS, LENGTH)

    found = minimize(
        hanging,
        start,
        method="Newton-CG",
        jac=linad.grad(hanging),
        hessp=lambda x, p: linad.hvp(hanging, (x,), (p,)),
        options={"xtol": 1e-12},
    )
    weight = MASS * springs.GRAVITY / STIFFNESS
    k = np.arange(N + 1)
    lengths = 3 / (N + 1) + weight * (N / 2 - k)
    assert_close(found.x.reshape(-1, 2)[:, 1], -np.cumsum(lengths)[:-1], 1e-9)
