"""Bodies of loops are remembered with their programs: not from one way of running kernels to
another."""

import pytest

from linad.control import control_primitive, known_bodies
from linad.jit import specializations


@pytest.fixture(autouse=True)
def no_bodies_from_before():
    known_bodies._bodies.clear()
    yield
    known_bodies._bodies.clear()


@pytest.fixture
def by_numpy(monkeypatch):
    """Programs run by NumPy: for tests where what is recorded counts, not what is compiled."""
    monkeypatch.setattr(specializations, "compiler_is_off", lambda: True)
    monkeypatch.setattr(control_primitive, "compiler_is_off", lambda: True)
