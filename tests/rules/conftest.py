"""What the tests of rules share: many are of functions whose derivative is zero, and is meant."""

import pytest

import linad


@pytest.fixture(autouse=True)
def zero_is_meant():
    with linad.config(disconnected="ignore"):
        yield
