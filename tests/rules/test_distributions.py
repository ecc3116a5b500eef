"""Distribution functions: rules against differences, and against scipy.stats' densities."""

import numpy as np
import pytest
import scipy.special as sp
from special_cases import special_case

import linad

X = np.array([-1.3, 0.3, 1.1])
P = np.array([0.8, 1.3, 1.9])
U = np.array([0.3, 0.6, 0.7])
V = np.array([3.5, 0.9, 12.0])


CASES = [
    special_case("ndtr", X),
    special_case("log_ndtr", X),
    special_case("ndtri", U),
    special_case("ndtri_exp", -P),
    special_case("nrdtrimn", U, P, X),
    special_case("tklmbda", np.array([-0.9, 0.2, 1.1]), np.array([0.3, 0.0, -1.2])),
    special_case("kolmogorov", np.array([0.4, 0.98, 1.0, 1.02, 2.1])),
    special_case("kolmogi", np.array([0.2, 0.5, 0.99])),
    *[special_case(f"kolmog{k}", np.array([0.4, 0.98, 1.0, 1.02, 2.1])) for k in "cp"],
    special_case("kolmogci", np.array([0.2, 0.5, 0.99])),
    special_case("nrdtrisd", X / 8, np.array([0.25, 0.27, 0.3]), P / 4),
    *[special_case(name, V, P) for name in ("chdtr", "chdtrc")],
    special_case("chdtri", V, U),
    *[special_case(name, P, V, U) for name in ("gdtr", "gdtrc", "gdtrix")],
    special_case("gdtria", U, V, P),
    special_case("stdtr", V[:, None], np.array([-9.0, -1.3, 0.0, 0.3, 2.1])),
    special_case("stdtrit", V, U),
    *[special_case(name, V, P, X + 2) for name in ("fdtr", "fdtrc")],
    special_case("fdtri", V, P, U),
    *[special_case(name, 2, P) for name in ("pdtr", "pdtrc")],
    special_case("pdtri", 2, U),
    *[special_case(name, 2, 5, U) for name in ("nbdtr", "nbdtrc", "nbdtri")],
    # In single precision SciPy takes n for a non-integer and warns.
    *[special_case(name, 2, 5, U, float32=False) for name in ("bdtr", "bdtrc", "bdtri")],
]


def test_tails():
    x = np.float64(9)
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    assert linad.grad(sp.ndtr)(x) == pytest.approx(density, rel=1e-13)
    assert linad.grad(sp.ndtri)(np.float64(1e-300)) == pytest.approx(
        1 / (np.exp(-(sp.ndtri(1e-300) ** 2) / 2) / np.sqrt(2 * np.pi)), rel=1e-12
    )


def test_kolmogorov_at_its_ends():
    """Far out the first term is all, near zero the derivative underflows, and P(y) is 1 below."""
    y = np.float64(9)
    assert linad.grad(sp.kolmogorov)(y) == pytest.approx(-8 * y * np.exp(-2 * y * y), rel=1e-13)
    for y in (-1.0, 0.0, 0.01, 0.04):
        assert linad.grad(sp.kolmogorov)(np.float64(y)) == 0
        assert linad.derivative(linad.grad(sp.kolmogorov))(np.float64(y)) == 0


def test_student_with_one_degree_is_cauchy():
    _, dy = linad.jvp(lambda t: sp.stdtr(1, t), (X,), (np.ones(3),))
    assert dy == pytest.approx(1 / (np.pi * (1 + X**2)))
