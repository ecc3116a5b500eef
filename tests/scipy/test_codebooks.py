"""linad.scipy.cluster.vq: values as SciPy's, derivatives of distances and of means."""

import numpy as np
import pytest
import scipy.cluster.vq

import linad
import linad.scipy.cluster.vq as vq
from linad.errors import ConvergenceError, DegenerateError, ShapeError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(0)
DATA = np.concatenate([0.3 * rng.standard_normal((8, 2)) + c for c in ([0, 0], [3, 1], [0, 4])])
CODES = DATA[[0, 9, 18]] + 0.1
ROW, NEXT = DATA[:, 0], DATA[[0, 9], 0] + 0.1

CASES = {
    "vq": (lambda m, x, b: m.vq(x, b)[1], DATA, CODES),
    "vq-row": (lambda m, x, b: m.vq(x, b)[1], ROW, NEXT),
    "kmeans": (lambda m, x: m.kmeans(x, 3, seed=1), DATA),
    "kmeans-guess": (lambda m, x, b: m.kmeans(x, b), DATA, CODES),
    "kmeans-row": (lambda m, x: m.kmeans(x, 2, seed=1)[0], ROW),
    "kmeans2": (lambda m, x: m.kmeans2(x, 3, minit="++", seed=1)[0], DATA),
    "kmeans2-matrix": (lambda m, x, b: m.kmeans2(x, b, minit="matrix")[0], DATA, CODES),
}


@pytest.mark.parametrize("name", CASES)
def test_traces(name):
    f, *args = CASES[name]
    found = linad.linearize(lambda *args: f(vq, *args), *args)[0]
    expected = f(scipy.cluster.vq, *args)
    for y, known in zip(*map(listed, (found, expected)), strict=True):
        np.testing.assert_allclose(y, known, rtol=1e-12, atol=1e-14)
    check_derivatives(lambda *args: f(vq, *args), *args, order=1)


def listed(y):
    return list(y) if isinstance(y, tuple) else [y]


def test_second_derivatives():
    check_derivatives(lambda x, b: vq.vq(x, b)[1], DATA, CODES)
    check_derivatives(lambda x: vq.kmeans(x, 3, seed=1)[1], DATA)


def test_codes_in_a_program_are_looked_up_at_each_run():
    jitted = linad.jit(lambda x, b: vq.vq(x, b))
    for shift in (0.0, 2.0, 4.0):
        for found, known in zip(
            jitted(DATA + shift, CODES), scipy.cluster.vq.vq(DATA + shift, CODES), strict=True
        ):
            np.testing.assert_allclose(found, known, rtol=1e-12)


def test_labels_are_scipys():
    labels = []

    def f(x):
        book, found = vq.kmeans2(x, 3, minit="++", seed=1)
        labels[:] = found
        return book

    linad.linearize(f, DATA)
    np.testing.assert_array_equal(labels, scipy.cluster.vq.kmeans2(DATA, 3, minit="++", seed=1)[1])


@pytest.mark.filterwarnings("ignore:One of the clusters is empty")
def test_errors():
    far = np.concatenate([CODES, [[90.0, 90.0]]])
    with pytest.raises(DegenerateError, match="cluster 3 has no observation"):
        linad.linearize(lambda x: vq.kmeans2(x, far, minit="matrix")[0], DATA)
    with pytest.raises(ShapeError, match="as many features"):
        linad.linearize(lambda x: vq.vq(x, CODES[:, :1])[1], DATA)
    spread = np.random.default_rng(1).standard_normal((60, 2))
    with pytest.raises(ConvergenceError, match="smaller thresh"):
        linad.linearize(lambda x: vq.kmeans(x, spread[:4], thresh=1.0)[0], spread)
