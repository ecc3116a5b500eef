"""Second derivatives at equal eigenvalues and singular values: right, or an error."""

import numpy as np
import pytest

import linad
import linad.scipy.linalg as sl
from linad.errors import DegenerateError
from linad.rules.degeneracy import inside_, settled
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
Q, R = (np.linalg.qr(rng.standard_normal((4, 4)))[0] for _ in range(2))


def array(*shape):
    return rng.standard_normal(shape)


CASES = [
    Case(inside_, array(3, 3)),
    Case(settled, array(3, 3), array(3), np.array([1.0, 2, 4]), name="eigh", strict=False),
    Case(settled, array(4, 3), np.zeros(3), np.arange(1.0, 4), name="svd", strict=True),
]


def symmetric(values):
    a = (Q * values) @ Q.T
    return 0.5 * (a + a.T)


def hermitian(values):
    u = np.linalg.qr(array(4, 4) + 1j * array(4, 4))[0]
    a = (u * values) @ u.conj().T
    return 0.5 * (a + a.conj().T)


def singular(values, m=4, n=4):
    k = len(values)
    left, right = np.linalg.qr(array(m, k))[0], np.linalg.qr(array(n, k))[0]
    return (left * values) @ right.T


def direction(a):
    e = array(*a.shape) + (1j * array(*a.shape) if np.iscomplexobj(a) else 0)
    return e


def second(f, a, e):
    """The product of the Hessian with e: by reverse and forward, and by reverse and reverse."""
    gradient = linad.grad(f)
    found = linad.jvp(gradient, (a,), (e,))[1]
    w = direction(a)
    _, pullback = linad.vjp(gradient, a)
    np.testing.assert_allclose(
        np.vdot(pullback(w), e).real, np.vdot(w, found).real, rtol=1e-9, atol=1e-10
    )
    return found


def by_differences(f, a, e, h=1e-4):
    g = linad.grad(f)
    return (8 * (g(a + h * e) - g(a - h * e)) - (g(a + 2 * h * e) - g(a - 2 * h * e))) / (12 * h)


PAIR, TRIPLE = [1.0, 1.0, 3.0, 4.5], [2.0, 2.0, 2.0, 5.0]

RIGHT = {
    "trace": (lambda a: np.sum(np.linalg.eigvalsh(a)), symmetric(PAIR)),
    "lower two": (lambda a: np.sum(np.linalg.eigvalsh(a)[:2]), symmetric(PAIR)),
    "lower three": (lambda a: np.sum(np.linalg.eigvalsh(a)[:3]), symmetric(TRIPLE)),
    "largest": (lambda a: np.linalg.eigvalsh(a)[3], symmetric(TRIPLE)),
    "complex": (lambda a: np.sum(np.linalg.eigvalsh(a)[:2]), hermitian(PAIR)),
    "weights": (lambda a: np.linalg.eigvalsh(a) @ np.array([2.0, 2, -1, 3]), symmetric(PAIR)),
    "nuclear": (lambda a: np.linalg.norm(a, "nuc"), singular(PAIR)),
    "nuclear tall": (lambda a: np.linalg.norm(a, "nuc"), singular(PAIR[:3], 5, 3)),
    "nuclear wide": (lambda a: np.linalg.norm(a, "nuc"), singular(TRIPLE[:3], 3, 4)),
    "nuclear complex": (lambda a: np.linalg.norm(a, "nuc"), singular(PAIR) * (1 + 1j)),
    "spectral": (lambda a: np.linalg.norm(a, 2), singular(TRIPLE)),
    "spectral, rank 1": (lambda a: np.linalg.norm(a, 2), singular([3.0])),
    "two of svdvals": (lambda a: np.sum(np.linalg.svdvals(a)[2:]), singular(PAIR)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    f, a = RIGHT[name]
    e = direction(a)
    if "svd" not in name and "nuc" not in name and "spec" not in name:
        e = e + e.conj().T
    np.testing.assert_allclose(second(f, a, e), by_differences(f, a, e), rtol=1e-6, atol=1e-7)


def test_general_eigenvalues():
    """The trace; and an eigenvalue that stands alone beside two equal ones."""
    a = Q @ np.diag(PAIR) @ np.linalg.inv(Q @ (np.eye(4) + 0.2 * R))
    a = np.linalg.inv(np.eye(4) + 0.2 * R) @ np.diag(PAIR) @ (np.eye(4) + 0.2 * R)
    e = direction(a)
    trace = lambda a: np.sum(np.linalg.eigvals(a).real)  # noqa: E731
    np.testing.assert_allclose(second(trace, a, e), 0, atol=1e-9)
    largest = lambda a: np.max(np.linalg.eigvals(a).real)  # noqa: E731
    np.testing.assert_allclose(
        second(largest, a, e), by_differences(largest, a, e), rtol=1e-5, atol=1e-6
    )


def test_nuclear_norm_of_a_multiple_of_the_identity():
    """Its gradient is the orthogonal factor."""
    e = array(3, 3)
    found = second(lambda a: np.linalg.norm(a, "nuc"), 2 * np.eye(3), e)
    np.testing.assert_allclose(found, (e - e.T) / 4, atol=1e-13)


WITHOUT_VALUES = {
    "expm": (lambda a: np.sum(sl.expm(a) * Q[:3, :3]), lambda e: np.exp(1.0) * e @ e),
    "sqrtm": (lambda a: np.sum(sl.sqrtm(a) * Q[:3, :3]), lambda e: -e @ e / 4),
    "logm": (lambda a: np.sum(sl.logm(a) * Q[:3, :3]), lambda e: -e @ e),
    "inv": (lambda a: np.sum(np.linalg.inv(a) * Q[:3, :3]), lambda e: 2 * e @ e),
    "pinv": (lambda a: np.sum(np.linalg.pinv(a) * Q[:3, :3]), lambda e: 2 * e @ e),
}


@pytest.mark.parametrize("name", WITHOUT_VALUES)
def test_matrix_functions_at_the_identity(name):
    """d²/dt² f(I + tE) = f''(1) E²."""
    f, expected = WITHOUT_VALUES[name]
    e = array(3, 3)
    found = np.sum(second(f, np.eye(3), e) * e)
    np.testing.assert_allclose(found, np.sum(expected(e) * Q[:3, :3]), rtol=1e-9)


def test_determinants_and_norms_at_the_identity():
    e = array(3, 3)
    for f, expected in [
        (np.linalg.det, np.trace(e) ** 2 - np.trace(e @ e)),
        (lambda a: np.linalg.slogdet(a)[1], -np.trace(e @ e)),
        (lambda a: np.linalg.norm(a) ** 2, 2 * np.sum(e * e)),
    ]:
        np.testing.assert_allclose(np.sum(second(f, np.eye(3), e) * e), expected, rtol=1e-10)


@pytest.mark.parametrize("place", [0, 1])
def test_factors_at_the_identity(place):
    """QR and Cholesky have no eigenvalues to be equal."""
    e = array(3, 3)
    weights = Q[:3, :3]
    for f in (
        lambda a: np.sum(np.linalg.qr(a)[place] * weights),
        lambda a: np.sum(np.linalg.cholesky(a @ a.T) * weights),
    ):
        a = np.linalg.qr(array(3, 3))[0]
        np.testing.assert_allclose(second(f, a, e), by_differences(f, a, e), rtol=1e-6, atol=1e-7)


def reconstructed(a):
    w, v = np.linalg.eigh(a)
    return np.sum((v * np.exp(w)) @ v.T * Q)


def projection(a):
    v = np.linalg.eigh(a)[1][:, 3]
    return np.sum(np.outer(v, v) * Q)


def unitary(a):
    u, _, vh = np.linalg.svd(a)
    return np.sum(u @ vh * Q)


RAISES = {
    "squares": (lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), symmetric(PAIR), "not known"),
    "one of two": (lambda a: np.linalg.eigvalsh(a)[0], symmetric(PAIR), "does not exist"),
    "of zero": (lambda a: np.linalg.eigvalsh(a)[0], np.zeros((4, 4)), "does not exist"),
    "f(A)": (reconstructed, symmetric(PAIR), "not settled"),
    "projection": (projection, symmetric(PAIR), "not settled"),
    "logdet": (lambda a: np.sum(np.log(np.linalg.eigvalsh(a))), np.eye(4), "not known"),
    "eigvals": (lambda a: np.sum(np.linalg.eigvals(a).real ** 2), np.diag(PAIR), "not known"),
    "eig": (lambda a: np.sum(np.linalg.eig(a)[1].real ** 2), np.diag(PAIR), "not settled"),
    "svdvals": (lambda a: np.sum(np.linalg.svdvals(a) ** 2), singular(PAIR), "not known"),
    "unitary": (unitary, singular(PAIR), "not settled"),
    "nuclear": (lambda a: np.linalg.norm(a, "nuc"), singular([3.0, 2.0]), "does not exist"),
    "zero": (lambda a: np.sum(np.linalg.svdvals(a) ** 2), singular([3.0, 2.0, 1.0]), "not known"),
    "cond": (lambda a: np.linalg.cond(a), singular(PAIR), "does not exist"),
}


@pytest.mark.parametrize("name", RAISES)
def test_raises(name):
    f, a, why = RAISES[name]
    gradient = linad.grad(f)
    # The first derivative is a convention, where it is not known to be another.
    assert np.all(np.isnan(gradient(a)) if name == "f(A)" else np.isfinite(gradient(a)))
    e = direction(a)
    e = e + e.T
    with pytest.raises(DegenerateError, match=why):
        linad.jvp(gradient, (a,), (e,))
    with pytest.raises(DegenerateError, match=why):
        linad.vjp(gradient, a)
    with pytest.raises(DegenerateError):
        linad.jvp(lambda a: linad.jvp(f, (a,), (e,))[1], (a,), (e,))


def test_a_mean_at_a_tie_of_the_spectral_norm():
    """Convention: of equal largest singular values the norm's derivatives are their mean's."""
    a, e = np.diag([4.0, 4.0, 2.0, 1.0]), array(4, 4)
    mean = lambda a: np.sum(np.linalg.svdvals(a)[:2]) / 2  # noqa: E731
    norm = lambda a: np.linalg.norm(a, 2)  # noqa: E731
    np.testing.assert_allclose(second(norm, a, e), by_differences(mean, a, e), atol=1e-7)


def test_a_tape_of_a_gradient_is_recorded():
    """Nothing is differentiated twice, so nothing is refused."""
    f = lambda a: np.sum(np.linalg.eigvalsh(a) ** 2)  # noqa: E731
    a = symmetric(PAIR)
    g, tape = linad.trace(linad.grad(f), a)
    np.testing.assert_allclose(g, 2 * a, atol=1e-12)
    np.testing.assert_allclose(tape(a), 2 * a, atol=1e-12)


def test_third_derivatives_of_a_determinant():
    """Of three rows it is a polynomial; of four it hangs on singular values that may be equal."""
    e = array(4, 4)

    def along(a, e, order):
        if not order:
            return np.linalg.det(a)
        return linad.jvp(lambda a: along(a, e, order - 1), (a,), (e,))[1]

    for a in (np.diag([1.0, 2.0, 4.0]), np.eye(3)):
        wanted = 6 * np.linalg.det(e[:3, :3])
        np.testing.assert_allclose(along(a, e[:3, :3], 3), wanted, rtol=1e-9)
    a = np.diag([1.0, 2.0, 4.0, 8.0])
    times = np.linspace(-1.0, 1.0, 5)
    wanted = 6 * np.polyfit(times, [np.linalg.det(a + t * e) for t in times], 4)[1]
    np.testing.assert_allclose(along(a, e, 3), wanted, rtol=1e-9)
    with pytest.raises(DegenerateError):
        along(np.eye(4), e, 3)


JORDAN = [
    np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 2]]),
    Q[:3, :3] @ np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 2]]) @ np.linalg.inv(Q[:3, :3]),
]


@pytest.mark.parametrize("a", JORDAN)
@pytest.mark.parametrize("values", [np.linalg.eigvals, lambda a: np.linalg.eig(a)[0]])
def test_defective(a, values):
    """An eigenvalue of a Jordan block has no derivative; the one beside it has."""
    e = array(3, 3)
    for f in (lambda a: np.sum(values(a) ** 2).real, lambda a: np.min(values(a).real)):
        assert np.isnan(linad.grad(f)(a)).any()
        assert np.isnan(linad.jvp(f, (a,), (e,))[1])
    alone = linad.grad(lambda a: np.max(values(a).real))(JORDAN[0])
    np.testing.assert_allclose(alone, np.diag([0.0, 0, 1]), atol=1e-12)
