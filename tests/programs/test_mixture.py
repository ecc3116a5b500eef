import numpy as np
import pytest
from programs import mixture
from programs.references import check_program
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal

rng = np.random.default_rng(0)
POINTS = rng.standard_normal((7, 2))
K = 3
FACTORS = {
    "logits": rng.standard_normal(K),
    "means": rng.standard_normal((K, 2)),
    "factors": rng.standard_normal((K, 2, 2)) + 2 * np.eye(2),
}


def model_of(p):
    """Covariances from their factors, so that they stay symmetric and positive."""
    factors = p["factors"]
    covariances = factors @ np.swapaxes(factors, 1, 2)
    return {"logits": p["logits"], "means": p["means"], "covariances": covariances}


def program(p):
    return mixture.log_likelihood(model_of(p), POINTS)


def log_terms(p):
    """Log of weight times density, (K, n), by SciPy."""
    model = model_of(p)
    densities = [
        multivariate_normal(m, c).logpdf(POINTS)
        for m, c in zip(model["means"], model["covariances"], strict=True)
    ]
    return np.stack(densities) + np.log(softmax(p["logits"]))[:, np.newaxis]


def gradient(p):
    """By responsibilities r, as in the algorithm of expectation and maximisation."""
    r = softmax(log_terms(p), axis=0)
    model = model_of(p)
    means, factors = [], []
    for k in range(K):
        precision = np.linalg.inv(model["covariances"][k])
        d = (POINTS - model["means"][k]) @ precision
        means.append(r[k] @ d)
        slope = 0.5 * ((d.T * r[k]) @ d - r[k].sum() * precision)
        factors.append(2 * slope @ p["factors"][k])
    return {
        "logits": r.sum(axis=1) - len(POINTS) * softmax(p["logits"]),
        "means": np.stack(means),
        "factors": np.stack(factors),
    }


def test_value():
    expected = logsumexp(log_terms(FACTORS), axis=0).sum()
    assert program(FACTORS) == pytest.approx(expected, rel=1e-13)


def test_derivatives():
    check_program(program, gradient, FACTORS)
