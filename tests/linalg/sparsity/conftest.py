"""Patterns of zeros are found, not asked for: what depends on nothing is told of, as elsewhere."""

import pytest


@pytest.fixture(autouse=True)
def zero_is_meant():
    """In place of that of the tests around these."""
