import pytest


@pytest.fixture(autouse=True)
def in_both_ways(kernels):
    """Compiled, the programs of this folder take two minutes."""
