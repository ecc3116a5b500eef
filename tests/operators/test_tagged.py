"""Assertions of a user: used when right, refused when wrong."""

import numpy as np
import pytest

import linad
from linad.errors import OperandError, ShapeError, WrongTagError
from linad.operators.matrices import Matrix
from linad.operators.structured import Conjugation, Zero

rng = np.random.default_rng(0)


def matrix(n, tag):
    """A random matrix of which a tag is right."""
    a = rng.standard_normal((n, n))
    return {
        "symmetric": a + a.T,
        "hermitian": a + a.T,
        "positive semidefinite": a[:, : n // 2] @ a[:, : n // 2].T,
        "positive definite": a @ a.T + np.eye(n),
        "lower triangular": np.tril(a),
        "upper triangular": np.triu(a),
        "diagonal": np.diag(np.diag(a)),
        ("banded", (1, 2)): np.triu(np.tril(a, 2), -1),
    }[tag]


TAGS = [
    "symmetric",
    "hermitian",
    "positive semidefinite",
    "positive definite",
    "lower triangular",
    "upper triangular",
    "diagonal",
    ("banded", (1, 2)),
]


@pytest.mark.parametrize("n", [1, 6, 200])
@pytest.mark.parametrize("tag", TAGS, ids=str)
def test_right(tag, n):
    a = matrix(n, tag)
    op = linad.tag(Matrix(a), tag)
    name = tag if isinstance(tag, str) else tag[0]
    assert name in op.structure or {"symmetric", "banded"} & set(op.structure)
    np.testing.assert_array_equal(op @ np.ones(n), a @ np.ones(n))
    np.testing.assert_array_equal(op.T @ np.ones(n), a.T @ np.ones(n))


@pytest.mark.parametrize("n", [6, 200])
@pytest.mark.parametrize("tag", TAGS, ids=str)
def test_wrong(tag, n):
    a = matrix(n, tag)
    if isinstance(tag, str) and tag.startswith("positive"):
        a = a - 1.5 * np.linalg.eigvalsh(a)[-1] * np.eye(n)
    else:
        a[0, n - 1] += 1.0 if tag != "upper triangular" else 0.0
        a[n - 1, 0] += 2.0 if tag != "lower triangular" else 0.0
    with pytest.raises(WrongTagError, match=r"tag: Matrix .* is not .*: "):
        linad.tag(Matrix(a), tag)


def test_one_entry_beside_a_band_is_found():
    n = 500
    a = np.diag(np.full(n, 2.0)) + np.diag(np.ones(n - 1), 1)
    linad.tag(Matrix(a), ("banded", (0, 1)))
    a[300, 100] = 1e-6
    with pytest.raises(WrongTagError, match="row 300 has entries outside"):
        linad.tag(Matrix(a), ("banded", (0, 1)))


def test_complex():
    a = rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))
    assert "hermitian" in linad.tag(Matrix(a + a.conj().T), "hermitian").structure
    assert "symmetric" in linad.tag(Matrix(a + a.T), "symmetric").structure
    with pytest.raises(WrongTagError, match=r"J\.H"):
        linad.tag(Matrix(a + a.T), "hermitian")
    with pytest.raises(WrongTagError, match=r"J\.T"):
        linad.tag(Matrix(a + a.conj().T), "symmetric")


@pytest.mark.parametrize(
    "tag", ["sparse", ("banded", 1), ("banded", (-1, 0)), ("banded", (1, 0.5)), 3, ("x", (1, 1))]
)
def test_unknown_tags(tag):
    with pytest.raises(OperandError, match="tag: expected one of symmetric"):
        linad.tag(linad.eye(3), tag)


def test_what_cannot_be_tagged():
    with pytest.raises(ShapeError, match="square"):
        linad.tag(Matrix(np.ones((2, 3))), "symmetric")
    with pytest.raises(OperandError, match="linear over the reals only"):
        linad.tag(Conjugation((3,), np.dtype(complex)), "symmetric")


def test_tags_are_used():
    a = np.diag(np.full(300, 2.5)) + np.diag(np.ones(299), 1)
    b = np.ones(300)
    x, why = linad.solve_linear(linad.tag(Matrix(a), ("banded", (0, 1))), b, explain=True)
    np.testing.assert_allclose(a @ x, b)
    assert "triangular" in why.reason or "banded" in why.reason

    def f(x):
        return 3 * x + np.concatenate([x[1:] ** 2, x[:1]]) * np.sin(x)

    J = linad.linearize(f, np.linspace(0.0, 0.5, 300))[1]
    with pytest.raises(WrongTagError):
        linad.tag(J, ("banded", (0, 1)))  # the last row reads the first entry
    J = linad.linearize(lambda x: f(x)[:-1], np.linspace(0.0, 0.5, 301), argnums=0)[1]
    J = J @ linad.vstack([linad.eye(300), Zero((1,), (300,), np.dtype(float))])
    tagged = linad.tag(J, ("banded", (0, 1)))
    assert tagged.structure == ("banded",)
    x, why = linad.solve_linear(tagged, b, explain=True)
    np.testing.assert_allclose(J @ x, b)
    assert why.method == "closed form"
    np.testing.assert_allclose(tagged.inverse().T @ (J.T @ b), b)


def test_definite_with_what_is_added():
    s = matrix(6, "positive semidefinite")
    J = linad.linearize(lambda x: np.sinh(s @ np.arctan(x)), np.zeros(6))[1]
    tagged = linad.tag(J, "positive semidefinite")
    assert (tagged + 0.1 * linad.eye(6)).structure[-1] == "positive definite"
    assert "symmetric" in tagged.T.structure


def test_of_traced_operators():
    """The numbers are tested; the derivative goes through."""
    a = np.diag([1.0, 2, 3])

    def f(t):
        op = linad.tag(Matrix(t * a), "symmetric")
        return linad.solve_linear(op, np.ones(3))

    np.testing.assert_allclose(linad.derivative(f)(2.0), -1 / (4 * np.diag(a)))
