"""Real kernels: values, gradients, tangents and Hessians against other ways to them."""

import numpy as np
import pytest
from kernel_cases import CASES
from kernel_checks import check

from linad.kernels import calls
from linad.kernels.compiling import python_function


@pytest.fixture
def as_python(monkeypatch):
    """Generated functions run as Python functions, uncompiled."""
    monkeypatch.setattr(calls, "compiled", lambda program, error_model: python_function(program))


@pytest.mark.parametrize("name", CASES)
def test_kernel_in_python(name, as_python):
    function, make, unrolled = CASES[name]
    check(function, make(np.random.default_rng(1)), unrolled=unrolled)
