"""Questions about traced matrices are decisions of the program."""

import numpy as np
import pytest
import scipy.linalg

import linad
import linad.scipy.linalg as sl

SYMMETRIC = np.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]])
NEAR = SYMMETRIC + 1e-6 * np.tri(3)
BAND = np.tril(SYMMETRIC, 1)


def answers(m, a):
    return [
        *m.bandwidth(a),
        m.issymmetric(a),
        m.issymmetric(a, atol=1e-3),
        m.ishermitian(a),
        m.ishermitian(a, rtol=1e-3),
    ]


@pytest.mark.parametrize("compiled", [False, True])
def test_answers_are_decided_anew_for_each_matrix(compiled):
    def f(a):
        found = answers(sl, a)
        assert [type(x) for x in found] == [int, int, bool, bool, bool, bool]
        return np.sum(a) * (1 + found @ 2.0 ** np.arange(6))

    g = linad.jit(f) if compiled else f
    for a in (SYMMETRIC, NEAR, BAND, SYMMETRIC):
        weight = 1 + answers(scipy.linalg, a) @ 2.0 ** np.arange(6)
        np.testing.assert_array_equal(linad.grad(g)(a), np.full((3, 3), weight))
    turned = SYMMETRIC + 1j * np.triu(BAND, 1) - 1j * np.triu(BAND, 1).T
    linad.linearize(lambda a: a * (sl.ishermitian(a) or 1 / 0) * (sl.issymmetric(a) + 1), turned)
