"""Classical test problems: J. J. Moré, B. S. Garbow, K. E. Hillstrom, "Testing unconstrained
optimization software", 1981. Numbers in brackets are theirs."""

import numpy as np
import pytest

unfinished = pytest.mark.filterwarnings("ignore:.*those of where it ended")
"""For tests of fits that do not converge, which warn."""


def rosenbrock(x):
    """(1) as equations; root (1, 1) from (-1.2, 1)."""
    return np.stack([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def freudenstein_roth(x):
    """(2); root (5, 4); a local minimum of |F| at (11.41..., -0.8968...), |F|² = 48.98425."""
    return np.stack(
        [
            -13.0 + x[0] + ((5.0 - x[1]) * x[1] - 2.0) * x[1],
            -29.0 + x[0] + ((x[1] + 1.0) * x[1] - 14.0) * x[1],
        ]
    )


def powell_badly_scaled(x):
    """(3); root (1.098...e-5, 9.106...) from (0, 1)."""
    return np.stack([1e4 * x[0] * x[1] - 1.0, np.exp(-x[0]) + np.exp(-x[1]) - 1.0001])


def beale(x):
    """(5); minimum 0 at (3, 0.5) from (1, 1)."""
    return np.stack([1.5, 2.25, 2.625]) - x[0] * (1.0 - x[1] ** np.array([1.0, 2.0, 3.0]))


def powell_singular(x):
    """(13); root 0 from (3, -1, 0, 1), where the Jacobian is singular."""
    return np.stack(
        [
            x[0] + 10.0 * x[1],
            np.sqrt(5.0) * (x[2] - x[3]),
            (x[1] - 2.0 * x[2]) ** 2,
            np.sqrt(10.0) * (x[0] - x[3]) ** 2,
        ]
    )


def broyden_tridiagonal(x):
    """(30); from -1."""
    v = np.pad(x, 1)
    return (3.0 - 2.0 * x) * x - v[:-2] - 2.0 * v[2:] + 1.0


def bratu(u, lam):
    """u'' + lam e^u = 0 on (0, 1), u = 0 at both ends; fold at 3.513830719 in the limit."""
    v = np.pad(u, 1)
    return v[:-2] - 2.0 * u + v[2:] + lam / (len(u) + 1) ** 2 * np.exp(u)


def rosenbrock_value(x):
    """The chained Rosenbrock function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
