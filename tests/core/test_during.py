"""A context variable holds a value for the length of a block."""

from contextvars import ContextVar

import pytest

from linad.core.during import during


def test_blocks():
    variable = ContextVar("variable", default=0)
    with during(variable, 1):
        with during(variable, 2):
            assert variable.get() == 2
        assert variable.get() == 1
    assert variable.get() == 0


def test_an_error_within():
    variable = ContextVar("variable", default=0)
    with pytest.raises(KeyError), during(variable, 1):
        raise KeyError
    assert variable.get() == 0
