"""What stands beside an operator: matrices, other operators, vectors, arrays."""

import fractions

import numpy as np
import operator_zoo as zoo
import pytest
from scipy.sparse import csr_array, random_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import linad
from linad.errors import DensifyError, DTypeError, OperandError
from linad.operators.base import JacobianOperator
from linad.operators.matrices import Matrix
from linad.operators.structured import Zero

pytestmark = pytest.mark.whole

F4, F8 = zoo.REAL


class TestOperands:
    """What stands beside an operator: matrices multiply, arrays do not add."""

    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 4))
    J = Matrix(A)
    S = random_array((4, 3), density=0.5, rng=1, format="csr")

    @pytest.mark.parametrize("name", ["csr", "csc", "coo", "matrix"])
    def test_sparse(self, name):
        """Both products compose: nothing dense is made."""
        S = self.S.asformat(name) if name != "matrix" else csr_array(self.S).asformat("csr")
        dense = S.toarray()
        with linad.config(densify_limit=0):
            for op, M in [
                (S @ self.J, dense @ self.A),
                (self.J @ S, self.A @ dense),
                (self.J.T + S, self.A.T + dense),
                (S + self.J.T, self.A.T + dense),
                (S - self.J.T, dense - self.A.T),
            ]:
                assert isinstance(op, JacobianOperator)
                np.testing.assert_allclose(op.todense(), M)
                np.testing.assert_allclose(op.T.todense(), M.T)

    def test_sparse_integers(self):
        S = csr_array(np.array([[1, 0, 2], [0, 3, 0], [0, 0, 1], [1, 1, 1]]))
        np.testing.assert_allclose((self.J @ S) @ [0.5, 0.25, 1], self.A @ (S @ [0.5, 0.25, 1]))

    def test_scipy_operators(self):
        B = aslinearoperator(self.rng.standard_normal((4, 4)))
        M = B @ np.eye(4)
        for op, dense in [
            (self.J @ B, self.A @ M),
            (self.J.T @ self.J + B, self.A.T @ self.A + M),
            (self.J.T @ self.J - B, self.A.T @ self.A - M),
        ]:
            assert isinstance(op, JacobianOperator)
            np.testing.assert_allclose(op @ np.eye(4), dense)
            np.testing.assert_allclose(op.T @ np.eye(len(dense)), dense.T)
        # SciPy's own operators come first where they stand first; they compose as well.
        op = B @ self.J.T
        assert isinstance(op, LinearOperator)
        np.testing.assert_allclose(op @ np.eye(3), M @ self.A.T)

    def test_duck_operators(self):
        """Anything with shape and matvec."""

        class Shift:
            shape = (4, 4)
            dtype = F8

            def matvec(self, x):
                return np.roll(x, 1)

            def rmatvec(self, x):
                return np.roll(x, -1)

        op = self.J @ Shift()
        v = np.arange(4.0)
        np.testing.assert_allclose(op @ v, self.A @ np.roll(v, 1))
        np.testing.assert_allclose(op.T @ np.ones(3), np.roll(self.A.T @ np.ones(3), -1))

    def test_arrays_multiply(self):
        B = self.rng.standard_normal((4, 2))
        assert type(self.J @ B) is np.ndarray
        np.testing.assert_allclose(self.J @ B, self.A @ B)
        assert type(B.T @ self.J.T) is np.ndarray
        np.testing.assert_allclose(B.T @ self.J.T, B.T @ self.A.T)
        np.testing.assert_allclose(self.J * B[:, 0], self.A @ B[:, 0])

    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(lambda J, A: J + A, id="right"),
            pytest.param(lambda J, A: A + J, id="left"),
            pytest.param(lambda J, A: J - A, id="difference"),
            pytest.param(lambda J, A: A - J, id="left_difference"),
            pytest.param(lambda J, A: J + A.tolist(), id="list"),
        ],
    )
    def test_arrays_do_not_add(self, call):
        with pytest.raises(
            OperandError, match=r"scipy\.sparse\.linalg\.aslinearoperator"
        ) as caught:
            call(self.J, self.A)
        assert isinstance(caught.value, TypeError)
        wrapped = self.J + aslinearoperator(self.A)
        np.testing.assert_allclose(wrapped.todense(), 2 * self.A)

    @pytest.mark.parametrize("number", [2.0, 1, 1j, np.float64(3)])
    def test_numbers_do_not_add(self, number):
        for call in (lambda: self.J + number, lambda: number - self.J):
            with pytest.raises(OperandError, match=r"linad\.eye\(n\)"):
                call()

    @pytest.mark.parametrize("thing", [None, "a", object(), {}])
    def test_other_things(self, thing):
        for call in (lambda: self.J + thing, lambda: thing - self.J, lambda: thing * self.J):
            with pytest.raises((OperandError, DTypeError, TypeError)):
                call()

    def test_scale_by_strange_numbers(self):
        assert (True * self.J).dtype == F8
        with pytest.raises(OperandError, match="scaled by a number, got Fraction"):
            fractions.Fraction(1, 2) * self.J
        with pytest.raises(ValueError, match="by a scalar"):
            self.J / self.A
        with pytest.raises(ZeroDivisionError):
            self.J / 0
        with pytest.raises(TypeError):
            self.J**0.5

    def test_zero_and_guard(self):
        zero = Zero((3,), (4,), F8)
        np.testing.assert_allclose((self.J + zero).todense(), self.A)
        with linad.config(densify_limit=0), pytest.raises(DensifyError):
            np.asarray(self.J + zero)
