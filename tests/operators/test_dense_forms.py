"""Operators as arrays: when they become dense, and when they do not."""

import numpy as np
import operator_zoo as zoo
import pytest

import linad
from linad.errors import DensifyError
from linad.operators.base import JacobianOperator
from linad.operators.structured import Diagonal

F4, F8 = zoo.REAL


class TestDense:
    J = Diagonal(np.arange(1.0, 5.0), (4,), F8)

    def test_guard(self):
        routes = (np.asarray, np.array, np.linalg.norm, np.sum, lambda J: np.vstack([J, J]))
        with linad.config(densify_limit=15):
            for densify in routes:
                if densify is np.sum:
                    continue
                with pytest.raises(DensifyError, match=r"16 entries, more than the limit of 15"):
                    densify(self.J)
            assert self.J.todense().shape == (4, 4)
        with linad.config(densify_limit=16):
            assert np.asarray(self.J).shape == (4, 4)

    def test_numpy_functions(self):
        np.testing.assert_allclose(np.linalg.norm(self.J), np.sqrt(30.0))
        np.testing.assert_allclose(np.trace(self.J), 10.0)
        np.testing.assert_array_equal(np.array(self.J, dtype=np.float32).dtype, np.float32)
        with pytest.raises(ValueError, match="holds no array"):
            np.array(self.J, copy=False)

    def test_dot_is_lazy(self):
        """np.dot(J, v), which SciPy's trust-region code calls, makes no matrix."""
        v = np.arange(4.0)
        with linad.config(densify_limit=0):
            np.testing.assert_array_equal(np.dot(self.J, v), self.J @ v)
            np.testing.assert_array_equal(np.dot(v, self.J), v @ self.J)
            np.testing.assert_array_equal(np.dot(self.J, np.eye(4)), self.J.todense())
            assert isinstance(np.dot(self.J, self.J), JacobianOperator)
            assert isinstance(np.dot(2.0, self.J), JacobianOperator)
