import itertools

import numpy as np
import pytest
from programs import hidden_markov
from programs.references import assert_close, check_program

import linad

rng = np.random.default_rng(0)
STATES, KINDS = 3, 4
SYMBOLS = np.array([0, 3, 1, 1, 2])
MODEL = {
    "start": rng.standard_normal(STATES),
    "transition": rng.standard_normal((STATES, STATES)),
    "emission": rng.standard_normal((STATES, KINDS)),
}


def paths():
    """Each hidden path, as the number of times it uses each entry of the model."""
    for path in itertools.product(range(STATES), repeat=len(SYMBOLS)):
        count = {k: np.zeros_like(v) for k, v in MODEL.items()}
        count["start"][path[0]] += 1
        np.add.at(count["transition"], (path[:-1], path[1:]), 1)
        np.add.at(count["emission"], (path, SYMBOLS), 1)
        yield count


COUNTS = {k: np.stack([count[k] for count in paths()]) for k in MODEL}


def posterior(model):
    """Log-likelihood, and the probability of each path given the symbols."""
    weights = np.exp(sum(np.tensordot(COUNTS[k], model[k], np.ndim(model[k])) for k in model))
    return np.log(weights.sum()), weights / weights.sum()


def expected_counts(model):
    """Gradient: how often each entry is used, on average over the paths."""
    p = posterior(model)[1]
    return {k: np.tensordot(p, COUNTS[k], 1) for k in model}


def program(model):
    return hidden_markov.log_likelihood(model, SYMBOLS)


def test_value():
    assert program(MODEL) == pytest.approx(posterior(MODEL)[0], rel=1e-13)


def test_derivatives():
    check_program(program, expected_counts, MODEL)


def test_hessian_is_the_covariance_of_the_counts():
    p = posterior(MODEL)[1]
    counts = COUNTS["transition"].reshape(len(p), -1)
    centred = counts - p @ counts
    covariance = (centred.T * p) @ centred
    H = linad.hessian(lambda a: program({**MODEL, "transition": a}))(MODEL["transition"])
    assert_close(H.reshape(covariance.shape), covariance, 1e-12)


def test_impossible_transitions():
    # log 0: paths through it have no weight, and no derivative is NaN.
    transition = MODEL["transition"].copy()
    transition[1, 2] = -np.inf
    model = {**MODEL, "transition": transition}
    gradient = linad.grad(program)(model)
    p = COUNTS["transition"][:, 1, 2] == 0
    allowed = {k: COUNTS[k][p] for k in COUNTS}
    finite = {**model, "transition": np.where(np.isinf(transition), 0.0, transition)}
    weights = np.exp(sum(np.tensordot(allowed[k], finite[k], np.ndim(model[k])) for k in model))
    weights /= weights.sum()
    assert_close(gradient, {k: np.tensordot(weights, allowed[k], 1) for k in model}, 1e-12)
