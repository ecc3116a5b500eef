"""Bordered systems: by parts where that is accurate, whole where it is not."""

import numpy as np
import pytest
import scipy.sparse as sp

from linad.errors import SingularError
from linad.solve.bordered import BorderedSystem, bordered_matrix, bordered_system

RNG = np.random.default_rng(7)


def given(corner_rows):
    """[J c] with a tridiagonal J whose last diagonal entry is given, and a row to stand below."""
    J = sp.diags_array([-np.ones(4), 3 * np.ones(5), -np.ones(4)], offsets=[-1, 0, 1]).tolil()
    J[4, 4] = corner_rows
    beside = sp.hstack([J, RNG.standard_normal((5, 1))], format="csr")
    return beside, RNG.standard_normal(6)


def singular_corner():
    """The last diagonal entry that makes J singular."""
    det = [1.0, 3.0]
    for _ in range(3):
        det.append(3 * det[-1] - det[-2])
    return det[-2] / det[-1]


def test_by_the_factors_of_the_inner_matrix():
    matrix, row = given(3.0)
    whole, b = bordered_matrix(matrix, row), RNG.standard_normal(6)
    found = bordered_system(matrix, row, b)
    assert type(found) is BorderedSystem
    np.testing.assert_allclose(found.solve(b), np.linalg.solve(whole.toarray(), b), rtol=1e-9)
    np.testing.assert_allclose(found.apply(b), found.solve(b), rtol=1e-8)
    assert found.sign() == np.sign(np.linalg.det(whole.toarray()))


def test_a_singular_inner_matrix_is_factorised_with_its_border():
    matrix, row = given(singular_corner())
    whole, b = bordered_matrix(matrix, row), RNG.standard_normal(6)
    assert abs(np.linalg.det(matrix[:, :5].toarray())) < 1e-12
    found = bordered_system(matrix, row, b)
    assert type(found) is not BorderedSystem
    np.testing.assert_allclose(found.solve(b), np.linalg.solve(whole.toarray(), b), rtol=1e-9)


def test_a_singular_whole_is_told():
    matrix, _ = given(3.0)
    with pytest.raises(SingularError):
        BorderedSystem(bordered_matrix(matrix, matrix.toarray()[1])).solve(np.arange(6.0))
