"""Diagonals, triangles and grids."""

import functools
import itertools

import numpy as np
import pytest
from case_values import check_error, check_value

import linad
from linad.errors import TracerError
from linad.rules import diagonals
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
A = rng.standard_normal((3, 4))
B = rng.standard_normal((2, 3, 3))
V = rng.standard_normal(3)
W = rng.standard_normal(2)
S = np.asarray(rng.standard_normal())
Z = {"complex_": True}


def parts(function):
    """A NumPy function that returns a sequence as one that returns a tuple."""

    @functools.wraps(function)
    def call(*args, **params):
        return tuple(function(*args, **params))

    return call


CASES = [
    Case(diagonals.masked, A, mask=A > 0, check=Z),
    Case(diagonals.masked, B, mask=np.tri(3, dtype=bool)),
    Case(diagonals.diagonal_, B, offset=-1, check=Z),
    Case(diagonals.main_diagonal, B, check=Z),
    Case(np.tril, A, check=Z),
    Case(np.tril, B, k=-1),
    Case(np.tril, V),
    Case(np.triu, A, k=1, check=Z),
    Case(np.triu, B),
    Case(np.triu, np.zeros((0, 2))),
    *[Case(np.diagonal, A, offset=k) for k in (-4, -2, 0, 1, 3, 5)],
    Case(np.diagonal, B, axis1=-1, axis2=0, check=Z),
    Case(np.diagonal, B, offset=1, axis1=1, axis2=2),
    Case(np.trace, A, check=Z),
    Case(np.trace, B, offset=-1, axis1=0, axis2=2),
    Case(np.trace, A, dtype=np.complex128, check={"float32": False}),
    *[Case(np.diag, V, k=k) for k in (-2, 0, 1)],
    Case(np.diag, A, k=1, check=Z),
    Case(np.diag, np.zeros(0)),
    Case(np.diagflat, A[:2, :2], k=-1, check=Z),
    Case(np.diagflat, S),
    # NumPy makes at least double precision of it.
    Case(np.vander, V, check={"complex_": True, "float32": False}),
    Case(np.vander, V, N=2, increasing=True, check={"float32": False}),
    Case(np.vander, np.array([0.0, 1.0, -2.0]), N=4, check={"float32": False}),
    Case(parts(np.meshgrid), V, W, check=Z),
    Case(parts(np.meshgrid), V, W, S, indexing="ij"),
    Case(parts(np.meshgrid), V, W, sparse=True),
    Case(parts(np.meshgrid), V, np.arange(2), W, copy=False),
    Case(parts(np.meshgrid), V),
    Case(np.ix_, V, W, check=Z),
]


@pytest.mark.parametrize("case", CASES, ids=itertools.count())
def test_values_are_numpys(case):
    check_value(case, rtol=1e-14)


def test_empty_vander():
    y = linad.linearize(lambda x: np.vander(x, 0) + np.sum(x), V)[0]
    assert y.shape == (3, 0)


def test_ix_beside_masks():
    def f(x):
        mesh = np.ix_(x, [True, False, True], [])
        assert [m.dtype.kind for m in mesh] == ["f", "i", "i"]
        return mesh[0] * mesh[1]

    np.testing.assert_array_equal(linad.linearize(f, V)[0], f(V))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.tril(x[0, 0]),
        lambda x: np.diagonal(x[0]),
        lambda x: np.diagonal(x, axis1=0, axis2=0),
        lambda x: np.diagonal(x, axis1=0, axis2=2),
        lambda x: np.diag(x[0, 0]),
        lambda x: np.diag(x[None]),
        lambda x: np.trace(x[0]),
        lambda x: np.vander(x),
        lambda x: np.meshgrid(x[0], x[0], indexing="yx"),
        lambda x: np.ix_(x),
    ],
    ids=itertools.count(),
)
def test_errors_are_numpys(f):
    check_error(f, A)


def test_out_is_refused():
    with pytest.raises(TracerError, match="trace"):
        linad.linearize(lambda x: np.trace(x, out=np.empty(())), A)
