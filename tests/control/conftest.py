"""Bodies of loops are remembered with their programs: not from one way of running kernels to
another."""

import pytest

from linad.control import bodies


@pytest.fixture(autouse=True)
def no_bodies_from_before():
    bodies._bodies.clear()
    yield
    bodies._bodies.clear()
