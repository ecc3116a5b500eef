"""Functions of values and vectors at equal values: right or NaN, in each way there is."""

import numpy as np
import pytest
from kernels_in_python import kernels_in_python

import linad

rng = np.random.default_rng(0)
Q, P = (np.linalg.qr(rng.standard_normal((4, 4)))[0] for _ in range(2))
TALL = np.linalg.qr(rng.standard_normal((5, 3)))[0]


def symmetric(*values):
    a = (Q * values) @ Q.T
    return 0.5 * (a + a.T)


def singular(*values):
    return (Q * values) @ P.T


def exponential(a):
    w, v = np.linalg.eigh(a)
    return (v * np.exp(w)) @ v.conj().T


def vectors_first(a):
    w, v = np.linalg.eigh(a)
    transposed = v.T.copy()
    return v @ np.diag(np.sin(w)) @ transposed


def one_by_one(a):
    w, v = np.linalg.eigh(a)
    return sum(w[i] ** 3 * np.outer(v[:, i], v[:, i]) for i in range(len(w)))


def signs_set(a):
    w, v = np.linalg.eigh(a)
    order = np.argsort(-w)
    w, v = w[order], v[:, order]
    v[:, 0] *= -1
    return (v * np.exp(w)) @ v.T


def with_inverse(a):
    w, v = np.linalg.eigh(a)
    return v @ np.diag(np.exp(w)) @ np.linalg.inv(v)


def general(a):
    w, v = np.linalg.eig(a)  # complex from NumPy 2.5 on
    return ((v * np.exp(w)) @ np.linalg.inv(v)).real


def logarithm(a):
    w, v = np.linalg.eigh(a)
    return (v * np.log(w)) @ v.T


def projection(a):
    w, v = np.linalg.eigh(a)
    v = v[:, np.argsort(w)]
    return v[:, :2] @ v[:, :2].T


def largest(a):
    w, v = np.linalg.eigh(a)
    return (v[:, -1:] * w[-1:]) @ v[:, -1:].T


def trace(a):
    return np.sum(np.linalg.eigh(a)[0])


def whole(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * s) @ vh


def cubes(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u @ np.diag(s**3) @ vh


def truncated(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u[:, :2] * s[:2]) @ vh[:2]


def unitary(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u @ vh


FULL_EIGEN = [exponential, vectors_first, one_by_one, signs_set, with_inverse, general]
PAIR, EYE = symmetric(1, 1, 3, 4.5), np.eye(4)
KNOWN = "known"
CASES = [
    *((f, a, "unknown") for f in FULL_EIGEN for a in (PAIR, 2 * EYE)),
    *((f, symmetric(1, 2, 3, 4.5), KNOWN) for f in FULL_EIGEN),
    (logarithm, EYE, "unknown"),
    (projection, PAIR, KNOWN),
    (largest, PAIR, KNOWN),
    (trace, PAIR, KNOWN),
    *((f, a, "unknown") for f in (whole, cubes) for a in (singular(4, 3, 1, 1), TALL)),
    *((f, singular(4, 3, 2, 1), KNOWN) for f in (whole, cubes, truncated, unitary)),
    (whole, np.diag([4.0, 3, 2, 0]), "unknown"),
    (whole, np.diag([4.0, 3, 2])[:, :2], KNOWN),
    (whole, np.eye(5, 3) * [3.0, 2, 0], "unknown"),
    (whole, np.eye(3, 5) * np.array([[3.0], [2], [0]]), "unknown"),
    (truncated, singular(4, 3, 1, 1), KNOWN),
    (unitary, 2 * EYE, KNOWN),
    (unitary, TALL, KNOWN),
]


def by_differences(f, a, e, h=1e-4):
    return (8 * (f(a + h * e) - f(a - h * e)) - (f(a + 2 * h * e) - f(a - 2 * h * e))) / (12 * h)


def products(f, a, e, w):
    """The derivative along e, or that of <w, f>, in each way: name, product, whether of w."""
    compiled = linad.jit(lambda a, e: linad.jvp(f, (a,), (e,))[1])
    jitted = linad.jit(f)
    _, J = linad.linearize(f, a)
    yield "jvp", linad.jvp(f, (a,), (e,))[1], False
    yield "pushforward", J.pushforward(e), False
    yield "seeds", J.pushforward(np.stack([e, 2 * e]))[1] / 2, False
    yield "pullback", np.sum(J.pullback(w) * e), True
    for _ in range(3):
        yield "jit of jvp", compiled(a, e), False
        yield "jvp of jit", linad.jvp(jitted, (a,), (e,))[1], False
        yield "grad of jit", np.sum(linad.grad(lambda a: np.sum(w * jitted(a)))(a) * e), True


@pytest.mark.parametrize("f, a, what", CASES)
def test_values_and_vectors_together(f, a, what):
    e = rng.standard_normal(a.shape)
    e = e + e.T if a.shape == (4, 4) else e
    expected = by_differences(f, a, e)
    w = rng.standard_normal(expected.shape)
    with kernels_in_python():
        for how, found, weighted in products(f, a, e, w):
            if what is KNOWN:
                right = np.sum(w * expected) if weighted else expected
                np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-7, err_msg=how)
            else:
                assert np.all(np.isnan(found)), how


@pytest.mark.parametrize("f", [exponential, logarithm])
def test_each_entry_of_a_jacobian_is_right_or_nan(f):
    """Seeds that see nothing but what is lost: their cotangents of λ and V are 0."""
    with kernels_in_python():
        found = linad.jacobian(f)(np.eye(2)), linad.jit(linad.jacobian(f))(np.eye(2))
    for matrix in found:
        known = ~np.isnan(matrix)
        right = np.e if f is exponential else 1.0
        expected = np.zeros((2, 2, 2, 2))
        expected[0, 0, 0, 0] = expected[1, 1, 1, 1] = right
        np.testing.assert_allclose(matrix[known], expected[known], atol=1e-12)
        assert np.isnan(matrix[0, 1, 0, 1])


def test_tangents_that_entangle_nothing():
    """Along V diag(e) V^H each function of the matrix is known."""
    a, e = np.diag([1.0, 1, 3]), np.diag([0.5, 2.0, -1.0])
    found = linad.jvp(exponential, (a,), (e,))[1]
    np.testing.assert_allclose(found, np.diag(np.exp(np.diag(a)) * np.diag(e)), atol=1e-12)


def test_results_of_both():
    """Values hold, vectors of equal ones do not."""
    a, e = np.diag([1.0, 1, 3]), np.ones((3, 3))
    for values, vectors in (
        linad.jvp(np.linalg.eigh, (a,), (e,))[1],
        linad.linearize(np.linalg.eigh, a)[1].pushforward(e),
    ):
        np.testing.assert_allclose(values, np.ones(3))
        np.testing.assert_array_equal(np.isnan(vectors), np.outer([1, 1, 1], [1, 1, 0]))
