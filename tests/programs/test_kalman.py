import numpy as np
import pytest
from programs import kalman
from programs.references import check_program, complex_step
from scipy.stats import multivariate_normal

rng = np.random.default_rng(0)
SIZE, SEEN, TIMES = 3, 2, 6
OBSERVATIONS = rng.standard_normal((TIMES, SEEN))
FACTORS = {
    "F": 0.5 * rng.standard_normal((SIZE, SIZE)),
    "H": rng.standard_normal((SEEN, SIZE)),
    "Q": rng.standard_normal((SIZE, SIZE)),
    "R": rng.standard_normal((SEEN, SEEN)),
    "m": rng.standard_normal(SIZE),
    "P": rng.standard_normal((SIZE, SIZE)),
}


def model_of(factors):
    """Covariances from their factors, so that they stay symmetric and positive."""
    return {k: v @ v.T if k in "QRP" else v for k, v in factors.items()}


def joint(model):
    """Mean and covariance of all observations: they are one Gaussian vector."""
    F, H = model["F"], model["H"]
    powers = [np.eye(SIZE)]
    for _ in range(TIMES):
        powers.append(F @ powers[-1])
    mean = np.concatenate([H @ powers[t] @ model["m"] for t in range(1, TIMES + 1)])
    # y_t = H F^t x_0 + sum over s <= t of H F^(t - s) w_s + v_t.
    rows = [
        [H @ powers[t]]
        + [H @ powers[t - s] if s <= t else np.zeros_like(H) for s in range(1, TIMES + 1)]
        for t in range(1, TIMES + 1)
    ]
    G = np.block(rows)
    noise = [model["P"]] + [model["Q"]] * TIMES
    inside = np.zeros((G.shape[1], G.shape[1]), np.result_type(*noise))
    for k, block in enumerate(noise):
        inside[k * SIZE : (k + 1) * SIZE, k * SIZE : (k + 1) * SIZE] = block
    return mean, G @ inside @ G.T + np.kron(np.eye(TIMES), model["R"])


def joint_log_likelihood(factors):
    mean, covariance = joint(model_of(factors))
    r = OBSERVATIONS.ravel() - mean
    log_det = np.log(np.linalg.det(covariance))
    return -0.5 * (r @ np.linalg.solve(covariance, r) + log_det + r.size * np.log(2 * np.pi))


def test_value():
    mean, covariance = joint(model_of(FACTORS))
    expected = multivariate_normal(mean, covariance).logpdf(OBSERVATIONS.ravel())
    found = kalman.log_likelihood(model_of(FACTORS), OBSERVATIONS)
    assert found == pytest.approx(expected, rel=1e-12)


def test_derivatives():
    check_program(
        lambda factors: kalman.log_likelihood(model_of(factors), OBSERVATIONS),
        lambda factors: complex_step(joint_log_likelihood, factors),
        FACTORS,
        rtol=1e-9,
    )
