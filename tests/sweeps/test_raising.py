"""Operations whose results nobody reads, in compiled programs: they raise as in Python."""

import numpy as np
import pytest

import linad

TRIED = {
    "cholesky": np.linalg.cholesky,
    "inv": np.linalg.inv,
    "solve": lambda a: np.linalg.solve(a, np.ones(len(a))),
    "eigh": np.linalg.eigh,
    "svd": np.linalg.svd,
    "eig": np.linalg.eig,
    "eigvals": np.linalg.eigvals,
}
REGULAR = np.array([[3.0, 1.0], [1.0, 2.0]])
TURNED = np.array([[3.0, -1.0], [1.0, 2.0]])  # regular, with complex eigenvalues
WRONG = [np.ones((2, 2)), -REGULAR, np.array([[1.0, np.nan], [np.nan, 1.0]])]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", TRIED)
def test_a_result_that_nobody_reads(name):
    def f(a):
        TRIED[name](a)
        return np.sum(a**2)

    compiled = linad.jit(f)
    for _ in range(3):
        assert compiled(REGULAR) == f(REGULAR)
    assert not linad.explain(compiled)(REGULAR).fallbacks
    for a in (TURNED, *WRONG, REGULAR):
        try:
            expected = f(a)
        except np.linalg.LinAlgError as error:
            with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                compiled(a)
        else:
            np.testing.assert_array_equal(compiled(a), expected)


@pytest.mark.usefixtures("kernels")
def test_one_that_is_caught():
    def f(a):
        try:
            np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return np.sum(a)
        return np.sum(a**2)

    for recorded_with in (REGULAR, -REGULAR):
        compiled = linad.jit(f)
        for a in 3 * [recorded_with] + [-REGULAR, REGULAR, *WRONG]:
            np.testing.assert_array_equal(compiled(a), f(a))


@pytest.mark.rest
@pytest.mark.parametrize("name", ["eigvalsh", "svdvals", "eigvals"])
def test_the_way_back_through_a_loop_of_decompositions_is_all_compiled(name):
    def f(a):
        total = 0.0
        for _ in range(30):
            total = total + np.sum(np.abs(getattr(np.linalg, name)(a)) ** 3)
            a = 0.9 * a + 0.01
        return total

    gradient = linad.jit(linad.grad(f))
    for _ in range(2):
        np.testing.assert_allclose(gradient(TURNED), linad.grad(f)(TURNED), rtol=1e-12)
    assert not linad.explain(gradient)(TURNED).fallbacks
