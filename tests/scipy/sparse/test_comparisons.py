"""Comparisons of sparse arrays with traced entries: SciPy's own answers, and branches on them."""

import operator

import numpy as np
import pytest
import scipy.sparse

import linad
import linad.scipy.sparse as ls

ROWS, COLS = np.array([2, 0, 1, 1, 0]), np.array([1, 0, 2, 0, 2])
DATA = np.array([1.0, -2.0, 0.5, 0.5, 3.0])
OTHER = scipy.sparse.csr_array(np.array([[-2.0, 0, 1], [0, 4, 0.5], [0, 0, 0]]))


def made(m, data, kind="csr_array"):
    return getattr(m, kind)((data, (ROWS, COLS)), shape=(3, 3))


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("other", [0, 0.5, -1.0, OTHER, np.full((3, 3), 0.5)], ids=repr)
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_as_scipys(name, other):
    compare, asked = getattr(operator, name), []

    def f(data):
        asked.append(compare(made(ls, data), other))
        return data

    linad.linearize(f, DATA)
    expected, found = compare(made(scipy.sparse, DATA), other), asked[0]
    if not scipy.sparse.issparse(expected):
        np.testing.assert_array_equal(found, expected)
        return
    assert found.dtype == bool
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_a_branch_is_taken_anew_where_it_is_compiled():
    def f(data):
        A = abs(made(ls, data, "csr_matrix"))
        assert (A < 0).nnz == 0
        below = (made(ls, data) < 0).nnz
        return A.sum() * (1 + below)

    g = linad.jit(linad.grad(f))
    for data in (DATA, DATA, DATA + 0.1, abs(DATA), DATA):
        np.testing.assert_allclose(g(data), np.sign(data) * (1 + np.sum(data < 0)))


def test_with_what_it_is_not_compared():
    def f(data):
        A = made(ls, data)
        assert operator.eq(A, OTHER[:2]) is False
        assert A != "text"
        with pytest.raises(TypeError):
            A < "text"  # noqa: B015
        return data

    linad.linearize(f, DATA)
