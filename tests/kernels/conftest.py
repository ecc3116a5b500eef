"""What tests of kernels ask for by name."""

import pytest

from linad.kernels import running
from linad.kernels.compiling import python_function


@pytest.fixture
def as_python(monkeypatch):
    """Generated functions run as Python functions, uncompiled."""
    monkeypatch.setattr(running, "compiled", lambda program, error_model: python_function(program))
