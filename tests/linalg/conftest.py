"""What these tests share: operators that are zero are applied inside derivatives, and meant."""

import pytest

import linad


@pytest.fixture(autouse=True)
def zero_is_meant():
    with linad.config(disconnected="ignore"):
        yield
